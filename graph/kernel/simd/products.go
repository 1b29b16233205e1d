package simd

// Abreast is how many rows lie next to one another in the matrices of AddProducts.
const Abreast = 16

// AddProducts adds the products of rows of float32 numbers with g to dst, in float64,
//
//	dst_r = dst_r + g_0 z_r0 + g_1 z_r1 + …
//
// each product and each sum rounded, in the order of j: the same numbers by either path. Number j of
// row r is at (r div 16)·16·n + 16·j + (r mod 16) of z, n = len(g); dst has 16·rows, len(z) = len(dst)·n.
func AddProducts(dst []float64, z []float32, g []float64) {
	n := len(g)
	if len(dst)%Abreast != 0 || len(z) != len(dst)*n {
		panic("simd: panels that do not fit")
	}
	if has(kProducts) && n > 0 && len(dst) > 0 {
		products32(&dst[0], &z[0], &g[0], n, len(dst)/Abreast)
		return
	}
	for ; len(dst) > 0; dst = dst[Abreast:] {
		for _, v := range g {
			for r, w := range z[:Abreast] {
				dst[r] += float64(v * float64(w))
			}
			z = z[Abreast:]
		}
	}
}

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

// AddRowsTimes adds the products of rows with numbers to dst,
//
//	dst_o = dst_o + x_0 w_0o + x_1 w_1o + …
//
// each product and each sum rounded, in the order of j: the same numbers by either path, for finite w. w is
// [len(x)×len(dst)].
func AddRowsTimes(dst, w, x []float64) {
	k := len(dst)
	if len(w) != k*len(x) {
		panic("simd: rows that do not fit")
	}
	at := 0
	if has(kProducts) && len(x) > 0 && k >= 4 {
		rows64(&dst[0], &w[0], &x[0], len(x), k)
		at = k &^ 3
	}
	if at == k {
		return
	}
	for j, v := range x {
		for o, c := range w[j*k+at : (j+1)*k] {
			dst[at+o] += float64(v * c)
		}
	}
}

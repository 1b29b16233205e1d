package simd

// Pool2 writes the maxima over squares of 2×2 pixels of c channels to dst [n·c], where x are two rows
// of pixels, the second row elements after the first. NaN is the largest.
func Pool2[T Float](dst, x []T, row, c int) {
	x = x[:row+2*len(dst)]
	if vector(kPool, dst) && c%8 == 0 {
		pool32(at(dst), at(x), row, c, len(dst)/c)
		return
	}
	for i := range dst {
		k := i + i/c*c
		dst[i] = max(x[k], x[k+c], x[k+row], x[k+row+c])
	}
}

// Unpool2 writes g [n·c] to the places of the maxima of x, of which dst has the shape: the first of
// equals, from left to right and from top to bottom; to the other places of the squares 0.
func Unpool2[T Float](dst, x, g []T, row, c int) {
	x, dst = x[:row+2*len(g)], dst[:row+2*len(g)]
	if vector(kUnpool, dst) && c%8 == 0 && len(g) > 0 {
		unpool32(at(dst), at(x), at(g), row, c, len(g)/c)
		return
	}
	for i, v := range g {
		k := i + i/c*c
		a, b, d := x[k], x[k+c], x[k+row]
		m, place := max(a, b, d, x[k+row+c]), row+c
		if d == m {
			place = row
		}
		if b == m {
			place = c
		}
		if a == m {
			place = 0
		}
		dst[k], dst[k+c], dst[k+row], dst[k+row+c] = 0, 0, 0, 0
		dst[k+place] = v
	}
}

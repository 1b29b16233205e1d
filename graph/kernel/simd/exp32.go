package simd

import "math"

// Exp32 writes eˣ to dst, which may be x itself; dst has at least len(x)
// elements. The error is below 1.5 units in the last place, e⁰ is exactly 1,
// results below the least normal number are rounded to subnormal ones, −Inf
// gives 0, NaN stays NaN.
func Exp32(dst, x []float32) {
	dst = dst[:len(x)]
	if avx2 && len(x) > 0 {
		exp32(&dst[0], &x[0], len(x))
		return
	}
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}

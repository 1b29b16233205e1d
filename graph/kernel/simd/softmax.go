package simd

// Softmax32 writes the softmax of rows of k elements until it meets one whose
// entries are not finite but for −Inf, and returns the number of rows done; the
// next row of dst is then unspecified. Where the vector kernels are off it does
// none. dst may be x.
//
//	π_a = exp(x_a − m)/Σ_i exp(x_i − m),   m = max_i x_i
//
// All in float32: the error is a few units in the last place. A row of equal
// entries gives exactly 1/k.
func Softmax32(dst, x []float32, k int) int {
	dst = dst[:len(x)]
	if !avx2 || len(x) == 0 {
		return 0
	}
	return softmax32(&dst[0], &x[0], len(x)/k, k)
}

// SoftmaxGrad32 writes y·(g − Σgy), row by row of k elements: the gradient in the
// operand of a softmax y, given that in y. dst is no operand, but for g.
func SoftmaxGrad32(dst, y, g []float32, k int) {
	y, g = y[:len(dst)], g[:len(dst)]
	if avx2 && len(dst) > 0 {
		softmaxGrad32(&dst[0], &y[0], &g[0], len(dst)/k, k)
		return
	}
	for i := 0; i < len(dst); i += k {
		var s float32
		for j := i; j < i+k; j++ {
			s += y[j] * g[j]
		}
		for j := i; j < i+k; j++ {
			dst[j] = y[j] * (g[j] - s)
		}
	}
}

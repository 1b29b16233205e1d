package simd

import (
	"math"
	"unsafe"
)

// Softmax32 writes the softmax of rows of k elements until it meets one whose
// entries are not finite but for −Inf, and returns the number of rows done; the
// next row of dst is then unspecified. Where the vector kernels are off it does
// none. dst may be x, which is slower.
//
//	π_a = exp(x_a − m)/Σ_i exp(x_i − m),   m = max_i x_i
//
// All in float32: the relative error is below 3e-7 + 6e-8·|log π_a|. A row of
// equal entries gives exactly 1/k.
func Softmax32(dst, x []float32, k int) int {
	dst = dst[:len(x)]
	if !has(kSoftmax) || len(x) == 0 {
		return 0
	}
	if &dst[0] != &x[0] || k%Lanes == 0 {
		return softmax32(&dst[0], &x[0], len(x)/k, k)
	}
	for i := 0; i < len(x); i += k { // a row at a time writes nothing beyond it
		if softmax32(&dst[i], &x[i], 1, k) == 0 {
			return i / k
		}
	}
	return len(x) / k
}

// SoftmaxGrad writes y·(g − Σgy), row by row of k elements: the gradient in the
// operand of a softmax y, given that in y. dst is no operand. In the sum y counts as 0 below
// 2⁻¹⁰⁰ (2⁻⁵⁰⁰ in float64); products that would be subnormal are 0.
func SoftmaxGrad[T Float](dst, y, g []T, k int) {
	y, g = y[:len(dst)], g[:len(dst)]
	if vector(kSoftmaxGrad, dst) {
		softmaxGrad32(at(dst), at(y), at(g), len(dst)/k, k)
		return
	}
	low, least := T(softLow), float64(0x1p-126)
	if unsafe.Sizeof(low) == 8 {
		low, least = 0x1p-500, 0x1p-1022
	}
	for i := 0; i < len(dst); i += k {
		var s T
		for j := i; j < i+k; j++ {
			if !(y[j] < low) {
				s += y[j] * g[j]
			}
		}
		for j := i; j < i+k; j++ {
			p := float64(y[j]) * float64(g[j]-s)
			if math.Abs(p) < least || least < 0x1p-126 && y[j] < low {
				p = 0
			}
			dst[j] = T(p)
		}
	}
}

// softLow is where a propensity counts as 0 in a sum.
const softLow = 0x1p-100

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
		return softmaxRows(&dst[0], &x[0], len(x)/k, k)
	}
	for i := 0; i < len(x); i += k { // a row at a time writes nothing beyond it
		if softmaxRows(&dst[i], &x[i], 1, k) == 0 {
			return i / k
		}
	}
	return len(x) / k
}

func softmaxRows(dst, x *float32, rows, k int) int {
	if level[kSoftmax] >= avx512 {
		return softmax32x16(dst, x, rows, k)
	}
	return softmax32(dst, x, rows, k)
}

// LogSoftmax32 writes the logarithm of the softmax of rows of k elements, until it meets one whose entries are not
// finite, and returns the number of rows done. Where the vector kernels are off it does none. dst may be x.
//
//	log π_a = (x_a − m) − log1p(Σ_{i≠i*} exp(x_i − m)),   m = x_{i*} = max_i x_i
//
// In float32 but for log1p: the error is below 4e-7 + 2e-7·|log π_a|, and, l = −log π_a near 0, below l·(5e-7 − 1e-7·log l).
func LogSoftmax32(dst, x []float32, k int) int {
	dst = dst[:len(x)]
	if !has(kLogSoftmax) || len(x) == 0 {
		return 0
	}
	const block = 64 // rows
	var sums [2 * block]float32
	var logs [block]float64
	for from, n := 0, len(x)/k; from < n; from += block {
		rows := min(block, n-from)
		if level[kLogSoftmax] >= avx512 {
			logSums32x16(&sums[0], &x[from*k], rows, k)
		} else {
			logSums32(&sums[0], &x[from*k], rows, k)
		}
		for i := range rows {
			logs[i] = float64(sums[2*i+1])
		}
		Log1p(logs[:rows], logs[:rows])
		for i, z := range logs[:rows] {
			m := sums[2*i]
			if m != m {
				return from + i
			}
			at := (from + i) * k
			if level[kLogSoftmax] >= avx512 {
				less32x16(&dst[at], &x[at], k, m, float32(z))
			} else {
				less32(&dst[at], &x[at], k, m, float32(z))
			}
		}
	}
	return len(x) / k
}

// LogSoftmaxGrad writes g − eʸ·Σg, row by row of k elements: the gradient in the operand of a log-softmax y, given that in y. dst may
// be g.
func LogSoftmaxGrad[T Float](dst, y, g []T, k int) {
	y, g = y[:len(dst)], g[:len(dst)]
	var room [512]float32
	for i := 0; i < len(dst); i += k {
		s := T(Sum(g[i : i+k]))
		if vector(kLogSoftmax, dst) {
			for j := i; j < i+k; j += len(room) {
				n := min(len(room), i+k-j)
				p := room[:n]
				Exp32(p, unsafe.Slice(at(y[j:]), n))
				Affine(p, p, -float32(s), 0)
				to := unsafe.Slice(at(dst[j:]), n)
				Add(to, unsafe.Slice(at(g[j:]), n), p)
			}
			continue
		}
		for j := i; j < i+k; j++ {
			dst[j] = g[j] - T(math.Exp(float64(y[j])))*s
		}
	}
}

// SoftmaxGrad writes y·(g − Σgy), row by row of k elements: the gradient in the
// operand of a softmax y, given that in y. dst is no operand. In the sum y counts as 0 below
// 2⁻¹⁰⁰ (2⁻⁵⁰⁰ in float64); products that would be subnormal are 0.
func SoftmaxGrad[T Float](dst, y, g []T, k int) {
	y, g = y[:len(dst)], g[:len(dst)]
	if vector(kSoftmaxGrad, dst) {
		if 8 < k && k < 16 && level[kSoftmaxGrad] >= avx512 {
			softmaxGrad32x16(at(dst), at(y), at(g), len(dst)/k, k)
		} else {
			softmaxGrad32(at(dst), at(y), at(g), len(dst)/k, k)
		}
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

package kernel

import (
	"math"

	"opl/graph/kernel/simd"
)

// LogSoftmax writes the logarithm of the softmax of each row.
//
//	log π_a = (x_a − m) − log1p(Σ_{i≠i*} exp(x_i − m)),   m = x_{i*} = max_i x_i
//
// x and dst are rows×k. Any x: an entry of −Inf has log π = −Inf; where the
// maximum is infinite, the entries that reach it share the row evenly (so a
// row of −Inf gives −log k throughout). In float32, with vector kernels, the arithmetic is float32 inside.
func LogSoftmax[T Float](dst, x []T, k int) {
	rows := rowsOf("LogSoftmax", len(x), k, len(dst))
	x32, is32 := any(x).([]float32)
	for i := 0; i < rows; i++ {
		if is32 {
			if i += simd.LogSoftmax32(any(dst).([]float32)[i*k:], x32[i*k:], k); i == rows {
				return
			}
		}
		from, to := x[i*k:(i+1)*k], dst[i*k:(i+1)*k]
		m, tail, ties := sumExp(from, nil)
		if math.IsInf(m, 0) {
			share(to, from, T(m), -math.Log(float64(ties)), math.Inf(-1))
			continue
		}
		z, least := math.Log1p(tail), leastNormal[T]()
		for a, v := range from {
			to[a] = T(clearBelow((float64(v)-m)-z, least))
		}
	}
}

// Softmax writes the softmax of each row.
//
//	π_a = exp(x_a − m)/Σ_i exp(x_i − m),   m = max_i x_i
//
// x and dst are rows×k. Any x: an entry of −Inf has π = 0; where the maximum
// is infinite, the entries that reach it share the row evenly (so a row of
// −Inf gives 1/k throughout). A row of equal entries gives exactly 1/k. In
// float32, with vector kernels, the arithmetic is float32 inside. What would be
// subnormal is 0.
func Softmax[T Float](dst, x []T, k int) {
	rows := rowsOf("Softmax", len(x), k, len(dst))
	x32, is32 := any(x).([]float32)
	for i := 0; i < rows; i++ {
		if is32 {
			if i += simd.Softmax32(any(dst).([]float32)[i*k:], x32[i*k:], k); i == rows {
				return
			}
		}
		from, to := x[i*k:(i+1)*k], dst[i*k:(i+1)*k]
		exps, _ := any(to).([]float64)
		m, tail, ties := sumExp(from, exps)
		if math.IsInf(m, 0) {
			share(to, from, T(m), 1/float64(ties), 0)
			continue
		}
		least := leastNormal[T]() * (1 + tail)
		for a, e := range exps {
			exps[a] = clearBelow(e, least) / (1 + tail)
		}
		if exps != nil {
			continue
		}
		for a, v := range from {
			to[a] = T(clearBelow(exp(float64(v)-m), least) / (1 + tail))
		}
	}
}

// sumExp returns the maximum m of a row, Σ exp(x_i − m) over all entries but
// the first that reaches it, and, only where m is infinite, the number of
// entries that reach it (the sum is then 0). keep, if it is not nil, takes the exp(x_i − m); it
// may be row.
func sumExp[T Float](row []T, keep []float64) (m, tail float64, ties int) {
	top := 0
	for i, v := range row {
		if v > row[top] || v != v {
			top = i
		}
	}
	m = float64(row[top])
	if math.IsInf(m, 0) {
		for _, v := range row {
			if v == row[top] {
				ties++
			}
		}
		return m, 0, ties
	}
	for i, v := range row {
		e := exp(float64(v) - m)
		if i != top {
			tail += e
		}
		if keep != nil {
			keep[i] = e
		}
	}
	return m, tail, 0
}

// exp is eˣ, 0 where that is subnormal.
func exp(x float64) float64 {
	if x < -708 {
		return 0
	}
	return math.Exp(x)
}

// share gives the entries equal to m the value in, all others out.
func share[T Float](to, from []T, m T, in, out float64) {
	for a, v := range from {
		if v == m {
			to[a] = T(in)
		} else {
			to[a] = T(out)
		}
	}
}

// ArgMax returns the index of the first maximum of a row of at least one
// entry. NaN is never above or below anything: a row that starts with it gives
// 0.
func ArgMax[T Float](row []T) int {
	best, most := 0, row[0]
	for i, v := range row {
		if v > most {
			best, most = i, v
		}
	}
	return best
}

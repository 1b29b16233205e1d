package simd

import "math"

// Add32 writes x + y to dst; all have len(dst) elements. dst may be an operand.
func Add32(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	if avx2 && len(dst) > 0 {
		add32(&dst[0], &x[0], &y[0], len(dst))
		return
	}
	for i := range dst {
		dst[i] = x[i] + y[i]
	}
}

// Sub32 writes x - y to dst; all have len(dst) elements. dst may be an operand.
func Sub32(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	if avx2 && len(dst) > 0 {
		sub32(&dst[0], &x[0], &y[0], len(dst))
		return
	}
	for i := range dst {
		dst[i] = x[i] - y[i]
	}
}

// Mul32 writes x · y to dst; all have len(dst) elements. dst may be an operand.
func Mul32(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	if avx2 && len(dst) > 0 {
		mul32(&dst[0], &x[0], &y[0], len(dst))
		return
	}
	for i := range dst {
		dst[i] = x[i] * y[i]
	}
}

// Div32 writes x / y to dst; all have len(dst) elements. dst may be an operand.
func Div32(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	if avx2 && len(dst) > 0 {
		div32(&dst[0], &x[0], &y[0], len(dst))
		return
	}
	for i := range dst {
		dst[i] = x[i] / y[i]
	}
}

// Scale32 writes c·x, to dst, which has as many elements as x.
func Scale32(dst, x []float32, c float32) {
	dst = dst[:len(x)]
	if avx2 && len(x) > 0 {
		scale32(&dst[0], &x[0], len(x), c, 0)
		return
	}
	for i, v := range x {
		dst[i] = c * v
	}
}

// Affine32 writes c·x + d, the product rounded, to dst, which has as many elements as x.
func Affine32(dst, x []float32, c, d float32) {
	dst = dst[:len(x)]
	if avx2 && len(x) > 0 {
		affine32(&dst[0], &x[0], len(x), c, d)
		return
	}
	for i, v := range x {
		dst[i] = float32(c*v) + d
	}
}

// AtLeast32 writes max(x, c), NaN where x is, to dst, which has as many elements as x.
func AtLeast32(dst, x []float32, c float32) {
	dst = dst[:len(x)]
	if avx2 && len(x) > 0 {
		atLeast32(&dst[0], &x[0], len(x), c, 0)
		return
	}
	for i, v := range x {
		dst[i] = max(v, c)
	}
}

// Abs32 writes |x|.
func Abs32(dst, x []float32) {
	dst = dst[:len(x)]
	if avx2 && len(x) > 0 {
		abs32(&dst[0], &x[0], len(x), 0, 0)
		return
	}
	for i, v := range x {
		dst[i] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
	}
}

// Fill32 sets every element to c.
func Fill32(dst []float32, c float32) {
	if avx2 && len(dst) > 0 {
		fill32(&dst[0], len(dst), c)
		return
	}
	for i := range dst {
		dst[i] = c
	}
}

// Across32 fills row i of dst, [len(x)×k], with x_i.
func Across32(dst, x []float32, k int) {
	dst = dst[:len(x)*k]
	if avx2 && len(dst) > 0 {
		across32(&dst[0], &x[0], len(x), k)
		return
	}
	for i, v := range x {
		Fill32(dst[i*k:(i+1)*k], v)
	}
}

// RowSums32 writes the sum of each row of x, [len(dst)×k].
func RowSums32(dst, x []float32, k int) {
	x = x[:len(dst)*k]
	if avx2 && len(x) > 0 {
		rowSums32(&dst[0], &x[0], len(dst), k)
		return
	}
	for i := range dst {
		var s float32
		for _, v := range x[i*k : (i+1)*k] {
			s += v
		}
		dst[i] = s
	}
}

// Sum32 returns the sum of x, added in float64.
func Sum32(x []float32) float64 {
	if avx2 && len(x) > 0 {
		return sum32(&x[0], len(x))
	}
	var s float64
	for _, v := range x {
		s += float64(v)
	}
	return s
}

// Finite32 reports whether no element is NaN or infinite.
func Finite32(x []float32) bool {
	if avx2 && len(x) > 0 {
		return finite32(&x[0], len(x))
	}
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// Repeat32 writes to dst the rows of k elements that come of repeating each row of
// x s times, from row number from of these on.
func Repeat32(dst, x []float32, k, s, from int) {
	rows := len(dst) / k
	if rows == 0 {
		return
	}
	x = x[from/s*k : ((from+rows-1)/s+1)*k]
	if avx2 {
		repeat32(&dst[0], &x[0], rows, k, s, s-from%s)
		return
	}
	for i := range rows {
		at := ((from+i)/s - from/s) * k
		copy(dst[i*k:(i+1)*k], x[at:])
	}
}

// AddRows32 adds each of the rows of x, of len(dst) elements, to dst, in order.
func AddRows32(dst, x []float32) {
	if len(dst) == 0 || len(x) < len(dst) {
		return
	}
	if avx2 {
		sumRows32(&dst[0], &x[0], len(x)/len(dst), len(dst))
		return
	}
	for ; len(x) >= len(dst); x = x[len(dst):] {
		for j := range dst {
			dst[j] += x[j]
		}
	}
}

// Narrow32 rounds x to float32.
func Narrow32(dst []float32, x []float64) {
	dst = dst[:len(x)]
	n := 0
	if avx2 && len(x) >= 8 {
		n = len(x) &^ 7
		narrow32(&dst[0], &x[0], n)
	}
	for i := n; i < len(x); i++ {
		dst[i] = float32(x[i])
	}
}

package simd

import (
	"math"
	"math/bits"
)

// Add writes x + y to dst; all have len(dst) elements. dst may be an operand.
func Add[T Float](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if vector(kAdd, dst) {
		if level[kAdd] >= avx512 {
			add32x16(at(dst), at(x), at(y), len(dst))
		} else {
			add32(at(dst), at(x), at(y), len(dst))
		}
		return
	}
	for i := range dst {
		dst[i] = x[i] + y[i]
	}
}

// Sub writes x − y to dst; all have len(dst) elements. dst may be an operand.
func Sub[T Float](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if vector(kSub, dst) {
		if level[kSub] >= avx512 {
			sub32x16(at(dst), at(x), at(y), len(dst))
		} else {
			sub32(at(dst), at(x), at(y), len(dst))
		}
		return
	}
	for i := range dst {
		dst[i] = x[i] - y[i]
	}
}

// Mul writes x · y to dst; all have len(dst) elements. dst may be an operand.
func Mul[T Float](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if vector(kMul, dst) {
		if level[kMul] >= avx512 {
			mul32x16(at(dst), at(x), at(y), len(dst))
		} else {
			mul32(at(dst), at(x), at(y), len(dst))
		}
		return
	}
	for i := range dst {
		dst[i] = x[i] * y[i]
	}
}

// Div writes x / y to dst; all have len(dst) elements. dst may be an operand.
func Div[T Float](dst, x, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if vector(kDiv, dst) {
		if level[kDiv] >= avx512 {
			div32x16(at(dst), at(x), at(y), len(dst))
		} else {
			div32(at(dst), at(x), at(y), len(dst))
		}
		return
	}
	for i := range dst {
		dst[i] = x[i] / y[i]
	}
}

// Affine writes c·x + d, the product rounded, to dst, which has as many elements as
// x. Where d is 0 nothing is added, which keeps −0.
func Affine[T Float](dst, x []T, c, d T) {
	dst = dst[:len(x)]
	switch {
	case vector(kAffine, x) && d == 0 && level[kAffine] >= avx512:
		scale32x16(at(dst), at(x), len(x), float32(c), 0)
	case vector(kAffine, x) && d == 0:
		scale32(at(dst), at(x), len(x), float32(c), 0)
	case vector(kAffine, x):
		affine32(at(dst), at(x), len(x), float32(c), float32(d))
	case d == 0:
		for i, v := range x {
			dst[i] = c * v
		}
	default:
		for i, v := range x {
			dst[i] = T(c*v) + d
		}
	}
}

// AtLeast writes max(x, c), NaN where x is, to dst, which has as many elements as x.
func AtLeast[T Float](dst, x []T, c T) {
	dst = dst[:len(x)]
	if vector(kAtLeast, x) {
		if level[kAtLeast] >= avx512 {
			atLeast32x16(at(dst), at(x), len(x), float32(c), 0)
		} else {
			atLeast32(at(dst), at(x), len(x), float32(c), 0)
		}
		return
	}
	for i, v := range x {
		dst[i] = max(v, c)
	}
}

// Above writes 1 where x > c, 0 elsewhere, to dst, which has as many elements as x.
func Above[T Float](dst, x []T, c float64) {
	dst = dst[:len(x)]
	if vector(kAbove, x) {
		if level[kAbove] >= avx512 {
			above32x16(at(dst), at(x), len(x), floor32(c), 1)
		} else {
			above32(at(dst), at(x), len(x), floor32(c), 1)
		}
		return
	}
	for i, v := range x {
		dst[i] = 0
		if float64(v) > c {
			dst[i] = 1
		}
	}
}

// Sign writes 1 where x > 0, −1 where x < 0, and x where it is 0 or NaN, to dst, which has as many elements as x.
func Sign[T Float](dst, x []T) {
	dst = dst[:len(x)]
	if vector(kSign, x) {
		sign32(at(dst), at(x), len(x), 1, float32(math.Copysign(0, -1)))
		return
	}
	for i, v := range x {
		if dst[i] = v; v == v && v != 0 {
			dst[i] = T(math.Copysign(1, float64(v)))
		}
	}
}

// floor32 is the largest float32 that is at most c: a float32 is above both or neither.
func floor32(c float64) float32 {
	f := float32(c)
	if float64(f) > c {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// Abs writes |x|.
func Abs[T Float](dst, x []T) {
	dst = dst[:len(x)]
	if vector(kAbs, x) {
		if level[kAbs] >= avx512 {
			abs32x16(at(dst), at(x), len(x), 0, 0)
		} else {
			abs32(at(dst), at(x), len(x), 0, 0)
		}
		return
	}
	for i, v := range x {
		dst[i] = T(math.Abs(float64(v)))
	}
}

// Exp32 writes eˣ to dst, which may be x itself; dst has at least len(x)
// elements. The error is below 1.5 units in the last place, e⁰ is exactly 1,
// results below √2·2⁻¹²⁶ are 0, of which many processors are faster than of
// subnormal numbers, −Inf gives 0, NaN stays NaN.
func Exp32(dst, x []float32) {
	dst = dst[:len(x)]
	if vector(kExp, x) {
		if level[kExp] >= avx512 {
			exp32x16(at(dst), at(x), len(x), 0, 0)
		} else {
			exp32(at(dst), at(x), len(x), 0, 0)
		}
		return
	}
	for i, v := range x {
		dst[i] = exp(v)
	}
}

// exp is eˣ, 0 where the vector kernels' 2ⁿ with n = round(x·log₂e) is at most 2⁻¹²⁶.
func exp(x float32) float32 {
	if float32(x*math.Log2E) <= -125.5 {
		return 0
	}
	return float32(math.Exp(float64(x)))
}

// Fill sets every element to c.
func Fill[T Float](dst []T, c T) {
	if vector(kAcross, dst) {
		v := float32(c)
		across32(at(dst), &v, 1, len(dst))
		return
	}
	for i := range dst {
		dst[i] = c
	}
}

// Across fills row i of dst, [len(x)×k], with x_i.
func Across[T Float](dst, x []T, k int) {
	dst = dst[:len(x)*k]
	if vector(kAcross, dst) {
		across32(at(dst), at(x), len(x), k)
		return
	}
	for i, v := range x {
		Fill(dst[i*k:(i+1)*k], v)
	}
}

// RowSums writes the sum of each row of x, [len(dst)×k].
func RowSums[T Float](dst, x []T, k int) {
	x = x[:len(dst)*k]
	if vector(kRowSums, x) {
		rowSums32(at(dst), at(x), len(dst), k)
		return
	}
	for i := range dst {
		var s T
		for _, v := range x[i*k : (i+1)*k] {
			s += v
		}
		dst[i] = s
	}
}

// Sum returns the sum of x, added in float64 whatever T is: over a batch it is then
// exact to the last place of float32.
func Sum[T Float](x []T) float64 {
	if vector(kSum, x) {
		return sum32(at(x), len(x))
	}
	var s float64
	for _, v := range x {
		s += float64(v)
	}
	return s
}

// NonFinite returns the index of the first element that is NaN or infinite, −1 if
// there is none.
func NonFinite[T Float](x []T) int {
	if vector(kFinite, x) && finite32(at(x), len(x)) {
		return -1
	}
	for i, v := range x {
		if v-v != 0 {
			return i
		}
	}
	return -1
}

// Repeat writes to dst the rows of k elements that come of repeating each row of x
// s times, from row number from of these on.
func Repeat[T Float](dst, x []T, k, s, from int) {
	rows := len(dst) / k
	switch {
	case k == 1:
		for i := 0; i < rows; {
			end := min(rows, i+s-(from+i)%s)
			Fill(dst[i:end], x[(from+i)/s])
			i = end
		}
	case vector(kRepeat, dst):
		x = x[from/s*k : ((from+rows-1)/s+1)*k]
		if k <= 16 && level[kRepeat] >= avx512 {
			repeat32x16(at(dst), at(x), rows, k, s, s-from%s)
		} else {
			repeat32(at(dst), at(x), rows, k, s, s-from%s)
		}
	default:
		for i := range rows {
			copy(dst[i*k:(i+1)*k], x[(from+i)/s*k:])
		}
	}
}

// AddRows adds each of the rows of x, of len(dst) elements, to dst, in order.
func AddRows[T Float](dst, x []T) {
	if vector(kAddRows, dst) && len(x) >= len(dst) {
		sumRows32(at(dst), at(x), len(x)/len(dst), len(dst))
		return
	}
	for ; len(dst) > 0 && len(x) >= len(dst); x = x[len(dst):] {
		for j := range dst {
			dst[j] += x[j]
		}
	}
}

// Narrow32 rounds x to float32.
func Narrow32(dst []float32, x []float64) {
	dst = dst[:len(x)]
	n := 0
	if has(kNarrow) && len(x) >= 8 {
		n = len(x) &^ 7
		narrow32(&dst[0], &x[0], n)
	}
	for i := n; i < len(x); i++ {
		dst[i] = float32(x[i])
	}
}

// Bytes32 writes x·c, computed in float64 and rounded to float32: the same bits on either path.
func Bytes32(dst []float32, x []uint8, c float64) {
	dst = dst[:len(x)]
	n := 0
	if has(kBytes) && len(x) >= 8 {
		n = len(x) &^ 7
		bytes32(&dst[0], &x[0], n, c)
	}
	for i := n; i < len(x); i++ {
		dst[i] = float32(float64(x[i]) * c)
	}
}

// Places writes the places of the bits that are set to at, ascending, and returns how many they are. It may write
// beyond them.
func Places(at []int32, set []uint8) (n int) {
	first := 0
	if has(kPlaces) && len(set) > 1 && len(at) >= 8*(len(set)-1) {
		first = len(set) - 1 // whose eight there may be no room for
		n = places32(&at[0], &set[0], first, &lanesOf)
	}
	for i, b := range set[first:] {
		for ; b != 0; b &= b - 1 {
			at[n] = int32(8*(first+i) + bits.TrailingZeros8(b))
			n++
		}
	}
	return n
}

// Bytes64 writes x/c: the same bits on either path.
func Bytes64(dst []float64, x []uint8, c float64) {
	dst = dst[:len(x)]
	n := 0
	if has(kBytes) && len(x) >= 8 {
		n = len(x) &^ 7
		bytes64(&dst[0], &x[0], n, c)
	}
	for i := n; i < len(x); i++ {
		dst[i] = float64(x[i]) / c
	}
}

package simd

import "math"

// Log1p writes log(1 + x) to dst, which may be x, for x > −1: the error is below 2 units in the last place.
// Elsewhere it is math.Log1p.
func Log1p(dst, x []float64) {
	dst = dst[:len(x)]
	const block = 64
	if !has(kLog1p) || len(x) < 4 {
		for i, v := range x {
			dst[i] = math.Log1p(v)
		}
		return
	}
	var from, to [block]float64
	for i := 0; i < len(x); i += block {
		n := copy(from[:], x[i:])
		for j := n; j%4 != 0; j++ {
			from[j] = 0
		}
		log1p64(&to[0], &from[0], (n+3)&^3)
		for j, v := range from[:n] {
			if !(v > -1 && v < 0x1p1000) {
				to[j] = math.Log1p(v)
			}
		}
		copy(dst[i:], to[:n])
	}
}

package propensity

import (
	"math"
	"math/rand/v2"
)

// Draw draws an action with probabilities proportional to pi, which sum to 1 up to
// the error of the quadrature. An action of probability 0 is never drawn.
func Draw(pi []float64, r *rand.Rand) int {
	var sum float64
	for _, p := range pi {
		sum += p
	}
	u := r.Float64() * sum
	last := 0
	for a, p := range pi {
		if p == 0 {
			continue
		}
		if last = a; u < p {
			break
		}
		u -= p
	}
	return last
}

// Gauss fills dst with independent standard normal values, the noise of At.
func Gauss(r *rand.Rand, dst []float64) {
	for i := range dst {
		dst[i] = r.NormFloat64()
	}
}

// Cumulate writes the running sums Σ_{b≤a} exp(s_b − m) to dst, where m is the largest score, which it returns.
// With a draw u, uniform in [0, dst's last), the first a with dst[a] > u is drawn from softmax. A score of −Inf takes
// no part. The largest is not finite if none is, or one is NaN or +Inf, and there are no sums then. It takes half as
// long as math.Exp for each, and is as exact: with x = (64j + i) ln 2/64 + r, exp(x) = 2^j 2^(i/64) exp(r), the last by
// its series to r⁵.
func Cumulate(dst, scores []float64) (m float64) {
	m = math.Inf(-1)
	for _, s := range scores {
		if !(s <= m) {
			if m = s; s-s != 0 {
				return m
			}
		}
	}
	const round, high, low = 0x1.8p52, 0x1.62e42fefap-7, 0x1.cf79abc9e3b3ap-46 // of ln 2/64
	dst, sum := dst[:len(scores)], 0.
	for a, s := range scores {
		if x := s - m; x > -700 {
			n := x*(64/math.Ln2) + round
			at := math.Float64bits(n) // whose last bits are 64j + i
			n -= round
			r := x - n*high - n*low
			root := math.Float64frombits(math.Float64bits(roots[at&63]) + at>>6<<52)
			sum += root + root*(r+r*r*(1./2+r*(1./6))+r*r*r*r*(1./24+r*(1./120)))
		}
		dst[a] = sum
	}
	return m
}

// roots are 2^(i/64).
var roots = func() (t [64]float64) {
	for i := range t {
		t[i] = math.Exp2(float64(i) / 64)
	}
	return t
}()

package propensity

import "math/rand/v2"

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

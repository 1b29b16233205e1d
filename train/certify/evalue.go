package certify

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"opl/objectives/weights"
)

// gridSize is the number of values of the geometric grid of ℓ.
const gridSize = 8

// oneLook returns the values of ℓ for n clusters and the logarithms of their weights: 0.15 of the weight on
// 1/√n and 0.45 on 4/√n, for at variance V of X the best ℓ is √(2 log(1/(weight·δ))/nV), some
// 4/√(nV); the rest over a geometric grid from 0.3/√n to most.
func oneLook(n int, most float64) (ell, logWeight []float64) {
	root := 1 / math.Sqrt(float64(n))
	low := min(0.3*root, most/10)
	ell, logWeight = []float64{min(root, most), min(4*root, most)}, []float64{math.Log(0.15), math.Log(0.45)}
	for g := range gridSize {
		ell = append(ell, low*math.Pow(most/low, float64(g)/(gridSize-1)))
		logWeight = append(logWeight, math.Log(0.4/gridSize))
	}
	return ell, logWeight
}

// steps is the number of values of ℓ of an e-value that may be looked at at any time: the
// least is 2⁻²⁰ of the largest, as is best for n rows with n·mean X² near 10¹².
const steps = 21

// anyTime returns values of ℓ and the logarithms of their weights that serve every n and
// depend on none: ℓ_j = most·2^(−j), w_j ∝ 1/(j+1), j = 0…20. Weights ∝ 1/(j+1)², whose sum
// would converge without an end, guarantee less from a few hundred rows on, and a finer
// grid no more.
func anyTime(most float64) (ell, logWeight []float64) {
	var sum float64
	for j := range steps {
		w := 1 / float64(j+1)
		sum += w
		ell, logWeight = append(ell, math.Ldexp(most, -j)), append(logWeight, math.Log(w))
	}
	for j := range logWeight {
		logWeight[j] -= math.Log(sum)
	}
	return ell, logWeight
}

// mixture is an e-value as a function of what it is about, mixed over ℓ and kinds:
//
//	log E(R) = log Σ_g w_g exp(S_g − n log(1 − ℓ_g R)) − KL
type mixture struct {
	n         float64
	ell       []float64
	logWeight []float64
	sum       []float64 // S
	kl        float64
}

// log is log E(R).
func (m mixture) log(r float64) float64 { return floats.LogSumExp(m.parts(r)) - m.kl }

// parts are the logarithms of w_g exp(S_g − n log(1 − ℓ_g R)).
func (m mixture) parts(r float64) []float64 {
	xs := make([]float64, len(m.ell))
	for g, l := range m.ell {
		xs[g] = m.logWeight[g] + m.sum[g] - m.n*math.Log1p(-l*r)
	}
	return xs
}

// upper is the largest R in [low, high] with E(R) ≤ 1/δ: E increases in R. It is low where
// E(low) is larger already, which for true propensities has probability δ.
func (m mixture) upper(low, high, delta float64) (r float64, absurd bool) {
	budget := -math.Log(delta)
	if m.log(high) <= budget {
		return high, false
	}
	if m.log(low) > budget {
		return low, true
	}
	_, r = Bisect(low, high, 100, func(r float64) bool { return m.log(r) <= budget })
	return r, false
}

// Bisect halves [low, high] so many times about the place up to which something holds, and returns the ends: the
// largest x that was found to hold, else low, and the least that was not, else high.
func Bisect(low, high float64, steps int, holds func(x float64) bool) (last, first float64) {
	for range steps {
		if mid := (low + high) / 2; holds(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low, high
}

// bound is the bound of a mixture, on a risk in [low, high].
func (m mixture) bound(name string, low, high, delta float64) (b Bound, absurd bool) {
	b = Bound{Name: name, Delta: delta}
	b.Risk, absurd = m.upper(low, high, delta)
	g := floats.MaxIdx(m.parts(b.Risk)) // which carries the most of the mixture
	b.Lambda = m.ell[g]
	b.Terms = []weights.Term{{Name: "risk", Value: -m.sum[g] / (m.ell[g] * m.n)},
		{Name: "kappa", Value: (m.kl - m.logWeight[g] - math.Log(delta)) / m.n}}
	return b, absurd
}

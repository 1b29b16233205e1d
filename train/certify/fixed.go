package certify

import (
	"errors"
	"fmt"
	"math"

	"opl/objectives/weights"
)

// Fixed bounds the risk of one policy that was chosen without the log:
// there is no posterior, so nothing is paid for it. It reads π(a_i|x_i),
// π₀(a_i|x_i) and c_i of n independent rows. Of δ the logging policy's value takes
// half and each of two bounds a quarter, for all Λ = 100 points of its grid:
//
//	ls         R ≤ −(exp(mean_i log(1 − ℓw_ic_i) − log(Λ/δ′)/n) − 1)/ℓ,   ℓ geometric from 0.1/√n to 1
//	bernstein  R ≤ −(X̄ − √(2V log(2Λ/δ′)/n) − 7M log(2Λ/δ′)/(3(n−1))),    M geometric from 1 to n
//
// with w = π/π₀, X_i = −c_i·min(w_i, M) in [0, M] and V their sample variance
// (Maurer & Pontil 2009, Theorem 4; clipping only lowers X̄). For ls,
// E ∏_i (1 − ℓw_ic_i) = (1 − ℓR)ⁿ and Markov's inequality. As log(1+x) ≥ x/(1+x/2)
// and log is concave, ls is never worse than implicit exploration or its own form
// that is linear in π, which have no share of δ for that reason.
func Fixed(pi, pi0, cost []float64, delta float64) (Bounds, error) {
	n := len(cost)
	c := Bounds{Delta: delta, N: n, Priors: 1}
	switch {
	case n < 2:
		return c, fmt.Errorf("certify: %d rows, want at least 2", n)
	case len(pi) != n || len(pi0) != n:
		return c, fmt.Errorf("certify: %d probabilities, %d propensities, %d costs", len(pi), len(pi0), n)
	case !(delta > 0 && delta < 1):
		return c, fmt.Errorf("certify: delta %v is outside (0, 1)", delta)
	}
	var paid []float64 // w_i of rows with w c ≠ 0 …
	var gain []float64 // … and their −c_i
	for i, q := range pi {
		switch {
		case !(q >= 0 && q <= 1+1e-9) || !(pi0[i] > 0 && pi0[i] <= 1):
			return c, fmt.Errorf("certify: row %d: probability %v, propensity %v", i, q, pi0[i])
		case !(cost[i] >= -1 && cost[i] <= 0):
			return c, fmt.Errorf("certify: row %d: cost %v is outside [-1, 0]", i, cost[i])
		case q*cost[i] != 0:
			w := q / pi0[i]
			if math.IsInf(w, 0) {
				return c, errors.New("certify: a weight π/π₀ is infinite")
			}
			paid, gain = append(paid, w), append(gain, -cost[i])
		}
	}
	share := delta / 4
	c.All = []Bound{smoothedFixed(paid, gain, n, share), bernstein(paid, gain, n, share)}
	if c.All[1].Risk < c.All[0].Risk {
		c.All[0], c.All[1] = c.All[1], c.All[0]
	}
	c.LoggingUpper = LoggingUpper(cost, delta/2)
	return c, nil
}

func smoothedFixed(ratios, gain []float64, n int, delta float64) Bound {
	best := Bound{Name: "ls", Risk: math.Inf(1), Delta: delta}
	kappa := math.Log(gridSize/delta) / float64(n)
	for g := range gridSize {
		l := math.Pow(0.1/math.Sqrt(float64(n)), 1-float64(g)/(gridSize-1))
		mean := 0.0
		for i, w := range ratios {
			mean += math.Log1p(l*w*gain[i]) / float64(n)
		}
		if r := -math.Expm1(mean-kappa) / l; r < best.Risk {
			best.Risk, best.Lambda = r, l
			best.Terms = []weights.Term{{Name: "risk", Value: -mean / l}, {Name: "kappa", Value: kappa}}
		}
	}
	return best
}

func bernstein(ratios, gain []float64, rows int, delta float64) Bound {
	best := Bound{Name: "bernstein", Risk: math.Inf(1), Delta: delta}
	n, budget := float64(rows), math.Log(2*gridSize/delta)
	for g := range gridSize {
		most := math.Pow(n, float64(g)/(gridSize-1))
		mean := 0.0
		for i, w := range ratios {
			mean += gain[i] * min(w, most) / n
		}
		square := (n - float64(len(ratios))) * mean * mean
		for i, w := range ratios {
			d := gain[i]*min(w, most) - mean
			square += d * d
		}
		v := square / (n - 1)
		slack := math.Sqrt(2*v*budget/n) + 7*most*budget/(3*(n-1))
		if r := slack - mean; r < best.Risk {
			best.Risk, best.Lambda = r, most
			best.Terms = []weights.Term{{Name: "risk", Value: -mean}, {Name: "variance", Value: v}, {Name: "slack", Value: slack}}
		}
	}
	return best
}

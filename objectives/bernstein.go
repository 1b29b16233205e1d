package objectives

import (
	"math"

	"opl/graph"
)

// gridSize is Λ, the number of values that a bound's ℓ is chosen from.
const gridSize = 100

// Sakhi2 is the Bernstein bound of Sakhi et al. (2022), Proposition 3, for
// [Clip] with τ > 0 and a policy that is averaged over a posterior:
//
//	R̂ + √((KL + log(4√n/δ))/(2n)) + (KL + log(2Λ/δ))/(nℓ)
//	  + ℓ·G(ℓ/τ)·mean_i Σ_a π₀π_Q/max(π₀,τ)²,   G(u) = (e^u − 1 − u)/u²
//
// with ℓ the best of Λ = 100 equally spaced values from √(2τ log(1/δ)/(5n)) to
// 2τ, constant for differentiation. It needs the propensities of all actions.
func Sakhi2() Objective {
	return func(p Problem) graph.Expr {
		w := p.W()
		if !(w.Tau > 0) {
			return p.Unfit("sakhi2 needs the weight clip with τ > 0, not %s", w)
		}
		pi0 := p.Pi0()
		h := w.H(pi0)
		risk := p.Mean("risk", p.Loss())
		v := p.Mean("variance", pi0.Mul(p.Pi()).Div(h).Div(h).SumOver(1))
		kl := p.KL()

		grid := spaced(math.Sqrt(2*w.Tau*math.Log(1/p.Delta)/(5*p.N)), 2*w.Tau)
		over, times := make([]float64, gridSize), make([]float64, gridSize)
		for i, l := range grid {
			over[i], times[i] = 1/l, l*bernstein(l/w.Tau)
		}
		best := p.Numbers("1/l", over).Mul(p.kappa(2 * gridSize)).
			Add(p.Numbers("l G(l/tau)", times).Mul(v)).Best()
		return risk.
			Add(kl.Plus(math.Log(4 * math.Sqrt(p.N) / p.Delta)).Scale(1 / (2 * p.N)).Sqrt()).
			Add(best)
	}
}

// bernstein is G(u) = (e^u − 1 − u)/u², by its series where the difference
// would cancel.
func bernstein(u float64) float64 {
	if math.Abs(u) > 0.3 {
		return (math.Expm1(u) - u) / (u * u)
	}
	g, term := 0.0, 0.5 // Σ u^k/(k+2)!
	for k := 3.0; k < 16; k++ {
		g += term
		term *= u / k
	}
	return g
}

// spaced returns gridSize equally spaced values from low to high.
func spaced(low, high float64) []float64 {
	grid := make([]float64, gridSize)
	for i := range grid {
		grid[i] = low + (high-low)*float64(i)/(gridSize-1)
	}
	return grid
}

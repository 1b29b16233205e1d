package objectives

import (
	"math"

	"opl/graph"
)

// London is the bound of London & Sandler (2019), Theorem 1, for [Clip] with
// τ > 0 and a policy that is averaged over a posterior:
//
//	R̂ + 2κ/τ + √(2(R̂ + 1/τ)κ/τ),   κ = (KL + log(2√n/δ))/n
//
// R̂ ≥ −1/τ, so the root is real. It needs the propensity of the logged action
// alone.
func London() Objective {
	return func(p Problem) graph.Expr {
		tau := p.W().Tau
		if !(tau > 0) {
			return p.Unfit("london needs the weight clip with τ > 0, not %s", p.W())
		}
		risk := p.Mean("risk", p.Loss())
		kappa := p.Term("kappa", p.kappa(2*math.Sqrt(p.N)))
		return risk.
			Add(kappa.Scale(2 / tau)).
			Add(risk.Plus(1 / tau).AtLeast(0).Mul(kappa).Scale(2 / tau).Sqrt())
	}
}

// kappa is (KL + log(events/δ))/n, ().
func (p Problem) kappa(events float64) graph.Expr {
	return p.KL().Plus(math.Log(events / p.Delta)).Scale(1 / p.N)
}

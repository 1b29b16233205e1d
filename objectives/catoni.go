package objectives

import (
	"math"

	"opl/graph"
)

// Sakhi1 is the Catoni bound of Sakhi et al. (2022), Proposition 1, for [Clip]
// with τ > 0 and a policy that is averaged over a posterior:
//
//	[1 − exp(−τℓR̂ − κ)] / (τ(e^ℓ − 1)),   κ = (KL + log(2√n/δ))/n
//
// minimized over ℓ > 0 as well: ℓ = softplus(α), so that e^ℓ − 1 = e^α, with α a
// parameter of the objective that starts at −4. It needs the propensity of the
// logged action alone.
func Sakhi1() Objective {
	return func(p Problem) graph.Expr {
		tau := p.W().Tau
		if !(tau > 0) {
			return p.Unfit("sakhi1 needs the weight clip with τ > 0, not %s", p.W())
		}
		alpha := p.Param("alpha", -4)
		l := p.Term("l", alpha.Softplus())
		risk := p.Mean("risk", p.Loss())
		kappa := p.Term("kappa", p.kappa(2*math.Sqrt(p.N)))
		u := risk.Mul(l).Scale(tau).Add(kappa) // () τℓR̂ + κ
		return u.Neg().Expm1().Neg().Div(alpha.Exp().Scale(tau))
	}
}

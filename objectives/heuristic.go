package objectives

import "opl/graph"

// Penalties are the λ's of [Heuristic]: of the squared distance, the variance
// and the bias. In the paper's experiments each is 1e-5 (section 5.3).
type Penalties struct{ Distance, Variance, Bias float64 }

// Heuristic is the paper's heuristic principle at a single policy π_θ,
//
//	R̂(π_θ) + λ₁‖θ − θ₀‖² + λ₂Ṽ + λ₃B̃
//
// where Ṽ and B̃ are V̄ₙ and Bₙ of [Theorem1] at π_θ, and θ₀ the prior's mean.
// It needs the propensities of all actions. Aouali et al. (2024), section 4.3.
func Heuristic(l Penalties) Objective {
	return func(p Problem) graph.Expr {
		w := p.W()
		loss := p.Loss()
		risk := p.Mean("risk", loss)
		v := p.Mean("variance", w.SecondMoment(p.Pi(), p.Pi0()).SumOver(1).Add(loss.Square()))
		b := p.Mean("bias", w.Bias(p.Pi(), p.Pi0()).SumOver(1))
		return p.withDistance(risk, l.Distance).
			Add(v.Scale(l.Variance)).
			Add(b.Scale(l.Bias))
	}
}

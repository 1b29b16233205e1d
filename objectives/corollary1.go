package objectives

import "opl/graph"

// Corollary1 is the bound of the paper's Corollary 1, for linear weights
// ŵ = π/h(π₀), h(p) ≥ p, and a π_Q that is a mixture of deterministic policies
// (gaussian, mixedlogit):
//
//	R̂ + √(KL₁/(2n)) + Bₙ + KL₂/(nλ) + (λ/2)V̄ₙ
//	KL₁ = KL(Q‖P) + log(4√n/δ),   KL₂ = KL(Q‖P) + log(4/δ)
//	V̄ₙ = mean_i [Σ_a π₀ π_Q/h(π₀)² + π_Q(a_i|x_i)/h(π₀(a_i|x_i))² c_i²]
//	Bₙ = 1 − mean_i Σ_a π₀ π_Q/h(π₀)
//
// Other weights and policies are an [*UnfitError]. It needs the propensities of
// all actions. Aouali et al. (2024), Corollary 1.
func Corollary1(lambda Lambda) Objective {
	return func(p Problem) graph.Expr {
		w := p.W()
		if !p.s.Policy.Mixture() {
			return p.Unfit("corollary1 needs a mixture of deterministic policies, such as gaussian, and policy %s "+
				"is none", p.s.Policy.Name())
		}
		if !w.Linear() {
			return p.Unfit("corollary1 needs a weight that is linear in π, such as clip, and %s is not", w.Name)
		}
		pi, pi0 := p.Pi(), p.Pi0()               // [R×K]
		h, ha := w.H(pi0), w.H(p.Pi0Logged())    // [R×K], [R]
		kept := pi.Mul(pi0.Div(h))               // [R×K] π₀ŵ; π₀/h first, which is at most 1
		loss := p.PiLogged().Div(ha).Mul(p.Cost) // [R] ŵ(x_i,a_i)c_i

		risk := p.Mean("risk", loss)
		v := p.Mean("variance", kept.Div(h).SumOver(1).Add(loss.Mul(p.Cost).Div(ha)))
		b := p.Term("bias", p.Mean("kept", kept.SumOver(1)).Neg().Plus(1))
		return bound(p, lambda, risk, b, v)
	}
}

package objectives

import "opl/graph"

// Theorem1 is the bound of the paper's Theorem 1 for any weight and any policy
// with a posterior, E over θ ~ Q:
//
//	E[R̂] + √(KL₁/(2n)) + Bₙ + KL₂/(nλ) + (λ/2)V̄ₙ
//	KL₁ = KL(Q‖P) + log(4√n/δ),   KL₂ = KL(Q‖P) + log(4/δ)
//	V̄ₙ = mean_i E[Σ_a π₀(a|x_i) ŵ(x_i,a)² + ŵ(x_i,a_i)² c_i²]
//	Bₙ = mean_i Σ_a E|π(a|x_i) − π₀(a|x_i) ŵ(x_i,a)|
//
// E is over the policy's noise draws; for mixtures of deterministic policies
// (gaussian, mixedlogit) it has a closed form, see [Problem.Expect], which for
// linear weights is Corollary 1. It needs the propensities of all actions.
// Aouali et al. (2024), Theorem 1.
func Theorem1(lambda Lambda) Objective {
	return func(p Problem) graph.Expr {
		w := p.W()
		pi, pi0 := p.Pi(), p.Pi0()               // [R×K]
		pia, pi0a := p.PiLogged(), p.Pi0Logged() // [R]
		// (ŵc)² and not ŵ²c²: it is 0 at c = 0 even where ŵ² overflows.
		square := func(pi, pi0 graph.Expr) graph.Expr { return w.Value(pi, pi0).Mul(p.Cost).Square() }

		risk := p.Mean("risk", p.Expect(w.Value, pia, pi0a).Mul(p.Cost))
		v := p.Mean("variance", p.Expect(w.SecondMoment, pi, pi0).SumOver(1).Add(p.Expect(square, pia, pi0a)))
		b := p.Mean("bias", p.Expect(w.Bias, pi, pi0).SumOver(1))
		return bound(p, lambda, risk, b, v)
	}
}

package objectives

import (
	"math"

	"opl/graph"
)

// Lambda chooses the λ of a PAC-Bayes bound, given KL₂ = KL(Q‖P) + log(4/δ) and
// V̄ₙ, scalars. The
// choice is constant for differentiation.
type Lambda func(p Problem, kl2, v graph.Expr) graph.Expr

// LambdaStar is λ* = √(2 KL₂/(n V̄ₙ)), which minimizes the sum of the two terms
// that λ is in. It depends on the data, so the bound's value at it is no
// certificate.
func LambdaStar(p Problem, kl2, v graph.Expr) graph.Expr {
	return kl2.Scale(2 / p.N).Div(v).Sqrt().StopGradient()
}

// LambdaAuthors is 2√(KL₂ V̄ₙ/n), which the authors' published code has where
// the paper says λ*. It depends on the data as well.
func LambdaAuthors(p Problem, kl2, v graph.Expr) graph.Expr {
	return kl2.Scale(1 / p.N).Mul(v).Sqrt().Scale(2).StopGradient()
}

// LambdaFixed is a number λ > 0 given before the data are seen: the bound holds.
func LambdaFixed(lambda float64) Lambda {
	return func(p Problem, _, _ graph.Expr) graph.Expr {
		if !(lambda > 0) || math.IsInf(lambda, 1) {
			return p.Unfit("lambda %v, want a positive number", lambda)
		}
		return p.Number("fixed lambda", lambda)
	}
}

// bound puts together what Theorem 1 and Corollary 1 share:
//
//	R̂ + √(KL₁/(2n)) + Bₙ + KL₂/(nλ) + (λ/2)V̄ₙ
//	KL₁ = KL + log(4√n/δ), KL₂ = KL + log(4/δ)
func bound(p Problem, lambda Lambda, risk, b, v graph.Expr) graph.Expr {
	kl1 := p.KL().Plus(math.Log(4 * math.Sqrt(p.N) / p.Delta))
	kl2 := p.KL().Plus(math.Log(4 / p.Delta))
	l := p.Term("lambda", lambda(p, kl2, v))
	return risk.
		Add(kl1.Scale(1 / (2 * p.N)).Sqrt()).
		Add(b).
		Add(kl2.Scale(1 / p.N).Div(l)).
		Add(l.Mul(v).Scale(0.5))
}

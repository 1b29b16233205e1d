package objectives

import (
	"math"

	"opl/graph"
)

// Implicit is implicit pessimism: the IX estimate of the risk and nothing else,
//
//	mean_i π(a_i|x_i)/(π₀(a_i|x_i) + γ)·c_i
//
// γ in [0, 1]. It brings its own weight, [IX], whatever the problem's. It needs
// the propensity of the logged action alone. Gabbianelli et al. (2023).
func Implicit(gamma float64) Objective {
	return func(p Problem) graph.Expr {
		return p.Mean("risk", GraphWeight{IX(gamma)}.Value(p.PiLogged(), p.Pi0Logged()).Mul(p.Cost))
	}
}

// IXBound is the one-sided bound behind implicit pessimism, for any policy that
// is averaged over a posterior:
//
//	ψ_ℓ(R̂_IX(γ=ℓ/2) + κ/ℓ),   κ = (KL + log(Λ/δ))/n,   ψ_ℓ(u) = (1 − e^(−ℓu))/ℓ
//
// with ℓ the best of Λ = 100 values spaced linearly from 1/√n to 1, constant for
// differentiation. It brings its own weight and needs the propensity of the
// logged action alone. Gabbianelli et al. (2023); with the posterior, Sakhi et
// al. (2024).
func IXBound() Objective {
	return func(p Problem) graph.Expr {
		l := p.Numbers("l", spaced(1/math.Sqrt(p.N), 1))
		// c/(π₀ + ℓ/2), [R×Λ]
		slope := p.acrossGrid(p.Cost).Div(p.acrossGrid(p.Pi0Logged()).Add(p.downRows(l.Scale(0.5))))
		return p.oneSided(l, p.Mean("risk", p.acrossGrid(p.PiLogged()).Mul(slope)))
	}
}

// LogSmoothing is the one-sided logarithmic-smoothing bound in its linear form,
// for any policy that is averaged over a posterior:
//
//	ψ_ℓ(mean_i π(a_i|x_i)·(−1/ℓ)log(1 − ℓc_i/π₀(a_i|x_i)) + κ/ℓ)
//
// with κ, ψ_ℓ and the choice of ℓ as in [IXBound]. It brings its own weight and
// needs the propensity of the logged action alone. Sakhi et al. (2024).
func LogSmoothing() Objective {
	return func(p Problem) graph.Expr {
		l := p.Numbers("l", spaced(1/math.Sqrt(p.N), 1))
		// (−1/ℓ)log(1 − ℓc/π₀), [R×Λ]
		rows := p.downRows(l)
		slope := p.acrossGrid(p.Cost.Div(p.Pi0Logged()).Neg()).Mul(rows).Log1p().Div(rows).Neg()
		return p.oneSided(l, p.Mean("risk", p.acrossGrid(p.PiLogged()).Mul(slope)))
	}
}

// acrossGrid and downRows bring rows [R] and grid values [Λ] to [R×Λ].
func (p Problem) acrossGrid(x graph.Expr) graph.Expr { return x.Across(gridSize) }
func (p Problem) downRows(x graph.Expr) graph.Expr   { return x.Down(p.b * p.draws) }

// oneSided is the best ψ_ℓ(risk_ℓ + κ/ℓ) of a grid of ℓ, [Λ] to ().
func (p Problem) oneSided(l, risk graph.Expr) graph.Expr {
	kappa := p.Term("kappa", p.kappa(gridSize))
	// 1 − e^(−(ℓ·risk + κ)), over ℓ
	return risk.Mul(l).Add(kappa).Neg().Expm1().Neg().Div(l).Best()
}

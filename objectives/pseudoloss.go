package objectives

import "opl/graph"

// PseudoLoss is the oracle-efficient pessimism of Wang et al. (2023),
//
//	R̂_IPS(π) + β·mean_i Σ_a π(a|x_i)/π₀(a|x_i)
//
// β ≥ 0. It brings its own weight, IPS, whatever the problem's. It needs the
// propensities of all actions.
func PseudoLoss(beta float64) Objective {
	return func(p Problem) graph.Expr {
		risk := p.Mean("risk", GraphWeight{IPS()}.Value(p.PiLogged(), p.Pi0Logged()).Mul(p.Cost))
		loss := p.Mean("pseudo-loss", p.Pi().Div(p.Pi0()).SumOver(1))
		return risk.Add(loss.Scale(beta))
	}
}

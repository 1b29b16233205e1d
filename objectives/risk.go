package objectives

import "opl/graph"

// Risk is the estimated risk and nothing else, R̂ = mean_i ŵ(x_i,a_i)c_i.
// It needs the propensity of the logged action alone.
func Risk() Objective {
	return func(p Problem) graph.Expr { return p.Mean("risk", p.Loss()) }
}

// L2 is the heuristic of London & Sandler (2019),
//
//	R̂(π_θ) + λ‖θ − θ₀‖²
//
// with θ₀ the prior's mean, λ ≥ 0. It needs the propensity of the logged action
// alone.
func L2(lambda float64) Objective {
	return func(p Problem) graph.Expr {
		return p.withDistance(p.Mean("risk", p.Loss()), lambda)
	}
}

// CrossEntropy is −mean_i log π(a_i|x_i): supervised learning of the action, by
// which the logging policy of an experiment is fitted. It reads no propensity
// and no cost.
func CrossEntropy() Objective {
	return func(p Problem) graph.Expr {
		return p.Mean("cross-entropy", p.LogPiLogged().Neg())
	}
}

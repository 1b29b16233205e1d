package objectives

import "opl/graph"

// WeightedLikelihood weights the log-likelihood of the logged actions by their rewards and by
// what a weight that is linear in π, ŵ = π/h(π₀), makes of the propensity,
//
//	−mean_i r_i/h(π₀(a_i|x_i))·log π(a_i|x_i) + λ‖θ − θ₀‖²
//
// r = −c, λ ≥ 0. As π ≥ q(1 + log(π/q)) for any q, it bounds the estimate of the reward by ŵ from below,
// but for constants, around a policy with π(a_i|x_i) the same at all rows. Unlike that estimate it is concave
// in the scores. So it finds good policies of many actions, where the gradient of π is nearly 0 for almost
// all actions. It needs the propensity of the logged action alone. Weights that are not linear are an
// [*UnfitError]. Aouali & Sakhi (2025).
func WeightedLikelihood(lambda float64) Objective {
	return func(p Problem) graph.Expr {
		w := p.W()
		if !w.Linear() {
			return p.Unfit("the weighted likelihood needs a weight that is linear in π, such as clip, and %s is not",
				w.Name)
		}
		if p.draws > 1 {
			return p.Unfit("the weighted likelihood needs a policy that is not given by draws, and policy %s is",
				p.s.Policy.Name())
		}
		gain := p.Cost.Neg().Div(w.H(p.Pi0Logged())) // [R] r/h(π₀)
		return p.withDistance(p.Mean("weighted likelihood", gain.Mul(p.LogPiLogged())).Neg(), lambda)
	}
}

package objectives

import "opl/graph"

// Logistic fits a model of the reward, r̂(x, a) = σ(s(x, a)) with the policy's scores s, by
// maximum likelihood, with a penalty:
//
//	mean_i [log(1 + exp s_i) − r_i s_i] + λ‖θ − θ₀‖²
//
// s_i = s(x_i, a_i), r = −c in [0, 1], λ ≥ 0. The policy of the largest r̂ is that of the direct method. It
// makes no promise about the risk, and reads no propensity.
func Logistic(lambda float64) Objective {
	return func(p Problem) graph.Expr {
		if p.draws > 1 || p.s.Policy.HasPosterior() {
			return p.Unfit("a model of the reward needs the scores of a point policy, and policy %s has none",
				p.s.Policy.Name())
		}
		s := p.ScoreLogged()
		return p.withDistance(p.Mean("likelihood", s.Softplus().Sub(p.Cost.Neg().Mul(s))), lambda)
	}
}

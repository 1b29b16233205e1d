package objectives

import "opl/graph"

// Likelihood reads the policy as a model of the reward, P(r = 1|x, a) = π(a|x),
// and fits it by maximum likelihood, with a penalty:
//
//	−mean_i [r_i log π(a_i|x_i) + (1 − r_i) log(1 − π(a_i|x_i))] + λ‖θ − θ₀‖²
//
// r = −c, λ ≥ 0. It is for problems in which one action of a context is the right
// one, where it uses the rows without reward as well as those with; it makes no
// promise about the risk, and reads no propensity. 1 − π is at least 1e-6. The
// policy is softmax, or any that is not given by draws.
func Likelihood(lambda float64) Objective {
	return func(p Problem) graph.Expr {
		if p.draws > 1 {
			return p.Unfit("likelihood needs a policy that is not given by draws, and policy %s is", p.s.Policy.Name())
		}
		r, log := p.Cost.Neg(), p.LogPiLogged() // a softmax then needs no other action's π
		hit := r.Mul(log)
		miss := r.Neg().Plus(1).Mul(log.Exp().AtMost(1 - 1e-6).Neg().Log1p())
		return p.withDistance(p.Mean("likelihood", hit.Add(miss)).Neg(), lambda)
	}
}

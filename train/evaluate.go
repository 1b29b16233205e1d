package train

import (
	"math"

	"opl/policies"
	"opl/train/bandit"
)

// Reward is what a policy earns on a labelled test set: the reward of an action
// is 1 if it is the label, else 0.
type Reward struct {
	// Mean is the expected reward of π_Q, or of π_θ for a point policy:
	// mean_i π(y_i|x_i). SE is the standard error that sampling π_Q leaves, 0
	// where it is exact.
	Mean, SE float64
	// AtMean is the reward of the single policy at θ = μ.
	AtMean float64
	// Sampled is the reward of one action drawn for each example (Algorithm 2).
	Sampled float64
}

// evalDraws is the number of fixed draws that stand for a sampled π_Q.
const evalDraws = 1024

// Evaluate computes the reward of a learned policy on labelled examples, in
// float64. Propensities are exact where the family has an exact form. Otherwise
// π_Q is the mean over 1,024 fixed draws an example, the same in every call;
// examples share a number of sets of draws that depends on K alone.
// The seed is that of Reward.Sampled.
func Evaluate(pol policies.Policy, q policies.Posterior, x bandit.Contexts, labels []uint8, seed uint64) Reward {
	n, k := x.Len(), q.Actions
	draws, sets := 1, 1
	var eps []float64
	if pol.Noisy() {
		draws = evalDraws
		sets = max(1, (1<<20)/(draws*k))
		eps = make([]float64, sets*draws*k)
		r := Stream(0, "evaluation")
		for i := range eps {
			eps[i] = r.NormFloat64()
		}
	}
	var (
		rw      Reward
		action  = Stream(seed, "evaluation actions")
		pi      = make([]float64, k)
		mean    = make([]float64, k)
		perDraw = make([]float64, sets*draws) // Σ_i π_s(y_i|x_i) of the examples of a set
	)
	bandit.Scores(x, nil, q.Mu, k, func(i int, scores []float64) {
		y := int(labels[i])
		pol.AtMean(pi, scores)
		rw.AtMean += pi[y]

		scale := q.Sigma * x.Norm(i)
		clear(mean)
		set := i % sets
		for s := range draws {
			j := set*draws + s
			var e []float64
			if eps != nil {
				e = eps[j*k : j*k+k]
			}
			pol.Given(pi, scores, scale, e)
			for a, p := range pi {
				mean[a] += p
			}
			perDraw[j] += pi[y]
		}
		for a := range mean {
			mean[a] /= float64(draws)
		}
		rw.Mean += mean[y]
		if bandit.Draw(mean, action) == y {
			rw.Sampled++
		}
	})
	// Draws of different sets, and within a set, are independent.
	var v float64
	for set := range sets {
		v += float64(draws) * variance(perDraw[set*draws:(set+1)*draws])
	}
	total := float64(n)
	rw.Mean /= total
	rw.AtMean /= total
	rw.Sampled /= total
	rw.SE = math.Sqrt(v) / (total * float64(draws))
	return rw
}

// variance is the sample variance, 0 for fewer than two values.
func variance(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	var m, s float64
	for _, x := range xs {
		m += x
	}
	m /= float64(len(xs))
	for _, x := range xs {
		s += (x - m) * (x - m)
	}
	return s / float64(len(xs)-1)
}

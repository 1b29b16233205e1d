package train

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"opl/policies"
	"opl/policies/propensity"
	"opl/train/logs"
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
func Evaluate(pol policies.Policy, q policies.Posterior, x logs.Contexts, labels []uint8, seed uint64) Reward {
	var (
		rw      Reward
		action  = Stream(seed, "evaluation actions")
		single  = make([]float64, q.Actions)
		perDraw [][]float64 // Σ_i π_s(y_i|x_i) by set and draw
	)
	propensities(pol, q, x, func(i int, scores, mean []float64, set int, drawn func(a int) []float64) {
		y := int(labels[i])
		pol.AtMean(single, scores)
		rw.AtMean += single[y]
		rw.Mean += mean[y]
		if propensity.Draw(mean, action) == y {
			rw.Sampled++
		}
		pi := drawn(y)
		for len(perDraw) <= set {
			perDraw = append(perDraw, make([]float64, len(pi)))
		}
		floats.Add(perDraw[set], pi)
	})
	// Draws of different sets, and within a set, are independent.
	var v float64
	for _, sums := range perDraw {
		if len(sums) > 1 {
			v += float64(len(sums)) * stat.Variance(sums, nil)
		}
	}
	n := float64(x.Len())
	rw.Mean /= n
	rw.AtMean /= n
	rw.Sampled /= n
	rw.SE = math.Sqrt(v) / n
	if len(perDraw) > 0 {
		rw.SE /= float64(len(perDraw[0]))
	}
	return rw
}

// propensities hands to use, for each context, its scores, π_Q, the set of draws
// that it was computed with, and the probability of an action by draw, in slices that are used
// again.
func propensities(pol policies.Policy, q policies.Posterior, x logs.Contexts,
	use func(i int, scores, mean []float64, set int, drawn func(a int) []float64)) {
	k, draws, sets := q.Actions, 1, 1
	var eps []float64
	if pol.Noisy() {
		draws = evalDraws
		sets = max(1, (1<<20)/(draws*k))
		eps = make([]float64, sets*draws*k)
		propensity.Gauss(Stream(0, "evaluation"), eps)
	}
	var (
		mean, one    = make([]float64, k), make([]float64, draws)
		all          = make([]float64, draws*k) // by draw
		shared, fast = pol.(interface {
			AtExps(weight, share, scores, exps []float64)
		})
		exps, of      []float64 // exp(scale·eps) by action, and the scale that they are of, by set
		weight, share = make([]float64, k), make([]float64, draws)
		largest       = 1. // |eps|
	)
	for _, e := range eps {
		largest = max(largest, math.Abs(e))
	}
	if fast = fast && eps != nil; fast {
		exps, of = make([]float64, len(eps)), slices.Repeat([]float64{-1}, sets)
	}
	logs.Scores(x, nil, q.Mu, k, func(i int, scores []float64) {
		scale, set := q.Sigma*x.Norm(i), i%sets
		if fast && scale*largest <= 300 && !slices.ContainsFunc(scores, notFinite) {
			from, exps := eps[set*draws*k:(set+1)*draws*k], exps[set*draws*k:(set+1)*draws*k]
			if of[set] != scale { // contexts of one norm share them
				for j, e := range from {
					exps[j%k*draws+j/k] = math.Exp(scale * e)
				}
				of[set] = scale
			}
			shared.AtExps(weight, share, scores, exps)
			for a, w := range weight {
				mean[a] = w * floats.Dot(exps[a*draws:(a+1)*draws], share) / float64(draws)
			}
			use(i, scores, mean, set, func(a int) []float64 {
				floats.MulTo(one, exps[a*draws:(a+1)*draws], share)
				floats.Scale(weight[a], one)
				return one
			})
			return
		}
		clear(mean)
		for s := range draws {
			pi := all[s*k : s*k+k]
			var e []float64
			if j := set*draws + s; eps != nil {
				e = eps[j*k : j*k+k]
			}
			pol.At(pi, scores, scale, e)
			floats.Add(mean, pi)
		}
		for a := range mean {
			mean[a] /= float64(draws)
		}
		use(i, scores, mean, set, func(a int) []float64 {
			for s := range one {
				one[s] = all[s*k+a]
			}
			return one
		})
	})
}

func notFinite(x float64) bool { return x-x != 0 }

package learn

import (
	"fmt"
	"math"
	"slices"

	"opl/policies"
	"opl/train"
	"opl/train/logs"
)

// sampled is the number of rows that the effective sample size is watched on.
const sampled = 20_000

// Estimate is what rows of a log say of a policy by the weights w = π/π₀ of their
// actions. If the policy was learned from these rows it flatters.
type Estimate struct {
	Rows      int     `json:"rows"`
	Reward    float64 `json:"reward"`    // Σ w r/Σ w, in [0, 1]
	SE        float64 `json:"se"`        // √Σ w²(r − reward)²/Σ w
	Effective float64 `json:"effective"` // rows: (Σ w)²/Σ w²
}

// judge estimates the reward of π_Q on rows of a log. The policy has an exact form.
func judge(pol policies.Policy, q policies.Posterior, log *logs.Log, rows []int) Estimate {
	contexts := make([]int, len(rows))
	for i, r := range rows {
		contexts[i] = log.Context(r)
	}
	pi, weight := make([]float64, q.Actions), make([]float64, len(rows))
	var sum, square, reward float64
	logs.Scores(log.X, contexts, q.Mu, q.Actions, func(i int, scores []float64) {
		pol.At(pi, scores, q.Sigma*log.X.Norm(contexts[i]), nil)
		w := pi[log.Action[rows[i]]] / log.Propensity[rows[i]]
		weight[i] = w
		sum, square, reward = sum+w, square+w*w, reward-w*log.Cost[rows[i]]
	})
	e := Estimate{Rows: len(rows)}
	if !(sum > 0) {
		return e
	}
	e.Reward, e.Effective = reward/sum, sum*sum/square
	for i, r := range rows {
		d := weight[i] * (-log.Cost[r] - e.Reward)
		e.SE += d * d
	}
	e.SE = math.Sqrt(e.SE) / sum
	return e
}

// watch follows a training: it keeps the curve, and stops when too few rows speak
// for the policy.
type watch struct {
	log     *logs.Log
	rows    []int   // a sample of those trained on
	scale   float64 // of the effective sample size of the sample to that of all
	min     float64 // effective rows
	curve   []CurvePoint
	last    *policies.Posterior // of the latest epoch with enough
	stopped string
}

func newWatch(log *logs.Log, rows []int, seed uint64, least float64) *watch {
	w := &watch{log: log, rows: rows, scale: 1, min: least}
	if h, ok := log.X.(*held); ok && h.data != nil {
		rough := *log
		rough.X = rounded{h}
		w.log = &rough
	}
	if len(rows) > sampled {
		some := train.Stream(seed, "effective sample size").Perm(len(rows))[:sampled]
		slices.Sort(some)
		w.rows = make([]int, sampled)
		for i, s := range some {
			w.rows[i] = rows[s]
		}
		w.scale = float64(len(rows)) / sampled
	}
	return w
}

// epoch is a train.Config.Epoch for a policy of an exact form.
func (w *watch) epoch(pol policies.Policy) func(train.Epoch) bool {
	return func(p train.Epoch) bool {
		ess := w.scale * judge(pol, p.Posterior, w.log, w.rows).Effective
		w.curve = append(w.curve, CurvePoint{Stage: p.Stage, Scale: p.Posterior.Prior.Scale, Epoch: p.Number,
			Objective: train.Number(p.Objective), Effective: ess, Terms: p.Terms, Reward: train.None()})
		if ess >= w.min {
			q := p.Posterior
			w.last = &q
			return true
		}
		w.stopped = fmt.Sprintf("after epoch %d the weights π/π₀ are worth %.1f rows, fewer than %v: the policy plays what the log hardly tried, and what the log says of it rests on a handful of rows", p.Number, ess, w.min)
		return false
	}
}

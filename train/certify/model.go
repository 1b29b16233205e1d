package certify

import (
	"math"
	"sync"

	"opl/graph/kernel"
	"opl/policies/features"
	"opl/policies/propensity"
	"opl/train/logs"
)

// Linear is a model of the reward that is linear in the features of an encoded log's
// contexts: θ [K×d] gives the scores φ(x)ᵀθ_a, and link turns them into r̂.
func Linear(name string, theta []float64, log *logs.Log, link func(dst, scores []float64)) *RewardModel {
	d, k := log.Dim(), log.K()
	type room struct{ phi, scores []float64 }
	rooms := sync.Pool{New: func() any { return &room{make([]float64, d), make([]float64, k)} }}
	return &RewardModel{Name: name, Predict: func(dst []float64, i int) {
		r := rooms.Get().(*room)
		log.X.Row64(log.Context(i), r.phi)
		for a := range r.scores {
			r.scores[a] = features.Dot(r.phi, theta[a*d:(a+1)*d])
		}
		link(dst, r.scores)
		rooms.Put(r)
	}}
}

// SoftmaxLink is r̂(x, ·) = softmax(scores), for problems in which one action of a context is
// the right one.
func SoftmaxLink(dst, scores []float64) { kernel.Softmax(dst, scores, len(scores)) }

// LogisticLink is r̂(x, a) = 1/(1 + exp(−score_a)).
func LogisticLink(dst, scores []float64) {
	for a, s := range scores {
		dst[a] = 1 / (1 + math.Exp(-s))
	}
}

// Play is π(·|x) of a point policy with scores φ(x)ᵀθ_a, for rows of an encoded log, for
// [Fixed].
func Play(pol propensity.Family, theta []float64, log *logs.Log) func(dst []float64, i int) error {
	d, k := log.Dim(), log.K()
	phi, scores := make([]float64, d), make([]float64, k)
	return func(dst []float64, i int) error {
		log.X.Row64(log.Context(i), phi)
		for a := range scores {
			scores[a] = features.Dot(phi, theta[a*d:(a+1)*d])
		}
		pol.AtMean(dst, scores)
		return nil
	}
}

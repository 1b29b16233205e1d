package certify

import (
	"fmt"
	"math"
	"sync"

	"opl/graph/kernel"
	"opl/policies/propensity"
)

// Linear returns a model of the reward that is linear in the features of an encoded log's contexts: θ [K×d] gives the
// scores φ(x)ᵀθ_a, and link turns them into r̂. Of a log whose actions have vectors, θ is [p×d] and scores are
// φ(x)ᵀθᵀz(a), of the actions offered.
func Linear(name string, theta []float64, log Encoded, link func(dst, scores []float64)) *RewardModel {
	scorer := log.Scorers(theta)
	free := sync.Pool{New: func() any { return scorer() }}
	return &RewardModel{Name: name, Predict: func(dst []float64, i int) {
		scores := free.Get().(func(int) []float64)
		link(dst, scores(i))
		free.Put(scores)
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

// Play returns π(·|x) of a point policy with the scores of [Linear], for rows of an encoded log, for
// [Fixed]. Scores that are not finite are an error.
func Play(pol propensity.Family, theta []float64, log Encoded) Policy {
	scorer := log.Scorers(theta)()
	return func(dst []float64, i int) error {
		scores := scorer(i)
		for a, v := range scores {
			if v-v != 0 {
				return fmt.Errorf("certify: row %d: the score of action %d of those offered is %v", i, a, v)
			}
		}
		pol.AtMean(dst, scores)
		return nil
	}
}

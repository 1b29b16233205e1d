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
// contexts: θ [K×d] gives the scores φ(x)ᵀθ_a, and link turns them into r̂. Of a log whose actions have
// vectors, θ is [p×d] and scores are φ(x)ᵀθᵀz(a), of the actions offered.
func Linear(name string, theta []float64, log *logs.Log, link func(dst, scores []float64)) *RewardModel {
	rooms := sync.Pool{New: func() any { return newScorer(theta, log) }}
	return &RewardModel{Name: name, Predict: func(dst []float64, i int) {
		s := rooms.Get().(*scorer)
		link(dst, s.of(i))
		rooms.Put(s)
	}}
}

// scorer computes the scores of a row's actions.
type scorer struct {
	log         *logs.Log
	theta       []float64
	phi, scores []float64
	shared, z   []float64 // θφ(x) and z(a), where actions have vectors
}

func newScorer(theta []float64, log *logs.Log) *scorer {
	s := &scorer{log: log, theta: theta, phi: make([]float64, log.Dim()), scores: make([]float64, log.MostOptions())}
	if log.Choices != nil && log.Choices.Z != nil {
		p := log.Choices.Z.Dim()
		s.shared, s.z = make([]float64, p), make([]float64, p)
	}
	return s
}

// of is the scores of what row i offers, until it is called again.
func (s *scorer) of(i int) []float64 {
	d := len(s.phi)
	s.log.X.Row64(s.log.Context(i), s.phi)
	for c := range s.shared {
		s.shared[c] = features.Dot(s.phi, s.theta[c*d:(c+1)*d])
	}
	scores := s.scores[:s.log.Options(i)]
	for j := range scores {
		a, item := s.log.Option(i, j)
		if s.z == nil {
			scores[j] = features.Dot(s.phi, s.theta[int(a)*d:(int(a)+1)*d])
			continue
		}
		s.log.Choices.Z.Row64(item, s.z)
		scores[j] = features.Dot(s.shared, s.z)
	}
	return scores
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

// Play is π(·|x) of a point policy with the scores of [Linear], for rows of an encoded log, for
// [Fixed].
func Play(pol propensity.Family, theta []float64, log *logs.Log) func(dst []float64, i int) error {
	s := newScorer(theta, log)
	return func(dst []float64, i int) error {
		pol.AtMean(dst, s.of(i))
		return nil
	}
}

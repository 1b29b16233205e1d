package certify

import (
	"fmt"
	"math"
	"sync"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
	"opl/policies/features"
	"opl/policies/propensity"
	"opl/train/logs"
)

// Linear is a model of the reward that is linear in the features of an encoded log's
// contexts: θ [K×d] gives the scores φ(x)ᵀθ_a, and link turns them into r̂. Of a log whose actions have
// vectors, θ is [p×d] and scores are φ(x)ᵀθᵀz(a), of the actions offered.
func Linear(name string, theta []float64, log *logs.Log, link func(dst, scores []float64)) *RewardModel {
	columns := transposed(theta, log)
	rooms := sync.Pool{New: func() any { return newScorer(theta, columns, log) }}
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
	columns     []float64 // θᵀ [d×K], with zeros up to a multiple of four columns; nil: actions have vectors, or rows offer some
	phi, scores []float64
	items       logs.ItemRows // z(a); Values nil: actions have no vectors
	shared      []float64     // θφ(x) of what the encoder gives
	z           [4][]float64
	panels      []float32 // of a catalogue: z(a) of all actions, for simd.Products; nil: not held, or not of 32 bits
	all         []float64 // their scores
}

// transposed is the columns of scorers of a log of which all rows offer all actions, which have no vectors.
func transposed(theta []float64, log *logs.Log) []float64 {
	if log.Choices != nil {
		return nil
	}
	d, k := log.Dim(), log.K()
	wide := (k + 3) &^ 3
	t := make([]float64, d*wide)
	for a := range k {
		for j, v := range theta[a*d : (a+1)*d] {
			t[j*wide+a] = v
		}
	}
	return t
}

func newScorer(theta, columns []float64, log *logs.Log) *scorer {
	s := &scorer{log: log, theta: theta, columns: columns, phi: make([]float64, log.Dim()), scores: make([]float64, log.MostOptions()+3)}
	if log.Choices == nil || log.Choices.Z == nil {
		return s
	}
	parts, ok := log.Choices.Z.(logs.ItemRows)
	if !ok {
		parts = logs.ItemRows{Values: log.Choices.Z, Width: log.Choices.Z.Dim()}
	}
	s.items, s.shared = parts, make([]float64, parts.Values.Dim())
	for j := range s.z {
		s.z[j] = make([]float64, len(s.shared))
	}
	if !log.Sets() {
		s.hold()
	}
	return s
}

// heldPanels is how many numbers of a catalogue are held for fast products: 256 MB.
const heldPanels = 64 << 20

// hold holds z(a) of the catalogue.
func (s *scorer) hold() {
	n, q, z := s.log.K(), len(s.shared), s.z[0]
	wide := (n + simd.Abreast - 1) / simd.Abreast * simd.Abreast
	if q == 0 || wide > heldPanels/q {
		return
	}
	panels := make([]float32, wide*q)
	for a := range n {
		s.items.Values.Row64(a, z)
		to := panels[a/simd.Abreast*simd.Abreast*q+a%simd.Abreast:]
		for j, v := range z {
			if to[j*simd.Abreast] = float32(v); float64(float32(v)) != v {
				return
			}
		}
	}
	s.panels, s.all = panels, make([]float64, wide)
}

// row is φ(x)ᵀθ_c.
func (s *scorer) row(c int) float64 {
	return features.Dot(s.phi, s.theta[c*len(s.phi):(c+1)*len(s.phi)])
}

// of is the scores of what row i offers, until it is called again. They are those of a policy file, to the bit.
func (s *scorer) of(i int) []float64 {
	s.log.X.Row64(s.log.Context(i), s.phi)
	if s.columns != nil {
		k := s.log.K()
		all := s.scores[:(k+3)&^3]
		clear(all)
		simd.AddRowsTimes(all, s.columns, s.phi)
		return all[:k]
	}
	for c := range s.shared {
		s.shared[c] = s.row(c)
	}
	scores := s.scores[:s.log.Options(i)]
	if s.shared == nil {
		for j := range scores {
			a, _ := s.log.Option(i, j)
			scores[j] = s.row(int(a))
		}
		return scores
	}
	if s.panels != nil {
		clear(s.all)
		simd.AddProducts(s.all, s.panels, s.shared)
		for j := range scores {
			if scores[j] = s.all[j]; s.items.Place(j) >= 0 {
				scores[j] += s.row(s.items.Place(j))
			}
		}
		return scores
	}
	for j := 0; j < len(scores); j += len(s.z) { // sums need not wait for one another
		n := min(len(s.z), len(scores)-j)
		var place [len(s.z)]int
		for k := range n {
			_, item := s.log.Option(i, j+k)
			s.items.Values.Row64(item, s.z[k])
			place[k] = s.items.Place(item)
		}
		var sum [len(s.z)]float64
		z0, z1, z2, z3 := s.z[0][:len(s.shared)], s.z[1][:len(s.shared)], s.z[2][:len(s.shared)], s.z[3][:len(s.shared)]
		for c, v := range s.shared {
			sum[0] += float64(v * z0[c])
			sum[1] += float64(v * z1[c])
			sum[2] += float64(v * z2[c])
			sum[3] += float64(v * z3[c])
		}
		for k, at := range place[:n] {
			if at >= 0 {
				sum[k] += s.row(at)
			}
			scores[j+k] = sum[k]
		}
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
// [Fixed]. Scores that are not finite are an error.
func Play(pol propensity.Family, theta []float64, log *logs.Log) func(dst []float64, i int) error {
	s := newScorer(theta, transposed(theta, log), log)
	return func(dst []float64, i int) error {
		scores := s.of(i)
		for a, v := range scores {
			if v-v != 0 {
				return fmt.Errorf("certify: row %d: the score of action %d of those offered is %v", i, a, v)
			}
		}
		pol.AtMean(dst, scores)
		return nil
	}
}

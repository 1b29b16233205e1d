package certify

import (
	"math"

	"opl/policies/propensity"
	"opl/train/logs"
)

// EValues are log E at a risk and at a gain, of the mixtures that Fixed and Posterior
// invert, and δ's share of each.
type EValues struct{ Risk, Gain, Share float64 }

func at(s *sums, err error, risk, gain float64) (EValues, error) {
	if err != nil {
		return EValues{}, err
	}
	r, g, share := s.mixtures()
	return EValues{r.log(risk), g.log(gain), share}, nil
}

// FixedAt is the e-value of a fixed policy.
func FixedAt(pi func(dst []float64, i int) error, log *logs.Log, rows []int, o Options, risk, gain float64) (EValues, error) {
	s, err := fixed(pi, nil, log, rows, o)
	return at(s, err, risk, gain)
}

// ChunksAt is that of chunks, with the weights of their mixture.
func ChunksAt(chunks []Chunk, log *logs.Log, o Options, risk, gain func(weights []float64) float64) (EValues, error) {
	s, w, err := chunked(chunks, log, o)
	if err != nil {
		return EValues{}, err
	}
	return at(s, nil, risk(w), gain(w))
}

// PosteriorAt is that of a posterior.
func PosteriorAt(pol propensity.Family, q propensity.Posterior, log *logs.Log, rows []int, o Options, risk, gain float64) (EValues, error) {
	s, err := posterior(pol, q, log, rows, o)
	return at(s, err, risk, gain)
}

// PoolAt is that of a fixed policy by several logs.
func PoolAt(parts []PoolLog, o Options, risk, gain float64) (EValues, error) {
	s, err := pool(parts, o)
	return at(s, err, risk, gain)
}

// BinaryAt is log E at a risk, of n rows without a model of which k have the cost −x and the others 0.
func BinaryAt(n, k int, x, risk float64, anyTimes bool) float64 {
	m := mixture{n: float64(n)}
	if m.ell, m.logWeight = oneLook(n, 1); anyTimes {
		m.ell, m.logWeight = anyTime(1)
	}
	for _, l := range m.ell {
		m.sum = append(m.sum, float64(k)*math.Log1p(l*x))
	}
	return m.log(risk)
}

// FactorsAt are 1 − ℓX of the risk and of the gain of a fixed policy, by a model r, of the
// action a at cost c.
func FactorsAt(pi, pi0, r []float64, a int, c, ell float64) (risk, gain float64) {
	e := costEstimate{pi0: pi0, p: pi0[a], action: a, cost: c, model: r, pi: pi, gamma: 1, clip: 1, logged: 1}
	x := pi[a] * e.correction(ell)
	for b, p := range pi {
		x += p * e.q(b, ell)
	}
	return 1 - ell*x, 1 - ell*e.paired(ell)
}

// FactorAt is 1 − ℓX of the risk, of row r of a log for a fixed policy and a model.
func FactorAt(log *logs.Log, r int, pi []float64, m *RewardModel, gamma, ell float64) float64 {
	s := newSums(log, []int{r}, Options{Gamma: gamma})
	e, err := s.row(r, m, pi, make([]float64, log.K()))
	if err != nil {
		panic(err)
	}
	x := pi[e.action] * e.correction(ell)
	for b, p := range pi {
		x += p * e.q(b, ell)
	}
	return 1 - ell*x
}

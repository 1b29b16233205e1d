package certify

import (
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

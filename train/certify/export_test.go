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

// PosteriorAt is that of a posterior.
func PosteriorAt(pol propensity.Family, q propensity.Posterior, log *logs.Log, rows []int, o Options, risk, gain float64) (EValues, error) {
	s, err := posterior(pol, q, log, rows, o)
	return at(s, err, risk, gain)
}

// FactorsAt are 1 − ℓX of the risk and of the gain of a fixed policy, by a model r, of the
// action a at cost c.
func FactorsAt(pi, pi0, r []float64, a int, c, ell float64) (risk, gain float64) {
	e := estimate{pi0: pi0, p: pi0[a], action: a, cost: c, model: r, pi: pi, gamma: 1}
	x := pi[a] * e.correction(ell)
	for b, p := range pi {
		x += p * e.q(b, ell)
	}
	return 1 - ell*x, 1 - ell*e.paired(ell)
}

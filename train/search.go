package train

import (
	"context"

	"opl/policies"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Search chooses among posteriors, on the rows that certify: it keeps the one of the best
// guarantee. Options.Priors is the number of priors that they have, for which δ pays;
// FitScales sets it.
type Search struct {
	Log     *logs.Log         // whose rows certify
	Rows    []int             // of the log, that certify
	Policy  policies.Policy   // family that all posteriors are of
	Options certify.Options   // of the bounds; Priors is set by FitScales
	Judge   *provenance.Judge // of the log; nil: the choice is by bounds that certify nothing

	Best        policies.Posterior      // posterior of the best guarantee so far
	Bounds      *certify.Bounds         // of Best; nil: nothing was considered so far
	Certificate *provenance.Certificate // of Best; nil: there is no judge
}

// Consider certifies a posterior, and reports whether it is the best so far.
func (s *Search) Consider(q policies.Posterior) (best bool, err error) {
	var b certify.Bounds
	var c *provenance.Certificate
	if s.Judge == nil {
		b, err = certify.Posterior(s.Policy, q, s.Log, s.Rows, s.Options)
	} else if c, err = s.Judge.Posterior(s.Policy, q, s.Rows, s.Options); err == nil {
		b = c.Statement().Bounds
	}
	if err != nil || s.Bounds != nil && b.Reward() <= s.Bounds.Reward() {
		return false, err
	}
	s.Best, s.Bounds, s.Certificate = q, &b, c
	return true, nil
}

// FitScales trains c's objective on the search's rows, from c's prior at each of
// some scales, and keeps the posterior of the best guarantee. δ is divided to pay for the choice. With a single
// scale and no judge it keeps the one posterior and computes no bound. follow, if not nil, is told of each training: it
// may set c.Epoch, and says what to keep of its result. It returns the place of the best
// among the scales, its result, and the seconds of all trainings.
func (s *Search) FitScales(ctx context.Context, c Config, scales []float64,
	follow func(c *Config) (keep func(*Result))) (best int, of *Result, seconds float64, err error) {
	part := s.Log
	if len(s.Rows) < part.Len() {
		part = part.Subset(s.Rows)
	}
	s.Policy, s.Options.Priors = c.Policy, len(scales)
	for i, scale := range scales {
		c.Prior.Scale = scale
		keep := func(*Result) {}
		if follow != nil {
			keep = follow(&c)
		}
		res, err := Fit(ctx, part, c)
		if err != nil {
			return 0, nil, 0, err
		}
		seconds += res.Seconds
		keep(res)
		better := i == 0
		if s.Judge == nil && len(scales) == 1 {
			s.Best = res.Posterior
		} else if better, err = s.Consider(res.Posterior); err != nil {
			return 0, nil, 0, err
		}
		if better {
			best, of = i, res
		}
	}
	return best, of, seconds, nil
}

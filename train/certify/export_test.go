package certify

import (
	"opl/objectives"
	"opl/policies"
	"opl/train/logs"
)

// Singles computes each bound as if it were the only one, with all of δ for one
// of the given number of priors. The last, "control", is logarithmic smoothing
// with the divergence taken as 0, and no bound.
func Singles(pol policies.Policy, q policies.Posterior, log *logs.Log, rows []int, o Options, deltas ...float64) ([][]Bound, error) {
	if o.Draws == 0 {
		o.Draws = 256
	}
	if o.Weight.H == nil && o.Weight.Of == nil {
		o.Weight = objectives.Clip(objectives.DefaultHyper(len(rows), 0))
	}
	s := measure(pol, q, log, rows, o)
	all := candidates(s, pol, log, o, q.KL())
	all = append(all, candidate{"control", nil, func(d float64) (Bound, error) { return s.oneSided(0, d, smoothed), nil }})
	out := make([][]Bound, len(deltas))
	for _, c := range all {
		if c.unfit != nil {
			continue
		}
		for i, d := range deltas {
			b, err := c.of(d / float64(max(o.Priors, 1)))
			if err != nil {
				return nil, err
			}
			b.Name, b.Delta = c.name, d/float64(max(o.Priors, 1))
			out[i] = append(out[i], b)
		}
	}
	return out, nil
}

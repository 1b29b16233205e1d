package provenance

import (
	"cmp"
	"math"
	"runtime"

	"opl/policies/policyfile"
	"opl/train/certify"
)

// Untaught are the rows of the log that had no part in the policy of a file, nor depend on rows that had: those by which
// it can be judged. Errors are those of [Judge.File].
func (j *Judge) Untaught(p *policyfile.Policy, fresh bool) ([]int, error) {
	c, err := j.candidate(p, Options{Fresh: fresh})
	if err != nil {
		return nil, err
	}
	return j.Apart(every(j.log.Len()), c.barred()), nil
}

// barred are the rows that may not certify the policy as one that was fixed before.
func (c *candidate) barred() []bool {
	out := make([]bool, len(c.seen))
	for i := range out {
		out[i] = c.seen[i] || c.chosen[i]
	}
	return out
}

// Segments returns lower bounds on the gain of the policy of a file over the logging policy within segments of the log,
// which hold together with probability 1 − δ: each has δ over their number. Which row is of which segment must depend on
// contexts alone. Rows that had a part in the policy are left out; a segment without rows has −1, which is no bound. The
// gains are in [0, 1]'s units. Errors are those of [Judge.File].
func (j *Judge) Segments(p *policyfile.Policy, segments [][]int, o Options) ([]float64, error) {
	c, err := j.candidate(p, o)
	if err != nil {
		return nil, err
	}
	// A bound of the gain has half of δ, as that of the value has the other half, which is not stated here.
	delta := min(2*cmp.Or(o.Delta, 0.05)/float64(len(segments)), .999)
	options := j.options(certify.Options{Delta: delta, Gamma: o.Gamma, Models: c.models, Threads: runtime.GOMAXPROCS(0)})
	barred, gains := c.barred(), make([]float64, len(segments))
	for s, rows := range segments {
		rows = j.Apart(rows, barred)
		gains[s] = -1
		if len(rows) < 2 {
			continue
		}
		b, err := certify.Fixed(c.pi, nil, c.log, rows, options)
		if err != nil {
			return nil, err
		}
		if gain := b.GainAtLeast(); gain > -1 && !math.IsNaN(gain) {
			gains[s] = gain
		}
	}
	return gains, nil
}

package provenance

import (
	"context"
	"math"
	"slices"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// Evidence is e, that rows of the log are known again.
func (j *Judge) Evidence(f *policyfile.File) float64 {
	e, _ := j.bet(f.History.Fingerprints, make([]bool, j.log.Len()), nil, "")
	return math.Exp(e)
}

// Finding is the judge of a log in which one check of a subject failed.
func Finding(log *logs.Log, about inspect.Subject) *Judge {
	f := inspect.Finding{Check: "a check of any name", About: about, Severity: inspect.Doubtful}
	return judge(log, inspect.Report{Gamma: 1, Findings: []inspect.Finding{f}}, false)
}

// Lasting are the rows of each log that certify a policy that none taught.
func Lasting(ps ...*Judge) ([][]int, []string, error) {
	out := make([][]bool, len(ps))
	for k, j := range ps {
		out[k] = make([]bool, j.log.Len())
	}
	rows, _, notes, err := Pool(ps).lasting(context.Background(), out, make([][]bool, len(ps)))
	return rows, notes, err
}

// Lacks is what Reads says of names.
func Lacks(of string, reads, names []string) (string, error) { return lacks(of, reads, names) }

// Weighed says whether the weights of the rows that certify at any time are far from 1, of sums in so many shares.
func (j *Judge) Weighed(p *policyfile.Policy, o Options, shares int) (string, error) {
	c, err := Pool{j}.pooled(context.Background(), p, o)
	if err == nil {
		_, err = certify.PoolSums(withRows(c.parts), certify.Options{AnyTime: true}) // which notes probabilities
	}
	var all weights
	for k := range shares {
		s := c.samples[0]
		s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r int) bool { return r%shares != k })
		all.add(weigh(s))
	}
	return all.farFromOne(1), err
}

// Strange are the columns of which a policy reads other names than rows have.
func Strange(reads, names []string) []string { return strange(reads, names) }

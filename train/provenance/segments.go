package provenance

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/logs"
)

// Untaught returns the rows by which the policy of a file can be judged: they had no part in it and
// do not depend on rows that had. Errors: as [Judge.File].
func (j *Judge) Untaught(p *policyfile.Policy, fresh bool) ([]int, error) {
	c, err := j.candidate(p, Options{Fresh: fresh})
	if err != nil {
		return nil, err
	}
	return j.Apart(nil, c.barred()), nil
}

// barred are the rows that may not certify the policy as one that was fixed before.
func (c *candidate) barred() []bool {
	out := make([]bool, len(c.seen))
	for i := range out {
		out[i] = c.seen[i] || c.chosen[i]
	}
	return out
}

// Segments returns lower bounds on the gain of the policy of a file over the logging policy within segments of the
// log, which hold together with probability 1 − δ: each has δ over their number. Which row is of which segment must
// depend on contexts alone. Rows that had a part in the policy are left out; a segment without rows has −1, which is
// no bound. The gains are in [0, 1]'s units. Errors are those of [Judge.File].
func (j *Judge) Segments(p *policyfile.Policy, segments [][]int, o Options) ([]float64, error) {
	c, err := j.candidate(p, o)
	if err != nil {
		return nil, err
	}
	// A bound of the gain has half of δ, as that of the value has the other half, which is not stated here.
	delta := min(2*cmp.Or(o.Delta, 0.05)/float64(len(segments)), .999)
	options := j.options(certify.Options{Delta: delta, Gamma: o.Gamma, Models: c.models,
		Threads: runtime.GOMAXPROCS(0)})
	barred, gains := c.barred(), make([]float64, len(segments))
	for s, rows := range segments {
		rows = j.Apart(rows, barred)
		gains[s] = -1
		if len(rows) < 2 {
			continue
		}
		b, err := certify.Fixed(c.plays(), nil, c.log, rows, options)
		if err != nil {
			return nil, err
		}
		if gain := b.GainAtLeast(); gain > -1 && !math.IsNaN(gain) {
			gains[s] = gain
		}
	}
	return gains, nil
}

// Segment holds rows whose contexts have the same value of a column.
type Segment struct {
	Name string // the value; "(missing)": none
	Rows []int  // of the log, ascending
}

// Segmented divides the rows of a log by the values of a column of names, the most frequent value
// first. Errors: a column of numbers, a column that no context has.
func Segmented(log *logs.Log, column string) ([]Segment, error) {
	log, e, err := log.Encoded(nil, logs.Scaling{Kind: "none", Intercept: true})
	if err != nil {
		return nil, err
	}
	var values []string
	var places []int
	for j, name := range e.Names {
		if value, is := strings.CutPrefix(name, column+"="); is {
			values, places = append(values, value), append(places, j)
		}
	}
	switch {
	case e.Feature(column) >= 0:
		return nil, fmt.Errorf("%q is a column of numbers, and its rows have no segments by name", column)
	case len(values) == 0:
		return nil, fmt.Errorf("the contexts have no column %q", column)
	}
	out, row := make([]Segment, len(values)+1), make([]float64, e.Dim())
	for i := range log.Len() {
		log.X.Row64(log.Context(i), row)
		at := len(values)
		for s, j := range places {
			if row[j] == 1 {
				at = s
				break
			}
		}
		out[at].Rows = append(out[at].Rows, i)
	}
	for s, v := range append(values, "(missing)") {
		out[s].Name = v
	}
	out = slices.DeleteFunc(out, func(s Segment) bool { return len(s.Rows) == 0 })
	slices.SortStableFunc(out, func(a, b Segment) int { return cmp.Compare(len(b.Rows), len(a.Rows)) })
	return out, nil
}

// Largest keeps the largest segments and joins the others to one. It returns no more than most segments.
func Largest(all []Segment, most int) []Segment {
	slices.SortStableFunc(all, func(a, b Segment) int { return cmp.Compare(len(b.Rows), len(a.Rows)) })
	if len(all) <= most {
		return all
	}
	rest := Segment{Name: fmt.Sprintf("(%d others)", len(all)-most+1)}
	for _, s := range all[most-1:] {
		rest.Rows = append(rest.Rows, s.Rows...)
	}
	slices.Sort(rest.Rows)
	return append(all[:most-1:most-1], rest)
}

// largeSegments is the share of the rows that a segment needs for a guardrail.
const largeSegments = 0.05

// nulls makes the null of a requirement, or one for each of its segments.
func (t trial) nulls(r Requirement, grouped bool) ([]*null, error) {
	if r.By != "" {
		return t.segments(r)
	}
	n, err := t.null(r, grouped)
	return []*null{n}, err
}

// segments are the nulls that the reward falls by more than the margin in a segment of a column. Small segments have
// none: rows would not decide them.
func (t trial) segments(r Requirement) (all []*null, err error) {
	fail := func(err error) ([]*null, error) { return nil, fmt.Errorf("setting guardrail-by %s: %w", r.By, err) }
	of := map[string]*null{}
	for k, p := range t.parts {
		found, err := Segmented(t.samples[k].log, r.By)
		if err != nil {
			return fail(err)
		}
		for _, s := range found {
			if float64(len(s.Rows)) < largeSegments*float64(t.samples[k].log.Len()) && of[s.Name] == nil {
				continue
			}
			n := of[s.Name]
			if n == nil {
				n = t.goal()
				n.Kind, n.Limit = r.kind(), r.Limit
				if err := n.require(Requirement{Name: r.By, Limit: r.Limit}, false); err != nil {
					return nil, err
				}
				n.Kind, n.Name = "guardrail", fmt.Sprintf("reward of %s %s", r.By, s.Name)
				n.parts = slices.Clone(n.parts)
				for i := range n.parts {
					n.parts[i].Rows, n.rows[i] = nil, nil
				}
				of[s.Name], all = n, append(all, n)
			}
			in := logs.Marked(t.samples[k].log.Len(), s.Rows)
			n.parts[k].Rows = slices.DeleteFunc(slices.Clone(p.Rows), func(row int) bool { return !in[row] })
			n.rows[k] = n.parts[k].Rows
		}
	}
	if len(all) == 0 {
		return fail(fmt.Errorf("no value has %v %% of the rows or more, so no segment is large", 100*largeSegments))
	}
	for _, n := range all {
		if !slices.ContainsFunc(n.rows, func(rows []int) bool { return len(rows) > 1 }) {
			return fail(fmt.Errorf("no rows of %s certify", n.Name))
		}
	}
	return all, nil
}

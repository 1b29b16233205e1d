package provenance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/internal/spelling"
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

// columnsOf are the columns of features.
func columnsOf(names []string) (columns []string) {
	for _, name := range names {
		column, _, _ := strings.Cut(name, "=")
		columns = append(columns, column)
	}
	return columns
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
		return nil, fmt.Errorf("the contexts have no column %q%s", column, spelling.Suggest(column, columnsOf(e.Names)))
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
	rest := Segment{Name: others(len(all) - most + 1)}
	for _, s := range all[most-1:] {
		rest.Rows = append(rest.Rows, s.Rows...)
	}
	slices.Sort(rest.Rows)
	return append(all[:most-1:most-1], rest)
}

// largeSegments is the share of the rows that a segment needs for a guardrail.
const largeSegments = 0.05

// nulls makes the null of a requirement, or one for each of its segments, and the share of the rows in none of these.
func (t trial) nulls(r Requirement, grouped bool) ([]*null, float64, error) {
	if r.By != "" {
		return t.segments(r)
	}
	n, err := t.null(r, grouped)
	return []*null{n}, 0, err
}

// segments are the nulls that the reward falls by more than the margin in a segment of a column. Rows would not decide
// small segments: they are tested as one if they are large together, and left is their share of the rows if not.
// Contexts alone say which segments there are, before rewards are looked at: so δ is not spent on the choice.
func (t trial) segments(r Requirement) (all []*null, left float64, err error) {
	fail := func(err error) ([]*null, float64, error) {
		return nil, 0, fmt.Errorf("setting guardrail-by %s: %w", r.By, err)
	}
	found, large := make([][]Segment, len(t.parts)), map[string]bool{}
	for k := range t.parts {
		if found[k], err = Segmented(t.samples[k].log, r.By); err != nil {
			return fail(err)
		}
		for _, s := range found[k] {
			if float64(len(s.Rows)) >= largeSegments*float64(t.samples[k].log.Len()) {
				large[s.Name] = true
			}
		}
	}
	if len(large) == 0 {
		return fail(fmt.Errorf("no value has %v %% of the rows or more, so no segment is large", 100*largeSegments))
	}
	small, rows, n := map[string]bool{}, 0, 0
	for k, of := range found {
		n += t.samples[k].log.Len()
		for _, s := range of {
			if !large[s.Name] {
				small[s.Name], rows = true, rows+len(s.Rows)
			}
		}
	}
	left = float64(rows) / float64(n)
	of := map[string]*null{}
	for k, p := range t.parts {
		in := make([]*null, t.samples[k].log.Len())
		for _, s := range found[k] {
			name := s.Name
			if !large[name] {
				if name = others(len(small)); left < largeSegments {
					continue
				}
			}
			if of[name] == nil {
				n := t.goal()
				n.Kind, n.Limit = r.kind(), r.Limit
				if err := n.require(Requirement{Name: r.By, Limit: r.Limit}, false); err != nil {
					return nil, 0, err
				}
				n.Kind, n.Name, n.parts = "guardrail", segmentName(r.By, name), slices.Clone(n.parts)
				for i := range n.parts {
					n.parts[i].Rows, n.rows[i] = nil, nil
				}
				of[name], all = n, append(all, n)
			}
			for _, row := range s.Rows {
				in[row] = of[name]
			}
		}
		for _, n := range all {
			n.parts[k].Rows = slices.DeleteFunc(slices.Clone(p.Rows), func(row int) bool { return in[row] != n })
			n.rows[k] = n.parts[k].Rows
		}
	}
	for _, n := range all {
		if !slices.ContainsFunc(n.rows, func(rows []int) bool { return len(rows) > 1 }) {
			return fail(fmt.Errorf("no rows of %s certify", n.Name))
		}
	}
	if left >= largeSegments {
		left = 0
	}
	return all, left, nil
}

func others(n int) string { return fmt.Sprintf("(%d others)", n) }

// segmentName names the outcome that is the reward in a segment.
func segmentName(column, value string) string { return fmt.Sprintf("reward of %s %s", column, value) }

// gone are segments of a column that the policy's file was tested on, and that are not among nulls.
func gone(f *policyfile.File, column string, among []*null) (names []string) {
	var s struct {
		Decision Decision `json:"decision"`
	}
	if f == nil || f.Certificate == nil || json.Unmarshal(f.Certificate, &s) != nil {
		return nil
	}
	for _, o := range s.Decision.Outcomes {
		value, is := strings.CutPrefix(o.Name, segmentName(column, ""))
		tested := slices.ContainsFunc(among, func(n *null) bool { return n.Name == o.Name })
		if is && o.Kind == "guardrail" && o.Column == "reward" && !tested && !joined.MatchString(value) {
			names = append(names, column+" "+value)
		}
	}
	return names
}

// joined matches names of [others].
var joined = regexp.MustCompile(`^\([0-9]+ others\)$`)

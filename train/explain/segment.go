package explain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// mostSegments of a column have names of their own; what is rarer is one.
const mostSegments = 10

// quartiles of a normal distribution.
var quartiles = []float64{-.6745, 0, .6745}

// segment estimates and bounds the gain by segment. Which row is of which segment depends on contexts alone: the
// values of a category, or for numbers what the policy's scaling, which the rows judged had no part in, takes for
// quartiles.
func (e *Explanation) segment(log *logs.Log, judge *provenance.Judge, o Options) error {
	var rows [][]int
	for _, column := range o.By {
		found, err := e.segmentsOf(column, log)
		if err != nil {
			return err
		}
		for _, s := range found {
			e.Segments, rows = append(e.Segments, s), append(rows, s.rows)
		}
	}
	if len(e.Segments) == 0 {
		return nil
	}
	place := make(map[int]int, len(e.rows))
	for i, r := range e.rows {
		place[r] = i
	}
	k := e.policy.Len()
	for s := range e.Segments {
		var gain moments
		for _, r := range rows[s] {
			if i, ok := place[r]; ok {
				e.add(&gain, e.span*(e.value(e.pi[i*k:(i+1)*k], i)-e.reward(r)), r)
			}
		}
		e.Segments[s].Rows, e.Segments[s].Gain = int(gain.n), gain.mean()
		if gain.units() >= certify.Few {
			e.Segments[s].SE = new(gain.se())
		}
	}
	gains, err := judge.Segments(e.policy, rows, provenance.Options{Delta: o.Delta, Gamma: o.Gamma, Fresh: o.Fresh})
	var withheld *provenance.Withheld
	switch {
	case errors.As(err, &withheld):
		e.note("segments have no bounds: %s", withheld.Reason)
		return nil
	case err != nil:
		return err
	}
	for s, g := range gains {
		if g > -1 {
			g *= e.span
			e.Segments[s].AtLeast = &g
		}
	}
	return nil
}

// segmentsOf are the segments of a column.
func (e *Explanation) segmentsOf(column string, log *logs.Log) ([]Segment, error) {
	found := map[string][]int{}
	if e.x.names.Feature(column) >= 0 {
		cuts := e.cuts(column)
		for row := range e.Rows {
			name := between(e.x.at(row, column), cuts)
			found[name] = append(found[name], row)
		}
	} else {
		all, err := provenance.Segmented(log, column)
		if err != nil {
			return nil, fmt.Errorf("setting by: %w", err)
		}
		for _, s := range all {
			found[s.Name] = s.Rows
		}
	}
	var all []provenance.Segment
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, provenance.Segment{Name: name, Rows: found[name]})
	}
	var out []Segment
	for _, s := range provenance.Largest(all, mostSegments) {
		out = append(out, Segment{Column: column, Name: s.Name, rows: s.Rows})
	}
	return out, nil
}

// between names the cuts around a number.
func between(v float64, cuts []float64) string {
	at := slices.IndexFunc(cuts, func(cut float64) bool { return v <= cut })
	switch {
	case v != v:
		return "(missing)"
	case len(cuts) == 0:
		return "(any)"
	case at < 0:
		return fmt.Sprintf("> %.4g", cuts[len(cuts)-1])
	case at == 0:
		return fmt.Sprintf("≤ %.4g", cuts[0])
	}
	return fmt.Sprintf("%.4g to %.4g", cuts[at-1], cuts[at])
}

// cuts are where a number is cut into segments: by the policy's scaling alone.
func (e *Explanation) cuts(column string) (cuts []float64) {
	for _, c := range e.policy.File().Components {
		j := c.Encoder.Feature(column)
		if j < 0 || c.Encoder.Unit || !(c.Encoder.Scale[j] > 0) || c.Encoder.Center == nil {
			continue
		}
		for _, q := range quartiles {
			if v := c.Encoder.AtMost(j, q); math.Abs(v) < 1e300 {
				cuts = append(cuts, v)
			}
		}
		break
	}
	return slices.Compact(cuts)
}

// Unlike says how many rows have contexts that are unlike those the policy learned from.
type Unlike struct {
	Share   float64         `json:"share"`             // of the rows that have something of the kind
	Columns []UnlikeColumns `json:"columns,omitempty"` // those that differ, the largest share first
}

// UnlikeColumns says how a column differs from the contexts that the policy learned from.
type UnlikeColumns struct {
	Name string  `json:"name"`  // as the log has it
	What string  `json:"what"`  // how the values differ, in words
	Rows float64 `json:"share"` // of the rows
}

// far is how many standard deviations from the mean a number is far.
const far = 4

// unlike counts categories that the policy does not know, and numbers far from those that its scaling was fitted on.
func (e *Explanation) unlike() {
	inputs := e.policy.Inputs()
	encoder := e.policy.File().Components[len(e.policy.File().Components)-1].Encoder
	type kind struct{ column, what string }
	count := map[kind]int{}
	known := map[string]bool{}
	for _, name := range inputs.Names {
		column, _, is := strings.Cut(name, "=")
		known[column] = known[column] || is
	}
	some := 0
	for row := range e.Rows {
		strange := map[kind]bool{}
		for _, name := range e.x.names.Names {
			column, _, is := strings.Cut(name, "=")
			v := e.x.at(row, name)
			switch j := encoder.Feature(name); {
			case v != v || v == 0 && is:
			case is && known[column] && inputs.Feature(name) < 0:
				strange[kind{column, "a category that the policy does not know"}] = true
			case !is && j >= 0 && encoder.Center != nil && !encoder.Unit && math.Abs(encoder.Number(j, v)) > far:
				strange[kind{name, fmt.Sprintf("more than %d standard deviations from the mean", far)}] = true
			}
		}
		if len(strange) > 0 {
			some++
		}
		for s := range strange {
			count[s]++
		}
	}
	n := float64(max(1, e.Rows))
	e.Unlike.Share = float64(some) / n
	for s, rows := range count {
		e.Unlike.Columns = append(e.Unlike.Columns, UnlikeColumns{s.column, s.what, float64(rows) / n})
	}
	slices.SortFunc(e.Unlike.Columns, func(a, b UnlikeColumns) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Name, b.Name), cmp.Compare(a.What, b.What))
	})
}

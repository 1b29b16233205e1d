package inspect

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"opl/train/internal/spelling"
)

// Column says how a column was read.
type Column struct {
	Name       string   `json:"name"`                 // as the file has it
	Role       string   `json:"role"`                 // context, outcome, or what the log's own columns are
	Type       string   `json:"type"`                 // number, text, time or category
	Min        *float64 `json:"min,omitempty"`        // smallest number; nil: the column has none
	Max        *float64 `json:"max,omitempty"`        // largest number; nil: the column has none
	Missing    int      `json:"missing,omitempty"`    // rows without a value
	Categories int      `json:"categories,omitempty"` // different values of a category
}

// mostColumns is how many columns of contexts are reported.
const mostColumns = 1000

// columns lists the columns that were read, those of the context last.
func (l *log) columns() (all []Column) {
	add := func(is bool, name, kind string, categories int, values []float64, scale func(v float64) float64) {
		c := Column{Name: name, Role: name, Type: kind, Categories: categories}
		if len(values) > 0 {
			low, high := scale(slices.Min(values)), scale(slices.Max(values))
			low, high = bounded(min(low, high)), bounded(max(low, high))
			c.Min, c.Max = &low, &high
		}
		if is {
			all = append(all, c)
		}
	}
	same := func(v float64) float64 { return v }
	add(l.HasIDs(), "decision_id", "text", 0, nil, nil)
	add(l.Time != nil, "timestamp", "time", 0, nil, nil)
	add(l.Group != nil, "group", "text", 0, nil, nil)
	add(true, "action", "category", l.k, nil, nil)
	add(true, "reward", "number", 0, l.Cost, func(c float64) float64 { return l.units.At(-c + 0) })
	add(l.Propensity != nil, "propensity", "number", 0, l.Propensity, same)
	add(l.Propensities != nil, "propensities", "number", 0, l.Propensities, same)
	add(l.Weight != nil, "weight", "number", 0, l.Weight, same)
	for _, o := range l.Outcomes {
		if o.IsText() {
			continue
		}
		has := slices.DeleteFunc(slices.Clone(o.Values), math.IsNaN)
		add(true, o.Column, "number", 0, has, same)
		all[len(all)-1].Role, all[len(all)-1].Missing = "outcome", l.n-len(has)
	}
	return append(all, l.contextColumns()...)
}

// contextColumns lists the columns of contexts. A name "column=value" is a category of its column.
func (l *log) contextColumns() (all []Column) {
	if l.X == nil && l.Names() == nil {
		return nil
	}
	names := l.Names()
	if names == nil {
		for j := range l.X.Dim() {
			names = append(names, strconv.Itoa(j))
		}
	}
	place, of := map[string]int{}, make([]int, len(names))
	values := map[string][]string{} // of categories, by column
	quoted := map[string]string{}   // a number that is a name, by column
	for j, name := range names {
		column, value, category := strings.Cut(name, "=")
		at, seen := place[column]
		if !seen {
			at = len(all)
			place[column] = at
			all = append(all, Column{Name: column, Role: "context", Type: "number"})
		}
		if of[j] = at; category {
			all[at].Type = "category"
			all[at].Categories++
			values[column] = append(values[column], value)
			if _, err := strconv.ParseFloat(value, 64); err == nil {
				quoted[column] = value
			}
		}
	}
	rows, ends := make([]int, len(all)), make([][2]end, len(all)) // the least of v, and of −v
	for c := range all {
		inf := math.Inf(1)
		ends[c] = [2]end{{at: inf, next: inf}, {at: inf, next: inf}}
	}
	see := func(id int, v float64) {
		c := of[id]
		rows[c]++
		ends[c][0].see(v)
		ends[c][1].see(-v)
	}
	if l.Names() != nil {
		for i := range l.n {
			ids, values := l.Values(i)
			for j, id := range ids {
				see(int(id), values[j])
			}
		}
	} else {
		x := make([]float64, len(names))
		for i := range l.n {
			l.X.Row64(l.Context(i), x)
			for j, v := range x {
				see(j, v)
			}
		}
	}
	for _, name := range names {
		if value, both := quoted[name]; both {
			l.misread("column %s: some rows have numbers, others numbers in quotes, as %q, which are read as names", name, value)
		}
	}
	columns := make([]string, len(all))
	for c := range all {
		columns[c] = all[c].Name
		if all[c].Missing = max(0, l.n-rows[c]); all[c].Type == "number" && rows[c] > 0 {
			least, most := ends[c][0], ends[c][1]
			low, high := bounded(least.at), bounded(-most.at)
			all[c].Min, all[c].Max = &low, &high
			for k, e := range ends[c] {
				v, others := []float64{least.at, -most.at}[k], -ends[c][1-k].at
				if e.isCode(rows[c], others) {
					l.misread("column %s: %d rows have %.6g, far from all others: it may stand for no value", columns[c], e.rows, v)
				} else if e.isBeyond(others) {
					l.misread("column %s: %.6g is further from all other values than a million times what those are apart: it may "+
						"stand for no value, or be in another unit", columns[c], v)
				}
			}
		}
	}
	for _, c := range all {
		if one, other, alike := spelling.Alike(values[c.Name]); alike {
			l.misread("column %s: %q and %q differ by capitals, blanks or .0 alone, or by how accents are written: one value "+
				"may be taken for two", c.Name, one, other)
		}
	}
	if one, other, alike := spelling.Alike(columns); alike {
		l.misread("columns %q and %q differ by capitals, blanks or .0 alone, or by how accents are written: one column may "+
			"be taken for two", one, other)
	}
	return all[:min(len(all), mostColumns)]
}

// end is the least value of a column, how many rows have it, and the next.
type end struct {
	at, next float64
	rows     int
}

func (e *end) see(v float64) {
	switch {
	case v == e.at:
		e.rows++
	case v < e.at:
		e.at, e.next, e.rows = v, e.at, 1
	case v < e.next:
		e.next = v
	}
}

// isBeyond reports that the value is more than a million times further from the next than others, which end at most,
// are from each other: regressions have no digits left for the others then.
func (e *end) isBeyond(most float64) bool { return most > e.next && (e.next-e.at)/(most-e.next) > 1e6 }

// isCode reports that the value is written with nines alone, and further from the next than others are from
// each other, which end at most: as -999 is where there was nothing to write.
func (e *end) isCode(rows int, most float64) bool {
	text := strings.TrimPrefix(strconv.FormatFloat(e.at, 'f', -1, 64), "-")
	return len(text) > 1 && strings.Trim(text, "9") == "" && e.rows > 1 && 200*e.rows >= rows && 2*e.rows < rows &&
		e.next-e.at > 2*math.Abs(most-e.next)
}

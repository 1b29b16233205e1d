package inspect

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
)

// summary holds what checks read of all rows, by name. A check that reads rows by nothing else is that of all rows
// where the summaries of shards are put together, see [Combine].
type summary struct {
	Sums  map[string][]float64  `json:"sums"`
	Means map[string]moments    `json:"means"`
	Least map[string]float64    `json:"least"`
	Worst map[string][2]float64 `json:"worst"` // a largest value, and its row
	Sets  map[string][]float64  `json:"sets"`  // different values, sorted

	Counts map[string]map[uint64]int `json:"counts"` // rows by the bits of a value
}

func newSummary() *summary {
	return &summary{map[string][]float64{}, map[string]moments{}, map[string]float64{}, map[string][2]float64{},
		map[string][]float64{}, map[string]map[uint64]int{}}
}

// lacking is the panic of a check that reads a value which the summary does not hold.
type lacking string

// read returns a value from the summary of shards that are put together. For any other log it computes the value
// from the rows, and writes it to the summary if there is one.
func read[T any](l *log, on func(t *summary) map[string]T, name string, of func() T) T {
	if l.merged {
		v, ok := on(l.summary)[name]
		if !ok {
			panic(lacking(name))
		}
		return v
	}
	v := of()
	if l.summary != nil {
		on(l.summary)[name] = v
	}
	return v
}

// sums adds up columns over rows.
func (l *log) sums(name string, width int, of func() []float64) []float64 {
	s := read(l, func(t *summary) map[string][]float64 { return t.Sums }, name, of)
	if len(s) != width {
		panic(lacking(name))
	}
	return s
}

// stretch is the number of rows that are added plainly; sums of stretches are added with compensation.
const stretch = 512

// totals adds up numbers over rows, each of which may add to all of them.
func (l *log) totals(name string, width int, add func(i int, to []float64)) []float64 {
	return l.sums(name, width, func() []float64 {
		all, part := make(kernel.Sums, width), make([]float64, width)
		most := max(stretch, width)
		for i := range l.n {
			if add(i, part); (i+1)%most == 0 || i == l.n-1 {
				all.Add(part)
				clear(part)
			}
		}
		return all.Values()
	})
}

// lowest returns the least of numbers.
func (l *log) lowest(name string, of func() float64) float64 {
	return read(l, func(t *summary) map[string]float64 { return t.Least }, name, of)
}

// worst returns the largest of numbers, and its row.
func (l *log) worst(name string, of func() (float64, int)) (float64, int) {
	v := read(l, func(t *summary) map[string][2]float64 { return t.Worst }, name, func() [2]float64 {
		v, row := of()
		return [2]float64{v, float64(row)}
	})
	return v[0], int(v[1])
}

// different returns the different values of a column, sorted. If there are more than most, it returns some of them.
func (l *log) different(name string, most int, of func(i int) float64) []float64 {
	return read(l, func(t *summary) map[string][]float64 { return t.Sets }, name, func() []float64 {
		seen := map[float64]bool{}
		last := math.NaN()
		for i := range l.n {
			if v := of(i); v != last {
				if seen[v], last = true, v; len(seen) > most {
					break
				}
			}
		}
		return slices.Sorted(maps.Keys(seen))
	})
}

// moments hold Σω, m = Σωv/Σω, Σω²(v − m)^j and Σω³(v − m)^j of a column v over rows with weights ω.
type moments struct {
	Rows   int        `json:"rows"`
	Weight float64    `json:"weight"`
	Mean   float64    `json:"mean"`
	Square [3]float64 `json:"square"`
	Cube   [4]float64 `json:"cube"`
}

// momentsOf computes the moments of a column over n rows with weights.
func momentsOf(n int, column, weight func(i int) float64) moments {
	m := moments{Rows: n}
	var sum, total kernel.Sum
	for from := 0; from < n; from += stretch {
		var s, t float64
		for i := from; i < min(n, from+stretch); i++ {
			w := weight(i)
			s, t = s+w*column(i), t+w
		}
		sum.Add(s)
		total.Add(t)
	}
	m.Weight = total.Value()
	m.Mean = sum.Value() / m.Weight
	all := make(kernel.Sums, 7)
	for from := 0; from < n; from += stretch {
		var s [7]float64
		for i := from; i < min(n, from+stretch); i++ {
			w, d := weight(i), column(i)-m.Mean
			square := w * w
			two := square * d * d
			s[0], s[1], s[2] = s[0]+square, s[1]+square*d, s[2]+two
			square *= w
			s[3], s[4], s[5], s[6] = s[3]+square, s[4]+square*d, s[5]+w*two, s[6]+w*two*d
		}
		all.Add(s[:])
	}
	copy(m.Square[:], all.Values())
	copy(m.Cube[:], all.Values()[len(m.Square):])
	return m
}

// around returns the sums of the same rows around another mean.
func (m moments) around(mean float64) moments {
	d, s, c := m.Mean-mean, m.Square, m.Cube
	m.Mean = mean
	m.Square = [3]float64{s[0], s[1] + d*s[0], s[2] + d*(2*s[1]+d*s[0])}
	m.Cube = [4]float64{c[0], c[1] + d*c[0], c[2] + d*(2*c[1]+d*c[0]), c[3] + d*(3*c[2]+d*(3*c[1]+d*c[0]))}
	return m
}

// pooled returns the moments of all rows of several shards.
func pooled(all []moments) (out moments) {
	var sum, total kernel.Sum
	for _, m := range all {
		if m.Weight > 0 {
			sum.Add(m.Weight * m.Mean)
			total.Add(m.Weight)
		}
	}
	out.Weight = total.Value()
	out.Mean = sum.Value() / out.Weight
	for _, m := range all {
		out.Rows += m.Rows
		if !(m.Weight > 0) {
			continue
		}
		m = m.around(out.Mean)
		floats.Add(out.Square[:], m.Square[:])
		floats.Add(out.Cube[:], m.Cube[:])
	}
	return out
}

// mean is the weighted mean Σω s/Σω of a column with its standard error by
// linearization, and the skewness of the terms ω(s − mean).
func (l *log) mean(name string, s func(i int) float64) mean {
	return read(l, func(t *summary) map[string]moments { return t.Means }, name, func() moments {
		return momentsOf(l.n, s, l.rowWeight)
	}).mean()
}

func (m moments) mean() mean {
	n, two, three := float64(m.Rows), m.Square[2], m.Cube[3]
	out := mean{value: m.Mean, n: m.Rows, se: math.Sqrt(max(0, two)) / m.Weight}
	if m.Rows > 1 {
		out.se *= math.Sqrt(n / (n - 1))
	}
	if two > 0 {
		out.skew = three / n / math.Pow(two/n, 1.5)
	}
	return out
}

// add puts the summaries of shards together, whose first rows have those numbers.
func add(summaries []*summary, first []int) (*summary, error) {
	out := newSummary()
	for name := range summaries[0].Sums {
		sums := make(kernel.Sums, len(summaries[0].Sums[name]))
		for _, t := range summaries {
			if len(t.Sums[name]) != len(sums) {
				return nil, fmt.Errorf("shards have other sums of %s: make them by one version", name)
			}
			sums.Add(t.Sums[name])
		}
		out.Sums[name] = sums.Values()
	}
	for i, t := range summaries {
		for name, v := range t.Least {
			if was, ok := out.Least[name]; !ok || v < was {
				out.Least[name] = v
			}
		}
		for name, v := range t.Worst {
			if was, ok := out.Worst[name]; !ok || v[0] > was[0] {
				out.Worst[name] = [2]float64{v[0], v[1] + float64(first[i])}
			}
		}
		for name, v := range t.Sets {
			out.Sets[name] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(out.Sets[name], v))))
		}
		for name, rows := range t.Counts {
			if out.Counts[name] == nil {
				out.Counts[name] = map[uint64]int{}
			}
			for bits, n := range rows {
				out.Counts[name][bits] += n
			}
		}
	}
	for name := range summaries[0].Means {
		var all []moments
		for _, t := range summaries {
			m, ok := t.Means[name]
			if !ok {
				return nil, fmt.Errorf("a shard has no mean of %s", name)
			}
			all = append(all, m)
		}
		out.Means[name] = pooled(all)
	}
	return out, nil
}

package ope

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"opl/graph/kernel"
	"opl/train/logs"
)

// sample is the rows of a log with what all estimates share.
type sample struct {
	log    *logs.Log
	n, k   int
	r      []float64 // −c
	total  float64   // Σω
	groups int       // G
	place  []int32   // of each row's group among the G; nil: its own
	z      float64   // quantile of the intervals
	rows   []int     // of a larger log; nil: the log's own
	whole  int       // rows of that log
	spread spread    // of the weights of the last target
	note   func(x, y func(i int) float64, v Value)
}

// row is the row's place in the log that targets and models know.
func (t *sample) row(i int) int {
	if t.rows == nil {
		return i
	}
	return t.rows[i]
}

// newSample checks the log.
func newSample(log *logs.Log, delta float64) (*sample, error) {
	n := log.Len()
	t := &sample{log: log, n: n, whole: n, k: log.K(), groups: n, z: distuv.UnitNormal.Quantile(1 - delta/2), r: make([]float64, n)}
	if err := log.Check(); err != nil {
		return nil, err
	}
	if log.Propensity == nil {
		return nil, errors.New("ope: the log has no propensities")
	}
	var total kernel.Sum
	for i, c := range log.Cost {
		t.r[i] = -c
		total.Add(t.weight(i))
	}
	t.total = total.Value()
	if log.Group != nil {
		places := map[int32]int32{}
		t.place = make([]int32, n)
		t.groups = 0
		for i, g := range log.Group {
			at, seen := places[g]
			if g < 0 || !seen {
				at = int32(t.groups)
				places[g] = at
				t.groups++
			}
			t.place[i] = at
		}
		if t.groups == n {
			t.place = nil
		}
	}
	return t, nil
}

// enough refuses rows that say nothing.
func (t *sample) enough() error {
	switch {
	case t.total == 0:
		return errors.New("ope: all rows have weight 0")
	case t.groups < 2:
		return errors.New("ope: a standard error needs at least two rows, of two groups")
	}
	return nil
}

// weight is ω_i.
func (t *sample) weight(i int) float64 {
	if t.log.Weight == nil {
		return 1
	}
	return t.log.Weight[i]
}

// mean is Σω s/Σω with its influences.
func (t *sample) mean(s func(i int) float64) Value {
	u := make([]float64, t.n)
	var sum kernel.Sum
	for i := range u {
		u[i] = s(i)
		sum.Add(t.weight(i) * u[i])
	}
	m := sum.Value() / t.total
	for i := range u {
		u[i] = t.weight(i) * (u[i] - m) / t.total
	}
	return Value{m, u}
}

// se is the standard error of influences u, or of u − v.
func (t *sample) se(u, v []float64) float64 {
	var square kernel.Sum
	var sums []float64 // over groups, where they are not rows
	if t.place != nil {
		sums = make([]float64, t.groups)
	}
	for i, d := range u {
		if v != nil {
			d -= v[i]
		}
		if t.place == nil {
			square.Add(d * d)
		} else {
			sums[t.place[i]] += d
		}
	}
	for _, s := range sums {
		square.Add(s * s)
	}
	g := float64(t.groups)
	return math.Sqrt(square.Value() * g / (g - 1))
}

// gain is v, or v − w, with its interval.
func (t *sample) gain(v, w Value) Interval {
	d, se := v.Value-w.Value, t.se(v.Influence, w.Influence)
	return Interval{d, se, d - t.z*se, d + t.z*se}
}

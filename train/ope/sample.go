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
	taken  []bool    // of each action, whether a row has it
	omega  []float64 // ω of rows; nil: all 1
	total  float64   // Σω
	groups int       // G
	place  []int32   // of each row's group among the G; nil: its own
	delta  float64   // δ of the intervals
	z      float64   // their quantile
	method Method    // by which they are made
	seed   uint64    // of its draws

	columns map[string][]float64 // see column

	items logs.Contexts   // what actions are described by, for MIPS
	of    map[int][]int32 // their clusters, by the number of these
}

// newSample checks the log.
func newSample(log *logs.Log, delta float64) (*sample, error) {
	n := log.Len()
	t := &sample{log: log, n: n, k: log.K(), groups: n, omega: log.Weight, delta: delta,
		z: distuv.UnitNormal.Quantile(1 - delta/2), columns: map[string][]float64{}}
	t.r = make([]float64, n)
	if err := log.Check(); err != nil {
		return nil, err
	}
	t.taken = make([]bool, t.k)
	var total kernel.Sum
	for i, c := range log.Cost {
		t.taken[log.Action[i]] = true
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
	switch {
	case t.total == 0:
		return nil, errors.New("ope: all rows have weight 0")
	case t.groups < 2:
		return nil, errors.New("ope: a standard error needs at least two rows, of two groups")
	}
	return t, nil
}

// column is a number for each row, in a file of the log if they are many. It is used again for the next target.
func (t *sample) column(name string) []float64 {
	if t.columns[name] == nil {
		t.columns[name] = t.log.Scratch(t.n)
	}
	return t.columns[name]
}

// weight is ω_i.
func (t *sample) weight(i int) float64 {
	if t.omega == nil {
		return 1
	}
	return t.omega[i]
}

// group is the place of row i's group among the G.
func (t *sample) group(i int) int {
	if t.place == nil {
		return i
	}
	return int(t.place[i])
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
	return Value{Value: m, Influence: u}
}

// se is the standard error of influences.
func (t *sample) se(u []float64) float64 {
	var square kernel.Sum
	var sums []float64 // over groups, where they are not rows
	if t.place != nil {
		sums = make([]float64, t.groups)
	}
	for i, d := range u {
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

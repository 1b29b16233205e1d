package ope

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"opl/train/logs"
	"opl/train/provenance"
)

// sample is the rows of a log with what all estimates share.
type sample struct {
	log    *logs.Log
	judge  *provenance.Judge
	n, k   int
	r      []float64 // −c
	total  float64   // Σω
	groups int       // G
	place  []int32   // of each row's group among the G; nil: its own
	z      float64   // quantile of the intervals
}

// newSample checks the columns that estimators read.
func newSample(log *logs.Log, delta float64) (*sample, error) {
	n, k := log.Len(), log.K()
	t := &sample{log: log, n: n, k: k, groups: n, z: distuv.UnitNormal.Quantile(1 - delta/2)}
	switch {
	case n == 0:
		return nil, errors.New("ope: the log is empty")
	case k < 1:
		return nil, fmt.Errorf("ope: %d actions", k)
	case log.Propensity == nil:
		return nil, errors.New("ope: the log has no propensities")
	case len(log.Cost) != n || len(log.Propensity) != n || log.Weight != nil && len(log.Weight) != n || log.Group != nil && len(log.Group) != n:
		return nil, errors.New("ope: the log's columns have different lengths")
	}
	t.r = make([]float64, n)
	for i, c := range log.Cost {
		w := t.weight(i)
		switch a, p := log.Action[i], log.Propensity[i]; {
		case a < 0 || int(a) >= k:
			return nil, fmt.Errorf("ope: row %d: action %d is outside 0 to %d", i+1, a, k-1)
		case !(c >= -1 && c <= 0):
			return nil, fmt.Errorf("ope: row %d: cost %v is outside [-1, 0]", i+1, c)
		case !(p > 0 && p <= 1):
			return nil, fmt.Errorf("ope: row %d: propensity %v is outside (0, 1]", i+1, p)
		case !(w >= 0) || math.IsInf(w, 0):
			return nil, fmt.Errorf("ope: row %d: weight %v", i+1, w)
		}
		t.r[i] = -c
		t.total += w
	}
	if t.total == 0 {
		return nil, errors.New("ope: all rows have weight 0")
	}
	if log.Group != nil {
		places := map[int32]int32{}
		t.place = make([]int32, n)
		t.groups = 0
		for i, g := range log.Group {
			at, seen := places[g]
			if g < 0 || !seen {
				at = int32(t.groups)
				t.groups++
				if g >= 0 {
					places[g] = at
				}
			}
			t.place[i] = at
		}
		if t.groups == n {
			t.place = nil
		}
	}
	if t.groups < 2 {
		return nil, errors.New("ope: a standard error needs at least two rows, of two groups")
	}
	return t, nil
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
	sum := 0.0
	for i := range u {
		u[i] = s(i)
		sum += t.weight(i) * u[i]
	}
	m := sum / t.total
	for i := range u {
		u[i] = t.weight(i) * (u[i] - m) / t.total
	}
	return Value{m, u}
}

// se is the standard error of influences u, or of u − v.
func (t *sample) se(u, v []float64) float64 {
	at := func(i int) float64 {
		if v == nil {
			return u[i]
		}
		return u[i] - v[i]
	}
	square := 0.0
	if t.place == nil {
		for i := range u {
			square += at(i) * at(i)
		}
	} else {
		sums := make([]float64, t.groups)
		for i, g := range t.place {
			sums[g] += at(i)
		}
		for _, s := range sums {
			square += s * s
		}
	}
	g := float64(t.groups)
	return math.Sqrt(square * g / (g - 1))
}

// gain is v, or v − w, with its interval.
func (t *sample) gain(v Value, w Value) Gain {
	d, se := v.Value-w.Value, t.se(v.Influence, w.Influence)
	return Gain{d, se, d - t.z*se, d + t.z*se}
}

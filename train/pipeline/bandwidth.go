package pipeline

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/train"
	"opl/train/library"
	"opl/train/logs"
)

// divisions are the numbers of intervals that a range of numbers may be divided into, where [Options].Intervals does
// not say them.
var divisions = []int{4, 8, 16, 32}

// Division is what a number of intervals promises on rows that teach.
type Division struct {
	Intervals int     `json:"intervals"`
	Value     float64 `json:"value"` // estimated reward of the policy that is best with these intervals
	Error     float64 `json:"error"` // standard error of that by weights of as many rows as certify
}

// bandwidth divides a log of numbers into the intervals whose policy has the largest value less its error, and returns
// it with the options that divide its rows alike. Narrow intervals may earn more, and are guaranteed less: weights are
// as large as intervals are narrow. The rows that teach are halved, and each half teaches a model of the finest
// division. One says which policies are best in the contexts of the other half; the other values them, and its rows say
// the error. No other row is looked at.
func bandwidth(ctx context.Context, lib library.Library, log *logs.Log, o Options) (*logs.Log, Options, error) {
	if o.PriorFile != nil || o.Distil != nil {
		return log, o, nil // the log was read as their policy divides it
	}
	ks := slices.Compact(slices.Sorted(slices.Values(o.Intervals)))
	if len(ks) == 0 {
		ks = divisions
	}
	if ks[0] < 1 {
		return nil, o, fmt.Errorf("setting intervals %d: want at least 1", ks[0])
	}
	coarsest, err := log.Divided(ks[0])
	if err != nil || len(ks) == 1 {
		return coarsest, o, err
	}
	l, err := prepare(lib, coarsest, o)
	if err != nil {
		return nil, o, err
	}
	finest, err := l.rows.Divided(ks[len(ks)-1])
	if err != nil {
		return nil, o, err
	}
	half := len(l.teaching) / 2
	rows := [2][]int{l.teaching[:half], l.teaching[half:]}
	var rewards [2]func(row int) []float64
	for f := range rows {
		if rewards[f], err = l.rewards(ctx, finest, rows[f]); err != nil {
			return nil, o, fmt.Errorf("%d intervals: %w", finest.Numbers.Of.Intervals(), err)
		}
	}
	chosen, most := coarsest, math.Inf(-1)
	for _, k := range ks {
		divided, err := log.Divided(k)
		if err != nil {
			return nil, o, err
		}
		value, square, n := 0.0, 0.0, float64(len(l.teaching))
		for f := range rows {
			for _, i := range rows[f] {
				a := floats.MaxIdx(divided.Numbers.Of.Means(rewards[1-f](i), finest.Numbers.Of))
				value += divided.Numbers.Of.Means(rewards[f](i), finest.Numbers.Of)[a] / n
				if int(divided.Action[i]) == a {
					x := log.Cost[i] / divided.Propensity[i]
					square += x * x / n
				}
			}
		}
		e, u := math.Sqrt(square/float64(len(l.certifying))), log.Units()
		l.o.divisions = append(l.o.divisions, Division{k, u.At(value), e * u.Span()})
		if value-e > most {
			chosen, most = divided, value-e
		}
	}
	l.o.looked = l.teaching
	return chosen, l.o, nil // settled, so that the rows are divided alike
}

// rewards learns a model of the rewards of actions from some rows.
func (l *learning) rewards(ctx context.Context, log *logs.Log, rows []int) (func(row int) []float64, error) {
	var scores func(row int) []float64
	if l.table() {
		direct := train.Direct{Encoder: l.encoder, Threads: runtime.GOMAXPROCS(0)}
		s, err := direct.Learn(ctx, log, rows)
		if err != nil {
			return nil, err
		}
		view, err := s.In.View(log, nil, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		scores = view.Scorers(s.Theta)()
	} else {
		theta, err := train.Logistic(ctx, log, rows, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		scores = log.Scorers(theta)()
	}
	return func(row int) []float64 {
		r := slices.Clone(scores(row))
		for a, s := range r {
			r[a] = 1 / (1 + math.Exp(-s))
		}
		return r
	}, nil
}

package pipeline

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"opl/train"
	"opl/train/library"
	"opl/train/logs"
)

// divisions are the numbers of intervals that a range of numbers may be divided into, where [Options].Intervals does
// not say them.
var divisions = []int{4, 8, 16, 32}

// worthwhile is how much more reward, as a share of its range, narrower intervals must promise: wider ones have
// smaller weights, and so tighter guarantees.
const worthwhile = .005

// bandwidth divides a log of numbers into the intervals that policies learned from the rows that teach earn the most
// with, and returns it with the options that divide its rows alike. The rows that teach are halved. A policy of each
// division is learned from one half, and valued in the contexts of the other by the model of the finest division that
// the other half taught, which had no part in the policy. No other row is looked at.
func bandwidth(ctx context.Context, lib library.Library, log *logs.Log, o Options) (*logs.Log, Options, error) {
	if o.PriorFile != nil || o.Distil != nil {
		return log, o, nil // the log was read as their policy divides it
	}
	ks := slices.Sorted(slices.Values(o.Intervals))
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
	var trials []*division
	half := len(l.teaching) / 2
	for _, k := range ks {
		d := &division{k: k, rows: [2][]int{l.teaching[:half], l.teaching[half:]}}
		if d.log, err = l.rows.Divided(k); err != nil {
			return nil, o, err
		}
		for f, rows := range d.rows {
			if d.model[f], err = d.learn(ctx, l, rows); err != nil {
				return nil, o, fmt.Errorf("%d intervals: %w", k, err)
			}
		}
		trials = append(trials, d)
	}
	finest, best, most := trials[len(trials)-1], 0, math.Inf(-1)
	for i, d := range trials {
		if v := d.value(finest); v > most+worthwhile || i == 0 {
			best, most = i, v
		}
	}
	divided, err := log.Divided(trials[best].k)
	l.o.looked = l.teaching
	return divided, l.o, err // settled, so that the rows are divided alike
}

func sigmoid(s float64) float64 { return 1 / (1 + math.Exp(-s)) }

// division is a log in k intervals, with models of the reward from both halves of the rows that teach.
type division struct {
	k     int
	log   *logs.Log
	rows  [2][]int
	model [2]func() func(row int) []float64
}

// learn learns a model from some rows.
func (d *division) learn(ctx context.Context, l *learning, rows []int) (func() func(row int) []float64, error) {
	if !l.table() {
		theta, err := train.Logistic(ctx, d.log, rows, runtime.GOMAXPROCS(0))
		return d.log.Scorers(theta), err
	}
	direct := train.Direct{Encoder: l.encoder, Threads: runtime.GOMAXPROCS(0)}
	s, err := direct.Learn(ctx, d.log, rows)
	if err != nil {
		return nil, err
	}
	view, err := s.In.View(d.log, nil, runtime.GOMAXPROCS(0))
	return view.Scorers(s.Theta), err
}

// value is what the policies of largest scores earn by the models of the finest division.
func (d *division) value(finest *division) (sum float64) {
	n := 0
	for f, rows := range d.rows {
		scores, truth := d.model[1-f](), finest.model[f]()
		for _, r := range rows {
			s := scores(r)
			a := 0
			for b, v := range s {
				if v > s[a] {
					a = b
				}
			}
			sum += finest.within(d, a, truth(r))
			n++
		}
	}
	return sum / float64(max(1, n))
}

// within is the mean reward, by scores of the finest division, of action a of another.
func (finest *division) within(d *division, a int, scores []float64) (mean float64) {
	for c, s := range scores {
		mean += d.log.Numbers.Of.Share(a, finest.log.Numbers.Of, c) * sigmoid(s)
	}
	return mean
}

package pipeline

import (
	"fmt"
	"runtime"
	"slices"

	"opl/policies"
	"opl/policies/features"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
)

// mostWatched is the largest number of rows that the effective sample size is watched on: fewer where they offer many
// actions.
const mostWatched = 20_000

// watch follows a training: it keeps the curve, and stops when too few rows speak
// for the policy.
type watch struct {
	log     *logs.Log
	rows    []int   // a sample of those trained on
	scale   float64 // of the effective sample size of the sample to that of all
	min     float64 // effective rows
	curve   []train.CurvePoint
	last    *policies.Posterior // of the latest epoch with enough,
	layers  []features.Layer    // and what it is linear in
	stopped string
}

func newWatch(log *logs.Log, rows []int, seed uint64, least float64) *watch {
	w := &watch{log: log, rows: rows, scale: 1, min: least}
	if x, ok := log.X.(logs.PlacedContexts); ok && x.Len() > 0 && x.Placed32(0) != nil {
		rough := *log
		rough.X = single{x}
		w.log = &rough
	}
	if most := max(1000, min(mostWatched, 100_000_000/log.MostOptions())); len(rows) > most {
		some := train.Stream(seed, "effective sample size").Perm(len(rows))[:most]
		slices.Sort(some)
		w.rows = logs.Pick(rows, some)
		w.scale = float64(len(rows)) / float64(most)
	}
	return w
}

// epoch is a train.Config.Epoch for a policy of an exact form.
func (w *watch) epoch(pol policies.Policy) func(train.Epoch) bool {
	return func(p train.Epoch) bool {
		log, err := p.Represented.View(w.log, w.rows, runtime.GOMAXPROCS(0))
		if err != nil {
			w.stopped = err.Error()
			return false
		}
		ess := w.scale * certify.SelfNormalized(certify.Logged(pol, p.Posterior, log, w.rows)).Effective
		w.curve = append(w.curve, train.CurvePoint{Stage: p.Stage, Scale: p.Posterior.Prior.Scale, Epoch: p.Number,
			Objective: train.Number(p.Objective), Effective: ess, Terms: p.Terms, Reward: train.None()})
		if ess >= w.min {
			q := p.Posterior
			w.last = &q
			if w.layers, err = p.Represented.Layers(); err != nil {
				w.stopped = err.Error()
			}
			return err == nil
		}
		w.stopped = fmt.Sprintf("after epoch %d the weights π/π₀ are worth %.1f rows, fewer than %v: the policy "+
			"plays what the log hardly tried, and what the log says of it rests on a handful of rows", p.Number, ess,
			w.min)
		return false
	}
}

// single are contexts whose vectors are of 32 bits for all: for what need not be exact.
type single struct{ logs.PlacedContexts }

// Row64 copies φ(x_i), rounded.
func (r single) Row64(i int, dst []float64) {
	for j, v := range r.Placed32(i) {
		dst[j] = float64(v)
	}
}

// Ahead asks memory for a vector.
func (r single) Ahead(i int) { logs.Ahead(r.PlacedContexts, i) }

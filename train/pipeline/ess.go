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

// sampled is the number of rows that the effective sample size is watched on, at most: fewer where they offer many
// actions.
const sampled = 20_000

// estimate is what rows of an encoded log say of π_Q, which has an exact form.
func estimate(pol policies.Policy, q policies.Posterior, log *logs.Log, rows []int) certify.Estimate {
	return certify.SelfNormalized(certify.Logged(pol, q, log, rows))
}

// few are rows, evenly spaced, for an estimate that nothing is decided by: all, unless the scores of what they offer
// take seconds.
func few(log *logs.Log, rows []int) []int {
	every := 1 + len(rows)/max(1000, 500_000_000/log.MostOptions())
	var some []int
	for i := 0; i < len(rows); i += every {
		some = append(some, rows[i])
	}
	return some
}

// Foretold says before anything is learned that a log can guarantee no more than the floor of a policy earns. Of n rows
// with propensities of at most p a policy that plays one action for each context is expected to play n·p at most. Below
// log(1/δ), 3 at δ = 0.05, none of them may play it with a probability above δ, and a bound must allow for that.
func Foretold(log *logs.Log) []string {
	if log.Numbers != nil || log.Lists != nil || log.Estimated || len(log.Propensity) == 0 {
		return nil
	}
	most := slices.Max(log.Propensity)
	if played := most * float64(log.Len()); played < 3 {
		return []string{fmt.Sprintf("%d rows with propensities of at most %.3g play what a policy chooses %.2g times: "+
			"no more can be guaranteed than its floor earns; log more rows, or by a policy that plays its choice more "+
			"often", log.Len(), most, played)}
	}
	return nil
}

// estimateParts is what the rows that certify say of the recipe's mixture, each of its own part.
func estimateParts(parts []*train.Certified, log *logs.Log) (certify.Estimate, error) {
	var pi, pi0, cost []float64
	all := make([]float64, log.MostOptions())
	for _, p := range parts {
		play, err := p.Play(log, runtime.GOMAXPROCS(0))
		if err != nil {
			return certify.Estimate{}, err
		}
		for _, r := range p.Rows {
			_ = play(all[:log.Options(r)], r) // of contexts that are encoded, which does not fail
			pi, pi0, cost = append(pi, all[log.Chosen(r)]), append(pi0, log.Propensity[r]), append(cost, log.Cost[r])
		}
	}
	return certify.SelfNormalized(pi, pi0, cost), nil
}

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
		rough.X = rounded{x}
		w.log = &rough
	}
	if sampled := max(1000, min(sampled, 100_000_000/log.MostOptions())); len(rows) > sampled {
		some := train.Stream(seed, "effective sample size").Perm(len(rows))[:sampled]
		slices.Sort(some)
		w.rows = pick(rows, some)
		w.scale = float64(len(rows)) / float64(sampled)
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
		ess := w.scale * estimate(pol, p.Posterior, log, w.rows).Effective
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

// rounded are contexts whose vectors are of 32 bits for all: for what need not be exact.
type rounded struct{ logs.PlacedContexts }

// Row64 copies φ(x_i), rounded.
func (r rounded) Row64(i int, dst []float64) {
	for j, v := range r.Placed32(i) {
		dst[j] = float64(v)
	}
}

// Ahead asks memory for a vector.
func (r rounded) Ahead(i int) { logs.Ahead(r.PlacedContexts, i) }

// room is the number of bytes that the vectors of contexts may take in memory: those of
// a million rows of 50 features have it.
const room = 256 << 20

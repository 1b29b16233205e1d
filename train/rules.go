package train

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"opl/policies/features"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/rules"
)

// Rules learns policies that people can read: shallow trees of the largest value by doubly robust scores, see
// [rules.Learn],
//
//	Γ[i, a] = r̂(x_i, a) + 1[a = a_i]·(r_i − r̂(x_i, a))/π₀(a_i|x_i)
//
// r̂ is a mixture of a linear model and boosted trees that did not learn from the fold of row i.
type Rules struct {
	Depth int // of a tree, at most; 0: 2
	// Encoder of the log's contexts: which features are of one category, and where splits are round numbers
	Encoder *features.Encoder
	Threads int
	// Of, if not nil, are policies, drawn anew for every decision, that the tree is to play like, in place of
	// learning from rewards: Γ[i, a] is the probability of a.
	Of []Component

	model *Direct // of r̂, which keeps what was chosen for it
}

const (
	rulesName    = "rules"
	ruleErrors   = 2  // standard errors that a split must gain
	trialCuts    = 64 // of a feature, in trials
	mostRuleRows = 200_000
	mostScores   = 1 << 23 // of rows and actions, that a policy is explained on

	mostRuleColumns = 512 // that are all searched
	// of the best single splits, that surrogates read, and rules of more: the time of deep trees grows by its square
	surrogateColumns = 100
)

// Learn learns a tree from some rows of a log with contexts and a fixed list of actions.
func (r *Rules) Learn(ctx context.Context, log *logs.Log, rows []int, trial bool) (Component, error) {
	t := r.table(log, rows)
	scores, err := r.scores(ctx, t, log)
	if err != nil {
		return Component{}, err
	}
	o := r.options(t)
	if trial {
		o.Cuts = trialCuts
	}
	if r.Of != nil {
		o.Errors = 0
	}
	if t.columns() > mostRuleColumns {
		o.Columns = surrogateColumns
	}
	tree, err := rules.Learn(ctx, t.x, scores, t.k, o)
	if err != nil {
		return Component{}, fmt.Errorf("train: %w", err)
	}
	in := Layered([]features.Layer{{Trees: tree.Forest(t.x.Width, t.k)}})
	return Component{Weight: 1, Theta: identity(t.k), In: in}, nil
}

// identity is θ [K×K] of scores that are given.
func identity(k int) []float64 {
	theta := make([]float64, k*k)
	for a := range k {
		theta[a*k+a] = 1
	}
	return theta
}

// Surrogate is the tree that plays like pi does in some rows of a log that is encoded by e, pi [n×K] the
// probabilities of a policy there.
func Surrogate(ctx context.Context, log *logs.Log, e *features.Encoder, rows []int, pi []float64,
	depth, threads int) (*rules.Node, error) {
	r := &Rules{Depth: depth, Encoder: e, Threads: threads}
	t := r.table(log, rows)
	if len(t.rows) != len(rows) {
		return nil, fmt.Errorf("train: %d rows of %d features are too many for a surrogate", len(rows), t.x.Width)
	}
	o := r.options(t)
	o.Errors, o.Cuts, o.Columns = 1, trialCuts, surrogateColumns
	return rules.Learn(ctx, t.x, pi, t.k, o)
}

// Scores are doubly robust estimates Γ [n×K] of the rewards of all actions, see [Rules], in some rows of a log that
// is encoded by e; of very many, or with many features, in some of them alone, evenly spaced, which it returns.
func Scores(ctx context.Context, log *logs.Log, e *features.Encoder, rows []int,
	threads int) ([]float64, []int, error) {
	r := &Rules{Encoder: e, Threads: threads}
	t := r.table(log, evenly(rows, min(mostRuleRows, mostScores/max(1, log.K()))))
	scores, err := r.scores(ctx, t, log)
	return scores, t.rows, err
}

// table reads rows, of very many the first.
func (r *Rules) table(log *logs.Log, rows []int) *table {
	if r.model == nil {
		r.model = &Direct{Encoder: r.Encoder, Threads: r.Threads, whole: true,
			may: func(name string) bool { return name == "linear" || name == "pooled" }}
	}
	return r.model.table(log, rows[:min(len(rows), mostRuleRows)])
}

// options says how a tree is grown on the features of a table.
func (r *Rules) options(t *table) rules.Options {
	o := rules.Options{Depth: r.Depth, Threads: t.threads, Groups: t.groups, Errors: ruleErrors}
	e := r.Encoder
	if e == nil || e.Unit || e.Dim() != t.x.Width {
		return o
	}
	for m, name := range e.Missing {
		o.Missing = append(o.Missing, [2]int32{int32(e.Feature(name)), int32(len(e.Names) + m)})
	}
	o.Cut = func(j int, low, high float64) float64 {
		if j < len(e.Names) && e.Scale[j] > 0 {
			// the values as they are logged, between which a number of few digits lies
			below := e.AtMost(j, math.Nextafter(high, math.Inf(-1)))
			if cut := e.Number(j, rules.Short(e.AtMost(j, low), below)); cut >= low && cut < high {
				return cut
			}
		}
		return rules.Short(low, high)
	}
	return o
}

// scores are Γ [n×K].
func (r *Rules) scores(ctx context.Context, t *table, log *logs.Log) ([]float64, error) {
	if r.Of != nil {
		pi, err := play(argmaxOf(log), r.Of, func(in *Representation) (*logs.Log, error) {
			return in.View(log, t.rows, t.threads)
		})
		out := make([]float64, len(t.rows)*t.k)
		for i, row := range t.rows {
			if err == nil {
				err = pi(out[i*t.k:(i+1)*t.k], row)
			}
		}
		return out, err
	}
	out, err := r.model.heldOut(ctx, t)
	if err != nil {
		return nil, err
	}
	for i, row := range t.rows {
		if log.Propensity != nil {
			at := &out[i*t.k+int(t.action[i])]
			*at += (t.y[i] - *at) / log.Propensity[row]
		}
	}
	return out, nil
}

// heldOut are r̂(x, a) [n×K] of models that did not learn from the fold of x. Scales and weights are chosen on
// all rows.
func (d *Direct) heldOut(ctx context.Context, t *table) ([]float64, error) {
	if err := d.tune(ctx, t); err != nil {
		return nil, err
	}
	out := make([]float64, len(t.y)*t.k)
	err := d.each(1, func(_ int, of *tuned) error {
		return t.heldOut(ctx, of.kind, of.tuning, t.all(), func(i int, scores []float64) {
			floats.AddScaled(out[i*t.k:(i+1)*t.k], of.weight, scores)
		})
	})
	certify.LogisticLink(out, out)
	return out, err
}

// Package ope is off-policy evaluation: it says what another policy would have
// earned, from a log. Estimators of the value of fixed target policies come with
// standard errors, intervals, effective sample sizes, and what can be guaranteed.
//
// Values are rewards r = −c in [0, 1]. The mean of a column s over rows with
// weights ω is Σω s/Σω: a row of weight 2 stands for two rows of the population
// that were not all kept. Its standard error comes from its influences
//
//	u_i = ω_i(s_i − mean)/Σω,   se² = G/(G−1)·Σ_g (Σ_{i in g} u_i)²
//
// over the G groups of rows that may depend on one another (rows without a group
// are their own), which for single rows of equal weight is the sample standard
// deviation over √n.
//
// An [Estimator] is a formula and a line in [Estimators]; one's own is appended to that
// list in [Options].
package ope

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"opl/graph/kernel"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Options says what is estimated. The zero value is useful.
type Options struct {
	// Delta is δ: intervals are at level 1 − δ, guarantees hold together, over all
	// targets, with probability 1 − δ. 0 means 0.05.
	Delta float64
	// Estimators are those of [Estimators] and one's own, with the hyperparameters of
	// [Estimator.With]; nil means [Estimators]. Those that the log, the targets or a missing
	// Model do not admit are left out, and named in Result.Missing.
	Estimators []Estimator
	// Model predicts rewards, for estimators that need it; nil leaves them out.
	Model Model
	// Judge says what can be guaranteed of the targets; nil: the log's.
	Judge *provenance.Judge
	// Notes are said below the results, such as what is known of the log.
	Notes []string
}

// Estimate is one estimator's value of one policy.
type Estimate struct {
	Estimator string  `json:"method"`
	Hyper     float64 `json:"hyperparameter,omitempty"` // 0: none
	Interval
	Gain   Interval `json:"gain"` // over the logging policy's mean reward, on the same rows
	Biased bool     `json:"-"`    // as the estimator is
	Model  bool     `json:"-"`    // it has a model's predictions
}

// Interval is a value, or a paired difference of two, with its normal interval, which may
// leave what values can be.
type Interval struct {
	Value float64 `json:"value"`
	SE    float64 `json:"se"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Policy is what is said of one target.
type Policy struct {
	Name         string     `json:"name"`
	Estimates    []Estimate `json:"estimates"`
	ESS          float64    `json:"ess"`         // (Σωw)²/Σ(ωw)², rows that the weights amount to
	MeanWeight   float64    `json:"mean_weight"` // Σωw/Σω, 1 in expectation
	MeanWeightSE float64    `json:"mean_weight_se"`
	Largest      float64    `json:"largest_weight"` // max w
	Share        float64    `json:"largest_share"`  // of the row of the largest ωw in Σωw
	Warnings     []string   `json:"warnings,omitempty"`
	// Guarantee is nil where none exists; why is in Uncertified.
	Guarantee   *provenance.Statement `json:"guarantee,omitempty"`
	Uncertified string                `json:"uncertified,omitempty"`
}

// Pair is the difference of two targets, first less second, by one estimator.
type Pair struct {
	First     string `json:"first"`
	Second    string `json:"second"`
	Estimator string `json:"method"`
	Interval
	Biased bool `json:"-"` // as the estimator is
}

// Result is a table of estimates.
type Result struct {
	Rows     int      `json:"rows"`
	Groups   int      `json:"groups"` // G; the rows where all are their own
	Delta    float64  `json:"delta"`
	Logging  Interval `json:"logging"` // mean reward of the logging policy, on-policy
	Policies []Policy `json:"policies"`
	Pairs    []Pair   `json:"pairs,omitempty"`
	Missing  []string `json:"missing,omitempty"` // estimators left out, and why
	Notes    []string `json:"notes,omitempty"`
}

// few is the effective sample size below which, and heavy the share of one row
// above which, an estimate rests on a handful of rows.
const (
	few   = 50
	heavy = 0.1
)

// Evaluate estimates the value of every target by every estimator. It reads the
// columns of the log, not its contexts: those are the targets' and the model's
// business. Errors: columns that are missing or outside of their ranges, fewer than two
// rows or groups, probabilities of a target that are none, an estimator without a name
// or that comes twice, a hyperparameter outside of its domain, and estimates that are
// not finite.
func Evaluate(log *logs.Log, targets []Target, o Options) (Result, error) {
	if o.Delta = cmp.Or(o.Delta, 0.05); !(o.Delta > 0 && o.Delta < 1) {
		return Result{}, fmt.Errorf("ope: delta %v is outside (0, 1)", o.Delta)
	}
	if len(targets) == 0 {
		return Result{}, errors.New("ope: no target policy")
	}
	t, err := newSample(log, o.Delta)
	if err == nil {
		err = t.enough()
	}
	if err != nil {
		return Result{}, err
	}
	judge := o.Judge
	if judge == nil {
		judge = provenance.New(log)
	}
	on := t.mean(func(i int) float64 { return t.r[i] })
	res := Result{Rows: t.n, Groups: t.groups, Delta: o.Delta, Logging: t.gain(on, Value{}), Notes: o.Notes}
	chosen, missing, err := choose(o, targets, t.n)
	if err != nil {
		return Result{}, err
	}
	res.Missing = missing
	values := make([]map[string]Value, len(targets)) // by target and estimator
	for j, target := range targets {
		p, d, err := t.policy(target, o.Model, slices.ContainsFunc(chosen, func(e Estimator) bool { return e.Model }))
		if err != nil {
			return Result{}, err
		}
		values[j] = map[string]Value{}
		for _, c := range chosen {
			at, _ := c.hyper(t.n) // choose has checked it
			v := c.Of(d, at)
			if math.IsNaN(v.Value) {
				res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value for target %s", c.Name, target.Name))
				continue
			}
			if len(v.Influence) != t.n {
				return Result{}, fmt.Errorf("ope: estimator %s has the influences of %d rows, not of %d", c.Name, len(v.Influence), t.n)
			}
			g := t.gain(v, Value{})
			if bad := v.Value + g.SE; bad-bad != 0 {
				return Result{}, fmt.Errorf("ope: estimator %s: the value %v of target %s, with standard error %v, is not finite", c.Name, v.Value, target.Name, g.SE)
			}
			p.Estimates = append(p.Estimates, Estimate{c.Name, at, g, t.gain(v, on), c.Biased, c.Model})
			if len(targets) > 1 {
				values[j][c.Name] = v
			}
		}
		c, err := judge.Target(target.Row, d.Pi, target.Origin, certify.Options{Delta: o.Delta / float64(len(targets))})
		var withheld *provenance.Withheld
		switch {
		case errors.As(err, &withheld):
			p.Uncertified = withheld.Reason
		case err != nil:
			return Result{}, fmt.Errorf("ope: target %s: %w", p.Name, err)
		default:
			s := c.Statement()
			p.Guarantee = &s
		}
		res.Policies = append(res.Policies, p)
	}
	for a := range targets {
		for b := a + 1; b < len(targets); b++ {
			for _, e := range res.Policies[a].Estimates {
				if v, ok := values[b][e.Estimator]; ok {
					res.Pairs = append(res.Pairs, Pair{targets[a].Name, targets[b].Name, e.Estimator, t.gain(values[a][e.Estimator], v), e.Biased})
				}
			}
		}
	}
	return res, nil
}

// choose lists the estimators that can be computed, and those that cannot.
func choose(o Options, targets []Target, n int) (chosen []Estimator, missing []string, err error) {
	asked := o.Estimators
	if asked == nil {
		asked = Estimators()
	}
	logged := slices.IndexFunc(targets, func(t Target) bool { return t.Row == nil })
	seen := map[string]bool{}
	for _, e := range asked {
		_, err := e.hyper(n)
		switch {
		case e.Name == "" || e.Of == nil:
			return nil, nil, fmt.Errorf("ope: estimator %q has no name or no formula Of", e.Name)
		case seen[e.Name]:
			return nil, nil, fmt.Errorf("ope: estimator %s comes twice", e.Name)
		case err != nil:
			return nil, nil, fmt.Errorf("ope: estimator %w", err)
		case e.Model && o.Model == nil:
			missing = append(missing, fmt.Sprintf("%s: no model of the reward", e.Name))
		case e.Model && logged >= 0:
			missing = append(missing, fmt.Sprintf("%s: target %s has no probabilities of all actions", e.Name, targets[logged].Name))
		default:
			chosen = append(chosen, e)
		}
		seen[e.Name] = true
	}
	if chosen == nil {
		return nil, nil, fmt.Errorf("ope: no estimator is left: %v", missing)
	}
	return chosen, missing, nil
}

// policy gathers what estimators read of one target, and what its weights are like.
// model asks for predictions.
func (t *sample) policy(target Target, model Model, predict bool) (Policy, *Data, error) {
	var (
		p              = Policy{Name: target.Name}
		d              = &Data{N: t.n, R: t.r, Pi0: t.log.Propensity, Pi: make([]float64, t.n), W: make([]float64, t.n), Weight: t.log.Weight, rows: t}
		row, predicted = make([]float64, t.k), make([]float64, t.k)
	)
	if predict {
		d.Direct, d.Predicted = make([]float64, t.n), make([]float64, t.n)
	}
	if target.Row == nil && len(target.Logged) != t.whole {
		return p, nil, fmt.Errorf("ope: target %s has %d probabilities for %d rows", target.Name, len(target.Logged), t.whole)
	}
	var sum, square kernel.Sum
	var most float64
	for i := range t.n {
		var err error
		if target.Row == nil {
			d.Pi[i] = target.Logged[t.row(i)]
			err = probability(d.Pi[i])
		} else {
			if err := target.Row(row, t.row(i)); err != nil {
				return p, nil, err
			}
			d.Pi[i] = row[t.log.Action[i]]
			_, err = logs.Distribution(row, t.log.Actions, logs.Exact)
		}
		if err != nil {
			return p, nil, fmt.Errorf("ope: target %s, row %d: %w", target.Name, t.row(i)+1, err)
		}
		w := d.Pi[i] / d.Pi0[i]
		if w > 1e100 {
			return p, nil, fmt.Errorf("ope: target %s, row %d: the weight %v/%v is beyond use", target.Name, t.row(i)+1, d.Pi[i], d.Pi0[i])
		}
		d.W[i] = w
		v := t.weight(i) * w
		sum.Add(v)
		square.Add(v * v)
		most = max(most, v)
		p.Largest = max(p.Largest, w)
		if predict {
			model(predicted, t.row(i))
			d.Predicted[i] = predicted[t.log.Action[i]]
			for a, q := range row {
				d.Direct[i] += q * predicted[a]
			}
			if x := d.Direct[i] + d.Predicted[i]; x-x != 0 {
				return p, nil, fmt.Errorf("ope: row %d: the model predicts a reward that is not finite", t.row(i)+1)
			}
		}
	}
	g := t.gain(t.mean(func(i int) float64 { return d.W[i] }), Value{})
	p.MeanWeight, p.MeanWeightSE = g.Value, g.SE
	s := spread{Square: square.Value(), Most: most, Largest: p.Largest}
	for i, v := range d.W {
		if v > 0 && t.r[i] > 0 && t.weight(i) > 0 {
			s.Paid++
		}
	}
	s.say(&p, sum.Value(), t.n, t.groups)
	t.spread = s
	return p, d, nil
}

// spread is how unequal the weights of a target are.
type spread struct {
	Square  float64 `json:"square"`  // Σ(ωw)²
	Most    float64 `json:"most"`    // max ωw
	Largest float64 `json:"largest"` // max w
	Paid    int     `json:"paid"`    // rows of weight with a reward above 0
}

// say puts into p what follows, sum = Σωw, with warnings.
func (s spread) say(p *Policy, sum float64, n, groups int) {
	p.Largest = s.Largest
	if sum > 0 {
		p.ESS, p.Share = sum*sum/s.Square, s.Most/sum
	}
	p.warn(s.Paid, n, groups)
}

// warn says where estimates rest on a handful of rows, and where the weights do
// not average to 1.
func (p *Policy) warn(paid, n, groups int) {
	add := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	switch {
	case p.ESS == 0:
		add("the target never takes a logged action: nothing is known of it")
		return
	case p.ESS < few:
		add("the estimate rests on %.1f effective rows of %d", p.ESS, n)
	}
	if p.Share > heavy {
		add("one row carries %.0f %% of the weight", 100*p.Share)
	}
	if paid < 20 {
		add("only %d rows of weight have a reward above 0", paid)
	}
	if d := p.MeanWeight - 1; math.Abs(d) > 4*p.MeanWeightSE && math.Abs(d) > 0.01 {
		add("weights average %.3g, not 1: propensities are wrong, or the target takes actions that the log could not", p.MeanWeight)
	}
	if groups < 30 && groups < n {
		add("%d groups are too few for a normal interval", groups)
	}
}

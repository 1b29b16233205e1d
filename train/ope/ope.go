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
	"sync"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Options says what is estimated. The zero value is useful.
type Options struct {
	// Delta is δ: intervals are at level 1 − δ, guarantees hold together, over all
	// targets, with probability 1 − δ. 0 means 0.05.
	Delta float64
	// Estimators are some of [Estimators] and one's own, with the hyperparameters of
	// [Estimator.With]; nil means those that [Default] keeps. Those that the log, the targets or a missing
	// Model do not admit are left out, and named in Result.Missing.
	Estimators []Estimator
	// Interval is the name of one of [Methods]; "" means the first.
	Interval string
	// MaxWeight is M, above which no weight π/π₀ of a target can be, for methods that are Bounded. 0: it is the
	// largest in the contexts of the log, which must have the propensities of all actions.
	MaxWeight float64
	// HalfWidth is that of the interval for which Policy.RowsNeeded is, in the log's units; 0: a tenth of the logging policy's mean reward above the least.
	HalfWidth float64
	// Seed is that of the bootstrap, and of the order of rows in bets.
	Seed uint64
	// Model predicts rewards, for estimators that need it. Learn learns one from the log, with weights
	// of rows as [ModelOptions] has them: for Model nil, and for estimators that Teach. Both nil leaves
	// such estimators out.
	Model Model
	Learn func(weight []float64) (Model, error)
	// Loggers are the policies that logged the rows, named as log.Policies names them, for estimators
	// that are Balanced; nil leaves these out.
	Loggers []Target
	// Gamma is Γ, the factor that propensities are known up to, in what is guaranteed; 0: 1. The Judge
	// should know of it, see [provenance.Within].
	Gamma float64
	// Judge says what can be guaranteed of the targets; nil: the log's.
	Judge *provenance.Judge
	// EstimatesAlone leaves out guarantees, and the inspection of the log that they ask for.
	EstimatesAlone bool
	// Notes are said below the results, such as what is known of the log.
	Notes []string
}

// Estimate is one estimator's value of one policy.
type Estimate struct {
	Estimator string  `json:"method"`
	Hyper     float64 `json:"hyperparameter,omitempty"` // 0: none
	Interval
	Gain   Interval `json:"gain"`             // over the logging policy's mean reward, on the same rows
	Biased bool     `json:"biased,omitempty"` // as the estimator is: the interval is of what it estimates
	Model  bool     `json:"-"`                // it has a model's predictions
}

// Interval is a value, or a paired difference of two, with its interval, which may
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
	Tail         float64    `json:"pareto_k"`       // shape of the largest weights: from .7 on no interval is to be trusted; 0: there is no tail
	Uncovered    float64    `json:"uncovered"`      // probability that the target gives to actions that the log could not take, or never took
	Warnings     []string   `json:"warnings,omitempty"`
	// Recommended is the estimator to believe: sndr, or without a model snips, or else the first that is not
	// biased; "" where there are Warnings: none.
	Recommended string `json:"recommended,omitempty"`
	// RowsNeeded is how many rows like these would give half of its interval the width
	// HalfWidth, and 50 effective ones; 0: it cannot be told.
	RowsNeeded float64 `json:"rows_needed,omitempty"`
	HalfWidth  float64 `json:"half_width,omitempty"`
	// Guarantee is nil where none exists; why is in Uncertified.
	Guarantee *provenance.Statement `json:"guarantee,omitempty"`
	// Guaranteed and GainGuaranteed are what it says of the value and of the gain, see [Result.InUnits].
	Guaranteed     *float64 `json:"guaranteed,omitempty"`
	GainGuaranteed *float64 `json:"gain_guaranteed,omitempty"`
	Uncertified    string   `json:"uncertified,omitempty"`
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
	Rows     int     `json:"rows"`
	Groups   int     `json:"groups"` // G; the rows where all are their own
	Delta    float64 `json:"delta"`
	Interval string  `json:"interval"` // the method
	// RewardMin and RewardMax are the rewards, in the log's units, that are 0 and 1, see [Result.InUnits]; both 0: these.
	RewardMin float64  `json:"reward_min"`
	RewardMax float64  `json:"reward_max"`
	Logging   Interval `json:"logging"` // mean reward of the logging policy, on-policy
	Policies  []Policy `json:"policies"`
	Pairs     []Pair   `json:"pairs,omitempty"`
	Missing   []string `json:"missing,omitempty"` // estimators left out, and why
	Notes     []string `json:"notes,omitempty"`

	inUnits bool // see InUnits
}

// Evaluate estimates the value of every target by every estimator. It reads the
// columns of the log, not its contexts: those are the targets' and the model's
// business. Errors: columns that are missing or outside of their ranges, fewer than two
// rows or groups, probabilities of a target that are none, an estimator without a name
// or that comes twice, a hyperparameter outside of its domain, and estimates that are
// not finite.
func Evaluate(log *logs.Log, targets []Target, o Options) (Result, error) {
	if err := o.check(targets); err != nil {
		return Result{}, err
	}
	t, err := newSample(log, o.Delta)
	if err != nil {
		return Result{}, err
	}
	if t.method, err = method(o.Interval); err != nil {
		return Result{}, err
	}
	if t.seed = o.Seed; t.method.Bounded {
		if want := t.bounded(); want != "" {
			return Result{}, fmt.Errorf("ope: setting interval: %s asks for %s: want normal or bootstrap", t.method.Name, want)
		}
	}
	judge := o.Judge
	if judge == nil && !o.EstimatesAlone {
		judge = provenance.Within(log, o.Gamma)
	}
	reward := func(i int) float64 { return t.r[i] }
	on := quantity{Value: t.mean(reward), high: 1}
	for s := range t.draws() {
		on.again = append(on.again, s.mean(reward).Value)
	}
	res := Result{Rows: t.n, Groups: t.groups, Delta: o.Delta, Interval: t.method.Name, Logging: t.interval(on), Notes: o.Notes}
	res.RewardMin, res.RewardMax = log.RewardRange()
	chosen, missing, err := t.choose(o, targets, judge)
	if err != nil {
		return Result{}, err
	}
	res.Missing = missing
	if o.Model == nil && o.Learn != nil && slices.ContainsFunc(chosen, func(e Estimator) bool { return e.Model && e.Teach == nil }) {
		if o.Model, err = o.Learn(nil); err != nil {
			return Result{}, err
		}
	}
	if i := slices.IndexFunc(chosen, func(e Estimator) bool { return e.ByLogger }); i >= 0 {
		res.Notes = append(slices.Clip(res.Notes), chosen[i].Name+" and others that read who logged a row hold if no logger learned from rows of another in this log")
	}
	var mix []float64
	if slices.ContainsFunc(chosen, func(e Estimator) bool { return e.Balanced }) {
		if mix, err = t.mixture(o.Loggers); err != nil {
			return Result{}, err
		}
	}
	values := make([]map[string]quantity, len(targets)) // by target and estimator
	for j, target := range targets {
		p := Policy{Name: target.Name}
		d, s, err := t.policy(target, t.n)
		if err != nil {
			return Result{}, err
		}
		mean := d.Mean(func(i int) float64 { return d.W[i] })
		p.MeanWeight, p.MeanWeightSE = mean.Value, t.se(mean.Influence)
		if not := target.unread(log); not != "" {
			p.Warnings = append(p.Warnings, not)
		}
		s.say(&p, t.total, t.n, t.groups)
		d.Marginal = t.marginal(target)
		if d.Delta = o.Delta; mix != nil {
			d.Balanced = make([]float64, t.n)
			for i, m := range mix {
				d.Balanced[i] = d.Pi[i] / m
			}
		}
		if o.Model != nil && slices.ContainsFunc(chosen, func(e Estimator) bool { return e.Model }) {
			if err := t.predict(d, target, o.Model); err != nil {
				return Result{}, err
			}
		}
		most := max(1, o.MaxWeight)
		if t.method.Bounded {
			if most, err = t.most(d, target, o.MaxWeight); err != nil {
				return Result{}, err
			}
		}
		var made []estimated
		for _, c := range chosen {
			e := estimated{Estimator: c, data: d}
			if c.Teach != nil {
				if e.data, err = t.teach(d, target, c, o.Learn); err != nil {
					return Result{}, err
				}
			}
			if e.hyper, err = c.hyper(e.data); err != nil {
				return Result{}, fmt.Errorf("ope: estimator %w", err)
			}
			e.quantity = quantity{Value: c.Of(e.data, e.hyper), high: most}
			switch v := e.Value; {
			case math.IsNaN(v.Value):
				res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value for target %s", c.Name, target.Name))
				continue
			case len(v.Influence) != t.n:
				return Result{}, fmt.Errorf("ope: estimator %s has the influences of %d rows, not of %d", c.Name, len(v.Influence), t.n)
			case math.IsInf(v.Value, 0) || !(t.se(v.Influence) < math.Inf(1)):
				return Result{}, fmt.Errorf("ope: estimator %s: the value %v of target %s, with standard error %v, is not finite", c.Name, v.Value, target.Name, t.se(v.Influence))
			case t.method.Bounded && slices.ContainsFunc(v.Influence, func(u float64) bool { s := v.Value + float64(t.n)*u; return s < -1e-9 || s > most*(1+1e-9) }):
				return Result{}, fmt.Errorf("ope: estimator %s: a row of target %s leaves [0, %v], though the estimator is said to be Bounded", c.Name, target.Name, most)
			}
			made = append(made, e)
		}
		for s := range t.draws() {
			for i, e := range made {
				again := *e.data
				again.rows, again.Weight = s, s.omega
				made[i].again = append(made[i].again, e.Of(&again, e.hyper).Value)
			}
		}
		values[j] = map[string]quantity{}
		for _, e := range made {
			if e.again != nil && !slices.ContainsFunc(e.again, finite) {
				res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value in resamples for target %s", e.Name, target.Name))
				continue
			}
			p.Estimates = append(p.Estimates, Estimate{e.Name, e.hyper, t.interval(e.quantity), t.interval(e.less(on)), e.Biased, e.Model})
			if len(targets) > 1 {
				values[j][e.Name] = e.quantity
			}
		}
		p.believe(on.Value.Value, o.HalfWidth/(res.RewardMax-res.RewardMin), t.z, t.n)
		if o.EstimatesAlone {
			p.Uncertified = "estimates alone were asked for"
			res.Policies = append(res.Policies, p)
			continue
		}
		c, err := judge.Target(target.Row, d.Pi, target.Origin, certify.Options{Delta: o.Delta / float64(len(targets)), Gamma: o.Gamma})
		var withheld *provenance.Withheld
		switch {
		case errors.As(err, &withheld):
			p.Uncertified = withheld.Reason
		case err != nil:
			return Result{}, fmt.Errorf("ope: target %s: %w", p.Name, err)
		default:
			s := c.Statement()
			p.Guarantee = &s
			for _, note := range []string{target.word, target.unknown(log)} {
				if note != "" {
					res.Notes = append(slices.Clip(res.Notes), p.Name+": "+note)
				}
			}
		}
		res.Policies = append(res.Policies, p)
	}
	for a := range targets {
		for b := a + 1; b < len(targets); b++ {
			for _, e := range res.Policies[a].Estimates {
				if v, ok := values[b][e.Estimator]; ok {
					res.Pairs = append(res.Pairs, Pair{targets[a].Name, targets[b].Name, e.Estimator, t.interval(values[a][e.Estimator].less(v)), e.Biased})
				}
			}
		}
	}
	return res, nil
}

// check fills in δ and refuses what no log could do.
func (o *Options) check(targets []Target) error {
	if o.Delta = cmp.Or(o.Delta, 0.05); !(o.Delta > 0 && o.Delta < 1) {
		return fmt.Errorf("ope: delta %v is outside (0, 1)", o.Delta)
	}
	if o.Gamma != 0 && !(o.Gamma >= 1 && o.Gamma <= math.MaxFloat64) {
		return fmt.Errorf("ope: propensities known up to the factor %v, want a number of at least 1", o.Gamma)
	}
	if !(o.MaxWeight >= 0) || math.IsInf(o.MaxWeight, 0) {
		return fmt.Errorf("ope: setting max-weight: %v, want a number above 0", o.MaxWeight)
	}
	if !(o.HalfWidth >= 0) || math.IsInf(o.HalfWidth, 0) {
		return fmt.Errorf("ope: setting half-width: %v, want a number above 0", o.HalfWidth)
	}
	if len(targets) == 0 {
		return errors.New("ope: no target policy")
	}
	names := map[string]bool{}
	for _, t := range targets {
		if names[t.Name] {
			return fmt.Errorf("ope: there are two targets %q", t.Name)
		}
		names[t.Name] = true
	}
	return nil
}

func finite(v float64) bool { return v-v == 0 }

// estimated is what an estimator makes of a target.
type estimated struct {
	Estimator
	quantity
	hyper float64
	data  *Data
}

// choose lists the estimators that can be computed, and those that cannot.
func (t *sample) choose(o Options, targets []Target, judge *provenance.Judge) (chosen []Estimator, missing []string, err error) {
	asked := o.Estimators
	if asked == nil {
		asked = Default(Estimators(), o.Loggers != nil)
	}
	logged := slices.IndexFunc(targets, func(t Target) bool { return t.Row == nil })
	seen := map[string]bool{}
	taught := sync.OnceValue(func() string { return learned(o.Loggers, judge) })
	for _, e := range asked {
		switch {
		case e.Name == "" || e.Of == nil:
			return nil, nil, fmt.Errorf("ope: estimator %q has no name or no formula Of", e.Name)
		case seen[e.Name]:
			return nil, nil, fmt.Errorf("ope: estimator %s comes twice", e.Name)
		}
		seen[e.Name] = true
		why := ""
		switch {
		case t.method.Bounded && !e.Bounded:
			why = fmt.Sprintf("no interval by %s, as it is no mean of independent rows of known bounds", t.method.Name)
		case (e.Model || e.Marginal) && logged >= 0:
			why = fmt.Sprintf("target %s has no probabilities of all actions", targets[logged].Name)
		case e.Model && o.Model == nil && o.Learn == nil:
			why = "no model of the reward"
		case e.Teach != nil && o.Learn == nil:
			why = "its model of the reward is learned for each target, none is given"
		case e.ByLogger && (t.log.Logger == nil || slices.Min(t.log.Logger) < 0):
			why = "the log does not say who logged each row, in a column policy"
		case e.Balanced && o.Loggers == nil:
			why = "the policies that logged the rows are not given, by setting logger"
		case e.ByLogger:
			why = taught()
		case e.Marginal:
			why = t.described()
		}
		if why != "" {
			missing = append(missing, e.Name+": "+why)
			continue
		}
		chosen = append(chosen, e)
	}
	if chosen == nil {
		return nil, nil, fmt.Errorf("ope: no estimator is left: %v", missing)
	}
	return chosen, missing, nil
}

// policy gathers what estimators read of one target but for predictions, and what its weights are like; the rows are
// some of whole.
func (t *sample) policy(target Target, whole int) (*Data, spread, error) {
	d := &Data{N: t.n, R: t.r, Pi0: t.log.Propensity, Pi: make([]float64, t.n), W: make([]float64, t.n), Logger: t.log.Logger, Weight: t.omega, rows: t}
	row := make([]float64, t.log.MostOptions())
	uncovered := 0.
	for i := range t.n {
		var err error
		if d.Pi[i], err = target.logged(row, i, t.log); err != nil {
			return nil, spread{}, fmt.Errorf("ope: target %s, row %d: %w", target.Name, t.row(i)+1, err)
		}
		w := d.Pi[i] / d.Pi0[i]
		if w > 1e100 {
			return nil, spread{}, fmt.Errorf("ope: target %s, row %d: the weight %v/%v is beyond use", target.Name, t.row(i)+1, d.Pi[i], d.Pi0[i])
		}
		d.W[i] = w
		uncovered += t.weight(i) * t.uncovered(target, row, i)
	}
	s := t.spread(d, whole)
	s.Uncovered = uncovered
	return d, s, nil
}

// predict fills what a model says of a target.
func (t *sample) predict(d *Data, target Target, model Model) error {
	d.Direct, d.Predicted = make([]float64, t.n), make([]float64, t.n)
	most := t.log.MostOptions()
	room, all := make([]float64, most), make([]float64, most)
	for i := range t.n {
		row, predicted := room[:t.log.Options(i)], all[:t.log.Options(i)]
		if err := target.Row(row, i); err != nil {
			return err
		}
		model(predicted, i)
		d.Predicted[i] = predicted[t.log.Chosen(i)]
		for a, q := range row {
			d.Direct[i] += q * predicted[a]
		}
		if x := d.Direct[i] + d.Predicted[i]; x-x != 0 {
			return fmt.Errorf("ope: row %d: the model predicts a reward that is not finite", t.row(i)+1)
		}
	}
	return nil
}

// teach is the data with the predictions of a model that is learned as an estimator asks. Where all
// rows have weight 0 in the regression, every model is as good: it is learned without weights.
func (t *sample) teach(d *Data, target Target, e Estimator, learn func(weight []float64) (Model, error)) (*Data, error) {
	own, weight, sum := *d, make([]float64, t.n), 0.0
	for i, w := range d.W {
		weight[i] = e.Teach(w, d.Pi0[i])
		sum += weight[i] * t.weight(i)
	}
	if sum == 0 {
		weight = nil
	}
	model, err := learn(weight)
	if err == nil {
		err = t.predict(&own, target, model)
	}
	if err != nil {
		return nil, fmt.Errorf("ope: estimator %s: %w", e.Name, err)
	}
	return &own, nil
}

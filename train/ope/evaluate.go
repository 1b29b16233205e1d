package ope

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Evaluate estimates the value of every target by every estimator. It reads the
// columns of the log, not its contexts: targets and the model read
// them. Errors: columns that are missing or outside of their ranges, fewer than two rows
// or groups, a target whose numbers are no probabilities, and an estimator without a name
// or given twice. A hyperparameter outside of its domain and an estimate that is not
// finite are errors, too.
func Evaluate(log *logs.Log, targets []Target, o Options) (Result, error) {
	if log.Lists != nil {
		return evaluateLists(log, targets, o)
	}
	e, err := prepare(log, targets, o)
	if err != nil {
		return Result{}, err
	}
	res := Result{Rows: e.n, Groups: e.groups, Delta: e.Delta, Interval: e.method.Name,
		Missing: e.missing, Notes: e.Notes}
	res.RewardMin, res.RewardMax = log.RewardRange()
	on := e.onPolicy()
	res.Logging = e.interval(on)
	if i := slices.IndexFunc(e.chosen, func(c Estimator) bool { return c.ByLogger }); i >= 0 {
		res.Notes = append(slices.Clip(res.Notes), e.chosen[i].Name+
			" and others that read who logged a row hold if no logger learned from rows of another in this log")
	}
	values := make([]map[string]quantity, len(targets)) // by target and estimator
	for j, target := range targets {
		clean, learned := e.learned(target)
		if target.scores {
			res.Notes = append(slices.Clip(res.Notes),
				target.Name+": its file does not say which rows taught the policy; "+
					"if rows of this log did, its estimates say too much: evaluate the policy file")
		}
		values[j] = map[string]quantity{}
		var estimates []Estimate
		d, spread, err := e.estimate(target, e.n, func(d *Data, made []estimated) error {
			made, err := e.sound(made, d, target, &res)
			for _, v := range made {
				estimates = append(estimates,
					Estimate{v.Name, v.hyper, e.interval(v.quantity), e.interval(v.less(on)), v.Biased, v.Model})
				if len(targets) > 1 {
					values[j][v.Name] = v.quantity
				}
			}
			return err
		})
		if err != nil {
			return Result{}, err
		}
		mean := d.Mean(func(i int) float64 { return d.W[i] })
		p := Policy{Name: target.Name, MeanWeight: mean.Value, MeanWeightSE: e.se(mean.Influence)}
		if not := target.unread(e.log); not != "" {
			p.Warnings = append(p.Warnings, not)
		}
		if few := target.undrawn(e.log); few != "" {
			p.Warnings = append(p.Warnings, few)
		}
		spread.say(&p, e.total, e.n, e.groups)
		if p.Flattered = e.assumed(target); p.Flattered != "" {
			p.Warnings = append([]string{p.Flattered}, p.Warnings...)
		}
		p.flattered(learned)
		p.Estimates = estimates
		p.believe(on.Value.Value, e.HalfWidth/(res.RewardMax-res.RewardMin), e.z, e.n)
		if q, ok := e.apart(target, clean, len(targets)); ok {
			p, values[j] = q, nil
			res.Notes = append(slices.Clip(res.Notes),
				fmt.Sprintf("%s: its estimates, and gains over what was logged, are from "+
					"the %d rows of %d that had no part in it", p.Name, p.Rows, e.n))
		}
		if p.Guarantee == nil {
			if err := e.guarantee(&p, target, d, float64(max(len(targets), e.targets)), &res); err != nil {
				return Result{}, err
			}
		}
		if p.Outcomes, err = e.outcomes(target, clean); err != nil {
			return Result{}, fmt.Errorf("ope: target %s: %w", target.Name, err)
		}
		res.Policies = append(res.Policies, p)
	}
	res.Pairs = pairs(res.Policies, func(a, b int, name string) (Interval, bool) {
		first, ok := values[a][name]
		second, both := values[b][name]
		if !ok || !both {
			return Interval{}, false
		}
		return e.interval(first.less(second)), true
	})
	return res, nil
}

// evaluation is what the estimates of several targets from the rows of one log share.
type evaluation struct {
	*sample
	Options
	chosen  []Estimator
	missing []string  // estimators left out, and why
	mix     []float64 // π̄(a_i|x_i) of the loggers [n]; nil: no estimator reads it
}

// prepare checks the options and the log, chooses the estimators, and learns the model of the
// reward that they read.
func prepare(log *logs.Log, targets []Target, o Options) (*evaluation, error) {
	if err := o.check(targets); err != nil {
		return nil, err
	}
	if err := provenance.Required(log, o.Gamma, o.Requirements); err != nil {
		return nil, err
	}
	if err := log.RequirePropensities(); err != nil {
		return nil, fmt.Errorf("ope: %w", err)
	}
	t, err := newSample(log, o.Delta)
	if err != nil {
		return nil, err
	}
	if t.method, err = method(o.Interval); err != nil {
		return nil, err
	}
	if t.seed = o.Seed; t.method.Bounded {
		if want := t.bounded(); want != "" {
			return nil, fmt.Errorf("ope: setting interval: %s asks for %s: want normal or bootstrap", t.method.Name,
				want)
		}
	}
	if o.Judge == nil && (!o.EstimatesAlone || o.Loggers != nil) { // which may have learned from rows of the log
		o.Judge = provenance.Within(log, o.Gamma)
	}
	e := &evaluation{sample: t, Options: o}
	if e.chosen, e.missing, err = t.choose(o, targets, o.Judge); err != nil {
		return nil, err
	}
	shared := func(c Estimator) bool { return c.Model && c.Teach == nil } // reads the model of all targets
	if o.Model == nil && o.Learn != nil && slices.ContainsFunc(e.chosen, shared) {
		if e.Model, err = o.Learn(nil); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(e.chosen, func(c Estimator) bool { return c.Balanced }) {
		e.mix, err = t.mixture(o.Loggers)
	}
	return e, err
}

// onPolicy is the mean reward of the rows.
func (e *evaluation) onPolicy() quantity {
	reward := func(i int) float64 { return e.r[i] }
	on := quantity{Value: e.mean(reward), high: 1}
	for s := range e.draws() {
		on.again = append(on.again, s.mean(reward).Value)
	}
	return on
}

// estimated is what an estimator makes of a target.
type estimated struct {
	Estimator
	quantity
	hyper float64
	data  *Data
}

// estimate computes every chosen estimator's value of a target, what they read, and what its
// weights are like. The rows are some of whole, see [spread]. use is called with one estimator after the other, whose
// influences are gone then, or, if values of resamples are asked for, with all of them.
func (e *evaluation) estimate(target Target, whole int, use func(d *Data, made []estimated) error) (d *Data, s spread,
	err error) {
	if d, s, err = e.policy(target, whole); err != nil {
		return nil, s, err
	}
	var made []estimated
	d.Delta, d.Marginal = e.Delta, e.marginal(target)
	if e.mix != nil {
		d.Balanced = make([]float64, e.n)
		for i, m := range e.mix {
			d.Balanced[i] = d.Pi[i] / m
		}
	}
	if e.Model != nil && slices.ContainsFunc(e.chosen, func(c Estimator) bool { return c.Model }) {
		if err := e.predict(d, target, e.Model, "direct"); err != nil {
			return nil, s, err
		}
	}
	for _, c := range e.chosen {
		v := estimated{Estimator: c, data: d}
		if c.Teach != nil {
			if v.data, err = e.teach(d, target, c, e.Learn); err != nil {
				return nil, s, err
			}
		}
		if v.hyper, err = c.hyper(v.data); err != nil {
			return nil, s, fmt.Errorf("ope: estimator %w", err)
		}
		v.Value = c.Of(v.data, v.hyper)
		if made = append(made, v); e.method.Resamples {
			continue
		}
		if err := use(d, made); err != nil {
			return nil, s, err
		}
		clear(made)
		made = made[:0]
	}
	if len(made) > 0 {
		err = use(d, made)
	}
	return d, s, err
}

// sound keeps the estimates that have a value, in resamples, too, and names the others in the
// result. Values that no estimator should give are errors.
func (e *evaluation) sound(made []estimated, d *Data, target Target, res *Result) (kept []estimated, err error) {
	most := max(1, e.MaxWeight)
	if e.method.Bounded {
		if most, err = e.most(d, target, e.MaxWeight); err != nil {
			return nil, err
		}
	}
	outside := func(v Value) bool { // a row leaves [0, most]
		return slices.ContainsFunc(v.Influence, func(u float64) bool {
			s := v.Value + float64(e.n)*u
			return s < -1e-9 || s > most*(1+1e-9)
		})
	}
	for _, c := range made {
		c.high = most
		switch v := c.Value; {
		case math.IsNaN(v.Value):
			res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value for target %s", c.Name, target.Name))
			continue
		case len(v.Influence) != e.n:
			return nil, fmt.Errorf("ope: estimator %s has the influences of %d rows, not of %d", c.Name,
				len(v.Influence), e.n)
		case math.IsInf(v.Value, 0) || !(e.se(v.Influence) < math.Inf(1)):
			return nil, fmt.Errorf("ope: estimator %s: the value %v of target %s, with standard error %v, is not "+
				"finite", c.Name, v.Value, target.Name, e.se(v.Influence))
		case e.method.Bounded && outside(v):
			return nil, fmt.Errorf("ope: estimator %s: a row of target %s leaves [0, %v], though the estimator "+
				"is said to be Bounded", c.Name, target.Name, most)
		}
		kept = append(kept, c)
	}
	for s := range e.draws() {
		for i, c := range kept {
			again := *c.data
			again.rows, again.Weight = s, s.omega
			kept[i].again = append(kept[i].again, c.Of(&again, c.hyper).Value)
		}
	}
	return slices.DeleteFunc(kept, func(c estimated) bool {
		gone := c.again != nil && !slices.ContainsFunc(c.again, finite)
		if gone {
			res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value in resamples for target %s", c.Name,
				target.Name))
		}
		return gone
	}), nil
}

// learned says why rows of the log flatter a target, and which had no part in it.
func (e *evaluation) learned(target Target) (clean []int, why string) {
	if e.Judge == nil || e.targets > 0 { // apart, which had none: without ids they look like copies of those that did
		return nil, ""
	}
	clean, why = e.Judge.Learned(target.Origin)
	if t := target.lists; t != nil {
		clean, _ = t.Rows(clean) // groups are whole
	}
	return clean, why
}

// flattered marks a policy that rows of the log had a part in: none of its estimates is to be believed.
func (p *Policy) flattered(why string) {
	if why != "" {
		p.Learned = true
		p.Warnings = append([]string{why}, p.Warnings...)
	}
}

// apart evaluates one of so many targets on rows of the log that had no part in it, if they suffice for a standard error.
// Those of a policy file that was learned from another log certify it, too.
func (e *evaluation) apart(target Target, rows []int, targets int) (p Policy, ok bool) {
	if len(rows) < 2 {
		return p, false
	}
	o := e.Options
	o.EstimatesAlone = e.EstimatesAlone || !e.Judge.Elsewhere(target.Origin)
	o.Judge, o.targets, o.Notes, o.Loggers = e.Judge.Subset(target.lists.rows(rows)), targets, nil, nil
	for _, l := range e.Loggers {
		o.Loggers = append(o.Loggers, l.among(rows))
	}
	among := func(m Model) Model { return func(dst []float64, i int) { m(dst, rows[i]) } }
	if e.Model != nil {
		o.Model = among(e.Model)
	}
	if e.Learn != nil {
		o.Learn = func(weight []float64) (Model, error) { // rows that taught the target may teach rewards
			var all []float64
			if weight != nil {
				all = make([]float64, e.n)
			}
			for i, v := range weight {
				all[rows[i]] = v
			}
			m, err := e.Learn(all)
			return among(m), err
		}
	}
	r, err := Evaluate(e.log.Subset(rows), []Target{target.among(rows)}, o)
	if err != nil {
		return p, false
	}
	p = r.Policies[0]
	p.Rows = len(rows)
	return p, true
}

// guarantee adds to p what holds of a target with its part of δ, or why nothing does.
func (e *evaluation) guarantee(p *Policy, target Target, d *Data, targets float64, res *Result) error {
	if e.EstimatesAlone {
		p.Uncertified = "estimates alone were asked for"
		return nil
	}
	if target.undrawn(e.log) != "" {
		p.Uncertified = "rows of this log decide which actions it plays"
		return nil
	}
	if p.Flattered != "" {
		p.Uncertified = p.Flattered
		return nil
	}
	row, logged := target.Row, d.Pi
	if t := target.lists; t != nil {
		if row, logged = t.policy(); t.Certifiable() != nil {
			p.Uncertified = "lists have one reward each, of which a guarantee assumes nothing"
			return nil
		}
	}
	c, err := e.Judge.Target(row, logged, target.Origin, certify.Options{Delta: e.Delta / targets,
		Gamma: e.Gamma}, e.Requirements...)
	if withheld, is := errors.AsType[*provenance.Withheld](err); is {
		p.Uncertified = withheld.Reason
		return nil
	}
	if err != nil {
		return fmt.Errorf("ope: target %s: %w", p.Name, err)
	}
	s := c.Statement()
	p.Guarantee = &s
	for _, note := range []string{target.word, target.unknown(e.log)} {
		if note != "" {
			res.Notes = append(slices.Clip(res.Notes), p.Name+": "+note)
		}
	}
	return nil
}

// pairs are the differences of any two policies by each estimator that has a value of both from the same rows.
func pairs(policies []Policy, less func(a, b int, estimator string) (Interval, bool)) (all []Pair) {
	for a, first := range policies {
		for b := a + 1; b < len(policies); b++ {
			for _, e := range first.Estimates {
				if d, ok := less(a, b, e.Estimator); ok {
					all = append(all, Pair{first.Name, policies[b].Name, e.Estimator, d, e.Biased})
				}
			}
		}
	}
	return all
}

func finite(v float64) bool { return v-v == 0 }

// choose lists the estimators that can be computed, and those that cannot.
func (t *sample) choose(o Options, targets []Target, judge *provenance.Judge) (chosen []Estimator, missing []string,
	err error) {
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
			why = fmt.Sprintf("no interval by %s, as it is no mean of independent rows of known bounds",
				t.method.Name)
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

// policy gathers what estimators read of one target but for predictions, and what its weights are
// like; the rows are some of whole.
func (t *sample) policy(target Target, whole int) (*Data, spread, error) {
	d := &Data{N: t.n, R: t.r, Pi0: t.log.Propensity, Pi: t.column("pi"), W: t.column("w"),
		Logger: t.log.Logger, Weight: t.omega, rows: t, lists: target.lists}
	row := make([]float64, t.log.MostOptions())
	uncovered := 0.
	for i := range t.n {
		var err error
		if d.Pi[i], err = target.logged(row, i, t.log); err != nil {
			return nil, spread{}, fmt.Errorf("ope: target %s, row %d: %w", target.Name, i+1, err)
		}
		w := d.Pi[i] / d.Pi0[i]
		if w > 1e100 {
			return nil, spread{}, fmt.Errorf("ope: target %s, row %d: the weight %v/%v is beyond use", target.Name,
				i+1, d.Pi[i], d.Pi0[i])
		}
		d.W[i] = w
		uncovered += t.weight(i) * t.uncovered(target, row, i)
	}
	s := t.spread(d, whole)
	s.Uncovered = uncovered
	return d, s, nil
}

// predict fills what a model says of a target.
func (t *sample) predict(d *Data, target Target, model Model, name string) error {
	d.Direct, d.Predicted = t.column(name), t.column(name+", predicted")
	most := t.log.MostOptions()
	scratch, all := make([]float64, most), make([]float64, most)
	for i := range t.n {
		row, predicted := scratch[:t.log.Options(i)], all[:t.log.Options(i)]
		if err := target.Row(row, i); err != nil {
			return err
		}
		model(predicted, i)
		d.Predicted[i], d.Direct[i] = predicted[t.log.Chosen(i)], 0
		for a, q := range row {
			d.Direct[i] += q * predicted[a]
		}
		if x := d.Direct[i] + d.Predicted[i]; x-x != 0 {
			return fmt.Errorf("ope: row %d: the model predicts a reward that is not finite", i+1)
		}
	}
	return nil
}

// teach is the data with the predictions of a model that is learned as an estimator asks. Where all
// rows have weight 0 in the regression, every model is as good: it is learned without weights.
func (t *sample) teach(d *Data, target Target, e Estimator, learn func(weight []float64) (Model, error)) (*Data,
	error) {
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
		err = t.predict(&own, target, model, "model of "+e.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("ope: estimator %s: %w", e.Name, err)
	}
	return &own, nil
}

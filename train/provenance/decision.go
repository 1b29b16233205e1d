package provenance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"opl/graph/kernel"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/online"
)

// Requirement is a condition on another outcome that a policy must meet to be shipped. A guardrail
// limits how much the outcome may get worse. A budget limits the mean of a cost.
type Requirement struct {
	Name   string `json:"name,omitempty"`   // of the outcome: column reward_NAME or cost_NAME
	Budget bool   `json:"budget,omitempty"` // it is a budget, not a guardrail
	// Limit of a guardrail is the most that the outcome may get worse, as a number that is not above 0; of a
	// budget the most that the mean cost may be. It is in the units of the outcome.
	Limit float64 `json:"limit"`
	// Relative says that the limit of a guardrail is a share of the value of the logging policy: −0.05 is 5 % worse.
	Relative bool `json:"relative,omitempty"`
	// By, in place of Name, is a column of contexts: a guardrail of the reward in each of its segments, see
	// [largeSegments].
	By string `json:"by,omitempty"`
}

// Answer says whether a policy is to ship, by several outcomes together.
type Answer string

// The answers.
const (
	// Ship is that the goal's gain is above 0 and every requirement is met: false with probability δ at most.
	Ship Answer = "ship"
	// Harm is that the goal falls, or a requirement is not met: false with probability δ at most.
	Harm Answer = "harm shown"
	// Undecided is neither.
	Undecided Answer = "undecided"
)

// Decision holds what several outcomes of the same rows say of a policy.
//
// "Ship" is an intersection–union test (Berger 1982): it is false only if one of the nulls holds, and then
// the bound of that null has failed, at level δ. So every requirement is tested at δ, and δ is not shared.
// What is said Together holds all at once with probability 1 − δ, by bounds at δ over their number; so does
// harm.
type Decision struct {
	Answer  Answer  `json:"answer"`  // ship, harm or undecided
	Because string  `json:"because"` // in words
	Delta   float64 `json:"delta"`   // probability that a wrong policy is shipped
	// RowsNeeded is about how many rows in all would decide, were they like these; 0: it is decided, or the
	// estimates say that no number would.
	RowsNeeded int       `json:"rows_needed"`
	Outcomes   []Outcome `json:"outcomes"` // the goal first
	// Outside is the share of the rows that are in no tested segment, by column.
	Outside map[string]float64 `json:"outside_segments,omitempty"`
	// Gone are segments that the policy's file was tested on, and that have too few rows for a test.
	Gone     []string `json:"segments_gone,omitempty"`
	Untested []string `json:"untested,omitempty"` // limits of the policy's file that the log cannot test
}

// Outcome holds one outcome of a decision, in its own units.
type Outcome struct {
	Name         string  `json:"name"`               // without the prefix of its column; of the goal: reward
	Column       string  `json:"column"`             // of the log
	Kind         string  `json:"kind"`               // goal, guardrail or budget
	Low          float64 `json:"low"`                // what it can be
	High         float64 `json:"high"`               // upper end of that range
	RangeAssumed bool    `json:"range_assumed"`      // since all values are 0 or 1
	Rows         int     `json:"rows"`               // that certify
	Constant     bool    `json:"constant,omitempty"` // all rows that certify have one value
	Missing      int     `json:"missing"`            // rows without a value
	AtRandom     bool    `json:"missing_at_random"`  // rows that lack it are left out, as missing at random
	Estimate     float64 `json:"estimate"`           // of its mean under the policy, by rows that have it
	SE           float64 `json:"se"`                 // standard error of Estimate
	Logging      float64 `json:"logging"`            // its mean in the same rows
	Point        float64 `json:"point"`              // the estimate of what is bounded
	// Bounded says what Bound and Together are bounds on, which must be at least Limit, or at most if it is a cost.
	Bounded    string  `json:"bounded"`
	AtMost     bool    `json:"at_most"`     // it is a cost: bounds are from above
	Limit      float64 `json:"limit"`       // that the bound must keep
	Bound      float64 `json:"bound"`       // with probability 1 − δ
	Together   float64 `json:"together"`    // all of them with probability 1 − δ
	EValue     float64 `json:"e_value"`     // against the claim that the limit is not kept
	Verdict    string  `json:"verdict"`     // holds, violated or undecided
	RowsNeeded int     `json:"rows_needed"` // by the estimate; 0: unknown
}

// The verdicts on an outcome.
const (
	Holds    = "holds"
	Violated = "violated"
)

// trial is a policy on rows of logs that certify it.
type trial struct {
	parts   []certify.PoolLog // their logs are *logs.Log
	samples []sample          // of the same logs
	chunks  []certify.Chunk   // see [certify.Chunks]; nil: the policy is one
	options certify.Options
	learns  bool    // a model of the outcome may be learned from rows before
	gamma   float64 // Γ, where the rows are lists, whose costs account for it; 0: that of the options
	err     error   // why there is no trial
}

// bounds computes the bounds of the parts: of a pool, of chunks, or of one fixed policy.
func (t trial) bounds(parts []certify.PoolLog, o certify.Options) (b certify.Bounds, err error) {
	p := parts[0]
	if o.Contrast != nil { // a pool has that of each part in its place
		o.Contrast.Missing = p.Missing
	}
	switch {
	case o.AnyTime:
		return certify.Pool(withRows(parts), o)
	case t.chunks == nil:
		o.Models = p.Models
		return certify.Fixed(p.Pi, p.Logged, p.Log, p.Rows, o)
	}
	has := logs.Marked(p.Log.Len(), p.Rows)
	var chunks []certify.Chunk
	for _, c := range t.chunks {
		c.Rows = slices.DeleteFunc(slices.Clone(c.Rows), func(r int) bool { return !has[r] })
		if p.Log != t.parts[0].Log { // an outcome's
			c.Models = p.Models
		}
		if len(c.Rows) > 0 {
			chunks = append(chunks, c)
		}
	}
	b, _, err = certify.Chunks(chunks, p.Log, o)
	return b, err
}

// null is what is to be refuted of an outcome: that a requirement is not met.
type null struct {
	Outcome
	parts    []certify.PoolLog
	rows     [][]int // of each log
	costs    [][]float64
	contrast certify.Contrast
	most     float64 // what the contrast's mean must not exceed
	doubt    string  // what in the values contradicts what bounds assume
}

// span is the width of the range.
func (n *null) span() float64 { return n.High - n.Low }

// require checks a requirement of an outcome, and states it as a contrast of costs in [−1, 0].
func (n *null) require(r Requirement, cost bool) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("setting %s %s: %s", n.Kind, r.Name, fmt.Sprintf(format, args...))
	}
	n.AtMost = cost
	switch span := n.span(); {
	case r.Limit-r.Limit != 0:
		return bad("%v is no number", r.Limit)
	case r.Budget && !cost:
		return bad("column %s is not a cost: a budget is of a column cost_%s", n.Column, r.Name)
	case r.Budget && !(r.Limit >= n.Low && r.Limit < n.High):
		return bad("%v: want less than %v and at least %v, as the cost can be from %v to %v", r.Limit, n.High, n.Low,
			n.Low, n.High)
	case r.Budget:
		n.Bounded, n.Limit = "mean", r.Limit
		n.contrast, n.most = certify.Contrast{}, (r.Limit-n.Low)/span-1
	case r.Limit > 0:
		return bad("%v is above 0: the margin is the most that the outcome may get worse, as -0.01 or -5%%", r.Limit)
	case !r.Relative && -r.Limit >= span:
		return bad("a margin of %v allows everything from %v to %v", r.Limit, n.Low, n.High)
	case !r.Relative:
		n.Bounded, n.Limit = "change", r.Limit
		if cost {
			n.Limit = -r.Limit
		}
		n.contrast, n.most = certify.Contrast{Logged: 1}, -r.Limit/span
	case r.Limit <= -1:
		return bad("a margin of %v%% allows everything", 100*r.Limit)
	case n.Low < 0:
		return bad("a margin in %% is of outcomes that cannot be below 0, and this one can be %v: give it in its units",
			n.Low)
	default:
		part := 1 + r.Limit
		n.contrast = certify.Contrast{Logged: part}
		if cost {
			part = 1 - r.Limit
			n.contrast = certify.Contrast{Logged: part, Shift: -r.Limit}
		}
		n.Bounded, n.Limit = fmt.Sprintf("value − %.6g × logging", part), 0
		n.most = -r.Limit * n.Low / span
	}
	return nil
}

// goal is the null that the reward does not rise.
func (t trial) goal() *null {
	u := t.samples[0].log.Units()
	n := &null{Outcome: Outcome{Name: "reward", Column: "reward", Kind: "goal", Low: u.Low, High: u.High,
		Bounded: "change"}, parts: t.parts, contrast: certify.Contrast{Logged: 1}}
	for k, p := range t.parts {
		n.rows, n.costs = append(n.rows, p.Rows), append(n.costs, t.samples[k].log.Cost)
	}
	return n
}

// null makes the null hypothesis that a requirement is not met.
func (t trial) null(r Requirement, grouped bool) (*null, error) {
	n := &null{Outcome: Outcome{Name: r.Name, Kind: r.kind()}}
	first, varies := math.NaN(), false
	for k, p := range t.parts {
		s := t.samples[k]
		b, err := s.log.Beside(r.Name)
		if err != nil {
			return nil, fmt.Errorf("setting %s %s: %w", n.Kind, r.Name, err)
		}
		if u := b.Of.Range; k == 0 {
			n.Column, n.Low, n.High, n.RangeAssumed, n.AtRandom = b.Of.Column, u.Low, u.High, b.Assumed, b.Of.AtRandom
		} else if n.Column != b.Of.Column || n.Low != u.Low || n.High != u.High {
			return nil, fmt.Errorf("%s: column %s is from %v to %v, and column %s of the first log from %v to %v",
				s.log.Path(), b.Of.Column, u.Low, u.High, n.Column, n.Low, n.High)
		}
		var has []int
		for _, i := range p.Rows {
			if b.Missing != nil && b.Missing[i] {
				n.Missing++
				continue
			}
			has = append(has, i)
			if v := b.Cost[i]; first != first {
				first = v
			} else {
				varies = varies || v != first
			}
		}
		if n.AtRandom {
			p.Rows = has
		} else {
			p.Missing = b.Missing
		}
		if err := n.doubts(r, s, b, p.Rows, grouped); err != nil {
			return nil, err
		}
		if p, err = t.with(p, s, b); err != nil {
			return nil, err
		}
		n.parts = append(n.parts, p)
		n.rows, n.costs = append(n.rows, has), append(n.costs, b.Cost)
	}
	switch {
	case first != first:
		return nil, withhold("column %s has no value in the rows that certify", n.Column)
	case !varies && n.RangeAssumed && (n.AtRandom || n.Missing == 0):
		return nil, withhold("column %s is the same in all rows that certify: %s %s=LOW:HIGH", n.Column, constant, n.Name)
	}
	n.Constant = !varies
	return n, n.require(r, logs.Outcome{Column: n.Column}.IsCost())
}

// with is a part with the cost of an outcome in place of that of the reward, and a model of it, if one may be
// learned.
func (t trial) with(p certify.PoolLog, s sample, b *logs.Beside) (certify.PoolLog, error) {
	log := *p.Log.(*logs.Log)
	log.Cost = b.Cost
	p.Log, p.Models = &log, nil
	if !t.learns || t.options.LoggedOnly(&log) || len(p.Rows) == 0 {
		return p, nil
	}
	if t.chunks == nil {
		m, err := online.Learn(&log, p.Rows, t.options.Clusters, s.logged)
		if err == nil {
			p.Models = []*certify.RewardModel{m}
		}
		return p, err
	}
	// Rows of a chunk teach for those after them in it: the policies of later chunks know them.
	has, by := logs.Marked(log.Len(), p.Rows), make([]*certify.RewardModel, log.Len())
	for _, c := range t.chunks {
		rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r int) bool { return !has[r] })
		m, err := online.Learn(&log, rows, t.options.Clusters, s.logged)
		if err != nil {
			return p, err
		}
		for _, r := range rows {
			by[r] = m
		}
	}
	p.Models = []*certify.RewardModel{{Name: "online", Fixed: true,
		Of: func(dst, pi []float64, i int) { by[i].Of(dst, pi, i) }}}
	return p, nil
}

// doubts inspects a log with an outcome in place of the reward, as far as findings depend on it. Rows that
// have it, if it is missing at random, must have actions as likely as all rows have: this is bet on as
// propensities are.
func (n *null) doubts(r Requirement, s sample, b *logs.Beside, rows []int, grouped bool) error {
	if s.log.Simulated() || len(rows) == 0 {
		return nil
	}
	log := b.Log
	if n.AtRandom {
		log = log.Subset(rows)
	}
	report := inspect.Within(log, max(1, s.found.Gamma))
	for _, f := range report.Findings {
		switch {
		case r.Budget && b.Of.IsCost() && f.Check == inspect.DriftOfReward && f.Severity > inspect.Fine && risen(report.Blocks):
			n.doubt = cmp.Or(n.doubt, fmt.Sprintf("column %s falls toward the newest rows, as costs do that are not in yet: "+
				"%s; leave out the rows that are too new to have them", n.Column, f.Measured))
		case n.AtRandom && f.About == inspect.Draws && f.Severity > inspect.Fine:
			return withhold("%s"+byAction, s.named(true), n.Column, f.Check, f.Measured)
		case f.About != inspect.Draws && f.About != inspect.Variation && contradicts(f, grouped):
			n.doubt = cmp.Or(n.doubt, fmt.Sprintf("column %s: %s: %s", n.Column, f.Check, f.Measured))
		}
	}
	return nil
}

// risen reports that rewards of the newest rows, of costs their opposite, are above those of the others.
func risen(blocks []inspect.Block) bool {
	mean, newest := 0., len(blocks)-1
	for _, b := range blocks[:newest] {
		mean += b.Reward / float64(newest)
	}
	return newest > 0 && blocks[newest].Reward > mean
}

// estimate is what rows with a value say of the mean.
func (n *null) estimate(samples []sample) {
	var pi, pi0, cost []float64
	for k, rows := range n.rows {
		s := samples[k]
		for _, r := range rows {
			pi, pi0, cost = append(pi, s.logged[r]), append(pi0, s.log.Propensity[r]), append(cost, n.costs[k][r])
		}
	}
	e := certify.SelfNormalized(pi, pi0, cost)
	n.Rows = len(cost)
	if !n.AtRandom {
		n.Rows += n.Missing
	}
	value := func(reward float64) float64 {
		if n.AtMost {
			return n.High - n.span()*reward
		}
		return n.Low + n.span()*reward
	}
	var sum kernel.Sum
	for _, c := range cost {
		sum.Add(c)
	}
	n.Estimate, n.SE, n.Logging = value(e.Reward), e.SE*n.span(), value(-(sum.Value() / float64(max(1, len(cost)))))
	n.Point = n.Estimate - n.contrast.Logged*n.Logging
}

// Slack returns how far a value is within the limit, as a share of the outcome's range, so that
// outcomes of different units can share an axis.
func (o Outcome) Slack(v float64) float64 {
	if o.AtMost {
		v, o.Limit = -v, -o.Limit
	}
	return (v - o.Limit) / (o.High - o.Low)
}

// Claim returns the limit as a claim about the mean, and what is left of δ to bet against it. The limit of a guardrail
// is relative to the mean V₀ under the logging policy, which n rows that certified show with an error. So half of δ
// is for the least that V₀ can be by their mean v, scaled to [0, 1] and better when larger, missing values the worst:
//
//	n kl(v, V₀) = log(2/δ), V₀ ≤ v
//
// by Chernoff's bound (Hoeffding 1963, theorem 1). No true claim is refuted more often than with probability δ.
func (o Outcome) Claim(delta float64) (claim, left float64) {
	if o.Bounded == "mean" {
		return o.Limit, delta
	}
	worst, span := o.Low, o.High-o.Low
	if o.AtMost {
		worst, span = o.High, -span
	}
	v := (o.Logging - worst) / span
	if !o.AtRandom && o.Rows > 0 {
		v *= float64(o.Rows-o.Missing) / float64(o.Rows)
	}
	far := math.Log(2/delta) / float64(max(1, o.Rows))
	least, _ := certify.Bisect(0, v, 60, func(mean float64) bool {
		return stat.KullbackLeibler([]float64{v, 1 - v}, []float64{mean, 1 - mean}) > far
	})
	part := 1.
	if o.Bounded != "change" {
		part = (o.Estimate - o.Point) / o.Logging
	}
	if part-part != 0 { // nothing is known of V₀
		return worst, delta / 2
	}
	return part*(worst+span*least) + o.Limit, delta / 2
}

// Claims returns the outcomes whose limits the certificate in a policy file says to hold, for
// [certify.Monitor] to bet against. It returns none if the file has no decision.
func Claims(f *policyfile.File) (all []Outcome) {
	var s struct {
		Decision Decision `json:"decision"`
		Groups   int      `json:"groups"`
	}
	if f.Certificate == nil || json.Unmarshal(f.Certificate, &s) != nil {
		return nil
	}
	for _, o := range s.Decision.Outcomes {
		if o.Verdict == Holds && logs.IsOutcome(o.Column) && o.Low < o.High {
			if s.Groups > 0 { // rows of a group depend on one another
				o.Missing = o.Missing * s.Groups / max(1, o.Rows)
				o.Rows = s.Groups
			}
			all = append(all, o)
		}
	}
	return all
}

// SlotWeights returns how the certificate in a policy file weighs the slots of lists, for [certify.Monitor] to bet
// against what it says; "": it is not about lists.
func SlotWeights(f *policyfile.File) string {
	var s struct {
		Lists Listed `json:"lists"`
	}
	if f.Certificate == nil || json.Unmarshal(f.Certificate, &s) != nil {
		return ""
	}
	return s.Lists.SlotWeights
}

// bound fills in what the evidence for and against says, at δ and at each one's share of it.
func (n *null) bound(t trial, delta, share float64) error {
	evidence := func(c certify.Contrast) (certify.Evidence, error) {
		o := t.options
		o.Contrast = &c
		b, err := t.bounds(n.parts, o)
		if err != nil {
			return certify.Evidence{}, err
		}
		return b.Evidence(), absurd(b)
	}
	e, err := evidence(n.contrast)
	if err != nil {
		return err
	}
	at := func(delta float64) float64 {
		upper, _ := e.Upper(delta)
		room := (n.most - upper) * n.span()
		if n.AtMost {
			room = -room
		}
		return n.Limit + room
	}
	n.Bound, n.Together = at(delta), at(share)
	n.EValue = math.Exp(min(700, e.Log(n.most)))
	kept, _ := e.Upper(delta)
	if n.Verdict = string(Undecided); kept < n.most || n.Kind != "goal" && kept == n.most {
		n.Verdict = Holds
		return nil
	}
	if more := float64(n.Rows) * e.Needed(n.most, delta); more < 1e15 {
		n.RowsNeeded = int(math.Ceil(more))
	}
	// From below: 1 − r takes the place of r.
	c := n.contrast
	c.Reversed, c.Shift = true, 0
	if e, err = evidence(c); err != nil {
		return err
	}
	if less, _ := e.Upper(share); less < n.contrast.Logged-1-n.contrast.Shift-n.most {
		n.Verdict, n.RowsNeeded = Violated, 0
	}
	return nil
}

// decide adds to a certificate, unless there was an error, what several outcomes say together.
func (c *Certificate) decide(t trial, o Options, err error) (*Certificate, error) {
	if err != nil || len(o.Requirements)+len(o.Untested) == 0 {
		return c, err
	}
	s := &c.statement
	if t.gamma > 0 {
		return nil, withhold(notOfLists)
	}
	if s.Circumstances == nil {
		return nil, errors.New("several outcomes are of a log that was read")
	}
	seen := map[Requirement]bool{}
	nulls, outside, lost := []*null{t.goal()}, map[string]float64{}, []string(nil)
	for _, r := range o.Requirements {
		key := Requirement{Name: r.Name, Budget: r.Budget, By: r.By}
		if seen[key] {
			return nil, fmt.Errorf("setting %s %s is given twice", r.kind(), cmp.Or(r.Name, r.By))
		}
		seen[key] = true
		of, left, err := t.nulls(r, s.Groups > 0)
		if err != nil {
			return nil, err
		}
		if nulls = append(nulls, of...); left > 0 {
			outside[r.By] = left
		}
		if r.By != "" {
			lost = append(lost, gone(o.file, r.By, of)...)
		}
	}
	d := &Decision{Answer: Ship, Delta: s.Delta, Outside: outside, Gone: lost}
	contradicted, share := s.Contradicted, s.Delta/float64(len(nulls))
	for _, n := range nulls {
		n.estimate(t.samples)
		if err := n.bound(t, s.Delta, share); err != nil {
			if w, is := errors.AsType[*Withheld](err); is {
				return nil, withhold("column %s: %s", n.Column, w.Reason)
			}
			return nil, fmt.Errorf("column %s: %w", n.Column, err)
		}
		d.Outcomes = append(d.Outcomes, n.Outcome)
		contradicted = cmp.Or(contradicted, n.doubt)
	}
	d.conclude(contradicted)
	if o.Untested != nil && d.Answer != Harm {
		d.Answer, d.RowsNeeded, d.Untested = Undecided, 0, o.Untested
		d.Because = "not tested: " + strings.Join(o.Untested, ", ") + ", which the policy's file asks for: on a log that has " +
			"it, or by setting guardrail or setting budget if the file does not say how"
	}
	s.Decision = d
	return c, nil
}

// conclude finds the answer.
func (d *Decision) conclude(contradicted string) {
	never := false
	var open []string
	for _, o := range d.Outcomes {
		what := fmt.Sprintf("%s %s", o.Kind, o.Name)
		switch {
		case o.Verdict == Violated && d.Answer != Harm:
			d.Answer, d.Because = Harm, what+" is not kept"
			if o.Kind == "goal" {
				d.Because = what + " falls"
			}
		case o.Verdict == string(Undecided) && d.Answer != Harm:
			d.Answer, open = Undecided, append(open, what)
			d.RowsNeeded = max(d.RowsNeeded, o.RowsNeeded)
			never = never || o.RowsNeeded == 0
		}
	}
	if d.Answer == Undecided {
		verb := map[bool]string{true: " is", false: " are"}[len(open) == 1]
		d.Because = strings.Join(open, " and ") + verb + " not shown to hold"
	}
	switch {
	case contradicted != "":
		d.Answer, d.Because, d.RowsNeeded = Undecided, "the log contradicts what the bounds assume: "+contradicted, 0
	case d.Answer == Ship:
		d.Because = "the goal rises, and every limit is kept"
		for _, o := range d.Outcomes {
			if o.Constant { // as a column that is not filled yet
				d.Because += fmt.Sprintf("; column %s never varied: true only if it was recorded", o.Column)
			}
		}
		for _, column := range slices.Sorted(maps.Keys(d.Outside)) {
			d.Because += fmt.Sprintf("; %.2g %% of the rows are in no segment of %s that is large enough to be tested",
				100*d.Outside[column], column)
		}
		if len(d.Gone) > 0 {
			d.Because += fmt.Sprintf("; too few rows test what the policy's file was tested on: %s", strings.Join(d.Gone, ", "))
		}
	case d.Answer == Harm || never:
		d.RowsNeeded = 0
	}
}

// Required refuses requirements that no log could meet, outcomes that are the same in all rows or in
// none, and outcomes that are missing by the action where they should be missing at random.
// Propensities are known up to a factor gamma. Call it before anything is learned or estimated.
func Required(log *logs.Log, gamma float64, all []Requirement) error {
	if log.Lists != nil && len(all) > 0 {
		return errors.New(notOfLists)
	}
	if _, err := Chances(log, nil, nil, 1, 0.05, all); err != nil {
		return err
	}
	for _, r := range all {
		if r.By != "" {
			of := trial{parts: []certify.PoolLog{{Log: log, Rows: logs.Every(log.Len())}},
				samples: []sample{{Judge: &Judge{log: log}}}}
			if _, _, err := of.segments(r); err != nil {
				return err
			}
			continue
		}
		b, _ := log.Beside(r.Name)
		least, most := math.Inf(1), math.Inf(-1)
		for i, c := range b.Cost {
			if b.Missing == nil || !b.Missing[i] {
				least, most = min(least, c), max(most, c)
			}
		}
		switch {
		case least > most:
			return fmt.Errorf("setting %s %s: column %s has no value: it is no outcome", r.kind(), r.Name, b.Of.Column)
		case least == most && b.Assumed && (b.Lacking == 0 || b.Of.AtRandom):
			return fmt.Errorf("setting %s %s: column %s is the same in all rows: %s %s=LOW:HIGH", r.kind(), r.Name,
				b.Of.Column, constant, r.Name)
		}
		if !b.Of.AtRandom || b.Missing == nil || log.Simulated() {
			continue
		}
		rows := slices.DeleteFunc(logs.Every(log.Len()), func(i int) bool { return b.Missing[i] })
		for _, f := range inspect.Within(b.Log.Subset(rows), max(1, gamma)).Findings {
			if f.About == inspect.Draws && f.Severity > inspect.Fine {
				return fmt.Errorf("setting missing-at-random %s: "+byAction, r.Name, b.Of.Column, f.Check, f.Measured)
			}
		}
	}
	return nil
}

// notOfLists says why lists have no requirements.
const notOfLists = "guardrails and budgets are certified of rows that are decisions of their own, and not of lists, " +
	"whose other outcomes are not read: leave them out"

// constant says what to do about an outcome that is always the same.
const constant = "if it was recorded, and never varied, say what it can be by setting range"

// byAction says why an outcome is not missing at random: by a column, a check, and what it measured.
const byAction = "column %s is missing by the action, and not at random: in the rows that have it, %s: %s"

// Chances predicts whether n rows like these would show that the goal rises and that each
// requirement is met. It returns the logarithms of these probabilities. The policy must not have
// been learned from the rows; logged is π(a_i|x_i) by row.
//
//	bound ≈ x̄ + s √(2 log(1/δ)/n)
//
// x̄ and s are the mean and the standard deviation of X_i (package certify) over the rows, of costs less their mean where a
// model of the costs can certify: weights of mean 1 make nothing of that mean but noise. The chance counts the error that
// x̄ has itself.
func Chances(log *logs.Log, logged []float64, rows []int, n int, delta float64, all []Requirement) ([]float64, error) {
	t := trial{parts: []certify.PoolLog{{Log: log}}, samples: []sample{{Judge: &Judge{log: log}}}}
	chance := func(of *null, cost []float64, missing []bool) float64 {
		center := 0.
		if !log.LoggedOnly() {
			center = mean(cost, missing, rows)
		}
		return of.chance(cost, missing, center, log.Propensity, logged, rows, n, delta)
	}
	chances := []float64{chance(t.goal(), log.Cost, nil)}
	for _, r := range all {
		if r.By != "" { // segments are certified, and not learned for
			continue
		}
		b, err := log.Beside(r.Name)
		if err != nil {
			return nil, fmt.Errorf("setting %s %s: %w", r.kind(), r.Name, err)
		}
		null := &null{Outcome: Outcome{Name: r.Name, Kind: r.kind(), Column: b.Of.Column, Low: b.Of.Range.Low,
			High: b.Of.Range.High, AtRandom: b.Of.AtRandom}}
		if err := null.require(r, b.Of.IsCost()); err != nil {
			return nil, err
		}
		chances = append(chances, chance(null, b.Cost, b.Missing))
	}
	return chances, nil
}

// mean is that of the costs of rows that have one.
func mean(cost []float64, missing []bool, rows []int) float64 {
	var sum, n float64
	for _, r := range rows {
		if missing == nil || !missing[r] {
			sum, n = sum+cost[r], n+1
		}
	}
	return sum / max(1, n)
}

// chance is the logarithm of the probability that later rows refute the null, of costs less a center, see [Chances].
func (n *null) chance(cost []float64, missing []bool, center float64, pi0, pi []float64, rows []int, later int,
	delta float64) float64 {
	var sum, square, count float64
	c := n.contrast
	for _, r := range rows {
		w := pi[r] / pi0[r]
		x := (w - c.Logged) * (cost[r] - center)
		if missing != nil && missing[r] {
			if n.AtRandom {
				continue
			}
			x = max((c.Logged-w)*center, (c.Logged-w)*(1+center))
		}
		x += (1-c.Logged)*center - c.Shift
		sum, square, count = sum+x, square+x*x, count+1
	}
	if count < 2 {
		return 0
	}
	center = sum / count
	deviation := math.Sqrt(max(1e-12, square/count-center*center) / float64(max(1, later)))
	z := (n.most-center)/deviation - math.Sqrt(-2*math.Log(delta))
	z /= math.Sqrt(1 + float64(later)/count) // the mean of these rows has an error, too
	if z < -30 {                             // Φ(z), where it is no number
		return -z * z / 2
	}
	return math.Log(math.Erfc(-z/math.Sqrt2) / 2)
}

// kind names what is required.
func (r Requirement) kind() string {
	switch {
	case r.Budget:
		return "budget"
	case r.By != "":
		return "guardrail-by"
	}
	return "guardrail"
}

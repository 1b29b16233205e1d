// Package ope estimates from the log of one policy what other policies would have
// earned (off-policy evaluation). Use [Evaluate] for the value of target policies, with
// standard errors, intervals, effective sample sizes and lower bounds. Use [Select] to
// decide which of several policies to ship.
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
	// HalfWidth is that of the interval for which Policy.RowsNeeded is, in the log's units; 0: a
	// tenth of the logging policy's mean reward above the least.
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
	// Requirements of other outcomes: each target's guarantee has a Decision at δ over the number of targets.
	Requirements []provenance.Requirement
	// EstimatesAlone leaves out guarantees, and the inspection of the log that they ask for.
	EstimatesAlone bool
	// Notes are said below the results, such as what is known of the log.
	Notes []string

	targets int // that share δ with those of rows apart
}

// Estimate holds one estimator's value of one policy.
type Estimate struct {
	Estimator string  `json:"method"`                   // its name
	Hyper     float64 `json:"hyperparameter,omitempty"` // 0: none
	Interval
	Gain   Interval `json:"gain"`             // over the logging policy's mean reward, on the same rows
	Biased bool     `json:"biased,omitempty"` // as the estimator is: the interval is of what it estimates
	Model  bool     `json:"-"`                // it has a model's predictions
}

// Label names the estimate in tables: the estimator with its hyperparameter, such as clip=0.1.
func (e Estimate) Label() string {
	if e.Hyper == 0 {
		return e.Estimator
	}
	return fmt.Sprintf("%s=%.3g", e.Estimator, e.Hyper)
}

// Interval is a value, or a paired difference of two, with its interval, which may
// leave what values can be.
type Interval struct {
	Value float64 `json:"value"` // the estimate
	SE    float64 `json:"se"`    // its standard error
	Low   float64 `json:"low"`   // lower end, at the level of the result
	High  float64 `json:"high"`  // upper end
}

// Policy holds the estimates and the guarantee of one target.
type Policy struct {
	Name         string     `json:"name"`           // the target's
	Estimates    []Estimate `json:"estimates"`      // one for each estimator
	ESS          float64    `json:"ess"`            // (Σωw)²/Σ(ωw)², rows that the weights amount to
	MeanWeight   float64    `json:"mean_weight"`    // Σωw/Σω, 1 in expectation
	MeanWeightSE float64    `json:"mean_weight_se"` // standard error of MeanWeight
	Largest      float64    `json:"largest_weight"` // max w
	Share        float64    `json:"largest_share"`  // of the row of the largest ωw in Σωw
	// shape of the largest weights: from .7 on no interval is to be trusted; 0: there is no tail
	Tail float64 `json:"pareto_k"`
	// probability that the target gives to actions that the log could not take, or never took
	Uncovered float64  `json:"uncovered"`
	Warnings  []string `json:"warnings,omitempty"` // why not to believe the estimates
	// Flattered says why the assumption about lists is not to be believed of the target; "": nothing speaks against it.
	Flattered string `json:"-"`
	// Learned says that rows of the log had a part in the target, and flatter its estimates.
	Learned bool `json:"learned_from_log,omitempty"`
	// Outcomes are those that something is required of.
	Outcomes []OutcomeEstimate `json:"outcomes,omitempty"`
	// Rows are those that had no part in a target that the log taught, from which its estimates
	// are; 0: all rows.
	Rows int `json:"rows,omitempty"`
	// Same says that it plays as what logged the rows.
	Same bool `json:"plays_as_logged,omitempty"`
	// Recommended is the estimator to believe: the one of sndr and snips with the smaller standard
	// error, or else the first that is not biased; "" where there are Warnings: none.
	Recommended string `json:"recommended,omitempty"`
	// RowsNeeded is how many rows like these would give half of its interval the width
	// HalfWidth, and 50 effective ones; 0: it cannot be told.
	RowsNeeded float64 `json:"rows_needed,omitempty"`
	HalfWidth  float64 `json:"half_width,omitempty"` // what RowsNeeded would give, in units of reward
	// Guarantee is nil where none exists; why is in Uncertified.
	Guarantee *provenance.Statement `json:"guarantee,omitempty"`
	// Guaranteed and GainGuaranteed are what it says of the value and of the gain, see [Result.InUnits].
	Guaranteed     *float64 `json:"guaranteed,omitempty"`
	GainGuaranteed *float64 `json:"gain_guaranteed,omitempty"`
	Uncertified    string   `json:"uncertified,omitempty"` // why nothing is guaranteed
}

// Pair is the difference of two targets, first less second, by one estimator.
type Pair struct {
	First     string `json:"first"`  // the target whose value is the larger if Value > 0
	Second    string `json:"second"` // the target that is subtracted
	Estimator string `json:"method"` // its name
	Interval
	Biased bool `json:"-"` // as the estimator is
}

// Result is a table of estimates.
type Result struct {
	Rows     int     `json:"rows"`     // of the log
	Groups   int     `json:"groups"`   // G; the rows where all are their own
	Delta    float64 `json:"delta"`    // 1 − the level of intervals and bounds
	Interval string  `json:"interval"` // the method
	// RewardMin and RewardMax are the rewards, in the log's units, that are 0 and 1, see
	// [Result.InUnits]; both 0: these.
	RewardMin float64  `json:"reward_min"`
	RewardMax float64  `json:"reward_max"`
	Logging   Interval `json:"logging"`           // mean reward of the logging policy, on-policy
	Policies  []Policy `json:"policies"`          // in the order of the targets
	Pairs     []Pair   `json:"pairs,omitempty"`   // differences of targets, on the same rows
	Missing   []string `json:"missing,omitempty"` // estimators left out, and why
	Notes     []string `json:"notes,omitempty"`   // doubts of the log

	inUnits bool // see InUnits
}

// check fills in δ and refuses what no log could do.
func (o *Options) check(targets []Target) error {
	if o.Delta = cmp.Or(o.Delta, 0.05); !(o.Delta > 0 && o.Delta < 1) {
		return fmt.Errorf("ope: delta %v is outside (0, 1)", o.Delta)
	}
	if err := certify.CheckGamma(cmp.Or(o.Gamma, 1)); err != nil {
		return fmt.Errorf("ope: propensities known up to the factor %w", err)
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

// InUnits converts rewards to the log's own units, and adds what is guaranteed as Guaranteed and
// GainGuaranteed. The statements, which bounds on rewards in [0, 1] make, stay as they are, and so
// does a result that is converted already.
func (r Result) InUnits() Result {
	if r.inUnits {
		return r
	}
	r.inUnits = true
	u := logs.Units{Low: r.RewardMin, High: r.RewardMax}
	r.Logging = r.Logging.at(u)
	r.Policies, r.Pairs = slices.Clone(r.Policies), slices.Clone(r.Pairs)
	for i := range r.Policies {
		p := &r.Policies[i]
		p.HalfWidth *= u.Span()
		p.Estimates = slices.Clone(p.Estimates)
		for j := range p.Estimates {
			p.Estimates[j] = p.Estimates[j].in(u)
		}
		if g := p.Guarantee; g != nil {
			value, gain := u.At(g.Promise()), g.GainAtLeast()*u.Span()
			p.Guaranteed, p.GainGuaranteed = &value, &gain
		}
	}
	for i := range r.Pairs {
		r.Pairs[i].Interval = r.Pairs[i].Interval.times(u.Span())
	}
	return r
}

// InUnits converts rewards to the log's own units; a selection that is converted already stays as it is.
func (s Selection) InUnits() Selection {
	if s.inUnits {
		return s
	}
	s.inUnits = true
	u := logs.Units{Low: s.RewardMin, High: s.RewardMax}
	s.Logging, s.Targets = s.Logging.at(u), slices.Clone(s.Targets)
	for i := range s.Targets {
		t := &s.Targets[i]
		if t.AtLeast != nil {
			value, gain := u.At(*t.AtLeast), *t.GainAtLeast*u.Span()
			t.AtLeast, t.GainAtLeast = &value, &gain
		}
		if t.Estimate != nil {
			e := t.Estimate.in(u)
			t.Estimate = &e
		}
	}
	if s.RunnerUp != nil {
		p := *s.RunnerUp
		p.Interval = p.Interval.times(u.Span())
		s.RunnerUp = &p
	}
	return s
}

func (e Estimate) in(u logs.Units) Estimate {
	e.Interval, e.Gain = e.Interval.at(u), e.Gain.times(u.Span())
	return e
}

func (i Interval) at(u logs.Units) Interval {
	return Interval{u.At(i.Value), i.SE * u.Span(), u.At(i.Low), u.At(i.High)}
}

func (i Interval) times(span float64) Interval {
	return Interval{i.Value * span, i.SE * span, i.Low * span, i.High * span}
}

// Digits returns the decimals of rewards in a range that say as much as n decimals of rewards in [0, 1].
func Digits(low, high float64, n int) int {
	return max(0, n-int(math.Floor(math.Log10(logs.Units{Low: low, High: high}.Span()))))
}

// Package estimate says what another policy would have earned, from a log:
// off-policy estimators of the value of fixed target policies, with standard
// errors, intervals, effective sample sizes, and what can be guaranteed.
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
package estimate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"opl/objectives"
	"opl/policies/policyfile"
	"opl/train/certify"
)

// Log is what estimators read of a log, as columns of n rows.
type Log struct {
	K            int       // actions
	Action       []int32   // a, from 0
	Cost         []float64 // c in [−1, 0]
	Propensity   []float64 // π₀(a|x) in (0, 1]
	Propensities []float64 // π₀(·|x) [n×K]; nil: not known
	Weight       []float64 // ω ≥ 0; nil: 1
	Group        []int32   // negative: none; nil: none
	Estimated    bool      // the propensities are estimates: nothing is certified
}

// Target is a policy whose value is asked for, by its probabilities in the rows of
// a log. It must be fixed independently of the log for a guarantee to hold.
type Target struct {
	Name string
	// Row writes π(·|x_i) to dst [K]; nil: only the logged action's is known.
	Row func(dst []float64, i int) error
	// Logged is π(a_i|x_i) [n], needed where Row is nil.
	Logged []float64
	// Uncertified, if not empty, is why nothing can be guaranteed of the target, such as
	// that this log taught it.
	Uncertified string
	Policy      *policyfile.Policy // of a policy file; nil: it is none
}

// Model predicts rewards: it writes r̂(x_i, ·) to dst [K]. A model that has seen row
// i makes the direct and doubly robust estimates optimistic; see [Ridge].
type Model func(dst []float64, i int)

// Method is an estimator of the value.
type Method string

// The estimators; w = π/π₀ of the logged action, r = −c. All but DM are means
// of a column s; SNIPS is a ratio of means.
const (
	IPS   Method = "ips"   // s = w r. Horvitz & Thompson (1952); unbiased
	SNIPS Method = "snips" // Σω w r/Σω w. Swaminathan & Joachims (2015)
	Clip  Method = "clip"  // s = r π/max(π₀, τ)
	IX    Method = "ix"    // s = r π/(π₀ + γ)
	ES    Method = "es"    // s = r π/π₀^α
	Har   Method = "har"   // s = r w/((1−λ)w + λ)
	LS    Method = "ls"    // s = log(1 + ℓ w r)/ℓ. Sakhi et al. (2024), logarithmic smoothing
	DM    Method = "dm"    // s = Σ_a π(a|x) r̂(x,a), biased as r̂ is; its error does not know that
	DR    Method = "dr"    // s = Σ_a π(a|x) r̂(x,a) + w(r − r̂(x,a_i)). Dudík et al. (2011); unbiased
)

// Methods lists all estimators in the order of tables.
func Methods() []Method { return []Method{IPS, SNIPS, Clip, IX, ES, Har, LS, DM, DR} }

// Biased reports that the interval of a method is one of its own expectation,
// which is below the value for the weights that shrink (above it for none, as
// rewards are not negative), and anywhere for DM.
func (m Method) Biased() bool {
	switch m {
	case Clip, IX, ES, Har, LS, DM:
		return true
	}
	return false
}

// Options says what is estimated. The zero value is useful.
type Options struct {
	// Delta is δ: intervals are at level 1 − δ, guarantees hold together, over all
	// targets, with probability 1 − δ. 0 means 0.05.
	Delta float64
	// Methods are the estimators; nil means all that the log and the targets admit.
	Methods []Method
	// Tau, Gamma, Alpha, Lambda are the hyperparameters of Clip, IX, ES and Har; 0
	// means [objectives.DefaultHyper].
	Tau, Gamma, Alpha, Lambda float64
	// Ell is ℓ of logarithmic smoothing; 0 means 1/√n.
	Ell float64
	// Model predicts rewards for DM and DR; nil leaves them out.
	Model Model
	// Notes are said below the results, such as what is known of the log.
	Notes []string
}

// Estimate is one method's value of one policy.
type Estimate struct {
	Method Method  `json:"method"`
	Hyper  float64 `json:"hyperparameter,omitempty"` // 0: none
	Value  float64 `json:"value"`
	SE     float64 `json:"se"`
	Low    float64 `json:"low"` // of the normal interval, which may leave [0, 1]
	High   float64 `json:"high"`
	Gain   Gain    `json:"gain"` // over the logging policy's mean reward, on the same rows
}

// Gain is a paired difference of two values with its interval.
type Gain struct {
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
	Guarantee   *certify.Bounds `json:"guarantee,omitempty"`
	Uncertified string          `json:"uncertified,omitempty"`
}

// Estimate returns the estimate of a method.
func (p Policy) Estimate(m Method) (Estimate, bool) {
	i := slices.IndexFunc(p.Estimates, func(e Estimate) bool { return e.Method == m })
	if i < 0 {
		return Estimate{}, false
	}
	return p.Estimates[i], true
}

// Pair is the difference of two targets, first less second, by one method.
type Pair struct {
	First  string `json:"first"`
	Second string `json:"second"`
	Method Method `json:"method"`
	Gain
}

// Result is a table of estimates.
type Result struct {
	Rows     int      `json:"rows"`
	Groups   int      `json:"groups"` // G; the rows where all are their own
	Delta    float64  `json:"delta"`
	Logging  Gain     `json:"logging"` // mean reward of the logging policy, on-policy
	Policies []Policy `json:"policies"`
	Pairs    []Pair   `json:"pairs,omitempty"`
	Missing  []string `json:"missing,omitempty"` // methods left out, and why
	Notes    []string `json:"notes,omitempty"`
}

// few is the effective sample size below which, and heavy the share of one row
// above which, an estimate rests on a handful of rows.
const (
	few   = 50
	heavy = 0.1
)

// influence is u_i by row, without sums over groups.
type influence []float64

// sums is a log with what all estimates share.
type sums struct {
	Log
	n      int
	total  float64 // Σω
	groups int     // G
	place  []int32 // of each row's group among the G; nil: its own
	z      float64 // quantile of the intervals
}

// Evaluate computes every method for every target.
func Evaluate(log Log, targets []Target, o Options) (Result, error) {
	n := len(log.Action)
	if o.Delta == 0 {
		o.Delta = 0.05
	}
	regular := objectives.DefaultHyper(n, 0)
	for _, h := range []struct {
		at    *float64
		plain float64
		name  string
	}{{&o.Tau, regular, "tau"}, {&o.Gamma, regular, "gamma"}, {&o.Alpha, 1 - regular, "alpha"}, {&o.Lambda, 1 - regular, "lambda"}, {&o.Ell, 1 / math.Sqrt(float64(n)), "ell"}} {
		if *h.at == 0 {
			*h.at = h.plain
		}
		if !(*h.at >= 0 && *h.at <= 1) {
			return Result{}, fmt.Errorf("estimate: %s %v is outside [0, 1]", h.name, *h.at)
		}
	}
	if !(o.Delta > 0 && o.Delta < 1) {
		return Result{}, fmt.Errorf("estimate: delta %v is outside (0, 1)", o.Delta)
	}
	if len(targets) == 0 {
		return Result{}, errors.New("estimate: no target policy")
	}
	t, err := newTable(log, o.Delta)
	if err != nil {
		return Result{}, err
	}
	methods, missing, err := choose(o, targets)
	if err != nil {
		return Result{}, err
	}
	on, onValue := t.mean(func(i int) float64 { return -t.Cost[i] })
	res := Result{Rows: n, Groups: t.groups, Delta: o.Delta, Logging: t.gain(onValue, on, nil), Missing: missing, Notes: o.Notes}
	influences := make([]map[Method]influence, len(targets))
	for j, target := range targets {
		p, inf, err := t.policy(target, methods, o, on, onValue, len(targets))
		if err != nil {
			return Result{}, err
		}
		res.Policies, influences[j] = append(res.Policies, p), inf
	}
	for a := range targets {
		for b := a + 1; b < len(targets); b++ {
			for _, e := range res.Policies[a].Estimates {
				f, ok := res.Policies[b].Estimate(e.Method)
				if !ok {
					continue
				}
				res.Pairs = append(res.Pairs, Pair{targets[a].Name, targets[b].Name, e.Method, t.gain(e.Value-f.Value, influences[a][e.Method], influences[b][e.Method])})
			}
		}
	}
	return res, nil
}

// choose lists the methods that can be computed, and those that cannot.
func choose(o Options, targets []Target) (methods []Method, missing []string, err error) {
	asked := o.Methods
	if asked == nil {
		asked = Methods()
	}
	logged := slices.IndexFunc(targets, func(t Target) bool { return t.Row == nil })
	for _, m := range asked {
		switch {
		case !slices.Contains(Methods(), m):
			return nil, nil, fmt.Errorf("estimate: no method %q", m)
		case (m == DM || m == DR) && o.Model == nil:
			missing = append(missing, fmt.Sprintf("%s: no model of the reward", m))
		case (m == DM || m == DR) && logged >= 0:
			missing = append(missing, fmt.Sprintf("%s: target %s has no probabilities of all actions", m, targets[logged].Name))
		case !slices.Contains(methods, m):
			methods = append(methods, m)
		}
	}
	if methods == nil {
		return nil, nil, fmt.Errorf("estimate: no method is left: %v", missing)
	}
	return methods, missing, nil
}

// newTable checks the columns.
func newTable(log Log, delta float64) (*sums, error) {
	n := len(log.Action)
	t := &sums{Log: log, n: n, groups: n, z: distuv.UnitNormal.Quantile(1 - delta/2)}
	switch {
	case n == 0:
		return nil, errors.New("estimate: the log is empty")
	case log.K < 1:
		return nil, fmt.Errorf("estimate: %d actions", log.K)
	case log.Propensity == nil:
		return nil, errors.New("estimate: the log has no propensities")
	case len(log.Cost) != n || len(log.Propensity) != n || log.Propensities != nil && len(log.Propensities) != n*log.K ||
		log.Weight != nil && len(log.Weight) != n || log.Group != nil && len(log.Group) != n:
		return nil, errors.New("estimate: the log's columns have different lengths")
	}
	for i := range n {
		w := t.weight(i)
		switch a, c, p := log.Action[i], log.Cost[i], log.Propensity[i]; {
		case a < 0 || int(a) >= log.K:
			return nil, fmt.Errorf("estimate: row %d: action %d is outside 0 to %d", i+1, a, log.K-1)
		case !(c >= -1 && c <= 0):
			return nil, fmt.Errorf("estimate: row %d: cost %v is outside [-1, 0]", i+1, c)
		case !(p > 0 && p <= 1):
			return nil, fmt.Errorf("estimate: row %d: propensity %v is outside (0, 1]", i+1, p)
		case !(w >= 0) || math.IsInf(w, 0):
			return nil, fmt.Errorf("estimate: row %d: weight %v", i+1, w)
		}
		t.total += w
	}
	if t.total == 0 {
		return nil, errors.New("estimate: all rows have weight 0")
	}
	if log.Group != nil {
		places := map[int32]int32{}
		t.place = make([]int32, n)
		t.groups = 0
		for i, g := range log.Group {
			at, seen := places[g]
			if g < 0 || !seen {
				at = int32(t.groups)
				t.groups++
				if g >= 0 {
					places[g] = at
				}
			}
			t.place[i] = at
		}
		if t.groups == n {
			t.place = nil
		}
	}
	if t.groups < 2 {
		return nil, errors.New("estimate: a standard error needs at least two rows, of two groups")
	}
	return t, nil
}

func (t *sums) weight(i int) float64 {
	if t.Weight == nil {
		return 1
	}
	return t.Weight[i]
}

// mean is Σω s/Σω with its influences.
func (t *sums) mean(s func(i int) float64) (influence, float64) {
	u := make(influence, t.n)
	sum := 0.0
	for i := range u {
		u[i] = s(i)
		sum += t.weight(i) * u[i]
	}
	m := sum / t.total
	for i := range u {
		u[i] = t.weight(i) * (u[i] - m) / t.total
	}
	return u, m
}

// se is the standard error of influences u, or of u − v.
func (t *sums) se(u, v influence) float64 {
	at := func(i int) float64 {
		if v == nil {
			return u[i]
		}
		return u[i] - v[i]
	}
	square := 0.0
	if t.place == nil {
		for i := range u {
			square += at(i) * at(i)
		}
	} else {
		sums := make([]float64, t.groups)
		for i, g := range t.place {
			sums[g] += at(i)
		}
		for _, s := range sums {
			square += s * s
		}
	}
	g := float64(t.groups)
	return math.Sqrt(square * g / (g - 1))
}

func (t *sums) gain(value float64, u, v influence) Gain {
	se := t.se(u, v)
	return Gain{value, se, value - t.z*se, value + t.z*se}
}

// policy computes the methods for one target. Influences are kept where there are
// pairs to compare.
func (t *sums) policy(target Target, methods []Method, o Options, on influence, onValue float64, targets int) (Policy, map[Method]influence, error) {
	var (
		p              = Policy{Name: target.Name}
		w              = make([]float64, t.n) // π/π₀
		pi             = make([]float64, t.n) // π(a_i|x_i)
		direct, logged []float64              // Σ_a π r̂, r̂(x_i, a_i)
		row, predicted = make([]float64, t.K), make([]float64, t.K)
		model          = o.Model != nil && target.Row != nil && (slices.Contains(methods, DM) || slices.Contains(methods, DR))
	)
	if model {
		direct, logged = make([]float64, t.n), make([]float64, t.n)
	}
	if target.Row == nil && len(target.Logged) != t.n {
		return p, nil, fmt.Errorf("estimate: target %s has %d probabilities for %d rows", target.Name, len(target.Logged), t.n)
	}
	var sum, square, most float64
	for i := range t.n {
		if target.Row == nil {
			pi[i] = target.Logged[i]
		} else {
			if err := target.Row(row, i); err != nil {
				return p, nil, err
			}
			total := 0.0
			for a, q := range row {
				if !(q >= 0 && q <= 1+1e-9) {
					return p, nil, fmt.Errorf("estimate: target %s, row %d: probability %v of action %d is outside [0, 1]", target.Name, i+1, q, a)
				}
				total += q
			}
			if math.Abs(total-1) > 1e-6 {
				return p, nil, fmt.Errorf("estimate: target %s, row %d: the probabilities sum to %v, not 1", target.Name, i+1, total)
			}
			pi[i] = row[t.Action[i]]
		}
		if !(pi[i] >= 0 && pi[i] <= 1+1e-9) {
			return p, nil, fmt.Errorf("estimate: target %s, row %d: probability %v is outside [0, 1]", target.Name, i+1, pi[i])
		}
		w[i] = pi[i] / t.Propensity[i]
		if w[i] > 1e100 {
			return p, nil, fmt.Errorf("estimate: target %s, row %d: the weight %v/%v is beyond use", target.Name, i+1, pi[i], t.Propensity[i])
		}
		v := t.weight(i) * w[i]
		sum += v
		square += v * v
		most = max(most, v)
		p.Largest = max(p.Largest, w[i])
		if model {
			o.Model(predicted, i)
			logged[i] = predicted[t.Action[i]]
			for a, q := range row {
				direct[i] += q * predicted[a]
			}
			if d := direct[i] + logged[i]; d-d != 0 {
				return p, nil, fmt.Errorf("estimate: row %d: the model predicts a reward that is not finite", i+1)
			}
		}
	}
	u, mean := t.mean(func(i int) float64 { return w[i] })
	p.MeanWeight, p.MeanWeightSE = mean, t.se(u, nil)
	if sum > 0 {
		p.ESS, p.Share = sum*sum/square, most/sum
	}
	t.warn(&p, w)
	influences := map[Method]influence{}
	for _, m := range methods {
		var u influence
		est := Estimate{Method: m}
		r := func(i int) float64 { return -t.Cost[i] }
		switch m {
		case IPS:
			u, est.Value = t.mean(func(i int) float64 { return w[i] * r(i) })
		case SNIPS:
			if sum == 0 { // without any weight it has no value
				continue
			}
			u, est.Value = t.ratio(w, sum)
		case Clip:
			est.Hyper = o.Tau
			u, est.Value = t.mean(func(i int) float64 { return r(i) * pi[i] / max(t.Propensity[i], o.Tau) })
		case IX:
			est.Hyper = o.Gamma
			u, est.Value = t.mean(func(i int) float64 { return r(i) * pi[i] / (t.Propensity[i] + o.Gamma) })
		case ES:
			est.Hyper = o.Alpha
			u, est.Value = t.mean(func(i int) float64 { return r(i) * pi[i] / math.Pow(t.Propensity[i], o.Alpha) })
		case Har:
			est.Hyper = o.Lambda
			u, est.Value = t.mean(func(i int) float64 {
				if pi[i] == 0 {
					return 0
				}
				return r(i) * pi[i] / ((1-o.Lambda)*pi[i] + o.Lambda*t.Propensity[i])
			})
		case LS:
			est.Hyper = o.Ell
			u, est.Value = t.mean(func(i int) float64 { return math.Log1p(o.Ell*w[i]*r(i)) / o.Ell })
		case DM:
			u, est.Value = t.mean(func(i int) float64 { return direct[i] })
		case DR:
			u, est.Value = t.mean(func(i int) float64 { return direct[i] + w[i]*(r(i)-logged[i]) })
		}
		g := t.gain(est.Value, u, nil)
		est.SE, est.Low, est.High = g.SE, g.Low, g.High
		est.Gain = t.gain(est.Value-onValue, u, on)
		p.Estimates = append(p.Estimates, est)
		if targets > 1 {
			influences[m] = u
		}
	}
	err := t.guarantee(&p, target, pi, o.Delta/float64(targets))
	return p, influences, err
}

// ratio is SNIPS with the influences of the delta method,
// u_i = ω_i w_i(r_i − value)/Σωw.
func (t *sums) ratio(w []float64, sum float64) (influence, float64) {
	u := make(influence, t.n)
	value := 0.0
	for i := range u {
		value -= t.weight(i) * w[i] * t.Cost[i]
	}
	value /= sum
	for i := range u {
		u[i] = t.weight(i) * w[i] * (-t.Cost[i] - value) / sum
	}
	return u, value
}

// warn says where estimates rest on a handful of rows, and where the weights do
// not average to 1.
func (t *sums) warn(p *Policy, w []float64) {
	add := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	switch {
	case p.ESS == 0:
		add("the target never takes a logged action: nothing is known of it")
		return
	case p.ESS < few:
		add("the estimate rests on %.1f effective rows of %d", p.ESS, t.n)
	}
	if p.Share > heavy {
		add("one row carries %.0f %% of the weight", 100*p.Share)
	}
	paid := 0
	for i, v := range w {
		if v > 0 && t.Cost[i] < 0 && t.weight(i) > 0 {
			paid++
		}
	}
	if paid < 20 {
		add("only %d rows of weight have a reward above 0", paid)
	}
	if d := p.MeanWeight - 1; math.Abs(d) > 4*p.MeanWeightSE && math.Abs(d) > 0.01 {
		add("weights average %.3g, not 1: propensities are wrong, or the target takes actions that the log could not", p.MeanWeight)
	}
	if t.groups < 30 && t.groups < t.n {
		add("%d groups are too few for a normal interval", t.groups)
	}
}

// guarantee states what holds with probability 1 − delta, or why nothing does.
func (t *sums) guarantee(p *Policy, target Target, pi []float64, delta float64) error {
	switch {
	case target.Uncertified != "":
		p.Uncertified = target.Uncertified
	case t.Estimated:
		p.Uncertified = "the propensities are estimates"
	case t.place != nil:
		p.Uncertified = "rows share groups, and a guarantee needs independent rows"
	case t.Weight != nil && slices.Min(t.Weight) != slices.Max(t.Weight):
		p.Uncertified = "rows have different weights, and a guarantee needs identically distributed rows"
	default:
		c, err := certify.Fixed(pi, t.Propensity, t.Cost, delta)
		if err != nil {
			return fmt.Errorf("estimate: target %s: %w", p.Name, err)
		}
		p.Guarantee = &c
	}
	return nil
}

// Package certify computes upper bounds on the risk of a policy, and on its gain over the
// logging policy. The bounds hold with probability 1 − δ over the log. They are computed in
// float64 on exact propensities. Use it if you know that the policy was fixed before the
// rows ([Fixed]), or that the rows chose a posterior ([Posterior]). Otherwise use package
// provenance, which judges whether rows may certify a policy.
//
// # The bound
//
// Rows i = 1…n teach nothing. X_ia is an estimate of the cost of playing a in x_i that is
// unbiased and bounded, so that 1 − ℓX > 0. For a policy π that was fixed before the rows
// ([Fixed]),
//
//	E_ℓ(R) = ∏_i (1 − ℓ Σ_a π(a|x_i)X_ia) / (1 − ℓR)ⁿ
//
// has mean 1 at R = R(π), the true risk: it is an e-value. For a posterior Q that may have
// been chosen on the rows ([Posterior]), by Donsker and Varadhan's inequality and Jensen's,
//
//	E_ℓ(R) = exp( Σ_i Σ_a π_Q(a|x_i) log(1 − ℓX_ia) − n log(1 − ℓR) − KL(Q‖P) )
//
// is at most a variable of mean 1, for all Q at once. So is a mixture Σ_g w_g E_g(R) with
// weights fixed in advance, over values of ℓ, over kinds of X and over priors. By Markov's
// inequality it is below 1/δ with probability 1 − δ, and as it increases in R, the largest
// R where it is is an upper bound. A mixture is never above the union bound of the same
// weights. Of the weight 0.45 is on ℓ = 4/√n, 0.15 on 1/√n, the rest on a geometric grid.
//
// The kinds of X, after logarithmic smoothing (Sakhi et al. 2024):
//
//	ls  X_ia = c_i 1{a = a_i}/π₀(a_i|x_i)
//	dr  X_ia = q_ia + 1{a = a_i}(c_i − q_ia)/π₀(a_i|x_i)
//
// dr for each model r̂ of the reward; it needs the propensities of all actions, or a floor of them, which then stands
// for π₀ in q, so that this does not depend on what was drawn. −q_ia is r̂(x_i,a), taken
// for .99 at most, where s = ℓ/π₀(a|x_i), of a fixed policy ℓπ(a|x_i)/π₀(a|x_i), is at most 1/2. Beyond, it
// is max(r̂/(2s), 2r̂/(1 + s + √((1 + s)² − 4r̂s))): at the second E log(1 − ℓX) is largest if rewards are
// 0 and 1 and r̂ is right, so that E_ℓ grows as it can. Where rewards vary less it is nearer to r̂, see
// [RewardModel]. 1 − ℓX ≥ 1 − s(−q) ≥ .01 whatever the row.
//
// The gain D = R(π) − R(π₀) is bounded alike, by X_ia − c_i in place of X_ia and ℓ ≤ 1/2: the cost of
// the logging policy on the same row is known. For a fixed policy, a model and Γ = 1 (below), rows where both
// policies do the same add no noise:
//
//	dr  X_i = Σ_b (π − π₀)(b|x_i) q_ib + (π/π₀ − 1)(a_i|x_i) (c_i − q_{ia_i}),   s = ℓ(π/π₀ − 1)
//
// where the sum is above 0, the part of 1 − ℓX without c_i is scaled to its mean 1 in place of
// adding the sum, so that 1 − ℓX stays above 0. The risk and the gain have δ/2 each, since both are stated.
//
// # At any time
//
// With ℓ and weights that do not depend on n (Options.AnyTime), each row multiplies the e-value
// of a fixed policy by a factor of mean 1 given the rows before it: at the true risk it is a
// martingale that begins at 1, and by Ville's inequality it ever reaches 1/δ with probability
// at most δ. So the bounds may be looked at after every row, and rows of several logs ([Pool])
// be counted together, whose logging policies may depend on the rows before. Where the
// distribution of rows drifts, (1 − ℓR̄)ⁿ ≥ ∏(1 − ℓR_i) (geometric and arithmetic mean): what is
// bounded is the mean over the rows of the risks R_i given the rows before; and the gain is that
// over what logged these rows. Nothing that a factor is made of may change after a look:
//
//	ℓ_j = most·2^(−j), w_j ∝ 1/(j+1), j = 0…20, most = 1, of the gain 1/2
//
// Every kind keeps its share, and is ls on rows whose propensities are not all known.
// Models are clipped as for Γ ≥ 1.01: a Γ that is raised up to 1.01 after a look can only
// raise X. A cluster must be complete when it is counted.
//
// # Rows that depend
//
// Rows of a group may depend on one another, groups may not. Then n is the number of groups, and the
// mean of Σ_a πX over a group replaces a row's. Σ_i (1/m_g) Σ_a π_Q log(1 − ℓX_ia), with m_g rows
// in the group, replaces the sum over rows (concavity). The bound is on the mean over groups of
// the groups' mean risk.
//
// # Propensities known up to a factor
//
// If p/Γ ≤ π₀ ≤ Γp for the logged p, X is taken at the propensity in this range where it is
// largest, which can only raise the bound. s is as many times as large as the end of the bracket that Γ is
// in, the least of 1, 1.01, 1.1, 1.1², 1.1³ … that is not below it: in a bracket the bound increases in Γ.
package certify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"opl/objectives/weights"
	"opl/policies/propensity"
)

// Options says how to certify.
type Options struct {
	// Delta is δ, the probability that anything stated fails; 0 means 0.05.
	Delta float64
	// Gamma is Γ, the factor that propensities are known up to; 0 means 1.
	Gamma float64
	// Models of the reward are the kinds dr. They may be any functions of context and action
	// that are fixed before the rows, or of row i and those before it alone.
	Models []*RewardModel
	// Priors is the number of priors, fixed before the rows, that a posterior's may be chosen
	// among after seeing them: a mixture of equal weights, log Priors more divergence; 0 means 1.
	Priors int
	// Clusters by row of the log: rows of one number ≥ 0 may depend on one another; nil means those of the log.
	Clusters []int32
	// AnyTime asks for bounds that hold at every look, as rows come, and of rows of several
	// logs together, see the package comment: of fixed policies alone.
	AnyTime bool
	// Contrast is what the gain is measured against; nil: the logging policy. It is for policies that were fixed before
	// the rows.
	Contrast *Contrast
	// Draws is the number of draws a row that a policy without an exact form is
	// sampled with; 0 means 256.
	Draws int
	// Seed is that of the draws.
	Seed uint64
	// Threads is how many threads may be used; 0 means 1. The result is the same for
	// any number.
	Threads int
}

// check fills in what is not given.
func (o Options) check() (Options, error) {
	o.Delta, o.Gamma, o.Threads = cmp.Or(o.Delta, 0.05), cmp.Or(o.Gamma, 1), max(1, o.Threads)
	o.Draws, o.Priors = cmp.Or(o.Draws, 256), cmp.Or(o.Priors, 1)
	switch {
	case !(o.Delta > 0 && o.Delta < 1):
		return o, fmt.Errorf("certify: delta %v is outside (0, 1)", o.Delta)
	case o.Draws < 1:
		return o, fmt.Errorf("certify: %d draws, want at least 1", o.Draws)
	case o.Priors < 1:
		return o, fmt.Errorf("certify: %d priors, want at least 1", o.Priors)
	}
	if err := CheckGamma(o.Gamma); err != nil {
		return o, fmt.Errorf("certify: propensities known up to the factor %w", err)
	}
	return o, o.contrast().check()
}

// all reports that π₀(·|x) is known whichever action was drawn. What is derived from the rows so far is not used at
// any time, as a later row may contradict it. Of two actions the other has 1 less the logged one only if Γ = 1.
func (o Options) all(log Log) bool {
	return !log.LoggedOnly() && !(log.Derived() && o.AnyTime) && !(log.Paired() && o.Gamma > 1)
}

// LoggedOnly reports that X can have no model on the rows of a log: π₀ is known of the logged action alone, and no
// floor of it.
func (o Options) LoggedOnly(log Log) bool { return !o.all(log) && log.Floor() == 0 }

// Policy writes π(·|x_i), of the actions that the row offers, to dst for row i of a log.
type Policy = func(dst []float64, i int) error

// RewardModel is a model of the reward that makes a bound tighter the better it predicts,
// and never false.
type RewardModel struct {
	Name string // as bounds name it
	// Predict writes r̂(x, ·) in [0, 1] of the actions offered [Options] to dst, for row i of the log. Many
	// goroutines call it.
	Predict func(dst []float64, i int)
	// Of is Predict of a model that reads π(·|x_i) of a fixed policy, too; nil: Predict.
	Of func(dst, pi []float64, i int)
	// Dispersion is φ of rewards whose variance about r̂ is φ r̂(1 − r̂). The smaller it is the more of r̂ a bound uses.
	// No row that certifies may choose it. 0: 1, that of rewards that are 0 or 1.
	Dispersion float64
	Taught     propensity.RowSet // rows that it was learned from, which may not certify
	Fixed      bool              // the caller's word that no row that certifies taught it, or only rows after it
}

// predict is Of, or Predict, of row i; pi is nil of a posterior.
func (m *RewardModel) predict(dst, pi []float64, i int) {
	if m.Of != nil && pi != nil {
		m.Of(dst, pi, i)
	} else {
		m.Predict(dst, i)
	}
}

// Bound is one upper bound on a risk, or on a gain, that holds with probability 1 − Delta.
type Bound struct {
	Name   string         `json:"name"`   // ls, or ls+dr: the kinds of X in the mixture
	Risk   float64        `json:"risk"`   // upper bound on the cost, in [−1, 0]
	Delta  float64        `json:"delta"`  // its share of δ
	Lambda float64        `json:"lambda"` // the ℓ that carries the most of the mixture
	Terms  []weights.Term `json:"terms"`  // what Risk is made of
}

// Bounds hold for a policy, all of them together with probability 1 − δ, if the
// rows are what the package comment assumes and no row had a part in what must be fixed.
// Package provenance judges that, and it alone makes a certificate of them.
type Bounds struct {
	Delta   float64  `json:"delta"`                      // the probability that a bound fails
	N       int      `json:"n"`                          // rows that certify
	Groups  int      `json:"groups,omitempty"`           // of them, where rows share groups
	Chunks  int      `json:"chunks,omitempty"`           // of them, where each certifies a policy of its own, see [Chunks]
	Gamma   float64  `json:"gamma,omitempty"`            // see Options; 0: 1
	Least   float64  `json:"least_propensity,omitempty"` // the floor that dr relies on, see [Log]; 0: it relies on none
	AnyTime bool     `json:"any_time,omitempty"`         // see Options
	Priors  int      `json:"priors"`                     // that the posterior's was chosen among; 1 for a fixed policy
	KL      float64  `json:"kl"`                         // of the posterior from its prior, nats
	All     []Bound  `json:"bounds"`                     // one, on the risk; records of old have more, the tightest first
	Gain    *Bound   `json:"gain,omitempty"`             // on R(π) − R(π₀), on the same rows
	Absurd  string   `json:"absurd,omitempty"`           // how the rows contradict the assumptions; empty: they do not
	Missing []string `json:"missing"`                    // kinds that could not be used, and why
	// Of a log with choices: Plays is Σ_i π(a_i|x_i), how often the rows play what the policy would, and
	// Wanted how often they should for half of their mean reward to be guaranteed; 0: there are too few.
	Plays  float64 `json:"plays,omitempty"`
	Wanted float64 `json:"plays_wanted,omitempty"`
	// LoggingUpper is the bound of the logging policy's reward that records of old have.
	LoggingUpper float64 `json:"logging_upper,omitempty"`

	evidence *Evidence // about the contrast of the options; nil: they had none
}

// WithoutPropensities reports that there is no dr because their log has the propensities of logged actions alone.
func (b Bounds) WithoutPropensities() bool { return slices.Contains(b.Missing, noPropensities) }

// Best returns the bound on the risk.
func (b Bounds) Best() Bound { return b.All[0] }

// Reward returns the lower bound on the reward, −Best().Risk.
func (b Bounds) Reward() float64 { return -b.Best().Risk }

// GainAtLeast returns the lower bound on the gain over the logging policy, NaN in old
// records.
func (b Bounds) GainAtLeast() float64 {
	if b.Gain == nil {
		return math.NaN()
	}
	return -b.Gain.Risk
}

// Better reports that the policy earns more than the logging policy did on the same rows.
func (b Bounds) Better() bool { return b.Gain != nil && b.Gain.Risk < 0 }

// Evidence returns the e-value about the contrast of the options, which must have had one.
func (b Bounds) Evidence() Evidence { return *b.evidence }

// Fixed bounds the risk and the gain of a policy that was fixed before the rows. pi writes
// π(·|x_i), of the actions that the row offers [Options], to dst for row i of the log; where it is nil, logged
// has π(a_i|x_i) by row instead, and there is no dr. Sets that change from row to row, and actions that
// were never logged, change nothing above: a row's set is part of its context.
func Fixed(pi Policy, logged []float64, log Log, rows []int, o Options) (Bounds, error) {
	return boundsOf(fixed(pi, logged, log, rows, o))
}

// boundsOf is what sums say, unless there was an error.
func boundsOf(s *sums, err error) (Bounds, error) {
	if err != nil {
		return Bounds{}, err
	}
	return s.bounds(), nil
}

// PoolLog is what a log has for a [Pool]: as of Fixed, with the Group, Gamma and Models of the
// options for its rows.
type PoolLog struct {
	Pi       Policy         // as pi of [Fixed]
	Logged   []float64      // π(a_i|x_i) by row where Pi is nil
	Log      Log            // rewards and propensities
	Rows     []int          // of Log, that certify
	Clusters []int32        // group of each row; nil: rows are independent
	Gamma    float64        // factor Γ ≥ 1 that propensities are known up to; 0: 1
	Models   []*RewardModel // the same for all parts, but for the rows that they read
	Missing  []bool         // see Contrast, in place of that of the options
}

// Pool bounds what Fixed does, at any time, from several logs of the same actions in the order
// of their time. All rows of a group must be in one log.
func Pool(parts []PoolLog, o Options) (Bounds, error) {
	return boundsOf(pool(parts, o))
}

func pool(parts []PoolLog, o Options) (*sums, error) {
	if len(parts) == 0 {
		return nil, errors.New("certify: no log is given")
	}
	o.AnyTime = true
	var all *sums
	contrast := o.Contrast
	for i, p := range parts {
		if k := parts[0].Log.K(); p.Log.K() != k && !p.Log.Choosing() {
			return nil, fmt.Errorf("certify: log %d has %d actions, the first %d", i+1, p.Log.K(), k)
		}
		o.Clusters, o.Gamma, o.Models = p.Clusters, p.Gamma, p.Models
		if contrast != nil {
			of := *contrast
			of.Missing, o.Contrast = p.Missing, &of
		}
		s, err := fixed(p.Pi, p.Logged, p.Log, p.Rows, o)
		switch {
		case err != nil:
			return nil, fmt.Errorf("log %d: %w", i+1, err)
		case all == nil:
			all = s
			continue
		case len(s.kinds) != len(all.kinds):
			return nil, fmt.Errorf("certify: log %d has %d models of the reward for probabilities of all actions, "+
				"the first %d", i+1, len(s.kinds)-1, len(all.kinds)-1)
		}
		all.o.Gamma = max(all.o.Gamma, s.o.Gamma)
		all.add(s)
	}
	return all, nil
}

func fixed(pi Policy, logged []float64, log Log, rows []int, o Options) (*sums, error) {
	o, err := o.check()
	if err == nil {
		err = columns(log, rows)
	}
	if err != nil {
		return nil, err
	}
	o.Priors = 1
	s := newSums(log, rows, o)
	if pi == nil {
		s.without("the probabilities of all actions are not known")
		if len(logged) != log.Len() {
			return nil, fmt.Errorf("certify: %d probabilities for %d rows", len(logged), log.Len())
		}
	}
	return s, s.fixed(pi, logged)
}

// Posterior bounds the risk and the gain of π_Q, the mixture of policies of a family
// under the posterior q, from rows of an encoded log. The rows must have had no part in choosing
// q's prior; they may have been used to choose q itself. A π_Q that is known by draws alone is
// sampled with o.Draws a row, of which half of each δ pays for the error (Hoeffding, over rows,
// draws and ℓ).
func Posterior(pol propensity.Family, q propensity.Posterior, log Encoded, rows []int, o Options) (Bounds, error) {
	return boundsOf(posterior(pol, q, log, rows, o))
}

func posterior(pol propensity.Family, q propensity.Posterior, log Encoded, rows []int, o Options) (*sums, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	switch {
	case o.Contrast != nil:
		return nil, errors.New("certify: contrasts are of policies that were fixed before the rows")
	case o.AnyTime:
		return nil, errors.New("certify: bounds at any time are of policies that were fixed before the rows: a " +
			"posterior is chosen on them anew at every look, and the bound by its divergence is for one look")
	case !pol.HasPosterior():
		return nil, fmt.Errorf("certify: policy %s has no posterior, and a single parameter chosen from data has "+
			"infinite KL", pol.Name())
	case log.Choosing():
		return nil, fmt.Errorf("certify: policy %s has a posterior of scores that are independent of one another, "+
			"and those of actions that rows offer by their features are not: they share parameters", pol.Name())
	case log.Dim() == 0:
		return nil, errors.New("certify: the contexts of the log are not encoded")
	case q.Actions != log.K() || q.Dim != log.Dim():
		return nil, fmt.Errorf("certify: the policy has %d actions and %d features, the log %d and %d", q.Actions,
			q.Dim, log.K(), log.Dim())
	case len(q.Mu) != q.Actions*q.Dim || len(q.Prior.Mean) != len(q.Mu):
		return nil, fmt.Errorf("certify: a mean of %d numbers and a prior's of %d, want %d", len(q.Mu),
			len(q.Prior.Mean), q.Actions*q.Dim)
	}
	if err := columns(log, rows); err != nil {
		return nil, err
	}
	kl := q.KL() + math.Log(float64(o.Priors))
	if math.IsNaN(kl) || math.IsInf(kl, 0) {
		return nil, fmt.Errorf("certify: the posterior's divergence from its prior is %v", kl)
	}
	s := newSums(log, rows, o)
	if pol.Noisy() {
		s.without(fmt.Sprintf("policy %s is known by sampling alone", pol.Name()))
	}
	s.kl = kl
	return s, s.posterior(pol, q, log)
}

// columns refuses a log without what bounds read, rows that it does not have, and rows given twice.
func columns(log Log, rows []int) error {
	_, propensity, _ := log.Columns()
	switch {
	case propensity == nil:
		return errors.New("certify: the log has no propensities")
	case len(rows) == 0:
		return errors.New("certify: no rows are left to certify with")
	}
	if err := log.Check(); err != nil {
		return err
	}
	seen := make([]bool, log.Len())
	for _, r := range rows {
		if r < 0 || r >= log.Len() {
			return fmt.Errorf("certify: there is no row %d in a log of %d", r, log.Len())
		}
		if seen[r] {
			return fmt.Errorf("certify: row %d is given twice, and a row counts once", r)
		}
		seen[r] = true
	}
	return nil
}

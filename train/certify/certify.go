// Package certify computes upper bounds on the risk of a policy that hold with
// probability 1 − δ over the log, from rows that the policy's prior has not seen,
// in float64 on exact propensities. They are numbers: whether a log may certify a
// policy at all is for package provenance to judge.
//
// Unlike the objectives of the same names, no number here depends on the data in
// a way that its proof does not allow: λ and ℓ come from grids that are fixed in
// advance, and each choice is paid for by a union bound. Rows must be
// independent and identically distributed.
package certify

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"opl/objectives/weights"
	"opl/policies/propensity"
	"opl/train/logs"
)

// Options says how to certify.
type Options struct {
	// Delta is δ, the probability that anything stated fails; 0 means 0.05.
	Delta float64
	// Weight is that of the bounds of the paper, nonnegative and nondecreasing in
	// π, and chosen before the rows are seen; none means Clip(n^(-1/4)). A weight
	// that is not linear in π leaves Corollary 1's bounds out.
	Weight weights.Weight
	// RewardModel, if not nil, is a model of the reward for the doubly robust bound.
	RewardModel *RewardModel
	// Priors is the number of priors that the posterior's was chosen among after
	// seeing the rows, such as the scales of a grid; 0 means 1. δ is divided by it.
	Priors int
	// Draws is the number of draws a row that a policy without an exact form is
	// sampled with; 0 means 256.
	Draws int
	// Seed is that of the draws.
	Seed uint64
	// Threads is how many threads may be used; 0 means 1. The result is the same for
	// any number.
	Threads int
}

// Bound is one upper bound on the risk, R(π_Q) ≤ Risk with probability 1 − Delta.
type Bound struct {
	Name   string         `json:"name"`
	Risk   float64        `json:"risk"`
	Delta  float64        `json:"delta"`  // its share of δ
	Lambda float64        `json:"lambda"` // the chosen point of its grid, λ or ℓ
	Terms  []weights.Term `json:"terms"`  // what Risk is made of
}

// Bounds are upper bounds on the risk of a policy as numbers: what they say holds, all
// of it together with probability 1 − δ, if the rows are what the package comment
// assumes and no row had a part in what must be fixed. Package provenance judges that, and
// it alone makes a certificate of them. δ/2 is the share of the logging policy's value; the
// other half is divided equally among the bounds that the policy, the weight and the kind
// of log admit, and each part by the number of priors.
type Bounds struct {
	Delta        float64  `json:"delta"`
	N            int      `json:"n"`      // rows that certify
	Priors       int      `json:"priors"` // see Options
	KL           float64  `json:"kl"`
	All          []Bound  `json:"bounds"`  // tightest first
	Missing      []string `json:"missing"` // bounds that could not be computed, and why
	LoggingUpper float64  `json:"logging_upper"`
}

// Best is the tightest bound.
func (b Bounds) Best() Bound { return b.All[0] }

// Reward is the lower bound on the reward, −Best().Risk.
func (b Bounds) Reward() float64 { return -b.Best().Risk }

// Posterior bounds the risk of π_Q, the mixture of policies of a family under the
// posterior q, from rows of a log that did not take part in choosing q's prior
// (they may have been used to choose q itself). The logging policy's value is
// bounded from all rows of the log.
func Posterior(pol propensity.Family, q propensity.Posterior, log *logs.Log, rows []int, o Options) (Bounds, error) {
	if o.Delta == 0 {
		o.Delta = 0.05
	}
	if o.Priors == 0 {
		o.Priors = 1
	}
	if o.Draws == 0 {
		o.Draws = 256
	}
	c := Bounds{Delta: o.Delta, N: len(rows), Priors: o.Priors}
	if o.Weight.None() {
		o.Weight = weights.Clip(weights.DefaultHyper(len(rows), 0))
	}
	switch {
	case !(o.Delta > 0 && o.Delta < 1):
		return c, fmt.Errorf("certify: delta %v is outside (0, 1)", o.Delta)
	case o.Priors < 1 || o.Draws < 1:
		return c, fmt.Errorf("certify: %d priors and %d draws, want at least 1", o.Priors, o.Draws)
	case !pol.HasPosterior():
		return c, fmt.Errorf("certify: policy %s has no posterior, and a single parameter chosen from data has infinite KL", pol.Name())
	case len(rows) == 0:
		return c, errors.New("certify: no rows are left to certify with")
	case q.Actions != log.K() || q.Dim != log.Dim():
		return c, fmt.Errorf("certify: the policy has %d actions and %d features, the log %d and %d", q.Actions, q.Dim, log.K(), log.Dim())
	case len(q.Mu) != q.Actions*q.Dim || len(q.Prior.Mean) != len(q.Mu):
		return c, fmt.Errorf("certify: a mean of %d numbers and a prior's of %d, want %d", len(q.Mu), len(q.Prior.Mean), q.Actions*q.Dim)
	}
	if c.KL = q.KL(); math.IsNaN(c.KL) || math.IsInf(c.KL, 0) {
		return c, fmt.Errorf("certify: the posterior's divergence from its prior is %v", c.KL)
	}
	if err := log.Learnable(); err != nil {
		return c, err
	}
	if err := distinct(log, rows); err != nil {
		return c, err
	}
	all := candidates(measure(pol, q, log, rows, o), pol, log, o, c.KL)
	fit := 0
	for _, b := range all {
		if b.unfit == nil {
			fit++
		}
	}
	// What fits does not depend on the rows, and who does not needs no share.
	share := o.Delta / 2 / float64(fit*o.Priors)
	for _, b := range all {
		bound, err := Bound{}, b.unfit
		if err == nil {
			bound, err = b.of(share)
		}
		if err != nil {
			c.Missing = append(c.Missing, fmt.Sprintf("%s: %v", b.name, err))
			continue
		}
		bound.Name, bound.Delta = b.name, share
		c.All = append(c.All, bound)
	}
	slices.SortStableFunc(c.All, func(a, b Bound) int {
		switch {
		case a.Risk < b.Risk:
			return -1
		case a.Risk > b.Risk:
			return 1
		}
		return 0
	})
	c.LoggingUpper = LoggingUpper(log.Cost, o.Delta/2)
	return c, nil
}

// candidate is a bound, or why it is none for this policy, weight and kind of log.
type candidate struct {
	name  string
	unfit error
	of    func(delta float64) (Bound, error)
}

// candidates lists the bounds; ls and ixbound fit always.
func candidates(s sample, pol propensity.Family, log *logs.Log, o Options, kl float64) []candidate {
	w, linear := o.Weight, corollary1Fits(pol, log, o.Weight)
	return []candidate{
		{"ls", nil, func(d float64) (Bound, error) { return s.oneSided(kl, d, smoothed), nil }},
		{"ls-dr", robustFits(pol, log, o.RewardModel), func(d float64) (Bound, error) { return s.doublyRobust(kl, d), nil }},
		{"ixbound", nil, func(d float64) (Bound, error) { return s.oneSided(kl, d, explored), nil }},
		{"corollary1", linear, func(d float64) (Bound, error) { return s.corollary1(kl, d, true) }},
		{"corollary1-two-sided", linear, func(d float64) (Bound, error) { return s.corollary1(kl, d, false) }},
		{"theorem1", theorem1Fits(pol, log), func(d float64) (Bound, error) { return s.theorem1(log, w, kl, d) }},
	}
}

// distinct refuses rows that are none of the log, or given twice.
func distinct(log *logs.Log, rows []int) error {
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

// LoggingUpper is an upper bound on the mean reward of the logging policy that
// holds with probability 1 − delta, from the costs that it logged, independent
// and in [−1, 0]: the smaller of the Chernoff bound, which is tight for rewards
// of 0 and 1,
//
//	max{u : n·kl(r̂‖u) ≤ log(2/δ)}
//
// and the empirical Bernstein bound of Maurer & Pontil (2009),
//
//	r̂ + √(2 V log(4/δ)/n) + 7 log(4/δ)/(3(n−1)).
func LoggingUpper(cost []float64, delta float64) float64 {
	n := float64(len(cost))
	var sum, square float64
	for _, c := range cost {
		sum -= c
	}
	mean := sum / n
	for _, c := range cost {
		square += (-c - mean) * (-c - mean)
	}
	upper := klUpper(mean, math.Log(2/delta)/n)
	if n > 1 {
		l := math.Log(4 / delta)
		upper = min(upper, mean+math.Sqrt(2*square/(n-1)*l/n)+7*l/(3*(n-1)))
	}
	return upper
}

// klUpper is the largest u ≥ p with kl(p‖u) ≤ budget, for Bernoulli means.
func klUpper(p, budget float64) float64 {
	kl := func(u float64) float64 {
		d := 0.0
		if p > 0 {
			d += p * math.Log(p/u)
		}
		if p < 1 {
			d += (1 - p) * math.Log((1-p)/(1-u))
		}
		return d
	}
	low, high := p, 1.0
	for range 100 {
		mid := (low + high) / 2
		if kl(mid) > budget {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

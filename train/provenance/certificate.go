package provenance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"opl/train/certify"
	"opl/train/inspect"
)

// Verdict says how the guaranteed reward compares with the logging policy's.
type Verdict string

// The verdicts.
const (
	Better   Verdict = "better"    // than the logging policy on the same rows, with probability 1 − δ
	NotShown Verdict = "not shown" // the lower bound on the gain is not above 0
	Vacuous  Verdict = "vacuous"   // nothing is guaranteed: the bound allows reward 0
	// Doubted is Better by a bound whose assumptions the log contradicts; Contradicted says
	// where.
	Doubted Verdict = "doubted"
)

// Certificate is what is guaranteed of a policy, with probability 1 − δ. A [Judge] makes
// it, and nothing else does: what is read back, from a record or a policy file, is a
// [Statement].
type Certificate struct{ statement Statement }

// Statement is what the certificate says.
func (c *Certificate) Statement() Statement { return c.statement }

// MarshalJSON is that of the statement.
func (c *Certificate) MarshalJSON() ([]byte, error) { return json.Marshal(c.statement) }

// Guaranteed is the reward that is promised.
func (c *Certificate) Guaranteed() float64 { return c.statement.Promise() }

// Statement is the content of a certificate: the object "certificate" of records and
// policy files. By itself it proves nothing.
type Statement struct {
	certify.Bounds
	Verdict Verdict `json:"verdict"`
	*Circumstances
}

// Promise is the reward that is promised, in [0, 1]: that of the bound, and never above
// the estimate on the same rows, where there is one.
func (s Statement) Promise() float64 {
	if s.Circumstances != nil {
		return s.Guaranteed
	}
	return max(0, s.Reward())
}

// Circumstances are what is to be known of the log that certified, where it was read.
type Circumstances struct {
	Guaranteed float64          `json:"guaranteed"` // reward, in [0, 1]
	Relation   Relation         `json:"relation"`   // of the log to the one learned from
	DataHash   string           `json:"data_hash"`  // of the log
	Rows       int              `json:"rows"`       // of the log
	Refused    int              `json:"refused"`    // rows that taught what must be fixed
	Logged     float64          `json:"logged"`     // mean reward of the rows that certify, in [0, 1]
	Estimate   certify.Estimate `json:"estimate"`   // on the rows that certify
	// Contradicted says what in the log contradicts that rows are independent, alike and of the
	// propensities that they state, and was not accounted for.
	Contradicted string `json:"contradicted,omitempty"`
	// RewardMin and RewardMax are the rewards that are 0 and 1.
	RewardMin float64  `json:"reward_min"`
	RewardMax float64  `json:"reward_max"`
	Doubts    []string `json:"doubts,omitempty"` // of the log, whose rows the guarantee takes for independent and alike
	Notes     []string `json:"notes,omitempty"`
}

// Proven reports that the policy is better than the logging policy, with probability
// 1 − δ, and nothing is known to contradict what that assumes.
func (s Statement) Proven() bool { return s.Verdict == Better }

// contradictions are the checks of the inspection whose failure no bound accounts for:
// drift leaves the mean over rows bounded, and rows of a unit count as one.
var contradictions = []string{"draws against propensities", "counts by action", "mean weight of uniform", "rewards in sequence", "ends of groups", "rows left out", "p is its row's entry"}

// certificate makes one, of a policy with the probabilities logged[i] = π(a_i|x_i) of the rows
// that certify; nil: they are sampled, or the log was drawn here.
func (j *Judge) certificate(b certify.Bounds, on Circumstances, logged []float64, rows []int) (*Certificate, error) {
	if b.Absurd != "" {
		return nil, withhold("%s: the propensities are far too small for the draws that they speak of (are they tiny by mistake, of other actions, or rounded?), rows were left out by their outcome, or the rows that certify had a part in the policy", b.Absurd)
	}
	v := Vacuous
	switch {
	case b.Better():
		v = Better
	case b.Reward() > 0:
		v = NotShown
	}
	if j.log.Simulated() {
		return &Certificate{Statement{b, v, nil}}, nil
	}
	on.Guaranteed, on.DataHash, on.Rows, on.Refused = max(0, b.Reward()), j.log.Hash(), j.log.Len(), j.log.Len()-len(rows)
	on.RewardMin, on.RewardMax = j.log.RewardRange()
	cost, pi0, pi := make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		cost[i], pi0[i] = j.log.Cost[r], j.log.Propensity[r]
		if logged != nil {
			pi[i] = logged[r]
		}
	}
	on.Logged = -mean(cost)
	if n := j.log.Skipped; n > 0 {
		on.Notes = append(on.Notes, LeftOut(n))
	}
	for _, f := range j.found.Findings {
		if f.Severity > inspect.Fine {
			on.Doubts = append(on.Doubts, fmt.Sprintf("%s: %s: %s", f.Check, f.Measured, f.Means))
			if f.Severity == inspect.Unusable || slices.Contains(contradictions, f.Check) && (f.Check != "rewards in sequence" || b.Groups == 0) {
				on.Contradicted = cmp.Or(on.Contradicted, f.Check+": "+f.Measured)
			}
		}
	}
	if logged != nil {
		on.Estimate = certify.SelfNormalized(pi, pi0, cost)
		on.Guaranteed = min(on.Guaranteed, on.Estimate.Reward)
		if w := j.meanWeight(pi, pi0, rows); w != "" {
			on.Contradicted = w
		}
	}
	if v == Better && on.Contradicted != "" {
		v = Doubted
	}
	return &Certificate{Statement{b, v, &on}}, nil
}

// meanWeight says that the weights π/π₀, whose mean is 1 for true propensities and a policy
// that the rows had no part in, are far from it: by more than 5 standard errors, and 5 %. Means over
// units count as one.
func (j *Judge) meanWeight(pi, pi0 []float64, rows []int) string {
	sum, size := map[int32]float64{}, map[int32]float64{}
	var order []int32
	for i, r := range rows {
		u := int32(r)
		if of := j.Units(); of != nil {
			u = of[r]
		}
		if size[u] == 0 {
			order = append(order, u)
		}
		sum[u] += pi[i] / pi0[i]
		size[u]++
	}
	n, m, square := float64(len(order)), 0., 0.
	for _, u := range order {
		m += sum[u] / size[u] / n
	}
	for _, u := range order {
		square += (sum[u]/size[u] - m) * (sum[u]/size[u] - m)
	}
	se := math.Sqrt(square) / n
	if off := math.Abs(m - 1); !(off > 0.05 && off > 5*se) || n < 100 {
		return ""
	}
	return fmt.Sprintf("the weights π/π₀ of the rows that certify average %.3g ± %.2g, not 1: their propensities are wrong, or these rows had a part in the policy", m, se)
}

// LeftOut says what n rows that could not be read mean.
func LeftOut(n int) string {
	return fmt.Sprintf("%d rows could not be read: all of this speaks of the rows kept", n)
}

// mean is 0 of nothing.
func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}

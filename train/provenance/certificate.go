package provenance

import (
	"encoding/json"
	"fmt"

	"opl/train/certify"
	"opl/train/inspect"
)

// Verdict says how the guaranteed reward compares with the logging policy's.
type Verdict string

// The verdicts.
const (
	Better   Verdict = "better"    // than the logging policy, with probability 1 − δ
	NotShown Verdict = "not shown" // the guarantee is below the logging policy's upper bound
	Vacuous  Verdict = "vacuous"   // nothing is guaranteed: the bound allows reward 0
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
func (c *Certificate) Guaranteed() float64 { return c.statement.Bounds.Reward() }

// Statement is the content of a certificate: the object "certificate" of records and
// policy files. By itself it proves nothing.
type Statement struct {
	certify.Bounds
	Verdict Verdict `json:"verdict"`
	*Circumstances
}

// Circumstances are what is to be known of the log that certified, where it was read.
type Circumstances struct {
	Guaranteed float64          `json:"guaranteed"` // reward, in [0, 1]
	Relation   Relation         `json:"relation"`   // of the log to the one learned from
	DataHash   string           `json:"data_hash"`  // of the log
	Rows       int              `json:"rows"`       // of the log
	Refused    int              `json:"refused"`    // rows that taught what must be fixed
	Logged     float64          `json:"logged"`     // mean reward of the log, in [0, 1]
	Estimate   certify.Estimate `json:"estimate"`   // on the rows that certify
	// Dependent says that rows share groups: what is guaranteed would hold for
	// independent rows.
	Dependent bool `json:"dependent,omitempty"`
	// RewardMin and RewardMax are the rewards that are 0 and 1.
	RewardMin float64  `json:"reward_min"`
	RewardMax float64  `json:"reward_max"`
	Doubts    []string `json:"doubts,omitempty"` // of the log, whose rows the guarantee takes for independent and alike
	Notes     []string `json:"notes,omitempty"`
}

// Proven reports that the policy is better than the logging policy, with probability
// 1 − δ, and nothing is known to contradict what that assumes.
func (s Statement) Proven() bool {
	return s.Verdict == Better && (s.Circumstances == nil || !s.Dependent)
}

// verdict compares the best bound with the logging policy.
func verdict(b certify.Bounds) Verdict {
	switch g := b.Reward(); {
	case g > b.LoggingUpper:
		return Better
	case g > 0:
		return NotShown
	}
	return Vacuous
}

// certificate makes one. on is nil for logs that were drawn here.
func (j *Judge) certificate(b certify.Bounds, on *Circumstances) *Certificate {
	if on != nil {
		on.Guaranteed, on.DataHash, on.Rows = b.Reward(), j.log.Hash(), j.log.Len()
		on.RewardMin, on.RewardMax = j.log.RewardRange()
		on.Logged = -mean(j.log.Cost)
		if n := j.log.Skipped; n > 0 {
			on.Notes = append(on.Notes, LeftOut(n))
		}
		on.Dependent = j.dependent()
		for _, f := range j.found.Findings {
			if f.Severity > inspect.Fine {
				on.Doubts = append(on.Doubts, fmt.Sprintf("%s: %s: %s", f.Check, f.Measured, f.Means))
			}
		}
	}
	return &Certificate{Statement{b, verdict(b), on}}
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

// Estimated notes what the rows that certify say of the policy.
func (c *Certificate) Estimated(e certify.Estimate) { c.statement.Estimate = e }

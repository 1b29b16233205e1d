package pipeline

import (
	"encoding/json"
	"fmt"

	"opl/policies/policyfile"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Training is the object "training" of a policy file: how the policy was learned.
type Training struct {
	train.Run // the configuration; dataset, eta0, limit and prior_split do not apply

	Rows       int     `json:"rows"`               // of the log
	Distinct   *int    `json:"distinct,omitempty"` // of them, that the file's lists of rows tell apart; nil: all
	Teaching   int     `json:"teaching"`           // rows that taught the prior, the encoder and the reward model
	Certifying int     `json:"certifying"`         // rows that the posterior was trained or chosen on
	Split      string  `json:"split"`              // how they were divided: random, group or time
	Share      float64 `json:"share"`              // of the rows that teach; 0: all or none
	Chunks     int     `json:"chunks,omitempty"`   // of the rows that certify
	Scaling    string  `json:"scaling"`            // of features, see logs.Scaling; empty: the prior's encoder
	Prior      string  `json:"prior"`              // zero, learned, or the hash of the policy file that it is
	// Learner of each component, of the recipe or a learned prior: start (what plays) or what [train.Learners] lists,
	// as in "direct (linear + trees)" or "layered logistic".
	Learner string `json:"learner"`
	// priors that the posterior's was chosen among, on the rows that certify
	Tried     int     `json:"tried"`
	Estimated bool    `json:"estimated"` // the log's propensities are estimates
	Seconds   float64 `json:"seconds"`   // that learning took
	// Snapshots are those of tables that the log was, by their URLs without what opens the catalogue.
	Snapshots []string `json:"snapshots,omitempty"`
	// Formula that rewards were computed by, if they were.
	Formula *logs.Formula `json:"formula,omitempty"`
	// Divisions of a range of numbers that there was a choice among: that of the largest value less a quarter of what of
	// it cannot be guaranteed is taken.
	Divisions []Division `json:"divisions,omitempty"`
	// Limits that other outcomes had to keep.
	Limits []provenance.Limit `json:"limits,omitempty"`
	// Traded are the weights λ beside the reward's 1 of outcomes that something is required of, in what was learned.
	Traded map[string]float64 `json:"traded,omitempty"`
	// Even is the share of decisions that are drawn evenly so that these outcomes keep their limits: the floor is
	// that much higher than was asked for.
	Even float64 `json:"even,omitempty"`

	Estimate certify.Estimate   `json:"estimate"`           // on the rows that certify
	Curve    []train.CurvePoint `json:"curve,omitempty"`    // by epoch
	Stopped  string             `json:"stopped,omitempty"`  // why the training ended early
	Warnings []string           `json:"warnings,omitempty"` // for the person who ships it
}

// TrainingOf reads the object "training" of a policy file.
func TrainingOf(f *policyfile.File) (Training, error) {
	var t Training
	if f.Training == nil {
		return t, fmt.Errorf("the policy file does not say how the policy was learned")
	}
	if err := json.Unmarshal(f.Training, &t); err != nil {
		return t, fmt.Errorf("the policy file's training: %w", err)
	}
	return t, nil
}

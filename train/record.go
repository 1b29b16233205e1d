package train

import (
	"encoding/json"
	"math"
	"strconv"

	"opl/objectives"
	"opl/train/provenance"
)

// Number is a float64 that has no value when it is NaN: null in JSON, empty in
// CSV.
type Number float64

// None returns the Number without a value.
func None() Number { return Number(math.NaN()) }

// Valid reports whether n has a value.
func (n Number) Valid() bool { return !math.IsNaN(float64(n)) }

// IsZero is for JSON's omitzero: a number without a value is left out.
func (n Number) IsZero() bool { return !n.Valid() }

// String gives the shortest decimal that reads back as n, or nothing.
func (n Number) String() string {
	if !n.Valid() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', -1, 64)
}

// MarshalJSON gives null where there is no value.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Valid() || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as no value.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = None()
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// Run is the configuration of one run, by names. Equal Runs on equal data give
// equal results.
type Run struct {
	Dataset   string  `json:"dataset"`        // its name; with lists of its labels "name:slots"
	Eta0      float64 `json:"eta0"`           // η₀, the logging policy's inverse temperature
	Objective string  `json:"objective"`      // a name of the library
	Policy    string  `json:"policy"`         // a name of the library
	Weight    string  `json:"weights"`        // empty where the objective brings its own
	Hyper     Number  `json:"hyperparameter"` // of the weight
	Lambda    string  `json:"lambda"`         // star, authors or a number; empty where there is none
	Penalty   Number  `json:"penalty"`        // λ of the objective's regularizer; none: the objective has none
	Seed      uint64  `json:"seed"`           // of everything random
	Settings
}

// LoggingPolicy is the objective of records that hold the logging policy alone.
const LoggingPolicy = "logging"

// Record is one run with its results: what tables, figures and certificates are
// made of.
type Record struct {
	Run
	N              int               `json:"n"`                  // rows of the log
	LoggingReward  Number            `json:"logging_reward"`     // on the test set
	Reward         Number            `json:"reward"`             // of π_Q, or of π_θ
	RewardSE       Number            `json:"reward_se"`          // left by sampling π_Q; 0: exact
	RewardAtMean   Number            `json:"reward_at_mean"`     // of the policy at θ = μ
	SampledReward  Number            `json:"sampled_reward"`     // Algorithm 2
	HeldOut        *HeldOut          `json:"held_out,omitempty"` // nil: all rows had a part in the policy, or are slots
	ObjectiveValue Number            `json:"objective_value"`    // at the end, on the whole log
	Terms          []objectives.Term `json:"terms,omitempty"`    // of the objective
	Sigma          Number            `json:"sigma"`              // σ at the end; none: a point policy
	// Certificate is what is guaranteed of π_Q, nil where nothing was certified.
	Certificate *provenance.Statement `json:"certificate,omitempty"`
	PriorScale  Number                `json:"prior_scale"`          // the chosen s
	Seconds     float64               `json:"seconds"`              // of the training alone
	Learner     string                `json:"learner,omitempty"`    // of a recipe, see ChunkPolicy
	Curve       []CurvePoint          `json:"curve,omitempty"`      // one point per epoch, if curves were asked for
	DataHash    string                `json:"data_hash"`            // of the data set
	Extensions  string                `json:"extensions,omitempty"` // of the processor, see Extensions
	Versions    Versions              `json:"versions"`             // what wrote the record
}

// HeldOut holds what a policy earns on the rows of the log that had no part in it, mean_i
// π(y_i|x_i): they are drawn as those that taught it, which a test set may not be.
type HeldOut struct {
	Rows   int     `json:"rows"`   // that had no part in the policy
	Reward float64 `json:"reward"` // in [0, 1]
	SE     float64 `json:"se"`     // standard error, of these rows for all that there could be
}

// CurvePoint is a training after an epoch. Objective and terms are means over the
// epoch's minibatches, at the parameters that each of them met. What follows from a
// test set is in the curves of records, what follows from a log in those of policy files.
type CurvePoint struct {
	Stage     string  `json:"stage,omitempty"`      // of the recipe: prior or tuning
	Scale     float64 `json:"prior_scale,omitzero"` // in policy files
	Epoch     int     `json:"epoch"`                // from 1
	Objective Number  `json:"objective"`            // what the training minimizes
	// in policy files: rows that the weights π/π₀ are worth, of those trained on
	Effective float64           `json:"effective,omitzero"`
	Terms     []objectives.Term `json:"terms,omitempty"` // that the objective is made of
	Reward    Number            `json:"reward,omitzero"` // in records: on the test set, as Record.Reward
}

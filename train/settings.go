package train

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Settings are what the runs of a grid share. The zero value of a field stands for
// its default, see [Settings.Filled]; [AllSettings] is the table of their names,
// defaults and domains.
type Settings struct {
	Delta        float64 `json:"delta"`      // δ, of the bounds
	Epochs       int     `json:"epochs"`     // passes over the rows
	LearningRate float64 `json:"lr"`         // of Adam
	BatchSize    int     `json:"batch_size"` // rows of a step
	Limit        int     `json:"limit"`      // examples used, 0: all
	Dtype        string  `json:"dtype"`      // float64 or float32
	// of policies that are sampled in training; empty: quadrature where there is one, else the library's
	// first
	Noise    string `json:"noise"`
	Samples  int    `json:"samples"`  // S
	Schedule string `json:"schedule"` // of the learning rate: constant or linear
	// PriorSplit is the share of the log that learns the prior; 0: the prior is the
	// logging policy's N(η₀μ₀, s²I).
	PriorSplit float64 `json:"prior_split"`
	// PriorScales are the s that the prior's scale is chosen from, by the
	// guarantee; empty: 1.
	PriorScales []float64 `json:"prior_scales,omitempty"`
	Certify     bool      `json:"certify"`
	// Representation is what the policy is linear in: none, or a name of the library with its
	// arguments. LayerRate stands for LearningRate where it is learned.
	Representation string  `json:"representation,omitempty"`
	LayerRate      float64 `json:"layer_lr,omitempty"` // learning rate of layers
}

// Scope says which runs a setting is of.
type Scope int

const (
	OfProblem  Scope = iota // all runs, the logging policy's too
	OfLearning              // all runs that learn, alike in a store of results
	OfMethod                // runs that learn; it depends on objective and policy
)

// Setting is an entry of the table of settings: all that flags, grid files, checks,
// stored results and tables know of it.
type Setting struct {
	Name   string // of its flag and its key in grid files
	Column string // of the CSV; empty: none
	Zero   bool   // the CSV shows 0, which is else left empty
	Scope  Scope  // what the setting is part of
	Grid   bool   // of grids of experiments alone, not of a single training
	Help   string // one line

	field func(*Settings) any // pointer to it
	def   any
	bad   func(*Settings) string
}

// AllSettings returns the table, in the order of grid files' help. To add a setting, add
// its field to [Settings] and its entry here.
func AllSettings() []Setting {
	finite := func(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
	oneOf := func(names ...string) func(string) bool {
		return func(s string) bool { return slices.Contains(names, s) }
	}
	atLeast := func(n int) func(int) bool { return func(i int) bool { return i >= n } }
	return []Setting{
		entry("epochs", func(s *Settings) *int { return &s.Epochs }, 20, atLeast(0), "want 0 or more",
			Setting{Column: "epochs", Zero: true, Scope: OfLearning, Help: "passes over the log"}),
		entry("limit", func(s *Settings) *int { return &s.Limit }, 0, func(n int) bool { return n == 0 || n >= 20 },
			"use at least 20, of which 5 % are for the logging policy and the rest for the log, or 0 for all",
			Setting{Scope: OfProblem, Grid: true, Help: "use this many training examples, 0: all"}),
		entry("lr", func(s *Settings) *float64 { return &s.LearningRate }, .1, finite, "want a positive number",
			Setting{Column: "lr", Zero: true, Scope: OfLearning, Help: "learning rate of Adam"}),
		entry("batch-size", func(s *Settings) *int { return &s.BatchSize }, 128, atLeast(1), "want at least 1",
			Setting{Column: "batch_size", Scope: OfLearning, Help: "rows of a minibatch"}),
		entry("delta", func(s *Settings) *float64 { return &s.Delta }, .05,
			func(x float64) bool { return x > 0 && x < 1 }, "want a number in (0, 1)",
			Setting{Column: "delta", Scope: OfLearning, Help: "failure probability δ of the bounds"}),
		entry("dtype", func(s *Settings) *string { return &s.Dtype }, "float32", oneOf("float32", "float64"),
			"want float32 or float64",
			Setting{Column: "dtype", Scope: OfLearning, Help: "element type of training: float32 or float64"}),
		entry("noise", func(s *Settings) *string { return &s.Noise }, "", nil, "",
			Setting{Column: "noise", Scope: OfMethod, Help: "noise of sampled policies (default: quadrature where " +
				"there is one, else the first noise of all)"}),
		entry("samples", func(s *Settings) *int { return &s.Samples }, 32, atLeast(1), "want at least 1",
			Setting{Column: "samples", Scope: OfMethod, Help: "noise draws an example, S"}),
		entry("schedule", func(s *Settings) *string { return &s.Schedule }, "constant", oneOf("constant", "linear"),
			"want constant or linear",
			Setting{Column: "schedule", Scope: OfMethod, Help: "learning rate over the training: constant or " +
				"linear, which falls to 0"}),
		entry("prior-split", func(s *Settings) *float64 { return &s.PriorSplit }, 0,
			func(x float64) bool { return x >= 0 && x < 1 }, "want a share in [0, 1)",
			Setting{Column: "prior_split", Scope: OfLearning, Grid: true,
				Help: "share of the log that learns the prior, which the bounds then do not see (certified: 0.5)"}),
		entry("prior-scale", func(s *Settings) *[]float64 { return &s.PriorScales }, nil,
			func(xs []float64) bool {
				return !slices.ContainsFunc(xs, func(x float64) bool { return !finite(x) })
			}, "want positive numbers",
			Setting{Scope: OfLearning, Help: "scales s of the prior N(·, s²I), fixed in advance; the best " +
				"guarantee chooses (default 1)"}),
		entry("certify", func(s *Settings) *bool { return &s.Certify }, false, nil, "",
			Setting{Scope: OfMethod, Grid: true, Help: "guarantee of each policy with a posterior, with " +
				"probability 1-δ"}),
		entry("representation", func(s *Settings) *string { return &s.Representation }, "", nil, "",
			Setting{Column: "representation", Scope: OfMethod, Help: "what the policy is linear in: none, mlp=512 " +
				"or another of the library (default: the context; certified: the best of none and mlp)"}),
		entry("layer-lr", func(s *Settings) *float64 { return &s.LayerRate }, .002,
			func(x float64) bool { return x == 0 || finite(x) }, "want a positive number",
			Setting{Scope: OfMethod, Help: "learning rate of Adam where a representation is learned, in place of " +
				"--lr"}),
	}
}

// entry completes s by what depends on the type of its field. ok is its domain; nil: another check knows it.
func entry[T any](name string, field func(*Settings) *T, def T, ok func(T) bool, want string, s Setting) Setting {
	s.Name, s.def = name, def
	s.field = func(of *Settings) any { return field(of) }
	s.bad = func(of *Settings) string {
		x := *field(of)
		if ok == nil || ok(x) {
			return ""
		}
		if text, ok := any(x).(string); ok {
			return fmt.Sprintf("%q: %s", text, want)
		}
		return fmt.Sprintf("%v: %s", x, want)
	}
	return s
}

// Field returns a pointer to the setting's field of s: to an int, a float64, a
// string, a bool or a []float64.
func (e Setting) Field(s *Settings) any { return e.field(s) }

// Of returns the setting of s, for comparisons and messages.
func (e Setting) Of(s Settings) string { return fmt.Sprint(reflect.ValueOf(e.field(&s)).Elem()) }

// Cell returns the setting of s as the CSV shows it.
func (e Setting) Cell(s Settings) string {
	if !e.Zero && reflect.ValueOf(e.field(&s)).Elem().IsZero() {
		return ""
	}
	return e.Of(s)
}

// Copy sets the setting of to as from has it.
func (e Setting) Copy(to, from *Settings) {
	reflect.ValueOf(e.field(to)).Elem().Set(reflect.ValueOf(e.field(from)).Elem())
}

// DefaultSettings returns the defaults, which are those of the paper's experiments.
func DefaultSettings() Settings { return Settings{}.Filled() }

// Filled returns s with the defaults in place of zero values.
func (s Settings) Filled() Settings {
	for _, e := range AllSettings() {
		if f := reflect.ValueOf(e.field(&s)).Elem(); f.IsZero() && e.def != nil {
			f.Set(reflect.ValueOf(e.def))
		}
	}
	return s
}

// Check reports the first setting out of its domain, a [*SettingError].
func (s Settings) Check() error {
	for _, e := range AllSettings() {
		if reason := e.bad(&s); reason != "" {
			return &SettingError{e.Name, reason}
		}
	}
	return nil
}

// A SettingError says which setting is out of its domain. Key is its name as a flag
// and in grid files.
type SettingError struct{ Key, Reason string }

func (e *SettingError) Error() string { return e.Key + " " + e.Reason }

package experiment

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"opl/objectives"
	"opl/train"
	"opl/train/library"
)

// MostRuns is the number of runs that a grid may have.
const MostRuns = 100_000

// Grid declares runs: every data set × η₀ × seed is a problem, and every entry is
// run on every problem, after the problem's logging policy.
type Grid struct {
	Datasets []string
	Eta0     []float64
	Seeds    []uint64
	Entries  []Entry
	Settings train.Settings
}

// Entry is an objective with a weight, and the lists of what varies. An empty list
// stands for the default alone.
type Entry struct {
	Objective string
	Weight    string    // ignored by objectives that bring their own
	Policy    string    // empty: the objective's own
	Hypers    []float64 // of the weight, in [0, 1]; NaN: n^(−1/4) away from unregularized, the default
	Lambdas   []string  // star (the default), authors or a number; ignored by objectives without λ
	Penalties []float64 // default: the objective's own; ignored by objectives without one
	Noise     string    // empty: that of the settings
	// Representations are what policies are linear in; default: that of the settings.
	Representations []string
}

// Runs lists the grid's runs in a fixed order, problem by problem, without
// duplicates. A combination without a meaning is handed to left and left out, or
// is an error if left is nil; so is a grid of which nothing is left.
func (g Grid) Runs(lib library.Library, left func(what string, why error)) ([]train.Run, error) {
	if err := g.Settings.Check(); err != nil {
		return nil, err
	}
	learned, err := g.learned(lib, left)
	if err != nil {
		return nil, err
	}
	problems := float64(len(g.Datasets)) * float64(len(g.Eta0)) * float64(len(g.Seeds))
	if n := problems * float64(len(learned)+1); n > MostRuns {
		return nil, fmt.Errorf("%.0f runs are more than %d: shorten the lists", n, MostRuns)
	}
	var runs []train.Run
	seen := map[string]bool{}
	for _, data := range g.Datasets {
		learned, err := listed(lib, data, learned, left)
		if err != nil {
			return nil, err
		}
		for _, eta := range g.Eta0 {
			if math.IsNaN(eta) || math.IsInf(eta, 0) {
				return nil, &train.SettingError{Key: "eta0", Reason: fmt.Sprintf("%v: want a number", eta)}
			}
			for _, seed := range g.Seeds {
				logging := train.Run{Dataset: data, Eta0: eta, Seed: seed, Objective: train.LoggingPolicy,
					Policy: "softmax",
					Hyper:  train.None(), Penalty: train.None()}
				for _, e := range train.AllSettings() {
					if e.Scope == train.OfProblem {
						e.Copy(&logging.Settings, &g.Settings)
					}
				}
				if key := Key(logging); !seen[key] {
					seen[key] = true
					runs = append(runs, logging)
					for _, r := range learned {
						r.Dataset, r.Eta0, r.Seed = data, eta, seed
						runs = append(runs, r)
					}
				}
			}
		}
	}
	return runs, nil
}

// learned lists the runs of one problem.
func (g Grid) learned(lib library.Library, left func(what string, why error)) ([]train.Run, error) {
	var (
		runs []train.Run
		why  error
		seen = map[string]bool{}
	)
	for _, entry := range g.Entries {
		o, err := lib.Objective(entry.Objective)
		if err != nil {
			return nil, err
		}
		common := train.Run{Objective: o.Name, Policy: cmp.Or(entry.Policy, o.Policy),
			Hyper: train.None(), Penalty: train.None(), Settings: g.Settings}
		for _, common.Representation = range orDefault(entry.Representations, g.Settings.Representation) {
			r := common
			r.Noise = cmp.Or(entry.Noise, r.Noise)
			if _, err := lib.Policy(r.Policy); err != nil {
				return nil, err
			}
			if o.Recipe {
				r.Noise, r.Certify, r.Schedule = "", true, "linear"
			}
			if r, err = lib.Settle(r); err != nil {
				return nil, &train.SettingError{Key: "noise", Reason: fmt.Sprintf("%s: %v", r.Noise, err)}
			}
			hypers, err := entry.hypers(lib, o, &r)
			if err != nil {
				return nil, err
			}
			lambdas, penalties := []string{""}, []float64{math.NaN()}
			if o.HasLambda {
				lambdas = orDefault(entry.Lambdas, "star")
			}
			if o.HasPenalty {
				penalties = orDefault(entry.Penalties, o.Penalty)
				bad := func(p float64) bool { return !(p >= 0) || math.IsInf(p, 0) }
				if i := slices.IndexFunc(penalties, bad); i >= 0 {
					return nil, &train.SettingError{Key: "penalty",
						Reason: fmt.Sprintf("%v: want a number of at least 0", penalties[i])}
				}
			}
			for _, r.Lambda = range lambdas {
				for _, p := range penalties {
					r.Penalty = train.Number(p)
					for _, r.Hyper = range hypers {
						key := Key(r)
						if seen[key] {
							continue
						}
						seen[key] = true
						var unfit *objectives.UnfitError
						err := lib.Check(r)
						if p, _ := lib.Policy(r.Policy); err == nil && r.Representation != "" && !o.Recipe {
							err = representable(p.Make(0, nil, false).HasPosterior(), r.PriorSplit > 0)
						}
						switch {
						case errors.As(err, &unfit) && left != nil:
							why = unfit
							left(what(r), unfit)
						case err != nil:
							return nil, fmt.Errorf("%s: %w", what(r), err)
						default:
							runs = append(runs, r)
						}
					}
				}
			}
		}
	}
	if len(runs) == 0 && why != nil {
		return nil, fmt.Errorf("nothing is left to run: %w", why)
	}
	return runs, nil
}

func orDefault[T any](given []T, otherwise T) []T {
	if len(given) == 0 {
		return []T{otherwise}
	}
	return given
}

// hypers settles the weight of r and lists its hyperparameters.
func (e Entry) hypers(lib library.Library, o library.Objective, r *train.Run) ([]train.Number, error) {
	none := []train.Number{train.None()}
	name := o.Hyper
	if !o.OwnWeight {
		name = e.Weight
		r.Weight = e.Weight
	} else if name == "" {
		return none, nil
	}
	w, err := lib.Weight(name)
	if err != nil || !w.Tunable() || len(e.Hypers) == 0 {
		return none, err
	}
	hypers := make([]train.Number, len(e.Hypers))
	for i, h := range e.Hypers {
		if h < 0 || h > 1 {
			return nil, fmt.Errorf("%s: hyperparameter %v: want a number in [0, 1]", name, h)
		}
		hypers[i] = train.Number(h)
	}
	return hypers, nil
}

// what names a configuration apart from its problem.
func what(r train.Run) string {
	s := r.Objective
	if r.Weight != "" {
		s += " × " + r.Weight
	}
	if r.Hyper.Valid() {
		s += fmt.Sprintf("=%.4g", r.Hyper)
	}
	return s
}

// Key returns the identity of a run: two runs are the same if and only if their keys
// are equal. Hyperparameters left to their default need [Runner.Plan] first.
func Key(r train.Run) string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // a Run is made of strings, integers and checked numbers
	}
	return string(b)
}

// representable says why a policy cannot have a representation: one with a posterior needs rows
// of their own that learn it, others learn it along.
func representable(posterior, split bool) error {
	switch {
	case posterior && !split:
		return &objectives.UnfitError{Reason: "the divergence of a posterior from its prior says nothing of a " +
			"representation learned on the same rows: setting prior-split keeps rows apart that learn it"}
	case !posterior && split:
		return &objectives.UnfitError{Reason: "a policy without a posterior learns its representation along, on " +
			"all rows: it has no use for those of setting prior-split"}
	}
	return nil
}

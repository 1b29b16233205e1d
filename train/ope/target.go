package ope

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// Target is a policy whose value is asked for, by its probabilities in the rows of
// a log. It must be fixed independently of the log for a guarantee to hold.
type Target struct {
	Name string
	// Row writes π(·|x_i) to dst [K]; nil: only the logged action's is known.
	Row func(dst []float64, i int) error
	// Logged is π(a_i|x_i) [n], needed where Row is nil.
	Logged []float64
	// Origin says where the target comes from; without it nothing is guaranteed.
	Origin provenance.Origin
	Policy *policyfile.Policy // of a policy file; nil: it is none
}

// Uniform is the target that takes every one of k actions alike.
func Uniform(k int) Target {
	return Target{Name: "uniform", Origin: provenance.FixedBefore(), Row: func(dst []float64, _ int) error {
		for a := range dst[:k] {
			dst[a] = 1 / float64(k)
		}
		return nil
	}}
}

// Matrix is the target of probabilities pi [n×k] by row.
func Matrix(name string, pi []float64, k int) Target {
	return Target{Name: name, Row: func(dst []float64, i int) error { copy(dst[:k], pi[i*k:]); return nil }}
}

// ReadTarget reads a target's probabilities. Its rows are one of
//
//	action, probability                     the same policy in every context; other actions have 0
//	p_0 … p_{K−1}                           by row of the log
//	one field for each action, by its name  the same
//	p_NAME, one for each action             the same
//	probabilities or propensities           the same, as a list
//	probability                             of the logged action alone, by row of the log
//
// Those by row belong to the row of the same decision_id if both have one, which
// must then be there for every row of the log, and otherwise to the rows in order,
// of which there must be as many. Probabilities of all actions must sum to 1 within
// 1e-6. Without them there is no direct method, and no doubly robust one.
func ReadTarget(name string, r *logs.Rows, l *logs.Log) (Target, error) {
	k, n := l.K(), l.Len()
	if !r.Next() {
		if err := r.Err(); err != nil {
			return Target{}, err
		}
		return Target{}, fmt.Errorf("%s: no rows", r.Where())
	}
	if r.Has("action") && r.Has("probability") {
		pi, err := byAction(r, l.Actions)
		return Target{Name: name, Row: func(dst []float64, _ int) error { copy(dst[:k], pi); return nil }}, err
	}
	read, width, err := fields(r, l.Actions)
	if err != nil {
		return Target{}, err
	}
	var place map[uint64]int32 // of decisions, by the hash of their ID
	var d logs.Decision
	id := func(i int) string { l.Decision(i, &d); return d.ID }
	if l.HasIDs() && r.Has("decision_id") {
		place = make(map[uint64]int32, n)
		for i := range n {
			place[xxhash.Sum64String(id(i))] = int32(i)
		}
		if len(place) != n {
			return Target{}, fmt.Errorf("%s: cannot join by decision_id, as %d rows of the log repeat one", r.Where(), n-len(place))
		}
	}
	pi := make([]float64, n*width)
	given := make([]bool, n)
	count := 0
	for i := 0; ; i++ {
		at := i
		if place != nil {
			id, err := r.Text("decision_id")
			if err != nil {
				return Target{}, err
			}
			to, ok := place[xxhash.Sum64String(id)]
			if at = int(to); !ok {
				at = n // a decision that the log does not have
			}
		} else if i >= n {
			return Target{}, fmt.Errorf("%s: the log has only %d rows", r.Where(), n)
		}
		if at < n {
			if given[at] {
				return Target{}, fmt.Errorf("%s: this decision_id came before", r.Where())
			}
			row := pi[at*width : (at+1)*width]
			if err := read(row); err != nil {
				return Target{}, err
			}
			err := distribution(row)
			if width == 1 {
				err = probability(row[0])
			}
			if err != nil {
				return Target{}, fmt.Errorf("%s: %w", r.Where(), err)
			}
			given[at] = true
			count++
		}
		if !r.Next() {
			break
		}
	}
	if err := r.Err(); err != nil {
		return Target{}, err
	}
	if count < n {
		if place != nil {
			return Target{}, fmt.Errorf("%s: %d of the log's %d decisions are missing, the first is %q", r.Where(), n-count, n, id(slices.Index(given, false)))
		}
		return Target{}, fmt.Errorf("%s: %d rows, but the log has %d rows", r.Where(), count, n)
	}
	if width == 1 {
		return Target{Name: name, Logged: pi}, nil
	}
	return Matrix(name, pi, k), nil
}

// byAction reads a row an action.
func byAction(r *logs.Rows, actions []string) ([]float64, error) {
	pi, given := make([]float64, len(actions)), make([]bool, len(actions))
	index := make(map[string]int, len(actions))
	for a, name := range actions {
		index[name] = a
	}
	for {
		name, err := r.Text("action")
		if err != nil {
			return nil, err
		}
		p, err := r.Number("probability")
		if err != nil {
			return nil, err
		}
		a, ok := index[name]
		switch {
		case !ok && p == 0:
		case !ok:
			return nil, fmt.Errorf("%s: the log has no action %q", r.Where(), name)
		case given[a]:
			return nil, fmt.Errorf("%s: action %q comes twice", r.Where(), name)
		default:
			pi[a], given[a] = p, true
		}
		if !r.Next() {
			break
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if err := distribution(pi); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Where(), err)
	}
	return pi, nil
}

// fields finds the probabilities in a row, and how many they are: of all actions, or
// one of the logged action.
func fields(r *logs.Rows, actions []string) (read func(dst []float64) error, width int, err error) {
	for _, list := range []string{"probabilities", "propensities"} {
		if r.Has(list) {
			return func(dst []float64) error {
				values, err := r.List(list)
				if err == nil && len(values) != len(dst) {
					err = fmt.Errorf("%s: %d %s for %d actions", r.Where(), len(values), list, len(dst))
				}
				copy(dst, values)
				return err
			}, len(actions), nil
		}
	}
	for _, name := range []func(a int) string{func(a int) string { return "p_" + strconv.Itoa(a) }, func(a int) string { return actions[a] }, func(a int) string { return "p_" + actions[a] }} {
		missing := ""
		for a := range actions {
			if missing == "" && !r.Has(name(a)) {
				missing = name(a)
			}
		}
		if missing != "" {
			if missing != name(0) {
				return nil, 0, fmt.Errorf("%s: there is a column %s but none %s; want one for each of the log's %d actions", r.Where(), name(0), missing, len(actions))
			}
			continue
		}
		if r.Has("p_"+strconv.Itoa(len(actions))) && name(0) == "p_0" {
			return nil, 0, fmt.Errorf("%s: there is a column p_%d, but the log has %d actions", r.Where(), len(actions), len(actions))
		}
		return func(dst []float64) error {
			for a := range dst {
				if dst[a], err = r.Number(name(a)); err != nil {
					return err
				}
			}
			return nil
		}, len(actions), nil
	}
	if r.Has("probability") {
		return func(dst []float64) error {
			dst[0], err = r.Number("probability")
			return err
		}, 1, nil
	}
	return nil, 0, fmt.Errorf("%s: no probabilities; want columns action and probability, p_0 to p_%d, probabilities, or for each action one named as it or p_NAME", r.Where(), len(actions)-1)
}

// distribution checks a row of probabilities.
func distribution(pi []float64) error {
	sum := 0.0
	for a, p := range pi {
		if err := probability(p); err != nil {
			return fmt.Errorf("action %d: %w", a, err)
		}
		sum += p
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the probabilities sum to %v, not 1", sum)
	}
	return nil
}

func probability(p float64) error {
	if !(p >= 0 && p <= 1+1e-9) {
		return fmt.Errorf("probability %v is outside [0, 1]", p)
	}
	return nil
}

package logs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// How far propensities may be off. There are no other tolerances.
const (
	// Exact bounds how far a row of propensities may be from summing to 1, and, as a share
	// of it, a logged propensity from its entry in the row, to be taken as they are.
	Exact = 1e-6
	// Rounding bounds how far a row may be from summing to 1 in a file, where numbers are
	// rounded. Reading divides a row that is not exact by its sum.
	Rounding = 1e-3
	// Agreement bounds the relative difference between two statements of one propensity, in
	// the log or from elsewhere. Reading takes that of the row of all actions.
	Agreement = 1e-3
)

// Distribution checks a row of probabilities: each is in [0, 1], and their sum, which it
// returns, is 1 within [Exact] or [Rounding]. One may be above 1 by the last digits of a sum
// that was computed, 1e-9. The error calls an action by its name; nil
// names: by its number from 0.
func Distribution(pi []float64, names []string, within float64) (sum float64, err error) {
	for a, p := range pi {
		if !(p >= 0 && p <= 1+1e-9) {
			name := fmt.Sprint(a)
			if names != nil {
				name = names[a]
			}
			return 0, fmt.Errorf("%v of action %s is outside [0, 1]", p, name)
		}
		sum += p
	}
	if !Near(sum, 1, within) {
		return sum, fmt.Errorf("the probabilities sum to %v, not 1", sum)
	}
	return sum, nil
}

// Near reports whether |p − q| ≤ within·q.
func Near(p, q, within float64) bool { return math.Abs(p-q) <= within*q }

// Check reports what is wrong with the log, with the first row where it is: columns of
// other lengths than Action; actions, costs, propensities, weights, groups, loggers and
// contexts outside of their ranges; rows of propensities that do not sum to 1 within
// [Exact] or that contradict the logged one; features that are not finite. Columns that
// may be nil are not asked for, see [Log.Learnable].
func (l *Log) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", l.name(), fmt.Sprintf(format, args...))
	}
	n, k, contexts := l.Len(), l.K(), l.contexts()
	width, numbers := 1, 0 // of a matrix
	switch m := l.X.(type) {
	case Rows64:
		width, numbers = m.Width, len(m.Data)
	case Rows32:
		width, numbers = m.Width, len(m.Data)
	}
	switch {
	case width < 1 || numbers%width != 0:
		return fail("contexts of %d numbers are no rows of width %d", numbers, width)
	case n == 0:
		return fail("the log is empty")
	case k < 2:
		return fail("%d actions, want at least 2", k)
	case l.RewardMin > l.RewardMax || math.IsInf(l.RewardMax-l.RewardMin, 0) || math.IsNaN(l.RewardMax-l.RewardMin):
		return fail("rewards from %v to %v are no range", l.RewardMin, l.RewardMax)
	case slices.ContainsFunc(l.Outcomes, func(o Outcome) bool { return !IsOutcome(o.Column) }):
		return fail("an outcome is called neither reward_NAME, better when larger, nor cost_NAME")
	case l.Cost == nil:
		return fail("there are no costs")
	case l.Rows == nil && contexts >= 0 && contexts != n:
		return fail("%d contexts for %d actions: Rows says which is of which row", contexts, n)
	}
	if err := l.lengths(); err != nil {
		return fail("%v", err)
	}
	var seen []int
	if l.Sets() {
		seen = make([]int, k)
	}
	row := func(i int, format string, args ...any) error {
		return fail("row %d: %s", l.Row(i), fmt.Sprintf(format, args...))
	}
	infinite := l.infinite()
	for i := range n {
		switch a, c := l.Action[i], l.Cost[i]; {
		case a < 0 || int(a) >= k:
			return row(i, "action %d is outside 0 to %d", a, k-1)
		case !(c >= -1 && c <= 0):
			return row(i, "cost %v is outside [-1, 0]", c)
		case l.Propensity != nil && !(l.Propensity[i] > 0 && (l.Propensity[i] <= 1 || l.Density(i))):
			return row(i, "propensity %v is outside (0, 1]", l.Propensity[i])
		case l.Weight != nil && !(l.Weight[i] >= 0 && l.Weight[i]-l.Weight[i] == 0):
			return row(i, "weight %v is negative or not finite", l.Weight[i])
		case l.Logger != nil && int(l.Logger[i]) >= len(l.Policies):
			return row(i, "its logger %d is none of the %d", l.Logger[i], len(l.Policies))
		case l.Rows != nil && (l.Rows[i] < 0 || contexts >= 0 && l.Rows[i] >= contexts):
			return row(i, "its context %d is none of the %d", l.Rows[i], contexts)
		}
		if seen != nil {
			if err := l.checkRow(i, seen); err != nil {
				return row(i, "%v", err)
			}
		}
		if i == infinite {
			x := make([]float64, l.Dim())
			l.X.Row64(l.Context(i), x)
			for j, v := range x {
				if v-v != 0 { // NaN or infinite
					return row(i, "feature %d is %v", j, v)
				}
			}
		}
		if l.Propensities == nil {
			continue
		}
		pi, names := l.Pi0(i), l.Actions
		if seen != nil {
			names = l.offered(i)
		}
		if _, err := Distribution(pi, names, Exact); err != nil {
			return row(i, "propensities: %v", err)
		}
		if q := pi[l.Chosen(i)]; q == 0 {
			return row(i, "the propensity of the logged action %s is 0", l.Actions[l.Action[i]])
		} else if l.Propensity != nil && !Near(l.Propensity[i], q, Exact) {
			return row(i, "the logged propensity is %v, but %v among those of all actions", l.Propensity[i], q)
		}
	}
	return nil
}

// lengths reports columns that do not have an entry for each row.
func (l *Log) lengths() error {
	n, all := l.Len(), l.Len()*l.K()
	if l.Choices != nil {
		if err := l.Choices.check(n, l.K()); err != nil {
			return err
		}
		if l.Sets() {
			all = len(l.Choices.Actions)
		}
	}
	if have := len(l.Propensities); have != 0 && have != all {
		return fmt.Errorf("%d propensities of all actions for %d actions: lengths do not agree", have, n)
	}
	for _, c := range l.byRow() {
		if c.len != 0 && c.len != n {
			return fmt.Errorf("%d %s for %d actions: lengths do not agree", c.len, c.name, n)
		}
	}
	return nil
}

// infinite returns the first row whose context is missing or has a feature that is not finite; n: there is none. If
// contexts have a method Finite which says that all their features are finite, they are not read.
func (l *Log) infinite() int {
	n := l.Len()
	if l.X == nil {
		return n
	}
	known, _ := l.X.(interface{ Finite() bool })
	finite := known != nil && known.Finite()
	var lock sync.Mutex
	row := n
	eachBlock(n, 1<<12, func(from, to int) {
		x := make([]float64, l.Dim())
		for i := from; i < to; i++ {
			var none float64
			if c := l.Context(i); c < 0 || c >= l.X.Len() {
				none = 1
			} else if !finite {
				l.X.Row64(c, x)
				for _, v := range x {
					none += v - v
				}
			}
			if none != 0 {
				lock.Lock()
				row = min(row, i)
				lock.Unlock()
				return
			}
		}
	})
	if e, ok := l.X.(*encoded); ok && row == n && l.Rows == nil {
		e.finite.Store(true) // what was read does not change
	}
	return row
}

// Learnable is Check, and reports what else learning and certifying need: contexts that
// are encoded, propensities, those of all actions above 0 if they are known, and weights
// that are all alike.
func (l *Log) Learnable() error {
	if err := l.Check(); err != nil {
		return err
	}
	if l.X == nil {
		return fmt.Errorf("%s: the log has no contexts that are encoded, see Encode", l.name())
	}
	if err := l.teaches(true); err != nil {
		return err
	}
	if l.Choices != nil && l.Choices.Z != nil {
		z := make([]float64, l.Choices.Z.Dim())
		for a := range l.Choices.Z.Len() {
			l.Choices.Z.Row64(a, z)
			for j, v := range z {
				if v-v != 0 {
					return fmt.Errorf("%s: feature %d of an action's vector %d is %v", l.name(), j, a, v)
				}
			}
		}
	}
	if l.Propensities == nil {
		return nil
	}
	for i := range l.Len() {
		for j, p := range l.Pi0(i) {
			if a, _ := l.Option(i, j); p <= 0 {
				return fmt.Errorf("%s: the propensity of action %s is 0, want at least %v", l.where(i), l.Actions[a],
					LeastPropensity)
			}
		}
	}
	return nil
}

// RequirePropensities reports, with what to do, that the propensities of rows are not known.
func (l *Log) RequirePropensities() error {
	switch {
	case l.Propensity != nil:
		return nil
	case l.Lists.Jointly():
		return errors.New("the log has one joint propensity a list, which tells what lists earn if nothing is " +
			"assumed of slots (setting assume none): log slot_propensities to learn from slots, or to assume more")
	}
	return errors.New("the log has no propensities: name what drew the actions by setting logging-policy, " +
		"or take setting estimate-propensity and do without guarantees")
}

// teaches reports weights that differ, and propensities of rows that are needed and not there.
func (l *Log) teaches(propensities bool) error {
	if err := l.RequirePropensities(); err != nil && propensities {
		return fmt.Errorf("%s: %w", l.name(), err)
	}
	for i, w := range l.Weight {
		if w != l.Weight[0] {
			return fmt.Errorf("%s, column weight: weights differ from row to row, which learning and guarantees "+
				"do not know: remove the column, or resample the rows by weight", l.where(i))
		}
	}
	return nil
}

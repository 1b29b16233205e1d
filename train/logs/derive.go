package logs

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Derived reports that the file has the propensities of logged actions alone, and these tell those of the others:
//
//   - each action has one propensity in all its rows, or no row and then 1/K, and these sum to 1: they are π₀(·|x);
//   - each is 1 over the number of actions that its row offers: π₀ is uniform;
//   - there are two actions, see Paired.
//
// A row whose other propensities are not those would, in the first two cases, have shown it with some probability.
func (l *Log) Derived() bool { return l.derived || l.paired }

// Paired reports that the log has two actions and its file the propensity of the logged one alone: Propensities has 1
// less it for the other. That is π₀(·|x) whichever was drawn if what is logged is exact and no third action can be drawn;
// propensities that are known up to a factor need not sum to 1.
func (l *Log) Paired() bool { return l.paired }

// Floor returns Least, by the name that package certify asks for.
func (l *Log) Floor() float64 { return l.Least }

// atLeast refuses a Least that cannot be.
func (l *Log) atLeast() error {
	switch {
	case l.Least == 0:
		return nil
	case !(l.Least > 0 && l.Least*float64(l.K()) <= 1+Exact):
		return fmt.Errorf("setting least-propensity: %d actions cannot have %v each: want more than 0 and at most %v",
			l.K(), l.Least, 1/float64(l.K()))
	case l.Choices != nil || l.Lists != nil || l.Numbers != nil:
		return errors.New("setting least-propensity is for rows that offer the same named actions: log the " +
			"propensities of what each offered")
	}
	for i, p := range l.Propensity {
		if p < l.Least*(1-Exact) {
			return fmt.Errorf("%s, column propensity: %v is below %v, which setting least-propensity says is the least",
				l.where(i), p, l.Least)
		}
	}
	return nil
}

// derive fills the propensities of all actions as Derived says, where there is room.
func (l *Log) derive() {
	k := l.K()
	if l.Len() == 0 || l.Propensity == nil || l.Propensities != nil || l.Lists != nil || l.Numbers != nil ||
		l.Choices != nil && !l.Sets() || l.Len() > heldNumbers/l.MostOptions() ||
		slices.ContainsFunc(l.Propensity, func(p float64) bool { return !(p > 0 && p <= 1) }) {
		return
	}
	if l.Sets() {
		for i, p := range l.Propensity {
			if !Near(p*float64(l.Options(i)), 1, Exact) {
				return
			}
		}
		l.Propensities, l.derived = l.Scratch(len(l.Choices.Actions)), true
		for i := range l.Propensity {
			pi := l.Pi0(i)
			for j := range pi {
				pi[j] = 1 / float64(len(pi))
			}
		}
		return
	}
	of, one := make([]float64, k), true // the propensity of each action; whether it has one
	for i, p := range l.Propensity {
		if a := l.Action[i]; of[a] == 0 {
			of[a] = p
		} else if one = Near(p, of[a], Exact); !one {
			break
		}
	}
	for a, p := range of {
		if p == 0 { // never drawn: of uniform draws it has as much as the others
			of[a] = 1 / float64(k)
		}
	}
	switch {
	case one && Near(floats.Sum(of), 1, Exact):
		l.Propensities, l.derived = l.Scratch(k*l.Len()), true
		for i := range l.Propensity {
			copy(l.Pi0(i), of)
		}
	case k == 2 && !one && l.Skipped+l.LeftOut == 0: // rows that were left out may be those of a third action
		l.Propensities, l.paired = l.Scratch(k*l.Len()), true
		for i, p := range l.Propensity {
			pi := l.Pi0(i)
			pi[l.Action[i]], pi[1-l.Action[i]] = p, 1-p
		}
	}
}

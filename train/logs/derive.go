package logs

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Derived reports that the file has the propensities of logged actions alone, and these tell those of the others:
//
//   - each action has rows, all with one propensity, and these sum to 1: they are π₀(·|x);
//   - each is 1 over the number of actions that its row offers: π₀ is uniform;
//   - numbers have one density and each atom one propensity, and the range and the atoms together have 1;
//   - there are two actions, see Paired.
//
// A row whose other propensities are not those would, in the first three cases, have shown it with some probability: what
// holds at any time may not use them, as a later row may show it. Nothing is derived where rows were left out, or in
// the first three cases where an action, or an eighth of the range, has less than a third of the rows that it should
// have.
func (l *Log) Derived() bool { return l.derived || l.paired }

// Paired reports that the log has two actions and its file the propensity of the logged one alone: Propensities has 1
// less it for the other. That is π₀(·|x) whichever was drawn if what is logged is exact and no third action can be
// drawn; propensities that are known up to a factor need not sum to 1.
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
	got, n := l.drawn()
	has := 0.
	for a, rows := range got {
		if rows == 0 { // bounds rely on no floor of it
			continue
		}
		if has++; l.Least*n >= 20 && rows < l.Least*n/rarely {
			return fmt.Errorf("setting least-propensity: %v of %v draws are of action %q, and %v in each row would be "+
				"about %.0f: rows are missing, or it is not the least", rows, n, l.Actions[a], l.Least, l.Least*n)
		}
	}
	most := 1 - l.Least*(has-1) // what the others leave
	for i, p := range l.Propensity {
		if p > most+Exact {
			return fmt.Errorf("%s, column propensity: %v leaves less than %v, which setting least-propensity says is the "+
				"least, to each of the others", l.where(i), p, l.Least)
		}
		if p < l.Least*(1-Exact) {
			return fmt.Errorf("%s, column propensity: %v is below %v, which setting least-propensity says is the least",
				l.where(i), p, l.Least)
		}
	}
	return nil
}

// derive fills the propensities of all actions as Derived says, where there is room. Rows that were left out may be
// those of an action that the others say nothing of.
func (l *Log) derive() {
	k := l.K()
	if l.Numbers != nil {
		l.deriveNumbers()
		return
	}
	if l.Len() == 0 || l.Propensity == nil || l.Propensities != nil || l.Lists != nil ||
		l.Choices != nil && !l.Sets() || l.Len() > heldNumbers/l.MostOptions() || l.Skipped+l.LeftOut > 0 ||
		slices.ContainsFunc(l.Propensity, func(p float64) bool { return !(p > 0 && p <= 1) }) {
		return
	}
	if l.Sets() {
		due := make([]float64, k) // draws that each action should have
		for i := range l.draws() {
			for j := range l.Options(i) {
				a, _ := l.Option(i, j)
				due[a] += 1 / float64(l.Options(i))
			}
		}
		if got, _ := l.drawn(); !often(got, due) {
			return
		}
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
	got, n := l.drawn()
	due := floats.ScaleTo(make([]float64, k), n, of)
	switch {
	case one && !slices.Contains(of, 0) && Near(floats.Sum(of), 1, Exact) && often(got, due):
		l.Propensities, l.derived = l.Scratch(k*l.Len()), true
		for i := range l.Propensity {
			copy(l.Pi0(i), of)
		}
	case k == 2 && !one:
		l.Propensities, l.paired = l.Scratch(k*l.Len()), true
		for i, p := range l.Propensity {
			pi := l.Pi0(i)
			pi[l.Action[i]], pi[1-l.Action[i]] = p, 1-p
		}
	}
}

// An action with fewer draws than 1/rarely of what is due has lost rows.
const rarely = 3

// often reports that each action has 1/rarely of the draws that are due, and one.
func often(got, due []float64) bool {
	for a, n := range due {
		if n > 0 && got[a] < max(1, n/rarely) {
			return false
		}
	}
	return true
}

// drawn returns how often each action was drawn, and the number of draws.
func (l *Log) drawn() (got []float64, n float64) {
	got = make([]float64, l.K())
	for i := range l.draws() {
		got[l.Action[i]]++
		n++
	}
	return got, n
}

// draws are the rows but those of a group after its first: they may have been drawn as one.
func (l *Log) draws() iter.Seq[int] {
	return func(yield func(int) bool) {
		seen := map[int32]bool{}
		for i := range l.Action {
			if l.Group != nil && l.Group[i] >= 0 {
				if seen[l.Group[i]] {
					continue
				}
				seen[l.Group[i]] = true
			}
			if !yield(i) {
				return
			}
		}
	}
}

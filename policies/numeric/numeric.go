// Package numeric says which numbers the actions of a policy stand for: disjoint bins of a
// range, in which a number is drawn evenly, and atoms, numbers that are drawn with a probability of
// their own. Use it where an action is a price, a dose or a bid. It turns a policy of numbers,
// prices or doses, into one of K actions:
//
//	π(a|x) = Σ_c π(c|x) 1{a ∈ I_c}/|I_c|
//
// is the density of the number a, and π/π₀ = π(c|x)/(|I_c| π₀(a|x)) for the bin c of a. So a row of a log whose
// number had the density π₀(a|x) is one of action c with |I_c| π₀(a|x) in place of a propensity. That may be
// above 1; its inverse is a weight like any other. Krishnamurthy et al. (2020).
package numeric

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Actions are the numbers that K actions stand for: action c < len(Edges)−1 is the bin from Edges[c] up to
// Edges[c+1], of which the last has its end, too; the others are Atoms. Both ascend.
type Actions struct {
	Edges []float64 `json:"edges"`           // ends of the bins, ascending
	Atoms []float64 `json:"atoms,omitempty"` // single numbers with a probability of their own, ascending
	// Window is how many neighbouring bins an argmax policy plays evenly, see [propensity.ArgMax]; 0: one. So wide
	// windows, whose weights are small, may begin at any of many edges.
	Window int `json:"window,omitempty"`
}

// most is how many bins, and how many atoms, there may be.
const most = 1 << 10

// Even divides a range into k bins of one width, whose edges are rounded to a millionth of it, so that their
// names are short.
func Even(low, high float64, k int) Actions {
	a := Actions{Edges: make([]float64, k+1)}
	digits := int(6 - math.Floor(math.Log10(high-low)))
	for c := range a.Edges {
		v := low + (high-low)*float64(c)/float64(k)
		if r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', max(0, digits), 64), 64); err == nil {
			v = r
		}
		a.Edges[c] = v
	}
	a.Edges[0], a.Edges[k] = low, high
	return a
}

// ParseRange reads a range, A:B.
func ParseRange(text string) (low, high float64, err error) {
	from, to, ok := strings.Cut(text, ":")
	low, e := strconv.ParseFloat(from, 64)
	high, f := strconv.ParseFloat(to, 64)
	if !ok || e != nil || f != nil || !(low < high) || math.IsInf(high-low, 0) || math.IsNaN(high-low) {
		return 0, 0, fmt.Errorf("%q: want two numbers, the lower one first, as 0:40", text)
	}
	return low, high, nil
}

// Check says what is wrong: fewer than one bin, edges or atoms that do not ascend, or atoms outside of the
// range.
func (a Actions) Check() error {
	ascends := func(v []float64) bool {
		for i, x := range v {
			if x-x != 0 || i > 0 && !(v[i-1] < x) {
				return false
			}
		}
		return true
	}
	n := len(a.Edges)
	switch {
	case n < 2 || n > most+1 || len(a.Atoms) > most:
		return fmt.Errorf("%d edges of bins and %d atoms: want 2 to %d edges, and at most %d atoms", n,
			len(a.Atoms), most+1, most)
	case !ascends(a.Edges) || !ascends(a.Atoms) || math.IsInf(a.Edges[n-1]-a.Edges[0], 0):
		return errors.New("edges of bins, or atoms, that do not ascend or are not finite")
	case len(a.Atoms) > 0 && !(a.Atoms[0] >= a.Edges[0] && a.Atoms[len(a.Atoms)-1] <= a.Edges[n-1]):
		return fmt.Errorf("atoms from %v to %v are outside of the range from %v to %v", a.Atoms[0],
			a.Atoms[len(a.Atoms)-1], a.Edges[0], a.Edges[n-1])
	case a.Window < 0 || a.Window > n-1:
		return fmt.Errorf("a window of %d bins, want 0 to %d", a.Window, n-1)
	}
	return nil
}

// Bins returns the number of bins; atoms come after them.
func (a Actions) Bins() int { return len(a.Edges) - 1 }

// K returns the number of actions.
func (a Actions) K() int { return a.Bins() + len(a.Atoms) }

// Range returns the least and the largest number.
func (a Actions) Range() (low, high float64) { return a.Edges[0], a.Edges[a.Bins()] }

// Width returns |I_c|, the length of the bin of action c.
func (a Actions) Width(c int) float64 { return a.Edges[c+1] - a.Edges[c] }

// Center returns the middle of a bin, or the atom itself.
func (a Actions) Center(c int) float64 {
	if n := a.Bins(); c >= n {
		return a.Atoms[c-n]
	}
	return a.Edges[c] + a.Width(c)/2
}

// Middle returns the middle of the bin c and of the neighbours on both sides that pi plays as often.
func (a Actions) Middle(c int, pi []float64) float64 {
	from, to := c, c
	for c < a.Bins() && from > 0 && pi[from-1] > pi[c]-1e-9 {
		from--
	}
	for to < a.Bins()-1 && pi[to+1] > pi[c]-1e-9 {
		to++
	}
	return (a.Center(from) + a.Center(to)) / 2
}

// Bin returns the bin that contains a number, and −1 for one outside of the range.
func (a Actions) Bin(v float64) int {
	low, high := a.Range()
	if !(v >= low && v <= high) {
		return -1
	}
	c, found := slices.BinarySearch(a.Edges, v)
	if !found {
		c--
	}
	return min(c, a.Bins()-1)
}

// Atom returns the action of an atom, and −1 for a number that is none.
func (a Actions) Atom(v float64) int {
	if i, ok := slices.BinarySearch(a.Atoms, v); ok {
		return a.Bins() + i
	}
	return -1
}

// Share returns the probability that action c plays a number which another division gives to its action f.
func (a Actions) Share(c int, of Actions, f int) float64 {
	switch bin, other := c < a.Bins(), f < of.Bins(); {
	case bin && other:
		return max(0, min(a.Edges[c+1], of.Edges[f+1])-max(a.Edges[c], of.Edges[f])) / a.Width(c)
	case bin == other && a.Center(c) == of.Center(f):
		return 1
	}
	return 0
}

// Spread writes to dst the probabilities pi of actions as those of a finer division.
func (a Actions) Spread(dst, pi []float64, fine Actions) {
	clear(dst)
	for c, p := range pi {
		for f := range dst {
			dst[f] += p * a.Share(c, fine, f)
		}
	}
}

// Refined divides a range as finely as two divisions of it do together, with the atoms of both. Policies of either
// are policies of it.
func (a Actions) Refined(b Actions) Actions {
	both := func(x, y []float64) []float64 {
		return slices.Compact(slices.Sorted(slices.Values(slices.Concat(x, y))))
	}
	return Actions{Edges: both(a.Edges, b.Edges), Atoms: both(a.Atoms, b.Atoms)}
}

// Refines reports that every policy of another division is one of this.
func (a Actions) Refines(of Actions) bool {
	same := a.Refined(of)
	return len(same.Edges) == len(a.Edges) && len(same.Atoms) == len(a.Atoms)
}

// Draw returns the number that action c plays for a uniform draw u in [0, 1), and its density if c has the
// probability p. The density of an atom is 0.
func (a Actions) Draw(c int, p, u float64) (number, density float64) {
	if c >= a.Bins() {
		return a.Center(c), 0
	}
	// Rounding must not give the edge, which the next bin has.
	return max(a.Edges[c], min(a.Edges[c]+u*a.Width(c), math.Nextafter(a.Edges[c+1], a.Edges[c]))), p / a.Width(c)
}

// Names returns the actions' names: [0,1.25) of a bin, 9.99 of an atom. [Parse] reads them.
func (a Actions) Names() []string {
	var names []string
	for c, end := range a.Edges[1:] {
		bracket := ")"
		if c == a.Bins()-1 {
			bracket = "]"
		}
		names = append(names, "["+Format(a.Edges[c])+","+Format(end)+bracket)
	}
	for _, v := range a.Atoms {
		names = append(names, Format(v))
	}
	return names
}

// Format writes a number as names have it.
func Format(v float64) string { return strconv.FormatFloat(v+0, 'g', -1, 64) }

// Parse reads the names that [Actions.Names] gives; not ok: they are others.
func Parse(names []string) (a Actions, ok bool) {
	for _, name := range names {
		end, isBin := strings.CutPrefix(name, "[")
		from, to, _ := strings.Cut(strings.TrimRight(end, ")]"), ",")
		low, err := strconv.ParseFloat(from, 64)
		if err != nil {
			return Actions{}, false
		}
		if !isBin {
			a.Atoms = append(a.Atoms, low)
			continue
		}
		high, err := strconv.ParseFloat(to, 64)
		if err != nil {
			return Actions{}, false
		}
		if a.Edges == nil {
			a.Edges = []float64{low}
		}
		a.Edges = append(a.Edges, high)
	}
	return a, a.Check() == nil && slices.Equal(a.Names(), names)
}

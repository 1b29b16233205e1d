package logs

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/policies/numeric"
)

// Numbers are the numbers that a log's rows took, such as prices. The log itself is of the actions that they stand
// for: its Actions are bins and atoms, and Propensity of a row in bin c is |I_c|·π₀(a|x), which may be
// above 1; see package numeric. [Log.WithActions] divides the range otherwise.
type Numbers struct {
	Of      numeric.Actions // what Log.Actions stand for
	Value   []float64       // the number a of each row
	Density []float64       // π₀(a|x); 0: the number is an atom, and has a propensity
	// F₀(a|x), where the log says the family of the density, which is uniform over rows if that is true; NaN where it
	// does not; nil: nowhere
	Transform []float64
}

// mostAtoms is how many numbers may have a propensity and no density.
const mostAtoms = 64

// numbering is a builder's reading of numbers.
type numbering struct {
	of    *numeric.Actions // nil: actions are names
	names []string         // of the bins
	atoms map[float64]bool // found so far, where of does not say which there are
	fixed bool             // of says it

	low, high float64
	families  map[string]numeric.Family
}

// drawn holds the number of a row.
type drawn struct {
	number, density float64
	transform       float64 // NaN: its family is not known
	hasDensity      bool
	family          []byte // of the density
}

// startNumbers takes what the options say of numbers.
func (b *builder) startNumbers() error {
	n, o := &b.numbering, b.o
	if o.Numbers == nil {
		return nil
	}
	if err := o.Numbers.Check(); err != nil {
		return fmt.Errorf("%s: the numbers of actions: %w", b.path, err)
	}
	n.of, n.fixed = o.Numbers, o.Actions != nil
	if n.fixed && !slices.Equal(o.Actions, n.of.Names()) {
		return fmt.Errorf("%s: setting action-range: its actions are bins of numbers, and others are named",
			b.path)
	}
	n.names, n.atoms, n.families = n.of.Names()[:n.of.Bins()], map[float64]bool{}, map[string]numeric.Family{}
	n.low, n.high = n.of.Range()
	return nil
}

// reduce makes the row one of the bin that its number is in, or of an atom.
func (b *builder) reduce() error {
	n, r := &b.numbering, &b.row
	if n.of == nil || !r.hasAction {
		return nil
	}
	v, err := numberIn("action", r.action)
	switch {
	case err != nil:
		return bad("action", "%s is no number, and setting action-range says that actions are", quote(r.action))
	case !(v >= n.low && v <= n.high):
		return bad("action", "%v is outside of the range from %v to %v, setting action-range", v, n.low, n.high)
	case r.hasProps || b.offers.column != "":
		return bad("propensities", "actions are numbers: want the density of the one that was drawn, in column density")
	case r.hasDensity && r.hasP:
		return bad("density", "the row has a propensity, too: a number has a density, or is drawn with a probability")
	case !r.hasDensity && !r.hasP:
		return bad("density", "missing: a number that is drawn with a probability has that in column propensity")
	case !r.hasDensity && !n.fixed && !n.atoms[v] && len(n.atoms) == mostAtoms:
		return bad("density", "more than %d numbers have a propensity and no density: is it a density? "+
			"setting columns reads it as one by density=propensity", mostAtoms)
	}
	r.number, r.transform, r.action, r.form = v, math.NaN(), append(r.action[:0], numeric.Format(v)...), 0
	if !r.hasDensity {
		n.atoms[v] = true
		return nil
	}
	if of := propensityForms[b.o.PropensityForm]; of != nil {
		r.density = of(r.density)
	}
	c := n.of.Bin(v)
	r.p, r.hasP, r.action = r.density*n.of.Width(c), true, append(r.action[:0], n.names[c]...)
	if !(r.p > 0) || math.IsInf(r.p, 0) {
		return bad("density", "%v is no density: want one above 0; setting propensity-form log reads logarithms",
			r.density)
	}
	return b.family()
}

// optionalNumber reports a column that may be empty: a number has a density or a propensity.
func (b *builder) optionalNumber(c *column) bool {
	return b.numbering.of != nil && (c.role == rolePropensity || c.role == roleDensity)
}

// unranged says of an error of propensities that the log may be one of numbers whose range nobody gave.
func (b *builder) unranged(err error) string {
	var wrong *rowError
	if !errors.As(err, &wrong) || !slices.ContainsFunc(b.columns, func(c *column) bool {
		return c.role == rolePropensity && c.name == wrong.column
	}) {
		return ""
	}
	return b.unreadDensities()
}

// unreadDensities says how the log's densities are read, where it has some that are not.
func (b *builder) unreadDensities() string {
	if b.numbering.of != nil || !slices.ContainsFunc(b.columns, func(c *column) bool {
		return c.name == "density" || c.name == "propensity_density"
	}) {
		return ""
	}
	return "; if actions are numbers, setting action-range reads their densities"
}

// family checks the density of the row by the family that it is said to be of.
func (b *builder) family() error {
	n, r := &b.numbering, &b.row
	if len(r.family) == 0 {
		return nil
	}
	f, known := n.families[string(r.family)]
	if !known {
		var err error
		if f, err = numeric.ParseFamily(string(r.family)); err != nil {
			return bad("density_family", "%v", err)
		}
		if len(n.families) < 1<<16 {
			n.families[string(r.family)] = f
		}
	}
	if err := numeric.Fits(f, r.number, r.density, n.low, n.high, Agreement); err != nil {
		return bad("density", "%v", err)
	}
	r.transform = f.CDF(r.number)
	return nil
}

// all returns the names of bins and atoms.
func (n *numbering) all() []string {
	of := *n.of
	if !n.fixed {
		of.Atoms = slices.Sorted(maps.Keys(n.atoms))
	}
	return of.Names()
}

// takeNumbers finds what the numbers of a log that is sound stand for; nil, if it has none.
func (l *Log) takeNumbers() bool {
	n := l.Numbers
	if n.Value == nil {
		l.Numbers = nil
		return n.Density == nil && n.Transform == nil
	}
	var ok bool
	if n.Of, ok = numeric.Parse(l.Actions); !ok || n.Density == nil {
		return false
	}
	l.spread()
	return true
}

// Density reports that the propensity of row i is a density times the width of a bin, which may be above 1.
func (l *Log) Density(i int) bool {
	return l.Numbers != nil && l.Numbers.Density[i] > 0 && !math.IsInf(l.Propensity[i], 0)
}

// into returns the log with other bins and the same atoms, or more.
func (l *Log) into(of numeric.Actions, names []string) (*Log, error) {
	out, numbers := *l, *l.Numbers
	numbers.Of = of
	out.Numbers, out.Actions = &numbers, names
	out.Action, out.Propensity = make([]int32, l.Len()), slices.Clone(l.Propensity)
	for i, v := range numbers.Value {
		c := of.Atom(v)
		if p := numbers.Density[i]; p > 0 {
			if c = of.Bin(v); c >= 0 {
				out.Propensity[i] = p * of.Width(c)
			}
		}
		if c < 0 {
			return nil, fmt.Errorf("%s, column action: %v is none of the numbers of the policy: it knows %s",
				l.where(i), v, some(names))
		}
		out.Action[i] = int32(c)
	}
	out.spread()
	return &out, nil
}

// spread gives a log whose numbers were drawn evenly from the whole range, as their family says or is derived, the
// propensities of all bins and atoms.
func (l *Log) spread() {
	n := l.Numbers
	low, high := n.Of.Range()
	l.Propensities = nil
	if l.Len() > heldNumbers/l.K() || !l.derived && (len(n.Of.Atoms) > 0 || len(n.Transform) == 0) {
		return
	}
	one := make([]float64, l.K())
	if l.derived {
		for i, v := range n.Value {
			if a := n.Of.Atom(v); a >= 0 && n.Density[i] == 0 {
				one[a] = l.Propensity[i]
			}
		}
	} else {
		for i, v := range n.Value {
			if !Near(n.Density[i]*(high-low), 1, Exact) || !(math.Abs(n.Transform[i]-(v-low)/(high-low)) < 1e-9) {
				return
			}
		}
	}
	rest := 1 - floats.Sum(one)
	for c := range n.Of.Bins() {
		one[c] = rest * n.Of.Width(c) / (high - low)
	}
	l.Propensities = slices.Repeat(one, l.Len())
}

// parts are those of a range that must have rows, see [Log.Derived].
const parts = 8

// deriveNumbers derives propensities of bins and atoms as [Log.Derived] says.
func (l *Log) deriveNumbers() {
	n := l.Numbers
	if l.Len() == 0 || l.Propensity == nil || l.Propensities != nil || l.Lists != nil || l.Skipped+l.LeftOut > 0 {
		return
	}
	low, high := n.Of.Range()
	of, atoms := make([]float64, parts+len(n.Of.Atoms)), 0. // densities by part, and propensities of atoms; their sum
	place := func(i int) int {
		if n.Density[i] > 0 {
			return min(parts-1, int(parts*(n.Value[i]-low)/(high-low)))
		}
		return parts + n.Of.Atom(n.Value[i]) - n.Of.Bins()
	}
	density := slices.Max(n.Density)
	for i, d := range n.Density {
		at := place(i)
		if at < 0 || d > 0 && !Near(d, density, Exact) {
			return
		}
		if d == 0 {
			d = l.Propensity[i]
		}
		if of[at] > 0 && !Near(d, of[at], Exact) {
			return
		}
		of[at] = d
	}
	for at := range of {
		if at < parts {
			of[at] *= (high - low) / parts
		} else {
			atoms += of[at]
		}
	}
	got := make([]float64, len(of))
	rows := 0.
	for i := range l.draws() {
		got[place(i)]++
		rows++
	}
	if slices.Contains(of, 0) || !Near(density*(high-low)+atoms, 1, Agreement) ||
		!often(got, floats.ScaleTo(make([]float64, len(of)), rows, of)) {
		return
	}
	n.Density, l.Propensity, l.derived = slices.Clone(n.Density), slices.Clone(l.Propensity), true
	for i, d := range n.Density {
		if d > 0 { // as the others leave
			n.Density[i] = (1 - atoms) / (high - low)
			l.Propensity[i] = n.Density[i] * n.Of.Width(int(l.Action[i]))
		}
	}
	l.spread()
}

// Divided is a log of numbers in k bins of one width, beside its atoms.
func (l *Log) Divided(k int) (*Log, error) {
	low, high := l.Numbers.Of.Range()
	of := numeric.Even(low, high, k)
	of.Atoms = l.Numbers.Of.Atoms
	if err := of.Check(); err != nil {
		return nil, fmt.Errorf("%d bins: %w", k, err)
	}
	return l.into(of, of.Names())
}

// CollectNumbers is [Collect] of decisions for numbers: Number with its Density, or, of an atom, with its Propensity.
// Action is not read. Bins are those of the actions, and so are atoms, if there are any.
func CollectNumbers(of numeric.Actions, decisions []Decision) (*Log, error) {
	o := &Options{Numbers: &of}
	if of.Atoms != nil {
		o.Actions = of.Names()
	}
	return collect(o, decisions)
}

// drawnEvenly says that the uniform distribution on the range drew all numbers, and checks their densities against it.
func (l *Log) drawnEvenly() error {
	n := l.Numbers
	low, high := n.Of.Range()
	n.Density, n.Transform, l.Propensity = slices.Clone(n.Density), make([]float64, l.n), slices.Clone(l.Propensity)
	for i, v := range n.Value {
		if want := 1 / (high - low); !Near(n.Density[i], want, Agreement) {
			return fmt.Errorf("%s, column density: %v was logged, the uniform policy from %v to %v has %v: another "+
				"policy logged this", l.where(i), n.Density[i], low, high, want)
		}
		n.Density[i], n.Transform[i] = 1/(high-low), (v-low)/(high-low)
		l.Propensity[i] = n.Of.Width(int(l.Action[i])) / (high - low)
	}
	l.spread()
	return nil
}

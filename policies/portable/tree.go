// Package portable writes policies that are small trees in forms that run elsewhere: SQL, Python,
// Go, JSON, text and dot. Use it where a policy must be read by people, or run in a database.
package portable

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"opl/graph/kernel"
	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/policyfile"
	"opl/policies/propensity"
)

// Tree is a policy as questions about columns as they are logged, with propensities at its leaves.
type Tree struct {
	Actions []string         // names, in the order of the propensities
	Floor   float64          // ε, which the leaves' propensities include
	Hash    string           // of the policy's file
	Root    *Node            // the first question, or the only leaf
	Numbers *numeric.Actions // that the actions stand for; nil: none
	floors  []float64        // what ε alone gives each action
	columns []string         // of contexts, read or not, in the log
}

// Node is a leaf, or a condition and what follows where it holds and where it does not.
type Node struct {
	Propensities []float64 // π(·|x) [K] of a leaf, else nil
	Condition    Condition // that leads to Yes
	Yes, No      *Node     // subtrees where Condition holds and where it does not; nil of a leaf
}

// Condition is a question about a column. Exactly one of its three forms is asked:
//
//	a number is at most AtMost, or with OrMissing missing
//	a text is one of In
//	a number is missing
type Condition struct {
	Column    string   // name in the log
	AtMost    float64  // threshold of a number
	OrMissing bool     // a row without the number follows Yes, too
	In        []string // nil: not asked
	Missing   bool     // asks only whether the number is missing

	also  []string // how truth values of In are written otherwise
	apart []string // names of In whose number names another category, as 1.2 is not 1.20 where both are known
}

// ErrNoTree says that a policy cannot be written as a tree of readable size.
var ErrNoTree = errors.New("only small trees can be written so")

// mostLeaves bounds the trees that are exported.
const mostLeaves = 1000

// New reads a policy as a tree. It returns an error around [ErrNoTree] for a policy whose scores are not sums of a
// few shallow trees of columns: models that are linear, layered or boosted, actions with features, contexts that are
// divided by their norm.
//
// What it gives is the policy's answer for every context, but for numbers within 1e-15 of a cut, relatively: a cut
// of the file is written by the fewest digits that mean it. Columns have the names that the log's file had.
func New(p *policyfile.Policy) (*Tree, error) {
	t, err := Within(p, mostLeaves)
	if err == nil {
		of := p.File().Columns
		t.Root.each(func(n *Node) { n.Condition.Column = cmp.Or(of[n.Condition.Column], n.Condition.Column) })
		for i, c := range t.columns {
			t.columns[i] = cmp.Or(of[c], c)
		}
	}
	return t, err
}

// Within is New for a tree of at most so many leaves before those that play alike are one. Of others it soon tells.
func Within(p *policyfile.Policy, leaves int) (*Tree, error) {
	f := p.File()
	if p.HasItems() {
		return nil, fmt.Errorf("its actions have features: %w", ErrNoTree)
	}
	b := &builder{file: f, most: leaves, cuts: map[place]float64{}}
	for i := range f.Components {
		c := &f.Components[i]
		switch {
		case len(c.Layers) == 0 || c.Layers[0].Trees == nil:
			return nil, fmt.Errorf("component %d has scores that are no trees: %w", i+1, ErrNoTree)
		case c.Encoder.Unit:
			return nil, fmt.Errorf("its contexts are divided by their norm: %w", ErrNoTree)
		}
		b.rest = append(b.rest, features.NewNet(c.Layers[1:]))
	}
	root := b.component(0, make([]float64, len(f.Actions)), facts{})
	if b.err != nil {
		return nil, b.err
	}
	t := &Tree{Actions: f.Actions, Floor: f.Floor, Hash: p.Hash(), Root: root, Numbers: f.Numbers}
	for range f.Actions {
		t.floors = append(t.floors, f.Floor/float64(len(f.Actions)))
	}
	for i := range f.Components {
		e := f.Components[i].Encoder
		for j, name := range e.Names {
			column, _, _ := category(e, j)
			t.columns = append(t.columns, cmp.Or(column, name))
		}
	}
	return t, nil
}

// fact is what is known of a column on the way to a node.
type fact struct {
	low, high float64 // of a number that is not missing: low < v ≤ high
	missing   int     // of a number: 0 not known, 1 yes, −1 no
	in, out   []string
}

type facts map[string]fact

func (f facts) of(column string) fact {
	if k, ok := f[column]; ok {
		return k
	}
	return fact{low: math.Inf(-1), high: math.Inf(1)}
}

func (f facts) with(column string, k fact) facts {
	out := maps.Clone(f)
	out[column] = k
	return out
}

// builder goes through the trees of all components, one after the other, and asks what is not known yet.
type builder struct {
	file   *policyfile.File
	rest   []*features.Net // what comes after the trees of each component
	leaves int
	most   int // leaves
	cuts   map[place]float64
	err    error
}

// place is where a feature is cut.
type place struct {
	encoder *features.Encoder
	feature int
	at      float64
}

// component goes on with component i, for the propensities pi of those before.
func (b *builder) component(i int, pi []float64, known facts) *Node {
	if i == len(b.file.Components) {
		if b.leaves++; b.leaves > b.most && b.err == nil {
			b.err = fmt.Errorf("it has more than %d leaves: %w", b.most, ErrNoTree)
		}
		if b.file.Floor > 0 {
			propensity.AddFloor(pi, b.file.Floor)
		}
		return &Node{Propensities: pi}
	}
	return b.tree(i, 0, 0, slices.Clone(b.file.Components[i].Layers[0].Trees.Base), pi, known)
}

// tree goes on with tree t of component i, whose nodes start at first; h are the sums of the trees before.
func (b *builder) tree(i, t, first int, h, pi []float64, known facts) *Node {
	c := &b.file.Components[i]
	f := c.Layers[0].Trees
	if t < len(f.Sizes) {
		return b.node(i, t, first, first, h, pi, known)
	}
	last := make([]float64, b.rest[i].Out(len(h)))
	b.rest[i].Apply(last, h, make([]float64, b.rest[i].Scratch()))
	scores, one := make([]float64, len(pi)), make([]float64, len(pi))
	for a, w := range c.Weights {
		scores[a] = features.Dot(w, last)
	}
	b.file.Family(c).At(one, scores, c.Sigma*math.Sqrt(features.Dot(last, last)), nil)
	if pi = slices.Clone(pi); len(b.file.Components) == 1 {
		copy(pi, one)
	} else {
		for a, v := range one {
			pi[a] += c.Weight * v
		}
	}
	return b.component(i+1, pi, known)
}

// node goes on at node at of tree t.
func (b *builder) node(i, t, first, at int, h, pi []float64, known facts) *Node {
	c := &b.file.Components[i]
	f := c.Layers[0].Trees
	if b.err != nil {
		return &Node{Propensities: pi}
	}
	if f.Feature[at] == -1 {
		h = slices.Clone(h)
		h[f.Outputs[t]] += f.Value[at]
		return b.tree(i, t+1, first+int(f.Sizes[t]), h, pi, known)
	}
	left := func(known facts) *Node { return b.node(i, t, first, at+1, h, pi, known) }
	right := func(known facts) *Node { return b.node(i, t, first, at+int(f.Right[at]), h, pi, known) }
	if j := int(f.Feature[at]); j >= 0 {
		return b.split(c.Encoder, j, f.Value[at], known, left, right)
	}
	return b.set(c.Encoder, f.Sets[-2-f.Feature[at]], known, left, right)
}

// split asks whether feature j is at most cut.
func (b *builder) split(e *features.Encoder, j int, cut float64, known facts, left, right func(facts) *Node) *Node {
	if j >= len(e.Names) {
		if m := j - len(e.Names); m < len(e.Missing) && cut >= 0 && cut < 1 {
			return ask(Condition{Column: e.Missing[m], Missing: true}, known, right, left)
		}
		if j == e.Dim()-1 && e.Intercept && cut < 1 || j != e.Dim()-1 && cut < 0 {
			return right(known)
		}
		return left(known)
	}
	if column, value, ok := category(e, j); ok {
		yes, no := e.Number(j, 1) <= cut, e.Number(j, math.NaN()) <= cut
		to := map[bool]func(facts) *Node{true: left, false: right}
		if yes == no {
			return to[yes](known)
		}
		return ask(Condition{Column: column, In: []string{value}, also: alike(e, j, column, value),
			apart: apart(e, j, column, value)}, known, to[yes], to[no])
	}
	if !(e.Scale[j] > 0) {
		b.err = fmt.Errorf("the scale of %q is not above 0: %w", e.Names[j], ErrNoTree)
		return &Node{}
	}
	at := place{e, j, cut}
	if _, done := b.cuts[at]; !done {
		b.cuts[at] = fewest(e, j, cut)
	}
	return ask(Condition{Column: e.Names[j], AtMost: b.cuts[at], OrMissing: e.Number(j, math.NaN()) <= cut},
		known,
		left, right)
}

// fewest is a cut of the values of name j, by the fewest digits for which the feature is the same number.
func fewest(e *features.Encoder, j int, cut float64) float64 {
	high := e.AtMost(j, cut)
	for digits := 1; digits < 17 && !math.IsInf(high, 0); digits++ {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(high, 'g', digits, 64), 64)
		if v <= high && e.Number(j, v) == e.Number(j, high) {
			return v
		}
	}
	return high
}

// set asks whether any of the features is not 0.
func (b *builder) set(e *features.Encoder, of []int32, known facts, left, right func(facts) *Node) *Node {
	var c Condition
	for _, j := range of {
		column, value, ok := "", "", false
		if int(j) < len(e.Names) {
			column, value, ok = category(e, int(j))
			ok = ok && e.Number(int(j), math.NaN()) == 0 && e.Number(int(j), 1) != 0
		} else if m := int(j) - len(e.Names); m < len(e.Missing) && len(of) == 1 {
			return ask(Condition{Column: e.Missing[m], Missing: true}, known, left, right)
		}
		if !ok || c.Column != "" && c.Column != column {
			b.err = fmt.Errorf("a set of features is of more than one category: %w", ErrNoTree)
			return &Node{}
		}
		c.Column, c.In = column, append(c.In, value)
		c.also = append(c.also, alike(e, int(j), column, value)...)
		c.apart = append(c.apart, apart(e, int(j), column, value)...)
	}
	slices.Sort(c.In)
	return ask(c, known, left, right)
}

// category is what the name of feature j says, where it is one of a category: text after the first "=" is the value.
func category(e *features.Encoder, j int) (column, value string, ok bool) {
	name := e.Names[j]
	if e.Scale[j] != 1 || e.Center != nil && e.Center[j] != 0 || e.Width != nil && e.Width[j] != 0 {
		return "", "", false
	}
	if at := strings.IndexByte(name[1:], '='); at >= 0 {
		return name[:at+1], name[at+2:], true
	}
	return "", "", false
}

// alike are other names of the truth value that is the category of feature j.
func alike(e *features.Encoder, j int, column, value string) (other []string) {
	for _, name := range []string{"true", "True", "TRUE", "false", "False", "FALSE"} {
		if name != value && e.Feature(column+"="+name) == j {
			other = append(other, name)
		}
	}
	return other
}

// apart is the value of feature j if its number names another feature.
func apart(e *features.Encoder, j int, column, value string) []string {
	if v, ok := features.Numeral(value); ok && e.Feature(column+"="+strconv.FormatFloat(v, 'g', -1, 64)) != j {
		return []string{value}
	}
	return nil
}

// ask makes a node of what is not known of a condition, or goes where it leads.
func ask(c Condition, known facts, yes, no func(facts) *Node) *Node {
	k := known.of(c.Column)
	ifYes, ifNo := k, k
	switch {
	case c.In != nil && k.in != nil:
		c.In = slices.DeleteFunc(slices.Clone(c.In), func(v string) bool { return !slices.Contains(k.in, v) })
		if len(c.In) == len(k.in) {
			return yes(known)
		}
		ifNo.in = slices.DeleteFunc(slices.Clone(k.in), func(v string) bool { return slices.Contains(c.In, v) })
		ifYes.in = c.In
	case c.In != nil:
		c.In = slices.DeleteFunc(slices.Clone(c.In), func(v string) bool { return slices.Contains(k.out, v) })
		ifYes.in, ifNo.out = c.In, append(slices.Clone(k.out), c.In...)
	case c.Missing:
		if k.missing != 0 {
			break
		}
		ifYes.missing, ifNo.missing = 1, -1
	default:
		below, above := c.AtMost >= k.high, c.AtMost <= k.low
		switch {
		case k.missing > 0 && c.OrMissing, below && (k.missing < 0 || c.OrMissing):
			return yes(known)
		case k.missing > 0, above && (k.missing < 0 || !c.OrMissing):
			return no(known)
		case below: // but for missing values
			return ask(Condition{Column: c.Column, Missing: true}, known, no, yes)
		case above:
			return ask(Condition{Column: c.Column, Missing: true}, known, yes, no)
		}
		ifYes.high, ifNo.low = c.AtMost, c.AtMost
		if c.OrMissing = c.OrMissing && k.missing == 0; c.OrMissing {
			ifNo.missing = -1
		} else {
			ifYes.missing = -1
		}
	}
	switch {
	case c.In != nil && len(c.In) == 0, c.Missing && k.missing < 0:
		return no(known)
	case c.Missing && k.missing > 0:
		return yes(known)
	}
	n := &Node{Condition: c, Yes: yes(known.with(c.Column, ifYes)), No: no(known.with(c.Column, ifNo))}
	return n.simple()
}

// simple is the node without a question that does not matter, and with that for missing values in the question below.
func (n *Node) simple() *Node {
	if reflect.DeepEqual(n.Yes, n.No) {
		return n.Yes
	}
	below := n.No
	c := below.Condition
	if n.Condition.Missing && below.Yes != nil && c.Column == n.Condition.Column && c.In == nil && !c.Missing {
		switch {
		case reflect.DeepEqual(n.Yes, below.Yes):
			c.OrMissing = true
			return &Node{Condition: c, Yes: below.Yes, No: below.No}
		case reflect.DeepEqual(n.Yes, below.No):
			return below
		}
	}
	return n
}

// Random reports that some leaf draws its action.
func (t *Tree) Random() (random bool) {
	t.Root.leaves(func(n *Node) { random = random || slices.Max(n.Propensities) < 1 })
	return random
}

// Leaves counts the leaves.
func (n *Node) Leaves() (count int) {
	n.leaves(func(*Node) { count++ })
	return count
}

// likely is the action of the largest propensity.
func (t *Tree) likely(n *Node) string {
	return t.Actions[kernel.ArgMax(n.Propensities)]
}

// Walk goes to the leaf of a context, for what holds of it, and returns it with the conditions on the way, each as
// it was answered. Those of a column that say more than an earlier one replace it.
func (n *Node) Walk(holds func(Condition) bool) (leaf *Node, way []string) {
	var answers []answered
	for n.Yes != nil {
		a := answered{n.Condition, holds(n.Condition)}
		if answers = narrow(answers, a); a.holds {
			n = n.Yes
		} else {
			n = n.No
		}
	}
	for _, a := range answers {
		way = append(way, a.words(a.holds))
	}
	return n, way
}

type answered struct {
	Condition
	holds bool
}

// narrow adds an answer to those before it.
func narrow(answers []answered, a answered) []answered {
	replaced := -1
	for i, b := range answers {
		switch {
		case b.Column != a.Column || b.Missing || a.Missing || (b.In == nil) != (a.In == nil):
		case a.In == nil:
			if b.OrMissing != b.holds { // missing values went the other way
				a.OrMissing = !a.holds
			}
			if b.holds == a.holds {
				replaced = i
			}
		case b.holds && !a.holds:
			a.holds, replaced = true, i
			a.In = slices.DeleteFunc(slices.Clone(b.In), func(v string) bool { return slices.Contains(a.In, v) })
		case a.holds:
			replaced = i
		default:
			a.In, replaced = slices.Concat(b.In, a.In), i
		}
	}
	if replaced < 0 {
		return append(answers, a)
	}
	answers[replaced] = a
	return answers
}

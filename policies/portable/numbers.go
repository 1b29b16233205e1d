package portable

import (
	"fmt"
	"math"

	"opl/policies/numeric"
)

// joined is the tree of a policy of numbers, whose neighbouring bins are one where all leaves draw them as densely.
func (t *Tree) joined() *Tree {
	of := *t.Numbers
	apart := make([]bool, of.Bins()) // from the bin before
	t.Root.leaves(func(n *Node) {
		for c := 1; c < of.Bins(); c++ {
			a, b := n.Propensities[c-1]*of.Width(c), n.Propensities[c]*of.Width(c-1)
			apart[c] = apart[c] || math.Abs(a-b) > 1e-12*max(a, b)
		}
	})
	out := *t
	out.Numbers = &numeric.Actions{Edges: of.Edges[:1:1], Atoms: of.Atoms}
	to := make([]int, of.K()) // what each action becomes
	for c := range to {
		if c > 0 && c < of.Bins() && apart[c] {
			out.Numbers.Edges = append(out.Numbers.Edges, of.Edges[c])
		}
		to[c] = len(out.Numbers.Edges) - 1 + max(0, c+1-of.Bins())
	}
	_, high := of.Range()
	out.Numbers.Edges = append(out.Numbers.Edges, high)
	sum := func(pi []float64) []float64 {
		all := make([]float64, out.Numbers.K())
		for c, p := range pi {
			all[to[c]] += p
		}
		return all
	}
	out.Actions, out.floors, out.Root = out.Numbers.Names(), sum(t.floors), t.Root.clone(sum)
	return &out
}

// span is where the numbers of an action begin, how wide they are, 0 of an atom, and the largest of them, which
// rounding must not exceed: the next bin has the edge.
func (t *Tree) span(a int) (low, width, largest float64) {
	if n := t.Numbers; a < n.Bins() {
		return n.Edges[a], n.Width(a), math.Nextafter(n.Edges[a+1], n.Edges[a])
	}
	low = t.Numbers.Center(a)
	return low, 0, low
}

// spans are the spans of all actions, in the brackets of a language.
func (t *Tree) spans(open, shut string) (all []string) {
	for a := range t.Actions {
		low, width, largest := t.span(a)
		all = append(all, open+number(low)+", "+number(width)+", "+number(largest)+shut)
	}
	return all
}

// sqlNumber is what SQL makes of a draw u that is in a step.
func (t *Tree) sqlNumber(s step, u string) string {
	low, width, largest := t.span(s.action)
	if width == 0 {
		return number(low)
	}
	slope := (largest - low) / max(s.p, s.below-s.from) * (1 - 1e-15) // what is drawn rounds to no more than largest
	return fmt.Sprintf("%s + (%s - %s) * %s", number(low), u, number(s.from), number(slope))
}

// sqlDensity is the density of the numbers of a step, NULL of an atom.
func (t *Tree) sqlDensity(s step) string {
	if s.action >= t.Numbers.Bins() {
		return "NULL"
	}
	return number(s.p / t.Numbers.Width(s.action))
}

func (n *Node) leaves(visit func(*Node)) {
	if n.Yes == nil {
		visit(n)
		return
	}
	n.Yes.leaves(visit)
	n.No.leaves(visit)
}

// clone copies the nodes, with other propensities at the leaves.
func (n *Node) clone(of func([]float64) []float64) *Node {
	if n.Yes == nil {
		return &Node{Propensities: of(n.Propensities)}
	}
	return &Node{Condition: n.Condition, Yes: n.Yes.clone(of), No: n.No.clone(of)}
}

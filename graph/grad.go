package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
)

// gradients adds to the graph the derivative of a scalar cost in each of the
// inputs wrt, by reverse accumulation over the operations' symbolic derivatives
// (gorgonia.SDOp). An input that the cost does not depend on has no derivative:
// its Expr is empty.
//
// It stands in for gorgonia.Grad, which returns the first cost's gradient when
// called twice, and sums through nodes that Gorgonia may take for one another.
func gradients(cost Expr, wrt []*gorgonia.Node) ([]Expr, error) {
	g := cost.g
	order, children := topological(g.g, cost.n)

	// Only nodes that depend on an input of wrt take part.
	active := map[*gorgonia.Node]bool{}
	for _, n := range wrt {
		active[n] = true
	}
	needs := map[*gorgonia.Node][]bool{} // of these, the operands that do
	for _, n := range order {
		if active[n] || len(children[n]) == 0 {
			continue
		}
		flows, err := diffWRT(n, len(children[n]))
		if err != nil {
			return nil, err
		}
		need := make([]bool, len(children[n]))
		for i, c := range children[n] {
			need[i] = flows[i] && active[c]
		}
		if slices.Contains(need, true) {
			active[n], needs[n] = true, need
		}
	}

	grad := map[*gorgonia.Node]Expr{cost.n: g.Const("∂cost/∂cost", []float64{1})}
	for i := len(order) - 1; i >= 0; i-- {
		n := order[i]
		dn, reached := grad[n]
		need := needs[n]
		if !reached || need == nil {
			continue
		}
		if _, ok := n.Op().(gorgonia.SDOp); !ok {
			return nil, fmt.Errorf("graph: %s has no symbolic derivative; StopGradient makes it a constant",
				Expr{g: g, n: n})
		}
		dx, err := symDiff(n, children[n], dn.n, need)
		if err != nil {
			return nil, fmt.Errorf("graph: differentiating %s: %w", Expr{g: g, n: n}, err)
		}
		for j, c := range children[n] {
			if !need[j] {
				continue
			}
			if j >= len(dx) || dx[j] == nil {
				return nil, fmt.Errorf("graph: %s gave no derivative in operand %d", Expr{g: g, n: n}, j)
			}
			d := Expr{g: g, n: dx[j]}
			if before, ok := grad[c]; ok {
				d = before.Add(d)
				if d.err != nil {
					return nil, fmt.Errorf("graph: differentiating %s: %w", Expr{g: g, n: n}, d.err)
				}
			}
			grad[c] = d
		}
	}
	out := make([]Expr, len(wrt))
	for i, n := range wrt {
		out[i] = grad[n]
	}
	return out, nil
}

// diffWRT tells which operands the operation of n is differentiable in: all, if
// it does not say.
func diffWRT(n *gorgonia.Node, operands int) ([]bool, error) {
	o, ok := n.Op().(gorgonia.SDOp)
	if !ok {
		return slices.Repeat([]bool{true}, operands), nil
	}
	flows := o.DiffWRT(operands)
	if len(flows) < operands {
		return nil, fmt.Errorf("graph: DiffWRT of %v has %d entries for %d operands", n.Op(), len(flows), operands)
	}
	return flows, nil
}

// symDiff asks the operation of n for its symbolic derivatives.
func symDiff(n *gorgonia.Node, children gorgonia.Nodes, grad *gorgonia.Node, need []bool) (dx gorgonia.Nodes,
	err error) {
	if o, ok := n.Op().(*op); ok {
		return o.symDiff(children, n, grad, need)
	}
	defer func() { err = shield(recover(), err) }()
	return n.Op().(gorgonia.SDOp).SymDiff(children, n, grad)
}

// topological returns the nodes that root depends on, operands first, and the
// operands of each.
func topological(g *gorgonia.ExprGraph, root *gorgonia.Node) (gorgonia.Nodes, map[*gorgonia.Node]gorgonia.Nodes) {
	var order gorgonia.Nodes
	children := map[*gorgonia.Node]gorgonia.Nodes{}
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if _, seen := children[n]; seen {
			return
		}
		var cs gorgonia.Nodes
		if it := g.From(n.ID()); it != nil {
			for it.Next() {
				cs = append(cs, it.Node().(*gorgonia.Node))
			}
		}
		children[n] = cs
		for _, c := range cs {
			visit(c)
		}
		order = append(order, n)
	}
	visit(root)
	return order, children
}

// DependsOn reports whether x is computed from any of the others.
func (x Expr) DependsOn(others ...Expr) bool {
	if x.n == nil || len(others) == 0 {
		return false
	}
	_, reached := topological(x.g.g, x.n)
	for _, y := range others {
		if _, ok := reached[y.n]; ok {
			return true
		}
	}
	return false
}

package graph

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Graph is where a formula is built. It has one element type, and every input,
// parameter, noise node and named term has a name of its own. A Graph is
// compiled once, for one cost; it must not be used by two goroutines.
type Graph struct {
	g        *gorgonia.ExprGraph
	dt       tensor.Dtype
	ops      uint32
	inputs   []*input
	params   []param
	terms    []term
	err      error // the first misuse, reported by Compile
	compiled bool
	shared   *Inputs
	frozen   bool // stop-gradients keep their values, for GradCheck
	hashes   map[uint32]bool
	rows     []int         // see [Program.Rows]
	memories []func(n int) // make room for what is remembered of a log of n rows
}

// input is a named buffer that is fed from outside.
type input struct {
	name     string
	node     *gorgonia.Node
	shared   bool
	constant bool
	fill     Filler // of a noise node
	fill32   Filler32
	*buffer
}

// written notes that the value has been fed, in full.
func (in *input) written() {
	in.given, in.batch, in.drawn = true, 0, nil
	if in.compressed != nil {
		in.compressed.fed, in.compressed.placed = false, false
	}
}

type param struct {
	p    *Param
	node *gorgonia.Node
	expr Expr
}

// term is a value that a program reports by name.
type term struct {
	name string
	expr Expr
}

// New returns an empty graph of float64 or float32 elements
// (tensor.Float64, tensor.Float32).
func New(dt tensor.Dtype) *Graph {
	g := &Graph{g: gorgonia.NewGraph(), dt: dt, shared: &Inputs{}, hashes: map[uint32]bool{}}
	if dt != tensor.Float64 && dt != tensor.Float32 {
		g.err = fmt.Errorf("graph: element type %v, want float64 or float32", dt)
	}
	return g
}

// Dtype returns the element type of the graph.
func (g *Graph) Dtype() tensor.Dtype { return g.dt }

// Input declares a value that is fed before each run, of at most two
// dimensions; none declares a scalar. The name must be new to the graph.
func (g *Graph) Input(name string, shape ...int) Expr {
	_, x := g.declare(name, name, shape)
	return x
}

// Const declares an input whose value is known now: tensors of fixed numbers,
// such as a grid. len(values) must be the product of shape.
func (g *Graph) Const(name string, values []float64, shape ...int) Expr {
	in, x := g.declare(name, "", shape)
	if in == nil {
		return x
	}
	if err := put(in.value, values); err != nil {
		return g.fail("graph: constant %q: %w", name, err)
	}
	in.given, in.constant = true, true
	return x
}

// Filler writes one set of random values. It is called with the source that
// [Program.Refill] is given, so equal seeds give equal noise.
type Filler func(r *rand.Rand, dst []float64)

// Gaussian fills with independent standard normal values.
func Gaussian(r *rand.Rand, dst []float64) {
	for i := range dst {
		dst[i] = r.NormFloat64()
	}
}

// Filler32 is a Filler for graphs of float32: fast, with rounding errors of its
// own, on several threads if it is given them. The values are the same for any
// number of threads.
type Filler32 func(r *rand.Rand, dst []float32, threads int)

// Noise declares an input that [Program.Refill] fills by fill; it can be fed by
// name as well. With its values left alone a program is a deterministic
// function of its parameters.
func (g *Graph) Noise(name string, fill Filler, shape ...int) Expr {
	return g.Noise32(name, fill, nil, shape...)
}

// Noise32 declares noise as Noise does, and fills graphs of float32 by a faster function.
func (g *Graph) Noise32(name string, fill Filler, fill32 Filler32, shape ...int) Expr {
	return g.NoiseOf("", name, fill, fill32, shape...)
}

// NoiseOf declares noise as Noise32 does, of a kind that is not empty: a function of the source alone, which graphs can
// share; see [Graph.Share].
func (g *Graph) NoiseOf(kind, name string, fill Filler, fill32 Filler32, shape ...int) Expr {
	in, x := g.declare(name, kind, shape)
	if in != nil {
		in.fill, in.fill32 = fill, fill32
	}
	return x
}

// Param declares a parameter: p's values are read at each run, and Compile
// gives the cost's gradient in them. Declared twice, it is one node.
func (g *Graph) Param(p *Param) Expr {
	for _, q := range g.params {
		if q.p == p {
			return q.expr
		}
	}
	if p.Value.Dtype() != g.dt {
		return g.fail("graph: parameter %q is %v in a graph of %v", p.Name, p.Value.Dtype(), g.dt)
	}
	if err := g.unused(p.Name); err != nil {
		return g.fail("%w", err)
	}
	shape := p.Value.Shape()
	if len(shape) < 1 || len(shape) > 2 || p.Value.RequiresIterator() {
		return g.fail("graph: parameter %q has shape %s, want a vector or a matrix of its own memory", p.Name,
			shapeString(shape))
	}
	// Gorgonia writes to the tensors that it binds: a header for each graph
	// lets programs share the elements.
	n := g.leaf(p.Name, tensor.New(tensor.Of(g.dt), tensor.WithShape(shape...), tensor.WithBacking(p.Value.Data())))
	x := Expr{g: g, n: n}
	if p.scalar {
		x = x.Sum()
	}
	g.params = append(g.params, param{p, n, x})
	return x
}

// Params returns the parameters declared so far, in order of declaration.
func (g *Graph) Params() []*Param {
	ps := make([]*Param, len(g.params))
	for i, q := range g.params {
		ps[i] = q.p
	}
	return ps
}

// Named makes a program report x under the name, see [Program.Read].
func (x Expr) Named(name string) Expr {
	if bad, ok := first(x); ok {
		return bad
	}
	for _, t := range x.g.terms {
		if t.name == name {
			return x.g.fail("graph: two terms are named %q", name)
		}
	}
	x.g.terms = append(x.g.terms, term{name, x})
	return x
}

// fail records a misuse that may not reach the cost, and returns it.
func (g *Graph) fail(format string, args ...any) Expr {
	x := Fail(format, args...)
	if g.err == nil {
		g.err = x.err
	}
	return x
}

// input returns the input of that name, nil if there is none.
func (g *Graph) input(name string) *input {
	for _, in := range g.inputs {
		if in.name == name {
			return in
		}
	}
	return nil
}

func (g *Graph) unused(name string) error {
	if g.input(name) != nil {
		return fmt.Errorf("graph: the name %q is taken by an input", name)
	}
	for _, q := range g.params {
		if q.p.Name == name {
			return fmt.Errorf("graph: the name %q is taken by a parameter", name)
		}
	}
	return nil
}

func (g *Graph) declare(name, kind string, shape []int) (*input, Expr) {
	if err := g.unused(name); err != nil {
		return nil, g.fail("%w", err)
	}
	if len(shape) > 2 {
		return nil, g.fail("graph: input %q has %d dimensions, want at most 2", name, len(shape))
	}
	for _, d := range shape {
		if d < 1 {
			return nil, g.fail("graph: input %q has shape %s, want positive dimensions", name, shapeString(shape))
		}
	}
	in := &input{name: name, shared: kind != "", buffer: g.buffer(kind, shape)}
	in.node = g.leaf(name, in.value)
	g.inputs = append(g.inputs, in)
	return in, Expr{g: g, n: in.node}
}

// leaf makes a node of a value. Should its hash be taken, it is named anew.
func (g *Graph) leaf(name string, v gorgonia.Value) *gorgonia.Node {
	shape := v.Shape()
	for {
		var n *gorgonia.Node
		if len(shape) == 0 {
			n = gorgonia.NewScalar(g.g, g.dt, gorgonia.WithName(name), gorgonia.WithValue(v))
		} else {
			n = gorgonia.NewTensor(g.g, g.dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
				gorgonia.WithValue(v))
		}
		if g.claim(n) {
			return n
		}
		name += "′"
	}
}

// claim reports whether the hash of a new node is its own. Gorgonia computes
// one node for all that share a hash of 32 bits, whatever they are.
func (g *Graph) claim(n *gorgonia.Node) bool {
	h := n.Hashcode()
	if g.hashes[h] {
		return false
	}
	g.hashes[h] = true
	return true
}

package graph

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph/kernel/simd"
)

// Program is a compiled graph: one cost, its gradients in the parameters, and
// the named terms. Feed the inputs, Refill the noise, Run, and read. It is not
// safe for concurrent use. Programs of different graphs are independent, even
// where they share parameters that nobody updates meanwhile, but not where they
// share [Inputs].
type Program struct {
	g       *Graph
	machine machine
	used    map[*gorgonia.Node]bool
	cost    int // the values that are results, by number
	terms   []int
	grads   []int           // −1 where the cost does not depend on the parameter; nil without gradients
	zeros   []*tensor.Dense // stand in for them
	threads int
	ran     bool
	noise   []float64 // of fills for graphs of float32
}

// Option changes what Compile makes.
type Option func(*options)

type options struct {
	noGrad  bool
	threads int
}

// WithoutGradients compiles the cost and the terms alone.
func WithoutGradients() Option { return func(o *options) { o.noGrad = true } }

// Threads lets a run use as many threads as maxThreads at most, where it has
// much to do. The results are the same for any number.
func Threads(n int) Option { return func(o *options) { o.threads = n } }

// maxThreads is the largest number of threads that a run uses.
const maxThreads = 16

// Compile differentiates a scalar cost in every parameter of the graph and
// compiles what the cost, the gradients and the named terms need. A graph is
// compiled once.
func (g *Graph) Compile(cost Expr, opts ...Option) (*Program, error) {
	var o options
	for _, set := range opts {
		set(&o)
	}
	switch {
	case cost.Err() != nil:
		return nil, cost.Err()
	case g.err != nil:
		return nil, g.err
	case cost.g != g:
		return nil, errors.New("graph: the cost is of another graph")
	case g.compiled:
		return nil, errors.New("graph: already compiled; build one graph for each cost")
	case len(cost.n.Shape()) != 0:
		return nil, fmt.Errorf("graph: the cost %s is no scalar", cost)
	}
	g.compiled = true

	p := &Program{g: g, threads: max(1, min(o.threads, maxThreads))}
	var roots gorgonia.Nodes
	output := func(x Expr) int {
		if _, own := x.n.Op().(*op); !own {
			x = x.copy()
		}
		roots = append(roots, x.n)
		return len(roots) - 1
	}
	p.cost = output(cost)
	for _, t := range g.terms {
		p.terms = append(p.terms, output(t.expr))
	}
	if !o.noGrad {
		wrt := make([]*gorgonia.Node, len(g.params))
		for i, q := range g.params {
			wrt[i] = q.node
		}
		grads, err := gradients(cost, wrt)
		if err != nil {
			return nil, err
		}
		p.grads = make([]int, len(g.params))
		p.zeros = make([]*tensor.Dense, len(g.params))
		for i, d := range grads {
			p.grads[i] = -1
			if d.n != nil {
				// A copy, because solvers change gradients in place.
				p.grads[i] = output(d.copy())
			}
		}
	}
	sub := g.g.SubgraphRoots(roots...)
	if err := distinct(sub); err != nil {
		return nil, err
	}
	p.used = map[*gorgonia.Node]bool{}
	for _, n := range sub.AllNodes() {
		p.used[n] = true
	}
	steps, values := lower(g.g, roots)
	for _, in := range g.inputs {
		if in.shared && len(in.value.Shape()) == 2 {
			g.compressed(Expr{g: g, n: in.node}) // by which programs that share it know who else reads it
		}
		if c := in.compressed; c != nil {
			alone, narrow := steps.sparse(in.value, c)
			c.alone, c.narrow = c.alone && alone && g.dt == tensor.Float32, c.narrow && narrow
			in.batch = 0 // the next feed may be another one
		}
	}
	p.cost = values[p.cost]
	for _, results := range [][]int{p.terms, p.grads} {
		for i, r := range results {
			if r >= 0 {
				results[i] = values[r]
			}
		}
	}
	var err error
	if g.dt == tensor.Float64 {
		p.machine, err = newMachine[float64](g.dt, steps, g.shared)
	} else {
		p.machine, err = newMachine[float32](g.dt, steps, g.shared)
	}
	return p, err
}

// distinct refuses a graph in which Gorgonia would take two nodes for one. It
// can only be a node that came in through Apply.
func distinct(g *gorgonia.ExprGraph) error {
	seen := map[uint32]*gorgonia.Node{}
	for _, n := range g.AllNodes() {
		if other, ok := seen[n.Hashcode()]; ok {
			return fmt.Errorf("graph: Gorgonia cannot tell %v and %v apart: their hashes collide; rename an input",
				other, n)
		}
		seen[n.Hashcode()] = n
	}
	return nil
}

// Has reports whether the program reads the input of that name: what the cost
// and the terms do not need is dropped, and need not be fed.
func (p *Program) Has(name string) bool {
	in := p.g.input(name)
	return in != nil && p.used[in.node]
}

// Inputs returns the names of the inputs that the program reads.
func (p *Program) Inputs() (names []string) {
	for _, in := range p.g.inputs {
		if p.used[in.node] {
			names = append(names, in.node.Name())
		}
	}
	return names
}

// Feed copies values into an input. It is an error if the graph has no such
// input or the number of values is not that of its shape.
func (p *Program) Feed(name string, values []float64) error {
	in := p.g.input(name)
	if in == nil {
		return fmt.Errorf("graph: no input is named %q", name)
	}
	if err := put(in.value, values); err != nil {
		return fmt.Errorf("graph: input %q: %w", name, err)
	}
	in.written()
	return nil
}

// FeedSparse feeds a matrix by the elements of its rows that are not 0: row writes those of row i to val and
// their columns, ascending, to at, both as long as the matrix is wide, and returns how many they are. It is
// called once for each row, by several goroutines. FeedSparse reports false, and the input has then still to
// be fed, where the program does more with it than multiply without its zeros: where the first rows have few
// zeros, on a processor without vector kernels, in float64, or where it reads single elements. Results are
// those of the matrix in full, to the bit.
func (p *Program) FeedSparse(name string, row func(i int, val []float32, at []int32) int) bool {
	return p.compress(name, func(c *compressed) bool {
		c.placed, c.fed = false, c.feed(row, p.threads)
		return c.fed
	})
}

func (p *Program) compress(name string, feed func(c *compressed) bool) bool {
	in := p.g.input(name)
	if in == nil || in.compressed == nil || !p.used[in.node] {
		return false
	}
	in.given, in.batch = in.given && !in.compressed.fed && !in.compressed.placed, 0
	fed := feed(in.compressed)
	in.given = in.given || fed
	return fed
}

// FeedRows feeds a matrix by its rows where they lie in memory: row returns that of row i, at least as long
// as the matrix is wide, or nil, and is called once for each row, in their order. Runs may read them until
// the input is fed again: they must not change till then. FeedRows reports false if a row is
// nil, in float64, without vector kernels, or if the program does more with the matrix than multiply: without
// its zeros if the first rows have many, else with few columns. The input must then be fed in another way.
// Results equal those of the full matrix to the bit.
func (p *Program) FeedRows(name string, row func(i int) []float32) bool {
	return p.compress(name, func(c *compressed) bool { return c.place(row, p.threads) })
}

// Buffer returns the elements of an input, to be written in place before a run,
// and marks it as fed. T is the element type of the graph. It is nil if the
// program does not read such an input, or has another element type.
func Buffer[T float32 | float64](p *Program, name string) []T {
	in := p.g.input(name)
	if in == nil || !p.used[in.node] {
		return nil
	}
	var z T
	if _, is64 := any(z).(float64); is64 != (p.g.dt == tensor.Float64) {
		return nil
	}
	in.written()
	return elems[T](in.value)
}

// Dtype returns the element type of the graph.
func (p *Program) Dtype() tensor.Dtype { return p.g.dt }

// Threads returns the number of threads that a run may use, at least 1.
func (p *Program) Threads() int { return p.threads }

// Refill draws new values for every noise node.
func (p *Program) Refill(r *rand.Rand) {
	for _, in := range p.g.inputs {
		if in.fill != nil && p.used[in.node] {
			p.refill(in, r)
		}
	}
}

func (p *Program) refill(in *input, r *rand.Rand) {
	in.written()
	switch {
	case p.g.dt == tensor.Float64:
		in.fill(r, elems[float64](in.value))
	case in.fill32 != nil:
		in.fill32(r, elems[float32](in.value), p.Threads())
	default:
		n := in.value.Shape().TotalSize()
		p.noise = slices.Grow(p.noise[:0], n)[:n]
		in.fill(r, p.noise)
		_ = put(in.value, p.noise)
	}
}

// Run computes the cost, the gradients and the terms. It is an error if an
// input that the program reads was never fed, or if a value is not finite; the
// latter is a [*NonFiniteError].
func (p *Program) Run() error {
	for _, in := range p.g.inputs {
		if !in.given && p.used[in.node] {
			return fmt.Errorf("graph: input %q was not fed", in.name)
		}
		c := in.compressed
		if c == nil {
			continue
		}
		if c.made = false; c.fed && !simd.Vector() { // the kernels were turned off since
			c.matrix.Dense(elems[float32](in.value))
			in.written()
		} else if c.placed && !simd.Vector() {
			simd.Rows{Cols: c.cols, At: c.at}.Dense(elems[float32](in.value))
			in.written()
		}
	}
	if err := p.machine.run(p.threads); err != nil {
		return err
	}
	p.ran = true
	for i, t := range p.g.terms {
		if err := p.check(p.terms[i], "term", t.name); err != nil {
			return err
		}
	}
	if err := p.check(p.cost, "cost", ""); err != nil {
		return err
	}
	for i, r := range p.grads {
		if r < 0 {
			continue
		}
		if err := p.check(r, "gradient", p.g.params[i].p.Name); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if a value of a run is not finite.
func (p *Program) check(i int, what, name string) error {
	v := p.machine.value(i)
	if j := nonFinite(v, p.threads); j >= 0 {
		return &NonFiniteError{What: what, Name: name, Index: j, Value: at(v, j)}
	}
	return nil
}

// NonFiniteError says which value of a run was NaN or infinite first: a named
// term, the cost, or the gradient in a parameter.
type NonFiniteError struct {
	What  string  // "term", "cost" or "gradient"
	Name  string  // of the term or the parameter
	Index int     // of the element, row by row
	Value float64 // NaN, +Inf or −Inf
}

func (e *NonFiniteError) Error() string {
	switch e.What {
	case "gradient":
		return fmt.Sprintf("the gradient in %s is %v at element %d", e.Name, e.Value, e.Index)
	case "term":
		return fmt.Sprintf("the term %q is %v", e.Name, e.Value)
	}
	return fmt.Sprintf("the cost is %v", e.Value)
}

// Cost returns the cost of the last run, NaN before the first.
func (p *Program) Cost() float64 {
	if !p.ran {
		return math.NaN()
	}
	return at(p.machine.value(p.cost), 0)
}

// Read returns the values of a named term in the last run, row by row; nil if
// there is no such term, and before the first run.
func (p *Program) Read(name string) []float64 {
	for i, t := range p.g.terms {
		if t.name == name && p.ran {
			return floats(p.machine.value(p.terms[i]))
		}
	}
	return nil
}

// Terms returns the names of the terms, in the order in which they were named.
func (p *Program) Terms() []string {
	names := make([]string, len(p.g.terms))
	for i, t := range p.g.terms {
		names[i] = t.name
	}
	return names
}

// Params returns the parameters of the graph, in order of declaration.
func (p *Program) Params() []*Param { return p.g.Params() }

// Grad returns the gradient of the last run's cost in a parameter of the graph,
// zero if the cost does not depend on it. The next run overwrites it. It is nil
// before the first run, in a program without gradients, and for a parameter of
// another graph.
func (p *Program) Grad(q *Param) *tensor.Dense {
	for i, r := range p.g.params {
		if r.p != q || p.grads == nil || !p.ran {
			continue
		}
		if r := p.grads[i]; r >= 0 {
			d, _ := p.machine.value(r).(*tensor.Dense)
			return d
		}
		if p.zeros[i] == nil {
			p.zeros[i] = newValue(q.Value.Dtype(), q.Value.Shape()).(*tensor.Dense)
		}
		p.zeros[i].Zero()
		return p.zeros[i]
	}
	return nil
}

// Gradient returns a copy of the gradient of the last run's cost in a parameter,
// row by row, whatever the element type; nil where Grad is.
func (p *Program) Gradient(q *Param) []float64 {
	if d := p.Grad(q); d != nil {
		return floats(d)
	}
	return nil
}

// Close does nothing; a program's memory is its own and goes with it.
func (p *Program) Close() error { return nil }

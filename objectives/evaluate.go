package objectives

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives/weights"
)

// Rows is a log as an objective's graph reads it.
type Rows interface {
	// Len is the number of rows.
	Len() int
	// Feed writes the rows of the given numbers into the inputs that the program
	// has; see the Input constants.
	Feed(p *graph.Program, rows []int) error
}

// Value is an objective on a whole log.
type Value struct {
	Objective float64 // on all rows
	Terms     []Term  // in the order in which the objective names them
}

// Term is one named term. Vectors, over a grid, are left out.
type Term = weights.Term

// Evaluate computes an objective on all rows of a log, in float64 and in pieces
// of at most 512: the means named by [Problem.Mean] are accumulated over the
// rows and then combined, in as many passes as means depend on one another. It
// is the objective on the log, not a mean of minibatch objectives. Noise comes
// from the seed. Setup.Params may be of either element type; s.N is replaced by
// the number of rows.
func Evaluate(o Objective, s Setup, rows Rows, seed uint64) (Value, error) {
	const piece = 512
	n := rows.Len()
	if n == 0 {
		return Value{}, errors.New("objectives: a log without rows has no value")
	}
	s.N = n
	s.Params = s.Params.As(tensor.Float64)
	known := map[string][]float64{}
	for {
		size := min(n, piece)
		sums, err := pass(o, s, rows, known, seed, 0, n-n%size, size)
		if err == nil && n%size > 0 {
			var rest map[string][]float64
			rest, err = pass(o, s, rows, known, seed+1, n-n%size, n, n%size)
			for name, v := range rest {
				for i := range v {
					sums[name][i] += v[i]
				}
			}
		}
		if err != nil {
			return Value{}, err
		}
		if len(sums) == 0 {
			return combine(o, s, known)
		}
		for name, v := range sums {
			for i := range v {
				v[i] /= float64(n)
			}
			known[name] = v
		}
	}
}

// means intercepts Problem.Mean in evaluation.
type means struct {
	known   map[string][]float64
	named   map[string]bool
	pending []graph.Expr // means of this pass and those that wait for them
	ready   []string     // names of those of this pass
	piece   []graph.Expr // those of this pass, over one piece
}

func newMeans(known map[string][]float64) *means {
	return &means{known: known, named: map[string]bool{}}
}

func (m *means) mean(g *graph.Graph, name string, rows graph.Expr) graph.Expr {
	if rows.Err() != nil {
		return rows
	}
	if m.named[name] {
		return graph.Fail("objectives: two means are named %q", name)
	}
	m.named[name] = true
	if v, ok := m.known[name]; ok {
		if len(rows.Shape()) == 2 {
			return g.Const("mean of "+name, v, len(v)).Named(name)
		}
		return g.Const("mean of "+name, v).Named(name)
	}
	x := meanRows(rows)
	if !rows.DependsOn(m.pending...) {
		m.ready = append(m.ready, name)
		m.piece = append(m.piece, x)
	}
	m.pending = append(m.pending, x)
	return x
}

// pass accumulates, over rows from..to in pieces of one size, the means that
// need no others than the known ones. It returns their sums over rows.
func pass(o Objective, s Setup, rows Rows, known map[string][]float64, seed uint64, from, to,
	size int) (map[string][]float64, error) {
	p, err := New(s, size)
	if err != nil {
		return nil, err
	}
	m := newMeans(known)
	p.means = m
	if err := o(p).Err(); err != nil {
		return nil, err
	}
	sums := map[string][]float64{}
	if len(m.pending) == 0 || from == to {
		return sums, nil
	}
	if len(m.ready) == 0 {
		return nil, errors.New("objectives: a mean depends on itself")
	}
	cost := p.Number("nothing", 0)
	for i, name := range m.ready {
		m.piece[i].Named("piece mean of " + name)
	}
	prog, err := p.g.Compile(cost, graph.WithoutGradients())
	if err != nil {
		return nil, err
	}
	noise := rand.New(rand.NewPCG(seed, 0))
	index := make([]int, size)
	for ; from < to; from += size {
		for i := range index {
			index[i] = from + i
		}
		if err := rows.Feed(prog, index); err != nil {
			return nil, err
		}
		prog.Refill(noise)
		if err := prog.Run(); err != nil {
			return nil, fmt.Errorf("objectives: rows %d to %d: %w", from, from+size-1, err)
		}
		for _, name := range m.ready {
			v := prog.Read("piece mean of " + name)
			if sums[name] == nil {
				sums[name] = make([]float64, len(v))
			}
			for i := range v {
				sums[name][i] += v[i] * float64(size)
			}
		}
	}
	return sums, nil
}

// combine computes the objective from its means.
func combine(o Objective, s Setup, known map[string][]float64) (Value, error) {
	p, err := New(s, 1)
	if err != nil {
		return Value{}, err
	}
	p.means = newMeans(known)
	prog, err := p.g.Compile(o(p), graph.WithoutGradients())
	if err != nil {
		return Value{}, err
	}
	for _, in := range []string{InputContext, InputNorm, InputAction, InputCost, InputPropensity, InputPropensities,
		InputOffered} {
		if prog.Has(in) {
			return Value{}, fmt.Errorf("objectives: the objective uses %s outside of Problem.Mean, so it has no "+
				"value on a whole log", in)
		}
	}
	if err := prog.Run(); err != nil {
		return Value{}, err
	}
	v := Value{Objective: prog.Cost()}
	for _, name := range prog.Terms() {
		if x := prog.Read(name); len(x) == 1 {
			v.Terms = append(v.Terms, Term{Name: name, Value: x[0]})
		}
	}
	return v, nil
}

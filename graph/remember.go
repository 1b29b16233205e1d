package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// mostRemembered is how many results of an operation are remembered at most.
const mostRemembered = 1 << 22

// Rows calls feed to feed the inputs with some rows of a log of n, none twice. Nothing but this log, a pointer to it,
// is ever fed. Where the inputs hold these rows already, feed is not called: a program that shares them was fed the
// same last, see [Graph.Share].
// Slow functions of inputs alone are then computed once a row of the log, not in every run. They are of inputs with as
// many rows, and of a log that is not too large to remember them.
func (p *Program) Rows(log any, rows []int, n int, feed func() error) error {
	p.g.rows = rows
	for _, prepare := range p.g.memories {
		prepare(n)
	}
	s := p.g.shared
	if s.log != log || s.n != n || !slices.Equal(s.rows, rows) {
		s.log, s.n, s.rows, s.batch = log, n, append(s.rows[:0], rows...), s.batch+1
	}
	fed := slices.DeleteFunc(slices.Clone(p.g.inputs), func(in *input) bool {
		return in.constant || in.fill != nil || !p.used[in.node]
	})
	if !slices.ContainsFunc(fed, func(in *input) bool { return in.batch != s.batch }) {
		return nil
	}
	err := feed()
	for _, in := range fed {
		if err == nil {
			in.batch = s.batch
		}
	}
	return err
}

// given reports whether x is a function of inputs alone, row by row.
func (x Expr) given() bool {
	if x.n.Op() == nil {
		for _, in := range x.g.inputs {
			if in.node == x.n {
				return in.fill == nil
			}
		}
		return false
	}
	if o, own := x.n.Op().(*op); !own || o.run.spread != byRows {
		return false
	}
	for it := x.g.g.From(x.n.ID()); it.Next(); {
		if of := (Expr{g: x.g, n: it.Node().(*gorgonia.Node)}); !of.given() {
			return false
		}
	}
	return true
}

// remembering is r, an elementwise operation, with a memory of results for [Program.Rows].
func (g *Graph) remembering(r run, shape tensor.Shape) run {
	if g.dt == tensor.Float64 {
		r.f64 = remember(g, r.f64, shape)
	} else {
		r.f32 = remember(g, r.f32, shape)
	}
	return r
}

func remember[T float](g *Graph, f func([]T, [][]T, int), shape tensor.Shape) func([]T, [][]T, int) {
	var known []bool
	var values []T
	width := shape.TotalSize() / shape[0]
	g.memories = append(g.memories, func(n int) {
		if len(g.rows) != shape[0] || n > mostRemembered/width {
			n = 0
		}
		if n != len(known) {
			known, values = make([]bool, n), make([]T, n*width)
		}
	})
	return func(dst []T, src [][]T, first int) {
		if len(known) == 0 {
			f(dst, src, first)
			return
		}
		for i, row := range g.rows[first : first+len(dst)/width] {
			to, kept := dst[i*width:(i+1)*width], values[row*width:(row+1)*width]
			if !known[row] {
				f(kept, [][]T{src[0][i*width : (i+1)*width]}, first+i)
				known[row] = true
			}
			copy(to, kept)
		}
	}
}

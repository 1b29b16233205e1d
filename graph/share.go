package graph

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
)

// Inputs are shared by programs of several graphs that run in turns. What one of them was fed, the next need not be
// fed again. The programs also share the memory of what a run computes on its way. The zero value is ready for
// [Graph.Share]. Not for concurrent use.
type Inputs struct {
	buffers map[string]*buffer
	log     any // whose rows the inputs were fed with last, see [Program.Rows]
	rows    []int
	n       int
	batch   int         // counts these minibatches
	rooms   [][]float32 // memory of programs
}

// buffer is an input's value.
type buffer struct {
	value gorgonia.Value
	given bool         // a constant, or fed at least once
	batch int          // of Inputs, which it holds; 0: another one
	drawn *[2]rand.PCG // the source of the noise that it holds, before and after; nil: not known

	compressed *compressed // of a matrix that enters products
}

// Share makes the graph share inputs that it declares from now on: those of one name and shape, and noise of one kind.
func (g *Graph) Share(s *Inputs) { g.shared = cmp.Or(s, g.shared) }

// buffer returns the buffer of an input that is shared, else a new one.
func (g *Graph) buffer(kind string, shape []int) *buffer {
	key := fmt.Sprint(g.dt, shape, kind)
	b := g.shared.buffers[key]
	if b == nil || kind == "" {
		b = &buffer{value: newValue(g.dt, shape)}
	}
	if g.shared.buffers == nil {
		g.shared.buffers = map[string]*buffer{}
	}
	g.shared.buffers[key] = b
	return b
}

// roomsOf returns what allocates memory of a program for what is not kept after a run: that of programs before it.
func roomsOf[T float](s *Inputs) func(n int) []T {
	rooms, is := any(&s.rooms).(*[][]T)
	if !is {
		rooms = new([][]T)
	}
	k := -1
	return func(n int) []T {
		if k++; k == len(*rooms) {
			*rooms = append(*rooms, nil)
		}
		if cap((*rooms)[k]) < n {
			(*rooms)[k] = make([]T, n)
		}
		return (*rooms)[k][:n]
	}
}

// RefillFrom draws new values for every noise node, as [Program.Refill] does. Where shared noise already holds what
// the source would give, only the source moves on.
func (p *Program) RefillFrom(source *rand.PCG) {
	for _, in := range p.g.inputs {
		switch before := *source; {
		case in.fill == nil || !p.used[in.node]:
		case in.drawn != nil && in.drawn[0] == before:
			*source = in.drawn[1]
		default:
			if p.refill(in, rand.New(source)); in.shared {
				in.drawn = &[2]rand.PCG{before, *source}
			}
		}
	}
}

package graph

import (
	"fmt"
	"sync"

	"gorgonia.org/tensor"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// Items are the vectors z_a [p] of n items, such as the actions of a catalogue: constants that
// scores z_a·u are of. They are held once, outside of graphs, and graphs and programs share
// them; many goroutines may. Columns in which few items are not 0 take no more than their entries.
type Items struct {
	n, p int
	z64  func() *kernel.Items[float64]
	z32  func() *kernel.Items[float32]
}

// mostItems is how many items a graph of float32 can tell apart.
const mostItems = 1 << 24

// NewItems returns n items whose vectors row writes, when a graph of either element type first
// needs them, twice for each.
func NewItems(n, p int, row func(a int, dst []float64)) *Items {
	return &Items{n: n, p: p,
		z64: sync.OnceValue(func() *kernel.Items[float64] { return kernel.NewItems[float64](n, p, row) }),
		z32: sync.OnceValue(func() *kernel.Items[float32] { return kernel.NewItems[float32](n, p, row) }),
	}
}

// Len returns n, the number of items.
func (z *Items) Len() int { return z.n }

// Dim returns p, the number of features of an item.
func (z *Items) Dim() int { return z.p }

// fit returns a failure unless x is a matrix of vectors for the items.
func (z *Items) fit(x Expr, what string) (Expr, bool) {
	if bad, ok := x.rank(what, 2); ok {
		return bad, true
	}
	switch s := x.n.Shape(); {
	case z.n < 1 || z.p < 1 || s[1] != z.p:
		return Fail("graph: %s of %s and %d items of %d features", what, x, z.n, z.p), true
	case x.g.dt == tensor.Float32 && z.n > mostItems:
		return Fail("graph: %s of %d items: float32 counts to %d, take float64", what, z.n, mostItems), true
	}
	return Expr{}, false
}

// ItemScores returns s_ij = z_a·u_i for vectors u [r×p], the item a being entry (i, j) of at [r×m]; where that is
// −1 there is none, and the score is −Inf. An empty at stands for all items, m = n. No derivative flows to at.
// Another number in it is an error when the program runs.
func (u Expr) ItemScores(z *Items, at Expr) Expr {
	if bad, ok := z.fit(u, "ItemScores"); ok {
		return bad
	}
	r, m, in := u.n.Shape()[0], z.n, []Expr{u}
	if at.n != nil || at.err != nil {
		if bad, ok := at.rank("ItemScores places", 2); ok {
			return bad
		}
		if m = at.n.Shape()[1]; at.n.Shape()[0] != r {
			return Fail("graph: ItemScores of %s at %s: the rows differ", u, at)
		}
		in = append(in, at)
	}
	name := fmt.Sprintf("item scores %p", z)
	out := apply("item scores", tensor.Shape{r, m}, run{
		f64: func(dst []float64, src [][]float64, first int) { itemScores(z.z64(), dst, src, m, first) },
		f32: func(dst []float32, src [][]float32, first int) { itemScores(z.z32(), dst, src, m, first) },
	}.by(byRows).times(z.p).as(name), func(in []Expr, _, g Expr, _ []bool) []Expr {
		in[0] = g
		return []Expr{apply("item scores gradient", tensor.Shape{r, z.p}, run{
			f64: func(dst []float64, src [][]float64, _ int) { z.z64().ScoresGrad(dst, src[0], places(src), m) },
			f32: func(dst []float32, src [][]float32, _ int) { z.z32().ScoresGrad(dst, src[0], places(src), m) },
		}.by(byRows).times(m).as(name+" gradient"), nil, in...), {}}[:len(in)]
	}, in...)
	if len(in) > 1 {
		return out.except(1)
	}
	return out
}

// places is the second operand, if there is one.
func places[T float](src [][]T) []T {
	if len(src) < 2 {
		return nil
	}
	return src[1]
}

func itemScores[T float](z *kernel.Items[T], dst []T, src [][]T, m, first int) {
	at := places(src)
	for j, a := range at {
		if _, ok := column(a, z.N); !ok && a != -1 {
			panic(rowError(fmt.Sprintf("row %d: item %v, want a whole number from 0 to %d, or −1", first+j/m, a,
				z.N-1)))
		}
	}
	z.Scores(dst, src[0], at, m)
}

// ItemLogProb returns the logarithms of the softmax over all n items at one item a_i of each row, [r]:
//
//	log π_i = z_{a_i}·u_i − log Σ_a exp(z_a·u_i)
//
// for u [r×p] and action [r], whole numbers in [0, n). With its derivative in u_i, z_{a_i} − Σ_a π(a) z_a, it
// takes one pass over the items and two products of r·n·p, and keeps no [r×n]. No derivative flows to action. A
// number outside the range is an error when the program runs.
func (u Expr) ItemLogProb(z *Items, action Expr) Expr {
	if bad, ok := z.fit(u, "ItemLogProb"); ok {
		return bad
	}
	if bad, ok := action.rank("ItemLogProb action", 1); ok {
		return bad
	}
	r, p := u.n.Shape()[0], z.p
	if action.n.Shape()[0] != r {
		return Fail("graph: ItemLogProb of %s at %s: one action a row is needed", u, action)
	}
	grad := false // known when the program is compiled, before it runs
	kernels := run{
		f64: func(dst []float64, src [][]float64, first int) { itemLogProb(z.z64(), dst, src, grad, first) },
		f32: func(dst []float32, src [][]float32, first int) { itemLogProb(z.z32(), dst, src, grad, first) },
	}
	if u.g.dt == tensor.Float64 {
		kernels = kernels.by(byRows).times(z.n)
	} else {
		kernels.vector = func(dst []float32, src [][]float32, threads int) bool {
			y := z.z32()
			size := itemRows(r, threads)
			workers.Do(threads, (r+size-1)/size, func(_, part int) {
				i, j := part*size, min(r, (part+1)*size)
				itemLogProb(y, dst[i*(p+1):j*(p+1)], [][]float32{src[0][i*p : j*p], src[1][i:j]}, grad, i)
			})
			return true
		}
	}
	// The gradient's rows come beside the value, in one pass.
	both := apply("item log-probability", tensor.Shape{r, p + 1}, kernels, nil, u, action)
	return apply("first column", tensor.Shape{r},
		run{f64: firstColumn[float64], f32: firstColumn[float32]}.by(byRows),
		func(in []Expr, _, g Expr, _ []bool) []Expr {
			grad = true
			return []Expr{apply("item log-probability gradient", tensor.Shape{r, p},
				run{f64: timesRest[float64], f32: timesRest[float32]}.by(byRows), nil, g, in[1]), {}}
		}, u, both).except(1)
}

// itemRows is how many rows of r a thread takes at a time: few enough that threads which come late
// can be helped.
func itemRows(r, threads int) int {
	if !simd.Vector() {
		return 4
	}
	return max(16, min(64, (r+2*threads-1)/(2*threads)+15)/16*16)
}

func itemLogProb[T float](z *kernel.Items[T], dst []T, src [][]T, grad bool, first int) {
	for i, a := range src[1] {
		if _, ok := column(a, z.N); !ok {
			panic(noColumn(a, z.N, first+i))
		}
	}
	z.LogProb(dst, src[0], src[1], grad)
}

func firstColumn[T float](dst []T, src [][]T, _ int) {
	c := len(src[1]) / len(dst)
	for i := range dst {
		dst[i] = src[1][i*c]
	}
}

// timesRest writes g_i times all but the first column of a row.
func timesRest[T float](dst []T, src [][]T, _ int) {
	c := len(dst) / len(src[0])
	for i, g := range src[0] {
		for j, v := range src[1][i*(c+1)+1 : (i+1)*(c+1)] {
			dst[i*c+j] = g * v
		}
	}
}

package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph/kernel/simd"
)

// Sum returns the sum of all elements, a scalar.
func (x Expr) Sum() Expr {
	if bad, ok := first(x); ok {
		return bad
	}
	return apply("sum", tensor.Shape{}, of1(sumTo[float64], sumTo[float32]).by(summing).as("sum"),
		func(in []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.fill(in[0].n.Shape())} }, x)
}

// Mean returns the mean of all elements, a scalar.
func (x Expr) Mean() Expr {
	if bad, ok := first(x); ok {
		return bad
	}
	return x.Sum().Scale(1 / float64(x.n.Shape().TotalSize()))
}

// SumOver sums a matrix [r×c] over an axis: 0 gives [c], the sum of the rows;
// 1 gives [r], the sum of each row's entries.
func (x Expr) SumOver(axis int) Expr {
	if bad, ok := x.rank("SumOver", 2); ok {
		return bad
	}
	r, c := x.n.Shape()[0], x.n.Shape()[1]
	switch axis {
	case 0:
		return apply("sum over rows", tensor.Shape{c}, of1(sumRows[float64], sumRows[float32]).as("sum rows"),
			func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.Down(r)} }, x)
	case 1:
		return apply("sum over columns", tensor.Shape{r}, of1(
			func(dst, x []float64) { simd.RowSums(dst, x, c) },
			func(dst, x []float32) { simd.RowSums(dst, x, c) }).by(byRows).as("sum columns"),
			func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.Across(c)} }, x)
	}
	return Fail("graph: SumOver axis %d, want 0 or 1", axis)
}

// MeanOver averages along an axis: SumOver divided by the length of the axis.
func (x Expr) MeanOver(axis int) Expr {
	s := x.SumOver(axis)
	if s.err != nil {
		return s
	}
	return s.Scale(1 / float64(x.n.Shape()[axis]))
}

// Across expands a vector [r] to [r×c]: entry i fills row i.
func (x Expr) Across(c int) Expr {
	if bad, ok := x.rank("Across", 1); ok {
		return bad
	}
	if c < 1 {
		return Fail("graph: Across of %s to %d columns, want at least 1", x, c)
	}
	if u, ok := x.uniform(); ok {
		return u.fill(tensor.Shape{x.n.Shape()[0], c})
	}
	if y, s, ok := x.repeated(); ok {
		return y.Across(c).RepeatRows(s)
	}
	return apply("across", tensor.Shape{x.n.Shape()[0], c}, of1(
		func(dst, x []float64) { simd.Across(dst, x, c) },
		func(dst, x []float32) { simd.Across(dst, x, c) }).by(byRows).simple("across"),
		func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.SumOver(1)} }, x)
}

// Down expands a vector [c] to [r×c]: every row is the vector.
func (x Expr) Down(r int) Expr {
	if bad, ok := x.rank("Down", 1); ok {
		return bad
	}
	if r < 1 {
		return Fail("graph: Down of %s to %d rows, want at least 1", x, r)
	}
	return apply("down", tensor.Shape{r, x.n.Shape()[0]}, of1(down[float64],
		down[float32]).by(broadcast).simple("down"),
		func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.SumOver(0)} }, x)
}

// RepeatRows repeats each row of a matrix, or each entry of a vector, s times,
// the copies next to each other: [b×c] to [b·s×c], [b] to [b·s]. It brings what
// belongs to an example to the rows of its noise draws.
func (x Expr) RepeatRows(s int) Expr {
	if bad, ok := x.rank("RepeatRows", 1, 2); ok {
		return bad
	}
	if s < 1 {
		return Fail("graph: RepeatRows of %s %d times, want at least 1", x, s)
	}
	if s == 1 {
		return x
	}
	shape := x.n.Shape().Clone()
	width := shape.TotalSize() / shape[0]
	shape[0] *= s
	return apply(repeatRows, shape, run{
		f64: func(dst []float64, src [][]float64, first int) { simd.Repeat(dst, src[0], width, s, first) },
		f32: func(dst []float32, src [][]float32, first int) { simd.Repeat(dst, src[0], width, s, first) },
	}.by(repeating).simple("repeat ", s),
		func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.SumGroups(s)} }, x)
}

const (
	repeatRows = "repeat rows"
	filled     = "fill"
)

// repeated returns y and s if x is y.RepeatRows(s).
func (x Expr) repeated() (y Expr, s int, ok bool) {
	o, _ := x.n.Op().(*op)
	if o == nil || o.name != repeatRows {
		return Expr{}, 0, false
	}
	return x.operand(), o.out[0] / o.in[0][0], true
}

// uniform returns the scalar that x is filled with, if it is.
func (x Expr) uniform() (y Expr, ok bool) {
	o, _ := x.n.Op().(*op)
	if o == nil || o.name != filled {
		return Expr{}, false
	}
	return x.operand(), true
}

// operand returns the first operand of the operation that made x.
func (x Expr) operand() Expr {
	it := x.g.g.From(x.n.ID())
	it.Next()
	return Expr{g: x.g, n: it.Node().(*gorgonia.Node)}
}

// SumGroups sums each group of s consecutive rows of a matrix, or entries of a
// vector: [b·s×c] to [b×c], [b·s] to [b].
func (x Expr) SumGroups(s int) Expr {
	if bad, ok := x.rank("SumGroups", 1, 2); ok {
		return bad
	}
	if s == 1 {
		return x
	}
	shape := x.n.Shape().Clone()
	if s < 1 || shape[0]%s != 0 {
		return Fail("graph: SumGroups of %d rows in %s, whose rows are no multiple", s, x)
	}
	width := shape.TotalSize() / shape[0]
	shape[0] /= s
	return apply("sum groups", shape, run{
		f64: func(dst []float64, src [][]float64, first int) { sumGroups(dst, src[0], width, s, first) },
		f32: func(dst []float32, src [][]float32, first int) { sumGroups(dst, src[0], width, s, first) },
	}.by(grouping).as("sum groups ", s),
		func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.RepeatRows(s)} }, x)
}

// MeanGroups averages over an example's draws: SumGroups divided by s.
func (x Expr) MeanGroups(s int) Expr { return x.SumGroups(s).Scale(1 / float64(s)) }

// Reshape returns a copy of x in another shape with as many elements, row by
// row.
func (x Expr) Reshape(shape ...int) Expr {
	if bad, ok := first(x); ok {
		return bad
	}
	from := x.n.Shape()
	if len(shape) > 2 || len(shape) > 0 && slices.Min(shape) < 1 ||
		tensor.Shape(shape).TotalSize() != from.TotalSize() {
		return Fail("graph: Reshape of %s to %s", x, shapeString(shape))
	}
	return apply("reshape", tensor.Shape(shape).Clone(), of1(copyTo[float64], copyTo[float32]),
		func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.Reshape(from...)} }, x)
}

// Best returns the smallest entry of a vector, a scalar: the value at the best
// point of a fixed grid. The derivative flows to the first smallest entry
// alone, so the grid point is constant for differentiation.
func (x Expr) Best() Expr {
	if bad, ok := x.rank("Best", 1); ok {
		return bad
	}
	n := x.n.Shape()[0]
	return apply("best", tensor.Shape{}, of1(bestTo[float64], bestTo[float32]),
		func(in []Expr, _, g Expr, _ []bool) []Expr {
			return []Expr{apply("best gradient", tensor.Shape{n}, of2(bestGrad[float64], bestGrad[float32]), nil,
				in[0], g)}
		}, x)
}

// fill expands a scalar to any shape.
func (x Expr) fill(shape tensor.Shape) Expr {
	if len(shape) == 0 {
		return x
	}
	return apply(filled, shape.Clone(), of1(fillTo[float64], fillTo[float32]).by(broadcast).simple("fill"),
		func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g.Sum()} }, x)
}

func sumTo[T float](dst, x []T) { dst[0] = T(simd.Sum(x)) }

func sumRows[T float](dst, x []T) {
	clear(dst)
	simd.AddRows(dst, x)
}

func down[T float](dst, x []T) {
	for ; len(dst) > 0; dst = dst[len(x):] {
		copy(dst, x)
	}
}

// sumGroups adds rows of the operand, which begin with row from, to dst.
func sumGroups[T float](dst, x []T, width, s, from int) {
	for len(x) > 0 {
		rows := min(s-from%s, len(x)/width)
		row := dst[from/s*width:][:width]
		if from%s == 0 {
			clear(row)
		}
		simd.AddRows(row, x[:rows*width])
		x = x[rows*width:]
		from += rows
	}
}

func copyTo[T float](dst, x []T) { copy(dst, x) }

func fillTo[T float](dst, x []T) { simd.Fill(dst, x[0]) }

// smallest returns the index of the first smallest entry, or of the first NaN.
func smallest[T float](xs []T) int {
	k := 0
	for i, x := range xs {
		if x != x {
			return i
		}
		if x < xs[k] {
			k = i
		}
	}
	return k
}

func bestTo[T float](dst, x []T) { dst[0] = x[smallest(x)] }

func bestGrad[T float](dst, x, g []T) {
	clear(dst)
	dst[smallest(x)] = g[0]
}

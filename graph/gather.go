package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Gather returns one entry of each row of a matrix x [r×c]: entry index[i] of
// row i, for index [r] of whole numbers in [0, c). No derivative flows to the
// index. A number outside the range is an error when the program runs.
func (x Expr) Gather(index Expr) Expr {
	if bad, ok := x.rank("Gather", 2); ok {
		return bad
	}
	if bad, ok := index.rank("Gather index", 1); ok {
		return bad
	}
	r, c := x.n.Shape()[0], x.n.Shape()[1]
	if index.n.Shape()[0] != r {
		return Fail("graph: Gather of %s by %s: one index a row is needed", x, index)
	}
	return apply("gather", tensor.Shape{r},
		run{f64: gatherTo[float64], f32: gatherTo[float32]}.by(byRows).as("gather"),
		func(in []Expr, _, g Expr, _ []bool) []Expr {
			return []Expr{g.scatter(in[1], c), {}}
		}, x, index).except(1)
}

// scatter puts entry i of a vector [r] into column index[i] of row i of an
// otherwise empty matrix [r×c].
func (x Expr) scatter(index Expr, c int) Expr {
	return apply("scatter", tensor.Shape{x.n.Shape()[0], c},
		run{f64: scatterTo[float64], f32: scatterTo[float32]}.by(byRows).simple("scatter"),
		func(in []Expr, _, g Expr, _ []bool) []Expr {
			return []Expr{g.Gather(in[1]), {}}
		}, x, index).except(1)
}

func gatherTo[T float](dst []T, src [][]T, first int) {
	x, c := src[0], len(src[0])/len(dst)
	for i, k := range src[1] {
		j, ok := column(k, c)
		if !ok {
			panic(noColumn(k, c, first+i))
		}
		dst[i] = x[i*c+j]
	}
}

func scatterTo[T float](dst []T, src [][]T, first int) {
	x, c := src[0], len(dst)/len(src[0])
	clear(dst)
	for i, k := range src[1] {
		j, ok := column(k, c)
		if !ok {
			panic(noColumn(k, c, first+i))
		}
		dst[i*c+j] = x[i]
	}
}

// column returns the index k, and whether it is one of c columns.
func column[T float](k T, c int) (int, bool) {
	j := int(k)
	return j, T(j) == k && 0 <= j && j < c
}

func noColumn[T float](k T, c, row int) rowError {
	return rowError(fmt.Sprintf("row %d: index %v, want a whole number from 0 to %d", row, k, c-1))
}

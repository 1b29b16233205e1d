package graph

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gorgonia.org/tensor"
)

// MatMul returns the matrix product x·y of [m×k] and [k×n].
func (x Expr) MatMul(y Expr) Expr { return matmul(x, y, false, false) }

// MatMulT returns x·yᵀ for x [m×k] and y [n×k]. Contexts times parameters is
// written this way, [B×d]·[K×d]ᵀ: with one action's parameters next to each
// other the product is many times faster than with [d×K].
func (x Expr) MatMulT(y Expr) Expr { return matmul(x, y, false, true) }

// matmul returns op(x)·op(y), where op transposes if tx or ty says so.
func matmul(x, y Expr, tx, ty bool) Expr {
	if bad, ok := x.rank("MatMul", 2); ok {
		return bad
	}
	if bad, ok := y.rank("MatMul", 2); ok {
		return bad
	}
	m, k := dims(x.n.Shape(), tx)
	k2, n := dims(y.n.Shape(), ty)
	if k != k2 {
		return Fail("graph: matrix product of %s and %s: inner dimensions %d and %d differ", x, y, k, k2)
	}
	xs, ys := x.n.Shape(), y.n.Shape()
	r := both(
		func(dst []float64, src [][]float64) {
			blas64.Gemm(trans(tx), trans(ty), 1,
				blas64.General{Rows: xs[0], Cols: xs[1], Stride: xs[1], Data: src[0]},
				blas64.General{Rows: ys[0], Cols: ys[1], Stride: ys[1], Data: src[1]},
				0, blas64.General{Rows: m, Cols: n, Stride: n, Data: dst})
		},
		func(dst []float32, src [][]float32) {
			blas32.Gemm(trans(tx), trans(ty), 1,
				blas32.General{Rows: xs[0], Cols: xs[1], Stride: xs[1], Data: src[0]},
				blas32.General{Rows: ys[0], Cols: ys[1], Stride: ys[1], Data: src[1]},
				0, blas32.General{Rows: m, Cols: n, Stride: n, Data: dst})
		})
	return apply("matmul", tensor.Shape{m, n}, r, func(in []Expr, _, g Expr, need []bool) []Expr {
		x, y := in[0], in[1]
		return []Expr{
			when(need[0], func() Expr { // g·op(y)ᵀ, transposed if x was
				if tx {
					return matmul(y, g, ty, true)
				}
				return matmul(g, y, false, !ty)
			}),
			when(need[1], func() Expr { // op(x)ᵀ·g, transposed if y was
				if ty {
					return matmul(g, x, true, tx)
				}
				return matmul(x, g, !tx, false)
			}),
		}
	}, x, y)
}

func dims(s tensor.Shape, transposed bool) (r, c int) {
	if transposed {
		return s[1], s[0]
	}
	return s[0], s[1]
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

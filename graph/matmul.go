package graph

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gorgonia.org/tensor"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
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
	r := of2(
		func(dst, x, y []float64) { times(dst, x, y, ys[0], ys[1], tx, ty, false) },
		func(dst, x, y []float32) { times(dst, x, y, ys[0], ys[1], tx, ty, false) }).as("matmul ", tx, ty)
	p := product{tx: tx, ty: ty, x: xs, y: ys, m: m, n: n}
	switch {
	case !tx && ty:
		p.rows, p.narrow = x.g.compressed(x), narrow(n, k)
	case tx && !ty:
		p.narrow = narrow(m, n)
		if m < sparseColumns && !simd.Scatters() {
			break
		}
		p.rows = x.g.compressed(y)
		r.sparseAt = 1
	}
	p.work = m * n * k
	r.vector, r.sparse, r.narrow = p.run, p.rows, p.narrow
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

// times writes op(x)·op(y) to dst, or adds it, where op transposes; y has so many rows and columns.
func times[T float](dst, x, y []T, rows, cols int, tx, ty, add bool) {
	k, n := dims(tensor.Shape{rows, cols}, ty)
	m := len(dst) / n
	xr, xc := dims(tensor.Shape{m, k}, tx)
	var beta T
	if add {
		beta = 1
	}
	switch dst := any(dst).(type) {
	case []float64:
		x, y := any(x).([]float64), any(y).([]float64)
		blas64.Gemm(trans(tx), trans(ty), 1, blas64.General{Rows: xr, Cols: xc, Stride: xc, Data: x},
			blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: y}, float64(beta), blas64.General{Rows: m,
				Cols: n, Stride: n, Data: dst})
	case []float32:
		x, y := any(x).([]float32), any(y).([]float32)
		if !simd.Vector() {
			blas32.Gemm(trans(tx), trans(ty), 1, blas32.General{Rows: xr, Cols: xc, Stride: xc, Data: x},
				blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: y}, float32(beta), blas32.General{Rows: m,
					Cols: n, Stride: n, Data: dst})
			return
		}
		a, b := simd.RowMajor(xr, xc, x), simd.RowMajor(rows, cols, y)
		if tx {
			a = a.T()
		}
		if ty {
			b = b.T()
		}
		if add {
			simd.GemmAdd32(dst, a, b)
		} else {
			simd.Gemm32(dst, a, b, 0, 1)
		}
	}
}

// product is a matrix product in float32 by vector kernels.
type product struct {
	tx, ty bool
	x, y   tensor.Shape
	m, n   int
	work   int         // multiplications
	rows   *compressed // the input among the operands, nil if it is none
	sums   []float32   // of a product that is scattered
	narrow bool        // see narrow
	at     []*float32  // the rows of the operand that has many
	packed []float32   // the other one
}

// narrow reports whether a product with a matrix of so many columns, of so many results for each of its rows,
// is done by [simd.Rows]: rows are then read where they lie, one after the other. Tiles are as fast from many
// results on, and need less memory.
func narrow(results, columns int) bool {
	return results <= 256 && columns >= 256 && results*columns <= 1<<20
}

// splitWork is the number of multiplications from which a product is worth a
// second thread.
const splitWork = 1 << 21

// run reports false if it cannot: the vector kernels are off.
func (p *product) run(dst []float32, src [][]float32, threads int) bool {
	if !simd.Vector() {
		return false
	}
	if p.work < splitWork {
		threads = 1
	}
	if p.rows != nil {
		input := src[0]
		if p.tx { // xᵀ·y with y the input
			input = src[1]
		}
		if p.rows.placed {
			p.byRows(simd.Rows{Cols: p.rows.cols, At: p.rows.at}, dst, src, threads)
			return true
		}
		if s := p.rows.get(input, threads); s != nil {
			p.sparse(s, dst, src, threads)
			return true
		}
	}
	if p.narrow && simd.ReadsRows() {
		many, d := src[0], p.x[1]
		if p.tx {
			many, d = src[1], p.y[1]
		}
		p.at = p.at[:0]
		for i := 0; i < len(many); i += d {
			p.at = append(p.at, &many[i])
		}
		p.byRows(simd.Rows{Cols: d, At: p.at}, dst, src, threads)
		return true
	}
	x, y := simd.RowMajor(p.x[0], p.x[1], src[0]), simd.RowMajor(p.y[0], p.y[1], src[1])
	if p.tx {
		x = x.T()
	}
	if p.ty {
		y = y.T()
	}
	workers.Do(threads, threads, func(_, part int) { simd.Gemm32(dst, x, y, part, threads) })
	return true
}

// byRows is run with the operand that has many rows as they lie in memory.
func (p *product) byRows(many simd.Rows, dst []float32, src [][]float32, threads int) {
	if p.tx {
		workers.Do(threads, threads, func(_, part int) { many.TMul(dst, src[0], p.m, part, threads) })
		return
	}
	panels, numbers := many.Packed(p.n)
	if p.packed == nil {
		p.packed = make([]float32, numbers)
	}
	workers.Do(threads, panels, func(_, panel int) { many.Pack(p.packed, src[1], p.n, panel) })
	workers.Do(threads, threads, func(_, part int) { many.MulT(dst, p.packed, p.n, part, threads) })
}

// sparse is run with the input without its zeros.
func (p *product) sparse(s *simd.Sparse, dst []float32, src [][]float32, threads int) {
	each := func(n int, f func(part int)) { workers.Do(threads, n, func(_, part int) { f(part) }) }
	switch {
	case p.tx && p.m < sparseColumns:
		parts, numbers := s.Scattered(p.m)
		if len(p.sums) < numbers {
			p.sums = make([]float32, numbers)
		}
		each(parts, func(part int) { s.Scatter(p.sums, src[0], p.m, part) })
		s.Gather(dst, p.sums, p.m)
	case p.tx:
		s.Prepare(each)
		parts := portions(p.m, threads)
		each(parts, func(part int) { s.TMul(dst, src[0], p.m, part, parts) })
	default:
		s.Split(p.n, each)
		parts := portions(p.n, threads)
		each(parts, func(part int) { s.MulT(dst, src[1], p.n, part, parts) })
	}
}

// portions is how many parts of a product of n columns there are, of one panel each: at least two for each thread.
func portions(n, threads int) int {
	panels := simd.Panels(n)
	if threads == 1 {
		return panels
	}
	return panels * ((2*threads + panels - 1) / panels)
}

const (
	// Inputs with a smaller share of elements that are not 0 are multiplied
	// without their zeros.
	sparseShare = 0.35
	// From so many rows of the result on, sorting an input by columns pays.
	sparseColumns = 64
)

// compressed is an input matrix without its zeros, for as long as a run lasts.
type compressed struct {
	rows, cols int
	alone      bool       // nothing but products without its zeros reads it, in compiled programs
	narrow     bool       // these are all narrow
	fed        bool       // without its zeros, by FeedSparse
	placed     bool       // by FeedRows
	at         []*float32 // where its rows lie then

	made   bool // in this run
	matrix simd.Sparse
	kept   *simd.Sparse // matrix, or nil
}

// compressed returns what is shared by all products with the input x, nil if x
// is no input.
func (g *Graph) compressed(x Expr) *compressed {
	for _, in := range g.inputs {
		if in.node == x.n {
			if in.compressed == nil {
				in.compressed = &compressed{rows: x.n.Shape()[0], cols: x.n.Shape()[1], alone: true, narrow: true}
			}
			return in.compressed
		}
	}
	return nil
}

// get returns the matrix, nil if it is dense, as its first rows tell.
func (c *compressed) get(x []float32, threads int) *simd.Sparse {
	if c.fed || c.made {
		return c.kept
	}
	c.made, c.kept = true, nil
	first := min(c.rows, compressRows) // a dense matrix needs no more room
	if !c.matrix.Reset(first, c.cols) || !c.few(c.matrix.Set(x, 0, first)) || !c.matrix.Reset(c.rows, c.cols) {
		return nil
	}
	c.kept = &c.matrix
	workers.Do(threads, (c.rows+compressRows-1)/compressRows, func(_, part int) {
		c.matrix.Set(x, part*compressRows, min(c.rows, (part+1)*compressRows))
	})
	return c.kept
}

// place stores where the rows lie, or these without their zeros; false: the input is to be fed in full.
func (c *compressed) place(row func(i int) []float32, threads int) bool {
	c.fed, c.placed = false, false
	if !c.alone || c.cols == 0 || !simd.Vector() {
		return false
	}
	c.at = c.at[:0]
	for i := range c.rows {
		x := row(i)
		if x == nil {
			c.fed, c.placed = false, false
			return false
		}
		x = x[:c.cols] // panics if it is shorter
		if c.at = append(c.at, &x[0]); i < min(c.rows, compressRows)-1 || c.fed || c.placed {
			continue
		}
		first := simd.Rows{Cols: c.cols, At: c.at}
		c.fed = c.matrix.Reset(i+1, c.cols) && c.few(c.matrix.SetPlaced(first, 0, i+1)) && c.matrix.Reset(c.rows,
			c.cols)
		if c.placed = !c.fed; c.placed && !(c.narrow && simd.ReadsRows()) {
			c.placed = false
			return false
		}
	}
	if c.fed {
		all := simd.Rows{Cols: c.cols, At: c.at}
		workers.Do(threads, (c.rows+compressRows-1)/compressRows, func(_, part int) {
			c.matrix.SetPlaced(all, part*compressRows, min(c.rows, (part+1)*compressRows))
		})
		c.kept = &c.matrix
	}
	return true
}

// few says of the number of elements that are not 0 in the first rows whether to multiply without zeros.
func (c *compressed) few(elements int) bool {
	return elements <= int(sparseShare*float64(min(c.rows, compressRows)*c.cols))
}

// feed stores the rows; false: the input is to be fed in full.
func (c *compressed) feed(row func(i int, val []float32, at []int32) int, threads int) bool {
	if !c.alone || !simd.Vector() || !c.matrix.Reset(c.rows, c.cols) {
		return false
	}
	set := func(part int) int {
		return c.matrix.SetRows(part*compressRows, min(c.rows, (part+1)*compressRows), row)
	}
	if !c.few(set(0)) {
		return false
	}
	workers.Do(threads, (c.rows-1)/compressRows, func(_, part int) { set(part + 1) })
	c.kept = &c.matrix
	return true
}

// compressRows is how many rows are compressed at a time.
const compressRows = 16

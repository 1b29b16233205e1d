package regress

import (
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Design is the features x_i of rows, linear in its coefficients: Dim of them for each of k outputs.
type Design interface {
	Len() int
	Dim() int
	// Pass computes the scores x_iᵀθ_a of rows from ≤ i < to, [(to−from)×k] in scores, calls loss, which replaces
	// each by a derivative g_ia, and adds Σ_i g_ia x_i to grad. theta and grad are [k×Dim].
	Pass(grad, theta, scores []float64, k, from, to int, loss func())
}

// Matrix is a dense design: row i is Width numbers of Data from i·Stride on.
type Matrix struct {
	Width  int       // columns
	Stride int       // 0: Width
	Data   []float64 // row by row
}

// Len is the number of rows.
func (m Matrix) Len() int { return len(m.Data) / max(1, m.stride()) }

func (m Matrix) stride() int { return max(m.Stride, m.Width) }

func (m Matrix) row(i int) []float64 { return m.Data[i*m.stride():][:m.Width] }

// squares are Σ_i x_ij² by column.
func (m Matrix) squares() []float64 {
	square := make([]float64, m.Width)
	for i := range m.Len() {
		for j, v := range m.row(i) {
			square[j] += v * v
		}
	}
	return square
}

// Dim returns the number of columns.
func (m Matrix) Dim() int { return m.Width }

// Row64 writes row i to dst.
func (m Matrix) Row64(i int, dst []float64) { copy(dst, m.row(i)) }

// Pass implements [Design].
func (m Matrix) Pass(grad, theta, scores []float64, k, from, to int, loss func()) {
	d, n, stride := m.Width, to-from, m.stride()
	if d == 0 {
		clear(scores)
		loss()
		return
	}
	x := blas64.General{Rows: n, Cols: d, Stride: stride, Data: m.Data[from*stride : (to-1)*stride+d]}
	if k == 1 {
		s := blas64.Vector{N: n, Inc: 1, Data: scores}
		blas64.Gemv(blas.NoTrans, 1, x, blas64.Vector{N: d, Inc: 1, Data: theta}, 0, s)
		loss()
		blas64.Gemv(blas.Trans, 1, x, s, 1, blas64.Vector{N: d, Inc: 1, Data: grad})
		return
	}
	s := blas64.General{Rows: n, Cols: k, Stride: k, Data: scores}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, blas64.General{Rows: k, Cols: d, Stride: d, Data: theta}, 0, s)
	loss()
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, s, x, 1, blas64.General{Rows: k, Cols: d, Stride: d, Data: grad})
}

// Rows can be read row by row, as the contexts of a log can.
type Rows interface {
	Len() int
	Dim() int
	Row64(i int, dst []float64) // writes row i to dst [Dim]
}

// Read returns the design of some rows of x, in their order. It keeps the first of them in memory, up to held
// numbers, and reads the rest anew in each pass.
func Read(x Rows, rows []int, held int) Design {
	d := x.Dim()
	n := min(len(rows), held/max(1, d))
	first := Matrix{Width: d, Data: make([]float64, n*d)}
	for i, r := range rows[:n] {
		x.Row64(r, first.Data[i*d:(i+1)*d])
	}
	if n == len(rows) && d > 0 {
		return first
	}
	return &read{first: first, x: x, rows: rows}
}

// read is a design that is not, or not all, in memory.
type read struct {
	first   Matrix
	x       Rows
	rows    []int
	buffers sync.Pool
}

func (r *read) Len() int { return len(r.rows) }
func (r *read) Dim() int { return r.first.Width }

func (r *read) Pass(grad, theta, scores []float64, k, from, to int, loss func()) {
	if to*r.first.Width <= len(r.first.Data) {
		r.first.Pass(grad, theta, scores, k, from, to, loss)
		return
	}
	buffer, _ := r.buffers.Get().(*Matrix)
	if buffer == nil {
		buffer = &Matrix{Width: r.first.Width, Data: make([]float64, BlockRows*r.first.Width)}
	}
	defer r.buffers.Put(buffer)
	d := buffer.Width
	for i, row := range r.rows[from:to] {
		r.x.Row64(row, buffer.Data[i*d:(i+1)*d])
	}
	buffer.Pass(grad, theta, scores, k, 0, to-from, loss)
}

// Sparse is a design of rows without their zeros, and an intercept: a last column that is 1.
type Sparse struct {
	N     int                                              // rows
	Scale []float64                                        // [columns] by which their values are multiplied
	Row   func(i int) (columns []uint32, values []float64) // of what is not 0 in row i
}

// Len is the number of rows.
func (s *Sparse) Len() int { return s.N }

// Dim returns the number of columns, with the intercept.
func (s *Sparse) Dim() int { return len(s.Scale) + 1 }

// Pass implements [Design].
func (s *Sparse) Pass(grad, theta, scores []float64, k, from, to int, loss func()) {
	for i := from; i < to; i++ {
		columns, values := s.Row(i)
		s.Scores(scores[(i-from)*k:(i-from+1)*k], theta, columns, values)
	}
	loss()
	d := s.Dim()
	for i := from; i < to; i++ {
		columns, values := s.Row(i)
		for a, g := range scores[(i-from)*k : (i-from+1)*k] {
			row := grad[a*d : a*d+d]
			for j, c := range columns {
				row[c] += g * values[j] * s.Scale[c]
			}
			row[d-1] += g
		}
	}
}

// Scores writes xᵀθ_a of one row to dst [k].
func (s *Sparse) Scores(dst, theta []float64, columns []uint32, values []float64) {
	d := s.Dim()
	for a := range dst {
		row := theta[a*d : a*d+d]
		score := row[d-1]
		for j, c := range columns {
			score += row[c] * values[j] * s.Scale[c]
		}
		dst[a] = score
	}
}

// Grouped is a design whose rows share coefficients and have some of their group alone:
//
//	score_i = u_iᵀθ_0 + v_iᵀθ_{g_i}
//
// u_i is row i of Shared, v_i that of Own, and g_i its group; a negative one has no coefficients of its own. θ is
// θ_0, then θ_0 … θ_{Groups−1} of the groups: [Shared.Width + Groups×Own.Width]. It has one output.
type Grouped struct {
	Shared, Own Matrix  // u and v of every row
	Group       []int32 // g of every row
	Groups      int     // number of groups
}

// Len is the number of rows.
func (g *Grouped) Len() int { return len(g.Group) }

// Dim returns the number of coefficients.
func (g *Grouped) Dim() int { return g.Shared.Width + g.Groups*g.Own.Width }

// Pass implements [Design].
func (g *Grouped) Pass(grad, theta, scores []float64, k, from, to int, loss func()) {
	s, d := g.Shared.Width, g.Own.Width
	for i := from; i < to; i++ {
		v := floats.Dot(g.Shared.row(i), theta[:s])
		if a := int(g.Group[i]); a >= 0 {
			v += floats.Dot(g.Own.row(i), theta[s+a*d:s+(a+1)*d])
		}
		scores[i-from] = v
	}
	loss()
	for i := from; i < to; i++ {
		v := scores[i-from]
		floats.AddScaled(grad[:s], v, g.Shared.row(i))
		if a := int(g.Group[i]); a >= 0 {
			floats.AddScaled(grad[s+a*d:s+(a+1)*d], v, g.Own.row(i))
		}
	}
}

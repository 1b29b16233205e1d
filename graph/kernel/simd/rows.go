package simd

import "unsafe"

// Rows is a matrix of float32 whose rows lie anywhere in memory, for products with few columns, that read
// each row where it is, and one after the other. Their sums are those of [Gemm32], in its order: the same bits.
type Rows struct {
	Cols int
	At   []*float32 // where each row begins
}

const (
	rowsBlock   = 8   // rows that are taken at a time
	rowsColumns = 32  // columns of timesRows are a multiple
	rowsStrip   = 512 // and so many at a time
)

// ReadsRows reports whether there are kernels for [Rows].
func ReadsRows() bool { return has(kRows) }

// Dense writes the matrix to dst, row-major.
func (x Rows) Dense(dst []float32) {
	for i, p := range x.At {
		copy(dst[i*x.Cols:], unsafe.Slice(p, x.Cols))
	}
}

// MulT writes a part of x·bᵀ to dst [rows×n], for b [n×Cols] row-major; see Gemm32 for parts. The vector kernels must be on.
func (x Rows) MulT(dst, b []float32, n, part, parts int) {
	blocks := (len(x.At) + rowsBlock - 1) / rowsBlock
	from, to := blocks*part/parts, blocks*(part+1)/parts
	if from == to {
		return
	}
	panels := (n + tileCols - 1) / tileCols
	mem := borrow(panels*x.Cols*tileCols + rowsBlock*tileCols)
	defer buffers.Put(mem)
	packed, c := (*mem)[:panels*x.Cols*tileCols], (*mem)[panels*x.Cols*tileCols:]
	right := RowMajor(n, x.Cols, b).T()
	for p := range panels {
		packCols(packed[p*x.Cols*tileCols:(p+1)*x.Cols*tileCols], right, 0, x.Cols, p*tileCols, min(n, (p+1)*tileCols))
	}
	var some [rowsBlock]*float32
	for i := from * rowsBlock; i < min(len(x.At), to*rowsBlock); i += rowsBlock {
		here := x.At[i:min(len(x.At), i+rowsBlock)]
		for r := range some {
			some[r] = here[min(r, len(here)-1)] // of those beyond nothing is kept
		}
		for p := range panels {
			for t := 0; t < x.Cols; t += depth {
				rowsTimes(&c[0], &some, t, &packed[(p*x.Cols+t)*tileCols], min(depth, x.Cols-t), t > 0)
			}
			j, w := p*tileCols, min(tileCols, n-p*tileCols)
			for r := range here {
				copy(dst[(i+r)*n+j:(i+r)*n+j+w], c[r*tileCols:])
			}
		}
	}
}

// rowsTimes is c [8×16] (+)= Σ_t x_r[at+t]·b[16t + j] of so many terms t.
func rowsTimes(c *float32, rows *[rowsBlock]*float32, at int, b *float32, terms int, add bool) {
	if level[kRows] >= avx512 {
		rows8x16(c, &rows[0], at, b, terms, add)
		return
	}
	rows4(c, &rows[0], at, b, terms, add)
	rows4((*float32)(unsafe.Add(unsafe.Pointer(c), rowsBlock/2*tileCols*4)), &rows[rowsBlock/2], at, b, terms, add)
}

// TMul writes a part of aᵀ·x to dst [n×Cols], for a [rows×n] row-major; see Gemm32 for parts. The vector kernels must be on.
func (x Rows) TMul(dst, a []float32, n, part, parts int) {
	strips := (x.Cols + rowsColumns - 1) / rowsColumns
	from, to := strips*part/parts*rowsColumns, min(x.Cols, strips*(part+1)/parts*rowsColumns)
	if from >= to {
		return
	}
	rows, pairs := len(x.At), (n+1)/2
	tail := (to - from) % rowsColumns
	mem := borrow(2*pairs*(rows+rowsStrip) + rows*rowsColumns*min(tail, 1))
	defer buffers.Put(mem)
	g, rest := (*mem)[:2*pairs*rows], (*mem)[2*pairs*rows:]
	sums, rest := rest[:2*pairs*rowsStrip], rest[2*pairs*rowsStrip:]
	// Blocks of rows of a, pairs of its columns one after the other.
	for i := 0; i < rows; i += rowsBlock {
		block := g[2*pairs*i:]
		m := min(rowsBlock, rows-i)
		for r := range m {
			row := a[(i+r)*n : (i+r+1)*n]
			for k, v := range row {
				block[k/2*2*m+2*r+k%2] = v
			}
			if n%2 == 1 {
				block[n/2*2*m+2*r+1] = 0
			}
		}
	}
	for j := from; j < to-tail; j += rowsStrip {
		x.strip(dst, g, sums, n, j, j, min(rowsStrip, to-tail-j), min(rowsStrip, to-tail-j), x.At)
	}
	if tail == 0 {
		return
	}
	// The last columns are copied.
	clear(rest)
	at, j := make([]*float32, rows), to-tail
	for i, p := range x.At {
		at[i] = &rest[i*rowsColumns]
		copy(rest[i*rowsColumns:], unsafe.Slice(p, x.Cols)[j:to])
	}
	x.strip(dst, g, sums, n, j, 0, rowsColumns, tail, at)
}

// strip computes columns j… of dst, as many as wanted, from columns of rows.
func (x Rows) strip(dst, g, sums []float32, n, j, at, columns, wanted int, rows []*float32) {
	pairs := (n + 1) / 2
	kernel := addRows32
	if level[kRows] >= avx512 {
		kernel = addRows128
	}
	for t := 0; t < len(rows); t += depth {
		end := min(len(rows), t+depth)
		for i := t; i < end; i += rowsBlock {
			kernel(&sums[0], rowsStrip, &rows[i], at, columns, &g[2*pairs*i], min(rowsBlock, end-i), pairs, i > t)
		}
		for k := range n {
			to, from := dst[k*x.Cols+j:k*x.Cols+j+wanted], sums[k*rowsStrip:k*rowsStrip+wanted]
			if t == 0 {
				copy(to, from)
			} else {
				Add(to, to, from)
			}
		}
	}
}

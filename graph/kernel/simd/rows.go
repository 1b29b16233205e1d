package simd

import "unsafe"

// Rows is a matrix of float32 whose rows lie anywhere in memory, for products with few columns, that read
// each row where it is, and one after the other. Their sums are those of [Gemm32], in its order: the same bits.
type Rows struct {
	Cols int
	At   []*float32 // where each row begins
}

const (
	rowsBlock   = 8   // rows of a product x·bᵀ that are taken at a time
	rowsGroup   = 128 // and that pass the panels of many columns together
	rowsPanel   = 16  // columns of a panel of it
	rowsFive    = 5   // rows of the result of a product aᵀ·x that its kernel computes at a time
	rowsTall    = 64  // rows of x that it takes
	rowsColumns = 16  // their columns are a multiple
	rowsKept    = 64  // columns of so many rows lie next to one another while they are read again and again
	rowsStrip   = 512 // columns that are taken at a time, of all rows
)

// ReadsRows reports whether there are kernels for [Rows].
func ReadsRows() bool { return has(kRows) }

// Dense writes the matrix to dst, row-major.
func (x Rows) Dense(dst []float32) {
	for i, p := range x.At {
		copy(dst[i*x.Cols:], unsafe.Slice(p, x.Cols))
	}
}

// Packed says into how many panels [Rows.MulT] divides n columns, and how many numbers all of them are.
func (x Rows) Packed(n int) (panels, numbers int) {
	panels = (n + rowsPanel - 1) / rowsPanel
	return panels, panels * rowsPanel * x.Cols
}

// Pack writes a panel of b [n×Cols], row-major, to where all of them are for MulT.
func (x Rows) Pack(packed, b []float32, n, panel int) {
	size, cols := x.Cols*rowsPanel, min(rowsPanel, n-panel*rowsPanel)
	packed = packed[panel*size : (panel+1)*size]
	if cols < rowsPanel {
		clear(packed)
	}
	transpose(packed, rowsPanel, b[panel*size:], x.Cols, cols, x.Cols)
}

// MulT writes a part of x·bᵀ to dst [rows×n], of the panels of b that have been packed; see Gemm32 for parts. The vector kernels must be on.
func (x Rows) MulT(dst, packed []float32, n, part, parts int) {
	blocks := (len(x.At) + rowsBlock - 1) / rowsBlock
	from, to := blocks*part/parts, blocks*(part+1)/parts
	if from == to {
		return
	}
	panels, _ := x.Packed(n)
	mem := borrow(panels * rowsGroup * rowsPanel)
	defer buffers.Put(mem)
	// Rows pass once through few panels; of many the terms that are at hand stay in the second cache.
	group := rowsBlock
	if panels > 3 {
		group = rowsGroup
	}
	for i := from * rowsBlock; i < min(len(x.At), to*rowsBlock); i += group {
		x.multiply(dst, *mem, packed, n, i, min(len(x.At), to*rowsBlock, i+group))
	}
}

// multiply computes rows i… to end of x·bᵀ.
func (x Rows) multiply(dst, c, packed []float32, n, i, end int) {
	panels, _ := x.Packed(n)
	size := panels * rowsBlock * rowsPanel
	for t := 0; t < x.Cols; t += depth {
		terms := min(depth, x.Cols-t)
		for r := i; r < end; r += rowsBlock {
			var rows [rowsBlock]*float32
			for j := range rows {
				rows[j] = x.At[min(r+j, end-1)] // of those beyond nothing is kept
			}
			sums := c[(r-i)/rowsBlock*size:][:size]
			for p := 0; p < panels; p++ {
				to, b := sums[p*rowsBlock*rowsPanel:], packed[(p*x.Cols+t)*rowsPanel:]
				switch {
				case level[kRows] < avx512:
					rows4x16(&to[0], &rows[0], t, &b[0], terms, t > 0)
					rows4x16(&to[rowsBlock/2*rowsPanel], &rows[rowsBlock/2], t, &b[0], terms, t > 0)
				case p+1 < panels:
					rows8x32(&to[0], &rows[0], t, &b[0], x.Cols*rowsPanel, terms, t > 0)
					p++
				default:
					rows8x16(&to[0], &rows[0], t, &b[0], terms, t > 0)
				}
			}
		}
	}
	for r := i; r < end; r++ {
		block := c[(r-i)/rowsBlock*size+(r-i)%rowsBlock*rowsPanel:]
		for j := 0; j < n; j += rowsPanel {
			copy(dst[r*n+j:r*n+min(n, j+rowsPanel)], block[j*rowsBlock:])
		}
	}
}

// TMul writes a part of aᵀ·x to dst [n×Cols], for a [rows×n] row-major; see Gemm32 for parts. The vector kernels must be on.
func (x Rows) TMul(dst, a []float32, n, part, parts int) {
	strips := (x.Cols + rowsColumns - 1) / rowsColumns
	from, to := strips*part/parts*rowsColumns, min(x.Cols, strips*(part+1)/parts*rowsColumns)
	if from >= to {
		return
	}
	rows, wide := len(x.At), (n+rowsFive-1)/rowsFive*rowsFive
	tail := (to - from) % rowsColumns
	mem := borrow(wide*(rows+rowsStrip) + rowsTall*rowsKept + rows*rowsColumns*min(tail, 1))
	defer buffers.Put(mem)
	g, rest := (*mem)[:wide*rows], (*mem)[wide*rows:]
	sums, rest := rest[:wide*rowsStrip], rest[wide*rowsStrip:]
	kept, rest := rest[:rowsTall*rowsKept], rest[rowsTall*rowsKept:]
	// Blocks of rows of a, groups of its columns one after the other.
	for i := 0; i < rows; i += rowsTall {
		block := g[wide*i:]
		m := min(rowsTall, rows-i)
		for k := 0; k < n; k += rowsFive {
			group, from := block[k*m:(k+rowsFive)*m], a[i*n+k:]
			if k+rowsFive <= n {
				for r := range m {
					*(*[rowsFive]float32)(group[rowsFive*r:]) = *(*[rowsFive]float32)(from[r*n:])
				}
				continue
			}
			clear(group)
			for r := range m {
				copy(group[rowsFive*r:], from[r*n:r*n+n-k])
			}
		}
	}
	for j := from; j < to-tail; j += rowsStrip {
		x.strip(dst, g, sums, kept, n, j, j, min(rowsStrip, to-tail-j), min(rowsStrip, to-tail-j), x.At)
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
	x.strip(dst, g, sums, kept, n, j, 0, rowsColumns, tail, at)
}

// strip computes columns j… of dst, as many as wanted, from columns of rows.
func (x Rows) strip(dst, g, sums, kept []float32, n, j, at, columns, wanted int, rows []*float32) {
	wide := (n + rowsFive - 1) / rowsFive * rowsFive
	kernel := addRows16
	if level[kRows] >= avx512 {
		kernel = addRows64
	}
	var near [rowsTall]*float32
	for r := range near {
		near[r] = &kept[r*rowsKept]
	}
	for t := 0; t < len(rows); t += depth {
		end := min(len(rows), t+depth)
		for i := t; i < end; i += rowsTall {
			m, by := min(rowsTall, end-i), g[wide*i:]
			for c := 0; c < columns; c += rowsKept {
				w := min(rowsKept, columns-c)
				kernel(&sums[c], rowsStrip, &rows[i], at+c, w, &by[0], m, 1, i > t, &kept[0])
				if n > rowsFive {
					kernel(&sums[rowsFive*rowsStrip+c], rowsStrip, &near[0], 0, w, &by[rowsFive*m], m, wide/rowsFive-1, i > t, nil)
				}
			}
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

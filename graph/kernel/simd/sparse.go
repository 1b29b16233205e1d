package simd

import (
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Sparse is a matrix of which only the elements that are not 0 are stored, row by
// row, and column by column as well once that is asked for. The zero value is
// ready for Reset.
type Sparse struct {
	Rows, Cols int

	ptr, idx       []int32 // elements ptr[2i]..ptr[2i+1] are row i's, idx their columns
	val            []float32
	colPtr, colIdx []int32 // the same by columns
	colVal         []float32
	byCols         bool
	next           []int32 // while they are sorted: where a part of the rows has its next element of a column

	// The same by blocks of rows of a panel, ptr and colPtr of one block after the other's.
	blockPtr, colBlocks []int32
	byBlocks            bool
}

// panelRows is about how many rows of a panel the first cache has room for, beside what is read and written.
const panelRows = 128

// blocksOf is into how many blocks a panel of n rows is divided, and how many rows each has.
func blocksOf(n int) (blocks, rows int) {
	blocks = max(1, (n+panelRows/2)/panelRows)
	return blocks, (n + blocks - 1) / blocks
}

// inBlocks reports whether there are kernels that take a panel block by block.
func inBlocks() bool { return level[kPanels] >= avx512 }

// panelCols are the columns of a product that a sparse kernel computes at a time.
const panelCols = 64

// Panels counts the panels that n columns of a product make.
func Panels(n int) int { return (n + panelCols - 1) / panelCols }

// share is what a part of a product of n columns computes: columns from..to, and a set of so many sets of their rows.
func share(n, part, parts int) (from, to, set, sets int) {
	if p := Panels(n); parts%p == 0 {
		from = part % p * panelCols
		return from, min(n, from+panelCols), part / p, parts / p
	}
	return 0, n, part, parts
}

// Reset begins another matrix, of which all rows are to be Set. It reports false
// if there is no room for it. The vector kernels must be on.
func (s *Sparse) Reset(rows, cols int) bool {
	room := rows * (cols + Lanes) // compress32 writes beyond what it needs
	if room > math.MaxInt32 {
		return false
	}
	if cap(s.val) < room {
		s.val, s.idx = make([]float32, room), make([]int32, room)
	}
	if cap(s.ptr) < 2*rows {
		s.ptr = make([]int32, 2*rows)
	}
	s.Rows, s.Cols, s.byCols, s.byBlocks = rows, cols, false, false
	s.val, s.idx, s.ptr = s.val[:room], s.idx[:room], s.ptr[:2*rows]
	return true
}

// Set stores rows from..to of x [Rows×Cols], next to one another, and returns how many elements of them
// are not 0. Different rows may be set at the same time.
func (s *Sparse) Set(x []float32, from, to int) int {
	first := from * (s.Cols + Lanes)
	n := first
	for i := from; i < to; i++ {
		n = s.set(i, n, x[i*s.Cols:(i+1)*s.Cols])
	}
	return n - first
}

// SetPlaced does what Set does for rows that lie apart in memory.
func (s *Sparse) SetPlaced(x Rows, from, to int) int {
	first := from * (s.Cols + Lanes)
	n := first
	for i := from; i < to; i++ {
		n = s.set(i, n, unsafe.Slice(x.At[i], s.Cols))
	}
	return n - first
}

// set stores row i from element n on, and returns where the next one may begin.
func (s *Sparse) set(i, n int, row []float32) int {
	begin, whole := n, s.Cols&^(Lanes-1)
	if whole > 0 {
		n += compress32(&s.val[n], &s.idx[n], &row[0], whole, &lanesOf)
	}
	for j := whole; j < s.Cols; j++ {
		if row[j] != 0 {
			s.val[n], s.idx[n] = row[j], int32(j)
			n++
		}
	}
	s.ptr[2*i], s.ptr[2*i+1] = int32(begin), int32(n)
	return n
}

// SetRows does what Set does for rows that fill writes: the elements of row i that are not 0 and their columns,
// ascending, to slices of Cols elements. Fill returns how many there are. A column that there is not panics.
func (s *Sparse) SetRows(from, to int, fill func(i int, val []float32, columns []int32) int) int {
	first := from * (s.Cols + Lanes)
	n := first
	for i := from; i < to; i++ {
		begin := n
		n += fill(i, s.val[n:n+s.Cols:n+s.Cols], s.idx[n:n+s.Cols:n+s.Cols])
		if n < begin || n > begin+s.Cols || n > begin && last(s.idx[begin:n]) >= uint32(s.Cols) {
			panic(fmt.Sprintf("simd: row %d of a sparse matrix of %d columns has %d elements, or one beyond", i, s.Cols, n-begin))
		}
		s.ptr[2*i], s.ptr[2*i+1] = int32(begin), int32(n)
	}
	return n - first
}

// last is the largest of some columns; one below 0 is larger than all others.
func last(columns []int32) (most uint32) {
	if n := len(columns) &^ (Lanes - 1); n > 0 && has(kPanels) {
		most, columns = most32(&columns[0], n), columns[n:]
	}
	for _, j := range columns {
		most = max(most, uint32(j))
	}
	return most
}

// Prepare makes what TMul needs, for all its parts, unless it is there: it sorts
// the elements by columns. Each is to call f for each number below n, at the same time or, as [One], one after the other.
func (s *Sparse) Prepare(each func(n int, f func(part int))) {
	if s.byCols {
		return
	}
	s.byCols = true
	blocks, rows := blocksOf(s.Rows)
	parts := blocks
	if blocks == 1 {
		parts, rows = 2, (s.Rows+1)/2
	}
	s.next = slices.Grow(s.next[:0], parts*s.Cols)[:parts*s.Cols]
	each(parts, func(part int) {
		counts := s.next[part*s.Cols : (part+1)*s.Cols]
		clear(counts)
		for i := part * rows; i < min(s.Rows, (part+1)*rows); i++ {
			if begin, end := s.ptr[2*i], s.ptr[2*i+1]; begin < end {
				tally32(&counts[0], &s.idx[begin], int(end-begin))
			}
		}
	})
	s.colPtr = slices.Grow(s.colPtr[:0], 2*s.Cols)[:2*s.Cols]
	s.colBlocks = slices.Grow(s.colBlocks[:0], blocks*2*s.Cols)[:blocks*2*s.Cols]
	n := int32(0)
	for j := range s.Cols {
		s.colPtr[2*j] = n
		for part := range parts {
			at := part*s.Cols + j
			begin := n
			n += s.next[at]
			s.next[at] = begin
			if blocks > 1 {
				s.colBlocks[2*at], s.colBlocks[2*at+1] = begin, n
			}
		}
		s.colPtr[2*j+1] = n
	}
	if blocks == 1 {
		copy(s.colBlocks, s.colPtr)
	}
	if cap(s.colVal) <= int(n) {
		s.colVal, s.colIdx = make([]float32, n+n/4+1), make([]int32, n+n/4+1)
	}
	val, idx := s.colVal[:cap(s.colVal)], s.colIdx[:cap(s.colIdx)]
	each(parts, func(part int) {
		next := s.next[part*s.Cols : (part+1)*s.Cols]
		for i := part * rows; i < min(s.Rows, (part+1)*rows); i++ {
			if begin, end := s.ptr[2*i], s.ptr[2*i+1]; begin < end {
				deal32(&val[0], &idx[0], &next[0], &s.val[begin], &s.idx[begin], int(end-begin), i)
			}
		}
	})
}

// Split finds where the blocks of columns begin in the rows, for MulT, unless it is known or would not pay
// for a product of n columns. Each is that of [Sparse.Prepare].
func (s *Sparse) Split(n int, each func(n int, f func(part int))) {
	blocks, cols := blocksOf(s.Cols)
	if s.byBlocks || !inBlocks() || blocks == 1 || Panels(n) < 4 {
		return
	}
	s.byBlocks = true
	s.blockPtr = slices.Grow(s.blockPtr[:0], blocks*2*s.Rows)[:blocks*2*s.Rows]
	const rows = 64
	each((s.Rows+rows-1)/rows, func(part int) {
		ends := make([]int32, blocks)
		for i := part * rows; i < min(s.Rows, (part+1)*rows); i++ {
			begin, end := s.ptr[2*i], s.ptr[2*i+1]
			ends[blocks-1] = end - begin
			below32(&ends[0], &s.idx[begin], int(end-begin), cols, blocks-1)
			at := begin
			for b, n := range ends {
				place := b*2*s.Rows + 2*i
				s.blockPtr[place], s.blockPtr[place+1] = at, begin+n
				at = begin + n
			}
		}
	})
}

// One does f for each number below n, one after the other.
func One(n int, f func(part int)) {
	for part := range n {
		f(part)
	}
}

// MulT writes a part of s·bᵀ to dst [Rows×b.Rows], for b [n×Cols] row-major; see
// Gemm32 for parts. Where they are a multiple of [Panels] each is of one panel, else each transposes all of b.
func (s *Sparse) MulT(dst, b []float32, n, part, parts int) {
	j, end, set, sets := share(n, part, parts)
	row, rows := s.Rows*set/sets, s.Rows*(set+1)/sets
	if row == rows {
		return
	}
	mem := borrow((s.Cols + rows - row) * panelCols)
	defer buffers.Put(mem)
	for j < end {
		w := panelWidth(end - j)
		cols := min(w, end-j)
		panel, out := (*mem)[:s.Cols*w], (*mem)[s.Cols*w:]
		if cols < w {
			clear(panel)
		}
		transpose(panel, w, b[j*s.Cols:], s.Cols, cols, s.Cols)
		ptr := s.ptr
		if s.byBlocks && w == panelCols {
			ptr = s.blockPtr
		}
		spmm(out, w, rows-row, ptr[2*row:], 2*s.Rows, s.idx, s.val, panel)
		for i := row; i < rows; i++ {
			copy(dst[i*n+j:i*n+j+cols], out[(i-row)*w:])
		}
		j += cols
	}
}

// TMul writes a part of aᵀ·s to dst [n×Cols], for a [Rows×n] row-major, after
// Prepare; see Gemm32 for parts. Where they are a multiple of [Panels] each is of one panel, else each copies all of a.
func (s *Sparse) TMul(dst, a []float32, n, part, parts int) {
	const chunk = 64 // columns of s at a time
	chunks := (s.Cols + chunk - 1) / chunk
	k, end, set, sets := share(n, part, parts)
	from, to := chunks*set/sets*chunk, min(s.Cols, chunks*(set+1)/sets*chunk)
	if from >= to {
		return
	}
	mem := borrow((s.Rows + chunk) * panelCols)
	defer buffers.Put(mem)
	for k < end {
		w := panelWidth(end - k)
		cols := min(w, end-k)
		panel, out := (*mem)[:s.Rows*w], (*mem)[s.Rows*w:]
		if cols < w {
			clear(panel)
		}
		for i := range s.Rows {
			copy(panel[i*w:(i+1)*w], a[i*n+k:i*n+k+cols])
		}
		for j := from; j < to; j += chunk {
			c := min(chunk, to-j)
			ptr := s.colPtr
			if w == panelCols && inBlocks() {
				ptr = s.colBlocks
			}
			spmm(out, w, c, ptr[2*j:], 2*s.Cols, s.colIdx, s.colVal, panel)
			transpose(dst[k*s.Cols+j:], s.Cols, out, w, c, cols)
		}
		k += cols
	}
}

// Scatters reports whether there is a kernel for [Sparse.Scatter].
func Scatters() bool { return has(kScatter) }

// Scattered says into how many parts [Sparse.Scatter] divides a product of n columns, and how many numbers all of
// them write.
func (s *Sparse) Scattered(n int) (parts, numbers int) {
	parts = (s.Rows + depth - 1) / depth * ((n + tileCols - 1) / tileCols)
	return parts, parts * s.Cols * tileCols
}

// Scatter writes a part of the sums that aᵀ·s [n×Cols] is made of, for a [Rows×n] row-major, to memory that
// all parts share, for Gather: each part those of depth rows and tileCols columns of a. It adds in the order
// of [Gemm32], and needs no Prepare.
func (s *Sparse) Scatter(sums, a []float32, n, part int) {
	blocks := (s.Rows + depth - 1) / depth
	k, row := part/blocks*tileCols, part%blocks*depth
	size := s.Cols * tileCols
	to := sums[part*size : (part+1)*size]
	clear(to)
	kernel := scatter16
	if level[kScatter] >= avx512 {
		kernel = scatter16x16
	}
	kernel(&to[0], min(depth, s.Rows-row), &s.ptr[2*row], &s.idx[0], &s.val[0], &a[row*n+k], n, min(tileCols, n-k))
}

// Gather writes aᵀ·s to dst when all parts have been scattered to sums, which it spends.
func (s *Sparse) Gather(dst, sums []float32, n int) {
	blocks, size := (s.Rows+depth-1)/depth, s.Cols*tileCols
	for k := 0; k < n; k += tileCols {
		total := sums[:size]
		for b := 1; b < blocks; b++ {
			Add(total, total, sums[b*size:(b+1)*size])
		}
		sums = sums[blocks*size:]
		transpose(dst[k*s.Cols:], s.Cols, total, tileCols, s.Cols, min(tileCols, n-k))
	}
}

// Dense writes the matrix with its zeros to x [Rows×Cols].
func (s *Sparse) Dense(x []float32) {
	clear(x)
	for i := range s.Rows {
		for e := s.ptr[2*i]; e < s.ptr[2*i+1]; e++ {
			x[i*s.Cols+int(s.idx[e])] = s.val[e]
		}
	}
}

// panelWidth is the number of columns to take next of those that are left. Panels of panelCols add in
// another order than others; parts begin at multiples of panelCols, so that a column is always in a panel of one kind.
func panelWidth(left int) int {
	switch {
	case left > 3*tileCols:
		return panelCols
	case !has(kPanels):
		return tileCols
	}
	return (left + tileCols - 1) / tileCols * tileCols
}

// spmm writes rows of a sparse matrix times a panel of w columns to dst. What is in ptr after next more is
// of the next block of the panel's rows.
func spmm(dst []float32, w, rows int, ptr []int32, next int, idx []int32, val, panel []float32) {
	wide := level[kPanels] >= avx512
	switch {
	case w == panelCols && wide:
		spmm64x16(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
		for len(ptr) > next {
			ptr = ptr[next:]
			spmmAdd64x16(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
		}
	case w == panelCols:
		spmm64(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
	case w == 3*tileCols && wide:
		spmm48x16(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
	case w == 3*tileCols:
		spmm48(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
	case w == 2*tileCols && wide:
		spmm32x16(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
	case w == 2*tileCols:
		spmm32(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
	case wide:
		spmm16x16(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
	default:
		spmm16(&dst[0], rows, &ptr[0], &idx[0], &val[0], &panel[0])
	}
}

// lanesOf has, for each set of lanes of eight, their numbers in order.
var lanesOf = newLanesOf()

func newLanesOf() (t [256][8]uint8) {
	for set := range t {
		n := 0
		for lane := range uint8(8) {
			if set>>lane&1 == 1 {
				t[set][n] = lane
				n++
			}
		}
	}
	return t
}

package simd

import "sync"

// Matrix is a matrix in memory: element (i, j) of Rows×Cols is
// Data[i·RowStride + j·ColStride], and one of the strides is 1.
type Matrix struct {
	Rows, Cols           int
	RowStride, ColStride int
	Data                 []float32
}

// RowMajor returns a matrix whose rows are next to each other in data.
func RowMajor(rows, cols int, data []float32) Matrix {
	return Matrix{rows, cols, cols, 1, data[:rows*cols]}
}

// T returns the transposed matrix, of the same memory.
func (m Matrix) T() Matrix {
	return Matrix{m.Cols, m.Rows, m.ColStride, m.RowStride, m.Data}
}

const (
	tileRows = 6   // of a product that a kernel holds in registers; AVX-512 holds two
	tileCols = 16  // likewise
	wideCols = 32  // likewise, of AVX-512
	depth    = 384 // terms of a sum between two stores

	// Columns that so few tiles read are not packed, unless their rows, 4 KiB apart, would all want the same places of a cache.
	fewBlocks, fewApart, apart = 24, 4, 1024
)

// buffers lends memory for packed operands.
var buffers = sync.Pool{New: func() any { return new([]float32) }}

func borrow(n int) *[]float32 {
	s := buffers.Get().(*[]float32)
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	*s = (*s)[:n]
	return s
}

// Gemm32 writes part of the matrix product a·b to dst, row-major: all if parts is
// 1, else the share of one of as many threads. Each element is the same number for
// any parts. The vector kernels must be on.
func Gemm32(dst []float32, a, b Matrix, part, parts int) {
	m, n := a.Rows, b.Cols
	if n >= m {
		tiles := (n + tileCols - 1) / tileCols
		gemm(dst, a, b, 0, m, tiles*part/parts*tileCols, min(n, tiles*(part+1)/parts*tileCols), false)
	} else {
		tiles := (m + tileRows - 1) / tileRows
		gemm(dst, a, b, tiles*part/parts*tileRows, min(m, tiles*(part+1)/parts*tileRows), 0, n, false)
	}
}

// GemmAdd32 adds the matrix product a·b to dst, on one thread.
func GemmAdd32(dst []float32, a, b Matrix) { gemm(dst, a, b, 0, a.Rows, 0, b.Cols, true) }

// gemm computes rows i0..i1 and columns j0..j1, and adds them to dst or writes them.
func gemm(dst []float32, a, b Matrix, i0, i1, j0, j1 int, add bool) {
	n, k := b.Cols, a.Cols
	if i0 >= i1 || j0 >= j1 {
		return
	}
	blocks := (i1 - i0 + tileRows - 1) / tileRows
	kc := min(k, depth)
	most, rows := wideCols, 2*tileRows // of a tile
	if level[kGemm] < avx512 {
		most, rows = tileCols, tileRows
	}
	if j1-j0 <= tileCols {
		most = tileCols
	}
	inPlace := i0 // rows before are not packed: they are rows in memory
	if a.ColStride == 1 {
		inPlace = i1 - (i1-i0)%rows
	}
	mem := borrow(kc*most + blocks*tileRows*kc + 2*tileRows*most)
	defer buffers.Put(mem)
	panel, rest := (*mem)[:kc*most], (*mem)[kc*most:]
	packed, edge := rest[:blocks*tileRows*kc], rest[blocks*tileRows*kc:]
	for t0 := 0; t0 < k; t0 += depth {
		t1 := min(k, t0+depth)
		d := t1 - t0
		packRows(packed[(inPlace-i0)*d:], a, inPlace, i1, t0, t1)
		for j, wide := j0, 0; j < j1; j += wide {
			wide = most
			if j1-j <= tileCols {
				wide = tileCols
			}
			w := min(wide, j1-j)
			cols, ldb := &panel[0], wide
			if w == wide && b.ColStride == 1 && (blocks <= fewApart || blocks <= fewBlocks && b.RowStride%apart != 0) {
				cols, ldb = &b.Data[t0*b.RowStride+j], b.RowStride
			} else {
				packCols(panel, wide, b, t0, t1, j, j+w)
			}
			for i, step := i0, 0; i < i1; i += step {
				if step = rows; i1-i <= tileRows {
					step = tileRows
				}
				from, second, ars, acs := &packed[(i-i0)*d], tileRows*d, 1, tileRows
				if i < inPlace {
					from, second, ars, acs = &a.Data[i*a.RowStride+t0], tileRows*a.RowStride, a.RowStride, 1
				}
				to, ldc, sum := &edge[0], wide, false
				whole := w == wide && i+step <= i1
				if whole {
					to, ldc, sum = &dst[i*n+j], n, add || t0 > 0
				}
				switch {
				case step == tileRows:
					for c := 0; c < wide; c += tileCols {
						gemm6x16(after(to, c), ldc, from, ars, acs, after(cols, c), ldb, d, sum)
					}
				case wide == tileCols:
					gemm12x16(to, ldc, from, second, ars, acs, cols, ldb, d, sum)
				default:
					gemm12x32(to, ldc, from, second, ars, acs, cols, ldb, d, sum)
				}
				if whole {
					continue
				}
				for r := range min(step, i1-i) {
					row := dst[(i+r)*n+j : (i+r)*n+j+w]
					if t0 == 0 && !add {
						copy(row, edge[r*wide:])
						continue
					}
					for c := range row {
						row[c] += edge[r*wide+c]
					}
				}
			}
		}
	}
}

// packRows writes rows i0..i1 of a to dst, tileRows after tileRows, each [t1−t0×tileRows]; missing rows are 0.
func packRows(dst []float32, a Matrix, i0, i1, t0, t1 int) {
	d, rows, done := t1-t0, i1-i0, 0
	whole := rows - rows%tileRows
	if a.RowStride == 1 && whole > 0 {
		for t := range d {
			from, to := a.Data[i0+(t0+t)*a.ColStride:][:whole], dst[t*tileRows:]
			for ; len(from) > tileRows; from, to = from[tileRows:], to[tileRows*d:] {
				*(*[tileRows]float32)(to) = *(*[tileRows]float32)(from)
			}
			copy(to, from)
		}
		done = whole
	}
	if whole < rows {
		clear(dst[whole*d:][:tileRows*d])
	}
	for i := done; i < rows; i++ {
		from, to := a.Data[(i0+i)*a.RowStride+t0*a.ColStride:], dst[i/tileRows*tileRows*d+i%tileRows:]
		for t := range d {
			to[t*tileRows] = from[t*a.ColStride]
		}
	}
}

// packCols writes columns j0..j1 of b, at most wide, to dst [t1−t0×wide];
// missing columns are 0.
func packCols(dst []float32, wide int, b Matrix, t0, t1, j0, j1 int) {
	if j1-j0 < wide {
		clear(dst[:(t1-t0)*wide])
	}
	if b.ColStride == 1 {
		for t := t0; t < t1; t++ {
			copy(dst[(t-t0)*wide:(t-t0+1)*wide], b.Data[t*b.RowStride+j0:t*b.RowStride+j1])
		}
		return
	}
	transpose(dst, wide, b.Data[j0*b.ColStride+t0:], b.ColStride, j1-j0, t1-t0)
}

// transpose writes src [rows×cols] to dst [cols×rows], given the distances of
// their rows.
func transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	r, c := rows&^7, cols&^7
	for i := 0; i < r && c > 0; i += 8 {
		transpose8(&dst[i], ldd, &src[i*lds], lds, c)
	}
	for i := range rows {
		from := c
		if i >= r {
			from = 0
		}
		for j := from; j < cols; j++ {
			dst[j*ldd+i] = src[i*lds+j]
		}
	}
}

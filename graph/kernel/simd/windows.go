package simd

// Windows are products of matrices of which the left one is read in place, in windows of an image:
//
//	c[i, j] = Σ_{q<Runs} Σ_{t<Len} a[i·Row + q·Run + t·Step]·b[q·BRun + t·BRow + j]
//
// for i < Rows and j < Cols, a multiple of 16. Row i of c begins at i·CRow; where that is less than Cols, rows
// overlap, and can only be added. There are Tiles of them with the same b, each ATile further in a, CTile in c, where none overlaps another.
// All are at least 1, distances at least 0. Sums are in the order of q and t, fused by the vector kernels: the same bits by each of these.
type Windows struct {
	Rows, Cols, CRow    int
	Runs, Len           int
	Row, Run, Step      int
	BRun, BRow          int
	Tiles, ATile, CTile int
}

// A block of c is what AVX-512 holds in registers; AVX2 adds in the same order.
const (
	blockRows = 12
	blockCols = 32
)

// HasWindows reports whether Multiply is faster than products of unfolded images.
func HasWindows() bool { return has(kWindows) }

// Multiply writes the products to c, or adds them to it: 16 columns of 12 rows at a time, row by row.
func (w *Windows) Multiply(c, a, b []float32, add bool) {
	if min(w.Rows, w.Cols, w.CRow, w.Runs, w.Len, w.Row, w.Step, w.BRow, w.Tiles) < 1 || min(w.Run, w.BRun, w.ATile, w.CTile) < 0 || w.Cols%16 > 0 || w.CRow < w.Cols && !add || w.Tiles > 1 && w.CTile < (w.Rows-1)*w.CRow+w.Cols {
		panic("simd: windows of nothing")
	}
	_ = c[(w.Tiles-1)*w.CTile+(w.Rows-1)*w.CRow+w.Cols-1]
	_ = a[(w.Tiles-1)*w.ATile+(w.Rows-1)*w.Row+(w.Runs-1)*w.Run+(w.Len-1)*w.Step]
	_ = b[(w.Runs-1)*w.BRun+(w.Len-1)*w.BRow+w.Cols-1]
	groups := (w.Rows + blockRows - 1) / blockRows
	for j := 0; j < w.Cols; j += blockCols {
		for g := range groups {
			from, to := w.Rows*g/groups, w.Rows*(g+1)/groups
			w.block(c[j:], a, b[j:], from, to, min(blockCols, w.Cols-j), add)
		}
	}
}

// block computes rows from to to of a block of columns.
func (w *Windows) block(c, a, b []float32, from, to, cols int, add bool) {
	const size = 4 // bytes
	kernel := func(j, from, to int, f func(c *float32, ldc int, a *float32, row, step, run int, b *float32, ldb, jump, k, runs, tiles, atile, ctile, rows int, add bool)) {
		f(&c[from*w.CRow+j], size*w.CRow, &a[from*w.Row], size*w.Row, size*w.Step, size*(w.Run-w.Len*w.Step), &b[j], size*w.BRow, size*(w.BRun-w.Len*w.BRow),
			w.Len, w.Runs, w.Tiles, size*w.ATile, size*w.CTile, to-from, add)
	}
	switch {
	case level[kWindows] >= avx512 && cols == 2*16:
		kernel(0, from, to, windows12x32)
	case level[kWindows] >= avx512:
		kernel(0, from, to, windows12x16)
	default:
		for j := 0; j < cols; j += 16 {
			if half := (from + to + 1) / 2; has(kWindows) && to-from > blockRows/2 {
				kernel(j, from, half, windows6x16)
				kernel(j, half, to, windows6x16)
			} else if has(kWindows) {
				kernel(j, from, to, windows6x16)
			} else {
				w.slow(c[j:], a, b[j:], from, to, add)
			}
		}
	}
}

// slow computes rows of 16 columns.
func (w *Windows) slow(c, a, b []float32, from, to int, add bool) {
	for tile := range w.Tiles {
		for i := from; i < to; i++ {
			var sum [16]float32
			for q := range w.Runs {
				for t := range w.Len {
					v := a[tile*w.ATile+i*w.Row+q*w.Run+t*w.Step]
					for j, y := range b[q*w.BRun+t*w.BRow:][:len(sum)] {
						sum[j] += v * y
					}
				}
			}
			to := c[tile*w.CTile+i*w.CRow:][:len(sum)]
			for j, s := range sum {
				if add {
					s += to[j]
				}
				to[j] = s
			}
		}
	}
}

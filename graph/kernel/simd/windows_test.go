package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// shapes of windows: of convolutions, hostile ones, and any. Those that overlap can only be added.
func windowShapes() []Windows {
	shapes := []Windows{
		{Rows: 24, Cols: 16, CRow: 16, Runs: 5, Len: 5, Row: 1, Run: 28, Step: 1, BRun: 80, BRow: 16, Tiles: 3, ATile: 28, CTile: 24 * 16},           // forward, one channel
		{Rows: 8, Cols: 32, CRow: 32, Runs: 5, Len: 80, Row: 16, Run: 192, Step: 1, BRun: 80 * 32, BRow: 32, Tiles: 2, ATile: 192, CTile: 256},       // forward, 16 channels
		{Rows: 80, Cols: 48, CRow: 48, Runs: 8, Len: 8, Row: 1, Run: 192, Step: 16, BRun: 8 * 48, BRow: 48, Tiles: 2, ATile: 192, CTile: 80 * 48},    // gradients of kernels
		{Rows: 25, Cols: 80, CRow: 16, Runs: 3, Len: 32, Row: 32, Run: 25 * 32, Step: 1, BRun: 32 * 80, BRow: 80, Tiles: 1},                          // of images
		{Rows: 30, Cols: 48, CRow: 3, Runs: 2, Len: 7, Row: 7, Run: 210, Step: 1, BRun: 7 * 48, BRow: 48, Tiles: 2, ATile: 5, CTile: 29*3 + 48},      // rows of three numbers
		{Rows: 1, Cols: 16, CRow: 1, Runs: 1, Len: 1, Row: 1, Step: 1, BRow: 1, Tiles: 1},                                                            // one product
		{Rows: 5, Cols: 32, CRow: 40, Runs: 4, Len: 3, Row: 2, Run: 0, Step: 3, BRun: 0, BRow: 33, Tiles: 3, ATile: 0, CTile: 192 + 7},               // the same numbers again, gaps in c
		{Rows: 13, Cols: 64, CRow: 64, Runs: 1, Len: 400, Row: 400, Run: 1 << 20, Step: 1, BRun: 1 << 20, BRow: 64, Tiles: 1, ATile: 99, CTile: 832}, // a plain product; distances of what there is one of
	}
	for rows := 1; rows <= 26; rows++ {
		for _, cols := range []int{16, 32, 48} {
			shapes = append(shapes, Windows{Rows: rows, Cols: cols, CRow: cols, Runs: 2, Len: 3, Row: 2, Run: 11, Step: 4, BRun: 3 * cols, BRow: cols, Tiles: 1})
		}
	}
	return shapes
}

// lengths are of c, a and b.
func (w *Windows) lengths() (c, a, b int) {
	return (w.Tiles-1)*w.CTile + (w.Rows-1)*w.CRow + w.Cols, (w.Tiles-1)*w.ATile + (w.Rows-1)*w.Row + (w.Runs-1)*w.Run + (w.Len-1)*w.Step + 1,
		(w.Runs-1)*w.BRun + (w.Len-1)*w.BRow + w.Cols
}

// Products are those of the formula, on every path; NaN, infinities and −0 come where they belong; what lies
// between rows is left alone; the kernels of AVX-512 give the bits of those of AVX2.
func TestWindows_ComputeTheFormulaOnEveryPath(t *testing.T) {
	defer func() { level = upTo(processor) }()
	rng := rand.New(rand.NewPCG(21, 5))
	for _, w := range windowShapes() {
		nc, na, nb := w.lengths()
		for _, hostile := range []bool{false, true} {
			numbers := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(rng.NormFloat64())
					if hostile && rng.IntN(1+n/3) == 0 {
						x[i] = []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32, 0x1p-149}[rng.IntN(7)]
					}
				}
				return x
			}
			a, b, from := numbers(na), numbers(nb), numbers(nc)
			for _, add := range []bool{true, false} {
				if !add && w.CRow < w.Cols {
					continue
				}
				want, size := make([]float64, nc), make([]float64, nc)
				written := make([]bool, nc)
				for i, v := range from {
					want[i] = float64(v)
				}
				for tile := range w.Tiles {
					for i := range w.Rows {
						for j := range w.Cols {
							at, sum := tile*w.CTile+i*w.CRow+j, 0.0
							for q := range w.Runs {
								for k := range w.Len {
									v := float64(a[tile*w.ATile+i*w.Row+q*w.Run+k*w.Step]) * float64(b[q*w.BRun+k*w.BRow+j])
									sum += v
									if !math.IsInf(v, 0) && v == v {
										size[at] += math.Abs(v)
									}
								}
							}
							if written[at] = true; !add {
								want[at] = 0
							}
							if want[at] += sum; !math.IsInf(want[at], 0) && want[at] == want[at] {
								size[at] += math.Abs(want[at])
							}
						}
					}
				}
				var bits []float32
				isas(func(isa string) {
					what := fmt.Sprintf("%s, %+v, hostile %v, add %v", isa, w, hostile, add)
					got := slices.Clone(from)
					w.Multiply(got, a, b, add)
					for i, v := range got {
						x := float64(v)
						switch {
						case !written[i] && math.Float32bits(v) != math.Float32bits(from[i]):
							t.Fatalf("%s: number %d was %v and became %v", what, i, from[i], v)
						case !written[i] || size[i] > math.MaxFloat32: // the latter may overflow on the way
						case want[i] != want[i] && x != x || math.IsInf(want[i], 0) && x == want[i]:
						case !(math.Abs(x-want[i]) <= 1e-5*size[i]+0x1p-149):
							t.Fatalf("%s: number %d is %v, want %v", what, i, v, want[i])
						}
					}
					if isa == "avx512" {
						for i, v := range got {
							if math.Float32bits(v) != math.Float32bits(bits[i]) {
								t.Fatalf("%s: number %d is %v, with AVX2 %v", what, i, v, bits[i])
							}
						}
					}
					bits = got
				})
			}
		}
	}
}

// What does not fit is refused before anything is written.
func TestWindows_RefuseBeforeAnythingIsWritten(t *testing.T) {
	good := Windows{Rows: 2, Cols: 16, CRow: 16, Runs: 2, Len: 3, Row: 3, Run: 6, Step: 1, BRun: 48, BRow: 16, Tiles: 2, ATile: 12, CTile: 32}
	nc, na, nb := good.lengths()
	try := func(w Windows, nc, na, nb int, add bool) (refused bool) {
		c := make([]float32, nc)
		defer func() {
			if refused = recover() != nil; refused && slices.Max(c) != 0 {
				t.Errorf("%+v: written to before it was refused", w)
			}
		}()
		ones := func(n int) []float32 { return slices.Repeat([]float32{1}, n) }
		w.Multiply(c, ones(na), ones(nb), add)
		return false
	}
	if try(good, nc, na, nb, false) || !try(good, nc-1, na, nb, false) || !try(good, nc, na-1, nb, false) || !try(good, nc, na, nb-1, false) {
		t.Error("slices that fit are refused, or others are not")
	}
	for i, change := range []func(w *Windows){
		func(w *Windows) { w.Rows = 0 }, func(w *Windows) { w.Cols = 8 }, func(w *Windows) { w.Cols = 0 }, func(w *Windows) { w.CRow = 15 },
		func(w *Windows) { w.Runs = 0 }, func(w *Windows) { w.Len = 0 }, func(w *Windows) { w.Row = -1 }, func(w *Windows) { w.Run = -1 },
		func(w *Windows) { w.Step = 0 }, func(w *Windows) { w.BRun = -1 }, func(w *Windows) { w.BRow = -1 }, func(w *Windows) { w.Tiles = 0 },
		func(w *Windows) { w.ATile = -1 }, func(w *Windows) { w.CTile = 31 },
	} {
		if w := good; !func() bool { change(&w); return try(w, 10*nc, 10*na, 10*nb, false) }() {
			t.Errorf("change %d: %+v is not refused", i, w)
		}
	}
}

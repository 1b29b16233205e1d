package simd_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/graph/kernel/simd"
)

// random returns values of which the given share is not 0.
func random(r *rand.Rand, n int, share float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		if r.Float64() < share {
			x[i] = float32(r.NormFloat64())
		}
	}
	return x
}

// product is a·b in float64, and the scale of its rounding errors.
func product(a, b simd.Matrix) (c, scale []float64) {
	for i := range a.Rows {
		for j := range b.Cols {
			var s, abs float64
			for t := range a.Cols {
				p := float64(a.Data[i*a.RowStride+t*a.ColStride]) * float64(b.Data[t*b.RowStride+j*b.ColStride])
				s += p
				abs += math.Abs(p)
			}
			c, scale = append(c, s), append(scale, abs)
		}
	}
	return c, scale
}

// multiplied calls mul in one part and in several: these must give equal bits,
// near those wanted.
func multiplied(t *testing.T, name string, want, scale []float64, mul func(dst []float32, part, parts int)) {
	t.Helper()
	got := make([]float32, len(want)+1)
	got[len(want)] = 7
	mul(got[:len(want)], 0, 1)
	for i, w := range want {
		if math.Abs(float64(got[i])-w) > 3e-6*scale[i]+1e-44 {
			t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], w)
		}
	}
	if got[len(want)] != 7 {
		t.Fatalf("%s: wrote beyond the end", name)
	}
	for _, parts := range []int{2, 3, 5, 6} {
		again := make([]float32, len(want))
		for part := range parts {
			mul(again, part, parts)
		}
		for i := range again {
			if again[i] != got[i] {
				t.Fatalf("%s: element %d is %v in %d parts, %v in one", name, i, again[i], parts, got[i])
			}
		}
	}
}

func TestGemm32_MultipliesAndAddsWhateverIsTransposed(t *testing.T) {
	if !simd.Vector() {
		return // there is no other path: package graph has it
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {6, 16, 8}, {7, 17, 9}, {128, 10, 784}, {10, 784, 128}, {100, 33, 47}, {3, 5, 400}, {13, 100, 1000}, {40, 15, 769}, {12, 32, 8}, {14, 40, 400}, {25, 1024, 30}, {150, 64, 20}} {
		m, n, k := s[0], s[1], s[2]
		a, b := simd.RowMajor(m, k, random(r, m*k, 1)), simd.RowMajor(k, n, random(r, k*n, 1))
		at, bt := simd.RowMajor(k, m, random(r, m*k, 1)).T(), simd.RowMajor(n, k, random(r, k*n, 1)).T()
		for i, pair := range [][2]simd.Matrix{{a, b}, {at, b}, {a, bt}, {at, bt}} {
			want, scale := product(pair[0], pair[1])
			multiplied(t, fmt.Sprint(s, i), want, scale, func(dst []float32, part, parts int) {
				simd.Gemm32(dst, pair[0], pair[1], part, parts)
			})
			sum := slices.Repeat([]float32{3}, m*n)
			simd.GemmAdd32(sum, pair[0], pair[1])
			for e, v := range sum {
				if math.Abs(float64(v)-3-want[e]) > 3e-6*(3+scale[e]) {
					t.Fatalf("%v: 3 and element %d are %v, want %v", s, e, v, 3+want[e])
				}
			}
		}
	}
}

func TestSparse_GivesTheProductsOfThePlainLoop(t *testing.T) {
	if !simd.Vector() {
		return
	}
	r := rand.New(rand.NewPCG(1, 3))
	var s simd.Sparse
	for _, c := range [][3]int{{1, 1, 1}, {9, 3, 5}, {128, 784, 10}, {30, 100, 64}, {17, 70, 150}, {5, 7, 49}, {64, 9, 47}, {9, 30, 300}, {20, 30, 180}} {
		rows, cols, n := c[0], c[1], c[2]
		for _, share := range []float64{0, .1, .3, 1} {
			x := random(r, rows*cols, share)
			if share > 0 {
				x[0] = float32(math.Copysign(1e-40, -1)) // subnormal is not 0
			}
			if !s.Reset(rows, cols) {
				t.Fatalf("%v: no room", c)
			}
			nonzero := 0
			for _, v := range x {
				if v != 0 {
					nonzero++
				}
			}
			if n := s.Set(x, rows/2, rows) + s.Set(x, 0, rows/2); n != nonzero {
				t.Errorf("%v: %d elements stored of %d", c, n, nonzero)
			}
			m := simd.RowMajor(rows, cols, x)
			b, a := random(r, n*cols, 1), random(r, rows*n, 1)
			want, scale := product(m, simd.RowMajor(n, cols, b).T())
			s.Split(n, simd.One)
			multiplied(t, fmt.Sprint(c, share, " MulT"), want, scale, func(dst []float32, part, parts int) { s.MulT(dst, b, n, part, parts) })
			want, scale = product(simd.RowMajor(rows, n, a).T(), m)
			s.Prepare(simd.One)
			multiplied(t, fmt.Sprint(c, share, " TMul"), want, scale, func(dst []float32, part, parts int) { s.TMul(dst, a, n, part, parts) })
		}
	}
	if s.Reset(1<<20, 1<<20) {
		t.Error("room for more elements than can be counted")
	}
}

func BenchmarkProducts(b *testing.B) {
	if !simd.Vector() {
		return
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{10, 100, 1000} {
		const rows, d = 128, 784
		x, mu, g := random(r, rows*d, .2), random(r, k*d, 1), random(r, rows*k, 1)
		z, dmu := make([]float32, rows*k), make([]float32, k*d)
		var s simd.Sparse
		set := func() { s.Reset(rows, d); s.Set(x, 0, rows) }
		set()
		s.Prepare(simd.One)
		X, G := simd.RowMajor(rows, d, x), simd.RowMajor(rows, k, g)
		for name, f := range map[string]func(){
			"dense x·muT":  func() { simd.Gemm32(z, X, simd.RowMajor(k, d, mu).T(), 0, 1) },
			"dense gT·x":   func() { simd.Gemm32(dmu, G.T(), X, 0, 1) },
			"sparse x·muT": func() { s.MulT(z, mu, k, 0, 1) },
			"sparse gT·x":  func() { s.TMul(dmu, g, k, 0, 1) },
			"set":          set,
			"columns":      func() { set(); s.Prepare(simd.One) },
		} {
			b.Run(fmt.Sprintf("K=%d/%s", k, name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(2*rows*d*float64(k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Gflop/s")
			})
		}
	}
}

// Products are the same bits with AVX2, from which the numbers here are, AVX-512 and NEON.
func TestProducts_HaveTheSameBitsOnEveryProcessor(t *testing.T) {
	if !slices.Contains(simd.Extensions(), "avx2") && !slices.Contains(simd.Extensions(), "neon") {
		return
	}
	r := rand.New(rand.NewPCG(4, 4))
	some := func(n int, share float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			if r.Float64() < share {
				x[i] = r.Float32() - .5
			}
		}
		return x
	}
	h := fnv.New64a()
	for _, c := range [][3]int{{1, 1, 1}, {13, 5, 16}, {30, 500, 33}, {14, 90, 150}} {
		rows, d, n := c[0], c[1], c[2]
		x, b, g := some(rows*d, .4), some(n*d, 1), some(rows*n, 1)
		z, sum, grad := make([]float32, rows*n), slices.Repeat([]float32{1. / 3}, rows*n), make([]float32, n*d)
		simd.Gemm32(z, simd.RowMajor(rows, d, x), simd.RowMajor(n, d, b).T(), 0, 1)
		simd.GemmAdd32(sum, simd.RowMajor(rows, d, x), simd.RowMajor(n, d, b).T())
		var s simd.Sparse
		s.Reset(rows, d)
		s.Set(x, 0, rows)
		sparse := make([]float32, rows*n)
		s.MulT(sparse, b, n, 0, 1)
		s.Prepare(simd.One)
		s.TMul(grad, g, n, 0, 1)
		if err := binary.Write(h, binary.LittleEndian, slices.Concat(z, sum, sparse, grad)); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.Sum64(); got != 0xf3f9903c74ddc89d {
		t.Errorf("%#x", got)
	}
}

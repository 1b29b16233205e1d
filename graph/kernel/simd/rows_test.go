package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Products of rows that lie anywhere are those of Gemm32, the same bits, in any number of parts and by every extension.
func TestRows_GiveTheBitsOfGemm32WhereverTheyLie(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	for _, s := range [][3]int{{1, 1, 1}, {7, 3, 5}, {8, 16, 32}, {9, 17, 33}, {30, 10, 300}, {128, 10, 784}, {391, 5, 129}, {800, 2, 40}, {20, 33, 1000}, {150, 100, 401}, {261, 113, 50}} {
		rows, n, d := s[0], s[1], s[2]
		x, b, a := numbers(rows*d), numbers(n*d), numbers(rows*n)
		m := Rows{Cols: d, At: make([]*float32, rows)}
		for i := range m.At { // backwards, each in memory of its own
			row := append(make([]float32, 1, d+1), x[i*d:(i+1)*d]...)
			m.At[i] = &row[1]
		}
		isas(func(isa string) {
			if !has(kRows) || !Vector() {
				return
			}
			want, grad := make([]float32, rows*n), make([]float32, n*d)
			Gemm32(want, RowMajor(rows, d, x), RowMajor(n, d, b).T(), 0, 1)
			Gemm32(grad, RowMajor(rows, n, a).T(), RowMajor(rows, d, x), 0, 1)
			for _, parts := range []int{1, 2, 3, 16} {
				got, gotGrad := append(make([]float32, rows*n), 7), append(make([]float32, n*d), 7)
				panels, numbers := m.Packed(n)
				packed := make([]float32, numbers)
				for panel := range panels {
					m.Pack(packed, b, n, panel)
				}
				for part := range parts {
					m.MulT(got[:rows*n], packed, n, part, parts)
					m.TMul(gotGrad[:n*d], a, n, part, parts)
				}
				same(t, fmt.Sprint(isa, s, parts, " x·bᵀ"), got, append(want, 7))
				same(t, fmt.Sprint(isa, s, parts, " aᵀ·x"), gotGrad, append(grad, 7))
			}
		})
	}
}

func same(t *testing.T, name string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d is %v, want %v", name, i, got[i], want[i])
		}
	}
}

func BenchmarkRows(b *testing.B) {
	if !Vector() || !has(kRows) {
		return
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{128, 10, 2048}, {1024, 10, 2048}, {1024, 32, 2048}, {1024, 48, 2048}, {128, 10, 784}, {128, 10, 50}, {128, 100, 2048}, {1024, 10, 512}} {
		rows, n, d := s[0], s[1], s[2]
		x, w, a := make([]float32, rows*d), make([]float32, n*d), make([]float32, rows*n)
		for _, v := range [][]float32{x, w, a} {
			for i := range v {
				v[i] = rng.Float32()
			}
		}
		m := Rows{Cols: d, At: make([]*float32, rows)}
		for i := range m.At {
			m.At[i] = &x[i*d]
		}
		panels, numbers := m.Packed(n)
		z, g, packed := make([]float32, rows*n), make([]float32, n*d), make([]float32, numbers)
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"gemm x·bT", func() { Gemm32(z, RowMajor(rows, d, x), RowMajor(n, d, w).T(), 0, 1) }},
			{"rows x·bT", func() {
				for panel := range panels {
					m.Pack(packed, w, n, panel)
				}
				m.MulT(z, packed, n, 0, 1)
			}},
			{"gemm aT·x", func() { Gemm32(g, RowMajor(rows, n, a).T(), RowMajor(rows, d, x), 0, 1) }},
			{"rows aT·x", func() { m.TMul(g, a, n, 0, 1) }},
		} {
			isas(func(isa string) {
				if isa == "go" {
					return
				}
				b.Run(fmt.Sprint(s, "/", isa, "/", c.name), func(b *testing.B) {
					for b.Loop() {
						c.f()
					}
					b.ReportMetric(2*float64(rows*d*n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Gflop/s")
				})
			})
		}
	}
}

package simd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/graph/kernel/simd"
)

// Both paths are the plain sums, bit by bit.
func TestAbreast_AddsAsAPlainLoopDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 3, 64, 101} {
		for _, panels := range []int{1, 2, 5} {
			z, g, want := random(r, panels*simd.Abreast*n, 1), make([]float64, n), make([]float64, panels*simd.Abreast)
			for j := range g {
				g[j] = r.NormFloat64()
			}
			for i := range want {
				want[i] = float64(i)
				for j, v := range g {
					want[i] += float64(v * float64(z[i/simd.Abreast*simd.Abreast*n+j*simd.Abreast+i%simd.Abreast]))
				}
			}
			paths(func(name string) {
				got := make([]float64, len(want))
				for i := range got {
					got[i] = float64(i)
				}
				simd.AddProducts(got, z, g)
				for i := range want {
					if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
						t.Fatalf("%s, %d numbers, %d panels: row %d is %v, want %v", name, n, panels, i, got[i], want[i])
					}
				}
			})
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("panels that do not fit are taken")
		}
	}()
	simd.AddProducts(make([]float64, 16), make([]float32, 31), make([]float64, 2))
}

func TestAddRowsTimes_EqualsAPlainLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	numbers := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	for _, n := range []int{0, 1, 2, 51} {
		for _, k := range []int{0, 1, 3, 4, 5, 10, 12, 16, 31, 32, 39, 64, 256, 303} {
			w, x, from := numbers(n*k), numbers(n), numbers(k+1)
			for j := 1; j < n; j += 3 {
				x[j] = math.Copysign(0, float64(j%2)-.5)
			}
			want := slices.Clone(from)
			for j, v := range x {
				for o, c := range w[j*k : (j+1)*k] {
					want[o] += float64(v * c)
				}
			}
			paths(func(name string) {
				got := slices.Clone(from)
				simd.AddRowsTimes(got[:k], w, x)
				for o := range want {
					if math.Float64bits(got[o]) != math.Float64bits(want[o]) {
						t.Fatalf("%s, %d rows of %d: number %d is %v, want %v", name, n, k, o, got[o], want[o])
					}
				}
			})
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("rows that do not fit are taken")
		}
	}()
	simd.AddRowsTimes(make([]float64, 16), make([]float64, 31), make([]float64, 2))
}

func BenchmarkAddRowsTimes(b *testing.B) {
	const n, k = 51, 256
	w, x, dst := make([]float64, n*k), make([]float64, n), make([]float64, k)
	paths(func(name string) {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			for b.Loop() {
				simd.AddRowsTimes(dst, w, x)
			}
		})
	})
}

func BenchmarkAbreast(b *testing.B) {
	const n, rows = 64, 100_000
	z, g, dst := make([]float32, rows*n), make([]float64, n), make([]float64, rows)
	paths(func(name string) {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			for b.Loop() {
				simd.AddProducts(dst, z, g)
			}
		})
	})
}

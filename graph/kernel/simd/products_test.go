package simd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"opl/graph/kernel/simd"
)

// Both paths are the plain sums, bit by bit.
func TestAbreast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 3, 64, 101} {
		for _, panels := range []int{1, 2, 5} {
			z, g, want := random(r, panels*simd.Abreast*n, 1), make([]float64, n), make([]float64, panels*simd.Abreast)
			for j := range g {
				g[j] = r.NormFloat64()
			}
			for i := range want {
				for j, v := range g {
					want[i] += float64(v * float64(z[i/simd.Abreast*simd.Abreast*n+j*simd.Abreast+i%simd.Abreast]))
				}
			}
			paths(func(name string) {
				got := make([]float64, len(want))
				simd.Products(got, z, g)
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
	simd.Products(make([]float64, 16), make([]float32, 31), make([]float64, 2))
}

func BenchmarkAbreast(b *testing.B) {
	const n, rows = 64, 100_000
	z, g, dst := make([]float32, rows*n), make([]float64, n), make([]float64, rows)
	paths(func(name string) {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			for b.Loop() {
				simd.Products(dst, z, g)
			}
		})
	})
}

package simd_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/graph/kernel/simd"
)

func TestLog1p_IsThatOfMathAtExtremesToo(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 5))
	x := []float64{0, math.Copysign(0, -1), -1, -2, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 1e300, 1e-300, -1e-300, 1e-17, 1, -.5, -1 + 0x1p-53, math.Sqrt2 - 1, math.Sqrt(.5) - 1}
	for range 100000 {
		v := math.Exp(40*rng.Float64() - 38)
		if x = append(x, v); v < 1 {
			x = append(x, -v, v-1)
		}
	}
	paths(func(path string) {
		for _, n := range []int{1, 2, 3, 4, 5, 63, 64, 65, len(x)} {
			dst := make([]float64, n+1)
			dst[n] = 7
			simd.Log1p(dst[:n], x[:n])
			for i, v := range x[:n] {
				want := math.Log1p(v)
				if dst[i] != want && !(math.Abs(dst[i]-want) <= 4.5e-16*math.Abs(want)) && !(want != want && dst[i] != dst[i]) {
					t.Fatalf("%s, %d numbers: log1p(%v) = %v, want %v", path, n, v, dst[i], want)
				}
			}
			if dst[n] != 7 {
				t.Fatalf("%s: wrote beyond the end", path)
			}
		}
	})
}

func BenchmarkLog1p(b *testing.B) {
	x := make([]float64, 100)
	for i := range x {
		x[i] = float64(i) / 100
	}
	dst := make([]float64, len(x))
	paths(func(path string) {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				simd.Log1p(dst, x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/value")
		})
	})
}

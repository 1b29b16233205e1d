package simd_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"opl/graph/kernel/simd"
)

func TestAdam32_StepsToTheSameBitsOnEveryPath(t *testing.T) {
	s := simd.AdamStep{Beta1: .9, Beta2: .999, Rest1: .1, Rest2: .001, Decay: .01, Rate: .3, Root: 20, Epsilon: 1e-8}
	for _, n := range []int{1, 7, 8, 100, 105} {
		var got [][]float32
		paths(func(string) {
			r := rand.New(rand.NewPCG(1, 1))
			x, m, v := random(r, n, 1), make([]float32, n), make([]float32, n)
			for range 5 {
				simd.Adam32(s, x, random(r, n, .9), m, v)
			}
			got = append(got, slices.Concat(x, m, v))
		})
		if !slices.Equal(got[0], got[len(got)-1]) {
			t.Errorf("%d parameters: the paths differ", n)
		}
	}
}

func BenchmarkAdam32(b *testing.B) {
	const n = 78400
	x, d, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range d {
		d[i] = 1 + float32(i)
	}
	paths(func(name string) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				simd.Adam32(simd.AdamStep{Beta1: .9, Beta2: .999, Rest1: .1, Rest2: .001, Rate: .3, Root: 20, Epsilon: 1e-8}, x, d, m, v)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/parameter")
		})
	})
}

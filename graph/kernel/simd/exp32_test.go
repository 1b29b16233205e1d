package simd_test

import (
	"math"
	"testing"

	"opl/graph/kernel/simd"
)

// paths runs a test or benchmark with the vector kernels and without.
func paths(run func(name string)) {
	was := simd.Use(true)
	defer simd.Use(was)
	if simd.Use(true) {
		run("vector")
	}
	simd.Use(false)
	run("go")
}

func TestExp32_IsWithinAnUlpOfExp(t *testing.T) {
	paths(func(name string) {
		var xs []float32
		for x := float32(-110); x < 92; x += .00317 {
			xs = append(xs, x)
		}
		for x := float32(1e-30); x < 100; x *= 1.01 {
			xs = append(xs, x, -x)
		}
		got := make([]float32, len(xs))
		simd.Exp32(got, xs)
		for i, x := range xs {
			want := math.Exp(float64(x))
			ulp := float64(math.Nextafter32(float32(want), float32(math.Inf(1)))) - float64(float32(want))
			switch {
			case want < 1.414*0x1p-126:
				if got[i] != 0 {
					t.Fatalf("%s: exp(%v) = %v, want 0", name, x, got[i])
				}
			case want < 1.415*0x1p-126 && got[i] == 0:
			case want > math.MaxFloat32*(1+1e-7):
				if !math.IsInf(float64(got[i]), 1) {
					t.Fatalf("%s: exp(%v) = %v", name, x, got[i])
				}
			case want < math.MaxFloat32*(1-1e-7) && !(math.Abs(float64(got[i])-want) <= 1.5*ulp):
				t.Fatalf("%s: exp(%v) = %v, want %v", name, x, got[i], want)
			}
		}
		inf := float32(math.Inf(1))
		special := []float32{inf, -inf, float32(math.NaN()), 0, -1e30, 1e30}
		simd.Exp32(special, special)
		for i, want := range []float32{inf, 0, 0, 1, 0, inf} {
			if special[i] != want && !(i == 2 && special[i] != special[i]) {
				t.Errorf("%s: special value %d gives %v", name, i, special[i])
			}
		}
		// Every length, nothing written beyond it.
		for n := range 20 {
			dst := make([]float32, n+1)
			dst[n] = 7
			simd.Exp32(dst[:n], make([]float32, n))
			for i, v := range dst {
				if want := float32(1); i < n && v != want || i == n && v != 7 {
					t.Fatalf("%s: length %d, element %d is %v", name, n, i, v)
				}
			}
		}
	})
}

func BenchmarkExp32(b *testing.B) {
	x, dst := make([]float32, 4096), make([]float32, 4096)
	for i := range x {
		x[i] = -float32(i) / 100
	}
	paths(func(name string) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				simd.Exp32(dst, x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/value")
		})
	})
}

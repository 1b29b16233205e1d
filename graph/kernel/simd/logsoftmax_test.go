package simd_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"opl/graph/kernel/simd"
)

// Log-softmaxes and their gradients are those of float64, whatever the length of rows and the spread of scores, in place too.
func TestLogSoftmax_AgreesWithFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for _, k := range []int{1, 2, 3, 7, 8, 9, 10, 16, 31, 100, 511, 512, 513, 1000} {
		for _, spread := range []float64{0, 1e-3, 1, 30, 1e4, 1e30} {
			const rows = 67 // more than a block
			x, g := make([]float32, rows*k), make([]float32, rows*k)
			for i := range x {
				x[i], g[i] = float32(spread*rng.NormFloat64()), float32(rng.NormFloat64())
			}
			want, grad := make([]float64, len(x)), make([]float64, len(x))
			for i := 0; i < len(x); i += k {
				top := i
				for j := i; j < i+k; j++ {
					if x[j] > x[top] {
						top = j
					}
				}
				tail, sum := 0.0, 0.0
				for j := i; j < i+k; j++ {
					if j != top {
						tail += math.Exp(float64(x[j]) - float64(x[top]))
					}
					sum += float64(g[j])
				}
				for j := i; j < i+k; j++ {
					want[j] = float64(x[j]) - float64(x[top]) - math.Log1p(tail)
					grad[j] = float64(g[j]) - math.Exp(want[j])*sum
				}
			}
			got := make([]float32, len(x)+1)
			got[len(x)] = 7
			if n := simd.LogSoftmax32(got[:len(x)], x, k); n != rows {
				if n != 0 || simd.Vector() && runtime.GOARCH == "amd64" {
					t.Fatalf("k = %d, spread %v: %d rows done", k, spread, n)
				}
				return // no kernel here
			}
			for i, v := range want {
				if e := math.Abs(float64(got[i]) - v); e > 4e-7+2e-7*math.Abs(v) || math.Abs(v) < 1e-3 && e > (5e-7-1e-7*math.Log(math.Abs(v)+1e-38))*math.Abs(v)+1e-37 {
					t.Fatalf("k = %d, spread %v, element %d: %v, want %v", k, spread, i, got[i], v)
				}
			}
			simd.LogSoftmax32(x, x, k)
			for i := range x {
				if x[i] != got[i] {
					t.Fatalf("k = %d, spread %v: in place %v, not %v", k, spread, x[i], got[i])
				}
			}
			d := make([]float32, len(x))
			simd.LogSoftmaxGrad(d, x, g, k)
			simd.LogSoftmaxGrad(g, x, g, k)
			for i, v := range grad {
				if math.Abs(float64(d[i])-v) > 2e-6*math.Sqrt(float64(k))+1e-6*math.Abs(v) || d[i] != g[i] {
					t.Fatalf("k = %d, spread %v: gradient %d is %v, in place %v, want %v", k, spread, i, d[i], g[i], v)
				}
			}
			if got[len(x)] != 7 {
				t.Fatalf("k = %d: wrote beyond the end", k)
			}
		}
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
			for at := range k {
				x := make([]float32, 3*k)
				x[k+at] = bad
				if n := simd.LogSoftmax32(make([]float32, 3*k), x, k); n != 1 {
					t.Fatalf("k = %d: %d rows before one with %v at %d", k, n, bad, at)
				}
			}
		}
	}
}

package policies

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

func TestQuantile_IsTheNormalQuantileAndOdd(t *testing.T) {
	xs := []uint32{0, 1, 2, 3, 1<<31 - 1, 1 << 31, math.MaxUint32 - 1, math.MaxUint32}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		xs = append(xs, r.Uint32()>>r.IntN(32))
	}
	for _, x := range xs {
		want := mathext.NormalQuantile((float64(x) + .5) / (1 << 32))
		if got := quantile(x); !(math.Abs(got-want) < 1e-8) || quantile(^x) != -got {
			t.Fatalf("quantile(%#x) = %v, quantile(%#x) = %v, want ±%v", x, got, ^x, quantile(^x), want)
		}
	}
}

func BenchmarkQuantile(b *testing.B) {
	for _, c := range []struct {
		name string
		f    func(uint32) float64
	}{{"quantile", quantile}, {"reference=mathext", func(x uint32) float64 { return mathext.NormalQuantile((float64(x) + .5) / (1 << 32)) }}} {
		b.Run(c.name, func(b *testing.B) {
			x, sum := uint32(1), 0.0
			for b.Loop() {
				x = x*1664525 + 1013904223
				sum += c.f(x)
			}
			_ = sum
		})
	}
}

// Each coordinate of the sequence visits each of 2ᵏ intervals once in 2ᵏ points,
// and no two coordinates visit them in the same order.
func TestSobol_VisitsEachIntervalOnceInEachCoordinate(t *testing.T) {
	for k := 1; k <= 10; k++ {
		n := 1 << k
		points := sobol(n, sobolDims)
		orders := map[string]int{}
		for j := range sobolDims {
			seen, order := make([]bool, n), ""
			for i := range n {
				cell := reverse(points[i*sobolDims+j]) >> (32 - k)
				seen[cell] = true
				order += string(rune(cell))
			}
			for cell, ok := range seen {
				if !ok {
					t.Fatalf("coordinate %d, %d points: interval %d is empty", j, n, cell)
				}
			}
			if other, ok := orders[order]; ok && k == 10 {
				t.Errorf("coordinates %d and %d agree in %d points", other, j, n)
			}
			orders[order] = j
		}
	}
}

func reverse(x uint32) (y uint32) {
	for range 32 {
		y, x = y<<1|x&1, x>>1
	}
	return y
}

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// block is random input to the quadrature of k actions, with coefficients that
// keep Φ near 1 and hazards positive.
func block(k, lanes, planes int) (table, delta, up, gap, t []float64, plane int, at []int32) {
	rng := rand.New(rand.NewPCG(8, uint64(k)))
	plane = 3 * lanes
	uniform := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 2*rng.Float64() - 1
		}
		return x
	}
	table, delta, up, gap, t = uniform(4*plane*planes), uniform(k), uniform(k), uniform(k), uniform(lanes)
	for i := range table {
		switch table[i] *= 0.01; i / plane % planes {
		case 0:
			if planes == Planes64 {
				table[i]++
			}
		case 1:
			table[i] = 0.05 + math.Abs(table[i])
		}
	}
	at = make([]int32, k)
	for i := range at {
		at[i] = int32(rng.IntN(4)*plane*planes + rng.IntN(2*lanes))
	}
	return
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// close compares the vector kernels' results to the Go path's and says what was
// written past the end.
func close[T float32 | float64](t *testing.T, name string, got, want []T, n int, tol float64) {
	t.Helper()
	for i := range want {
		if i >= n && got[i] != want[i] {
			t.Errorf("%s: wrote past the end, at %d of %d", name, i, n)
		}
		if !(math.Abs(float64(got[i]-want[i])) <= tol*(1+math.Abs(float64(want[i])))) {
			t.Errorf("%s[%d] = %v, want %v", name, i, got[i], want[i])
		}
	}
}

func TestQuadrature_GivesTheSumsOfTheBodiesInGo(t *testing.T) {
	defer Use(Use(true))
	const spare = 5
	for _, k := range []int{1, 2, 3, 10, 15, 16, 17, 32, 33, 100} {
		table, delta, up, gap, at64, plane, at := block(k, Lanes64, Planes64)
		var out64 [2][4][]float64
		for i := range out64 {
			Use(i == 0)
			r, p, all := make([]float64, k*Lanes64+spare), make([]float64, Lanes64), make([]float64, Lanes64)
			Hazards64(r, p, all, table, plane, at, delta, up)
			dst := append([]float64(nil), make([]float64, k+spare)...)
			Dots64(dst[:k], r, p)
			Pulls64(dst[:k], r, p, all, at64, gap, up)
			out64[i] = [4][]float64{r, p, all, dst}
		}
		for i, n := range []int{k * Lanes64, Lanes64, Lanes64, k} {
			close(t, fmt.Sprintf("float64, k=%d, output %d", k, i), out64[0][i], out64[1][i], n, 1e-13)
		}

		table, delta, up, gap, at64, plane, at = block(k, Lanes32, Planes32)
		table32, delta32, up32, gap32, t32 := single(table), single(delta), single(up), single(gap), single(at64)
		var out32 [2][4][]float32
		for i := range out32 {
			Use(i == 0)
			r, p, all := make([]float32, k*Lanes32+spare), make([]float32, Lanes32), make([]float32, Lanes32)
			Hazards32(r, p, all, table32, plane, at, delta32, up32)
			dst := make([]float32, k+spare)
			Dots32(dst[:k], r, p)
			Pulls32(dst[:k], r, p, all, t32, gap32, up32)
			out32[i] = [4][]float32{r, p, all, dst}
		}
		for i, n := range []int{k * Lanes32, Lanes32, Lanes32, k} {
			close(t, fmt.Sprintf("float32, k=%d, output %d", k, i), out32[0][i], out32[1][i], n, 2e-6)
		}
	}
}

// BenchmarkQuadrature is one block of 100 actions, with the Go path beside each.
func BenchmarkQuadrature(b *testing.B) {
	const k = 100
	table, delta, up, gap, t, plane, at := block(k, Lanes32, Planes32)
	table32, delta32, up32, gap32, t32 := single(table), single(delta), single(up), single(gap), single(t)
	r32, p32, all32, dst32 := make([]float32, k*Lanes32), make([]float32, Lanes32), make([]float32, Lanes32), make([]float32, k)
	table, delta, up, gap, t, plane64, at64 := block(k, Lanes64, Planes64)
	r, p, all, dst := make([]float64, k*Lanes64), make([]float64, Lanes64), make([]float64, Lanes64), make([]float64, k)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"Hazards32", func() { Hazards32(r32, p32, all32, table32, plane, at, delta32, up32) }},
		{"Dots32", func() { Dots32(dst32, r32, p32) }},
		{"Pulls32", func() { Pulls32(dst32, r32, p32, all32, t32, gap32, up32) }},
		{"Hazards64", func() { Hazards64(r, p, all, table, plane64, at64, delta, up) }},
		{"Dots64", func() { Dots64(dst, r, p) }},
		{"Pulls64", func() { Pulls64(dst, r, p, all, t, gap, up) }},
	} {
		isas(func(isa string) {
			b.Run(c.name+"/"+isa, func(b *testing.B) {
				for range b.N {
					c.f()
				}
			})
		})
	}
}

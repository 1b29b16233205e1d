package simd_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"opl/graph/kernel/simd"
)

func TestNormal32_IsTheQuantileOfTheNormal(t *testing.T) {
	xs := []uint32{0, 1, 2, 3, 1<<31 - 1, 1 << 31, math.MaxUint32 - 1, math.MaxUint32}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200_003 {
		xs = append(xs, r.Uint32()>>r.IntN(32)^-r.Uint32N(2))
	}
	paths(func(name string) {
		got := make([]float32, len(xs))
		simd.Normal32(got, xs)
		for i, x := range xs {
			want := mathext.NormalQuantile((float64(x) + .5) / (1 << 32))
			if !(math.Abs(float64(got[i])-want) <= 5e-7*math.Abs(want)) {
				t.Fatalf("%s: quantile of %#x is %v, want %v", name, x, got[i], want)
			}
		}
	})
}

// Each column has one point in each stratum, and all orders are equally likely.
func TestStrata_HoldOnePointEachInEveryOrder(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 32, 33, 100, 128} {
		s := simd.NewStrata(n)
		var all [][]uint32
		paths(func(name string) {
			buf, work := make([]uint32, n*simd.Lanes), make([]uint32, n*simd.Lanes)
			for key := range uint64(20) {
				s.Points(buf, simd.Lanes, work, key<<40|key, 0)
				for l := range simd.Lanes {
					seen := make([]bool, n)
					for d := range n {
						seen[min(n-1, int(uint64(buf[d*simd.Lanes+l])*uint64(n)>>32)+bump(buf[d*simd.Lanes+l], n))] = true
					}
					if slices.Contains(seen, false) {
						t.Fatalf("%s: %d draws, lane %d: a stratum is empty", name, n, l)
					}
				}
				all = append(all, slices.Clone(buf))
			}
		})
		for i := range len(all) - 20 {
			if !slices.Equal(all[i], all[i+20]) {
				t.Fatalf("%d draws: the paths differ", n)
			}
		}
	}
	// Columns of a matrix: as on the other path, the rest untouched.
	{
		const n, stride = 5, 21
		s := simd.NewStrata(n)
		var all [][]uint32
		paths(func(string) {
			dst, work := make([]uint32, n*stride), make([]uint32, n*simd.Lanes)
			for j := 0; j < stride; j += simd.Lanes {
				s.Points(dst, stride, work, 99, j)
			}
			all = append(all, dst)
		})
		if !slices.Equal(all[0], all[len(all)-1]) || slices.Contains(all[0], 0) {
			t.Error("matrix of points: the paths differ, or some are missing")
		}
	}
	// The six orders of three strata.
	s, counts := simd.NewStrata(3), map[[3]uint32]int{}
	buf, work := make([]uint32, 3*simd.Lanes), make([]uint32, 3*simd.Lanes)
	r := rand.New(rand.NewPCG(5, 5))
	const keys = 5000
	for range keys {
		s.Points(buf, simd.Lanes, work, r.Uint64(), 0)
		for l := range simd.Lanes {
			var order [3]uint32
			for d := range order {
				order[d] = buf[d*simd.Lanes+l] / (1<<32/3 + 1)
			}
			counts[order]++
		}
	}
	for order, c := range counts {
		if mean := keys * simd.Lanes / 6.; math.Abs(float64(c)-mean) > 5*math.Sqrt(mean) {
			t.Errorf("order %v comes %d times, want %v", order, c, mean)
		}
	}
	if len(counts) != 6 {
		t.Errorf("%d orders", len(counts))
	}
}

// bump is 1 where x is the first number of a stratum but for rounding.
func bump(x uint32, n int) int {
	if uint64(x)*uint64(n)>>32 != (uint64(x)+uint64(n))*uint64(n)>>32 {
		return 1
	}
	return 0
}

func TestScramble_GivesTheSameBitsOnEveryPath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, n := range []int{1, 7, 8, 320, 323} {
		numbers := func(n int) []uint32 {
			x := make([]uint32, n)
			for i := range x {
				x[i] = r.Uint32()
			}
			return x
		}
		points, seeds, shifts := numbers(n), numbers(40), numbers(40)
		var got [][]uint32
		paths(func(string) {
			dst := make([]uint32, n)
			simd.Scramble(dst, points, seeds, shifts)
			got = append(got, dst)
		})
		if !slices.Equal(got[0], got[len(got)-1]) {
			t.Errorf("%d points: the paths differ", n)
		}
	}
}

func BenchmarkNoise(b *testing.B) {
	s := simd.NewStrata(32)
	buf, work, x := make([]uint32, 32*simd.Lanes), make([]uint32, 32*simd.Lanes), make([]float32, 32*simd.Lanes)
	s.Points(buf, simd.Lanes, work, 7, 0)
	paths(func(name string) {
		for kind, f := range map[string]func(){
			"strata": func() { s.Points(buf, simd.Lanes, work, 7, 0) }, "normal": func() { simd.Normal32(x, buf) },
		} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(buf)), "ns/value")
			})
		}
	})
}

package simd_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/graph/kernel/simd"
)

// Squares are those of a loop, with equals, infinities and NaN among them; nothing else is written.
func TestPool2_GivesTheMaximaOfALoop(t *testing.T) {
	nan := float32(math.NaN())
	for _, s := range [][2]int{{1, 1}, {3, 1}, {2, 3}, {1, 8}, {4, 8}, {3, 16}, {2, 24}, {5, 10}} {
		n, c := s[0], s[1]
		row := 2*n*c + 3
		paths(func(name string) {
			r := rand.New(rand.NewPCG(1, 1))
			x, g := make([]float32, 2*row), random(r, n*c, 1)
			for i := range x {
				x[i] = []float32{-1, 0, 1, 2, float32(math.Inf(-1)), nan}[min(r.IntN(60), 5)%6]
				if r.IntN(10) > 0 {
					x[i] = float32(r.IntN(4))
				}
			}
			y, dx := make([]float32, n*c), make([]float32, 2*row)
			for i := range dx {
				dx[i] = 7
			}
			simd.Pool2(y, x, row, c)
			simd.Unpool2(dx, x, g, row, c)
			written := map[int]bool{}
			for i := range y {
				first := i/c*2*c + i%c
				places := []int{first, first + c, first + row, first + row + c}
				best := places[0]
				for _, at := range places {
					written[at] = true
					if x[at] != x[at] || x[at] > x[best] {
						best = at
					}
					if x[best] != x[best] {
						break
					}
				}
				if y[i] != x[best] && x[best] == x[best] || (y[i] == y[i]) != (x[best] == x[best]) {
					t.Fatalf("%s, %v: maximum %d is %v, want %v", name, s, i, y[i], x[best])
				}
				if x[best] != x[best] { // anywhere, once
					best = places[3]
				}
				for _, at := range places {
					written[at] = true
					if want := map[bool]float32{true: g[i]}[at == best]; dx[at] != want {
						t.Fatalf("%s, %v: derivative at %d is %v, want %v", name, s, at, dx[at], want)
					}
				}
			}
			for at, v := range dx {
				if !written[at] && v != 7 {
					t.Errorf("%s, %v: wrote %v at %d", name, s, v, at)
				}
			}
		})
	}
}

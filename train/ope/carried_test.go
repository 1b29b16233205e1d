package ope

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Shards that are put together say what the whole says, in any order.
func TestCarried_OfShardsIsThatOfTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 30, 100, 1000} {
		rewards := make([]float64, n)
		for i := range rewards {
			if rewards[i] = 1; r.IntN(60) == 0 {
				rewards[i] = r.Float64() * 7
			}
		}
		whole, parts := carriedBy(rewards), carried{}
		for at := 0; at < n; {
			next := min(n, at+1+r.IntN(70))
			parts, at = carriedBy(rewards[at:next]).add(parts), next
		}
		if parts.N != whole.N || math.Abs(parts.Square-whole.Square) > 1e-9 || !slices.Equal(parts.Ends, whole.Ends) || parts.rows() != whole.rows() {
			t.Errorf("%d rewards: %+v, want %+v", n, parts, whole)
		}
	}
}

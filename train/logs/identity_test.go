package logs

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Keys that differ stay what they are, and those that are equal get those of a count of each.
func TestApart(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 2, 3, 1000, 5000} {
		keys := make([]uint64, n)
		for i := range keys {
			if keys[i] = r.Uint64(); i%3 == 2 {
				keys[i] = keys[r.IntN(i)]
			}
		}
		if n > 3 {
			keys[1], keys[3] = 0, 0
		}
		want, seen := slices.Clone(keys), map[uint64]uint64{}
		for i, h := range keys {
			if k := seen[h]; k > 0 {
				want[i] = hashOf(k, h)
			}
			seen[h]++
		}
		if apart(keys); !slices.Equal(keys, want) {
			t.Errorf("%d keys: not those of a count of each", n)
		}
	}
}

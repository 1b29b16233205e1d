package keys

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFirst_AreThoseOfTheSortedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 9, 10, 19, 20, 21, 1000} {
		rows := r.Perm(n)
		sorted := slices.Sorted(slices.Values(rows))
		if got := First(slices.Values(rows), 10, cmp.Compare[int]); !slices.Equal(got, sorted[:min(10, n)]) {
			t.Errorf("%d rows: %v", n, got)
		}
	}
}

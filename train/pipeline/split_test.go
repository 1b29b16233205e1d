package pipeline

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestSplit_KeepsGroupsAndTimesTogether(t *testing.T) {
	const n = 4000
	c := SplitBy{IDs: make([]uint64, n), Group: make([]int32, n), Time: make([]int64, n)}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		c.IDs[i], c.Group[i], c.Time[i] = uint64(i/2), int32(r.IntN(500)), int64(r.IntN(300))
	}
	for how, same := range map[string]func(i, j int) bool{
		Random:  func(i, j int) bool { return c.IDs[i] == c.IDs[j] },
		ByGroup: func(i, j int) bool { return c.Group[i] == c.Group[j] },
		ByTime:  func(i, j int) bool { return c.Time[i] >= c.Time[j] },
	} {
		t.Run(how, func(t *testing.T) {
			teach, rest, err := Split(how, .3, 7, n, c)
			if err != nil {
				t.Fatal(err)
			}
			if all := slices.Sorted(slices.Values(append(slices.Clone(teach), rest...))); len(all) != n || all[0] != 0 || all[n-1] != n-1 || len(slices.Compact(all)) != n {
				t.Errorf("%d and %d rows do not make the log", len(teach), len(rest))
			}
			if share := float64(len(teach)) / n; math.Abs(share-.3) > .05 {
				t.Errorf("%v of the rows teach", share)
			}
			for _, i := range teach {
				for _, j := range rest {
					if same(i, j) {
						t.Fatalf("rows %d and %d are on both sides", i, j)
					}
				}
			}
			again, _, _ := Split(how, .3, 7, n, c)
			other, _, _ := Split(how, .3, 8, n, c)
			if !slices.Equal(teach, again) || how != ByTime && slices.Equal(teach, other) {
				t.Errorf("%s: the seed does not decide", how)
			}
		})
	}
	for _, bad := range []struct {
		how   string
		share float64
		c     SplitBy
		want  string
	}{
		{ByTime, .5, SplitBy{}, "timestamp"},
		{ByGroup, .5, SplitBy{}, "group"},
		{"week", .5, SplitBy{}, "week"},
		{Random, 0, c, "share"},
		{ByTime, .5, SplitBy{Time: make([]int64, n)}, "leaves 0"},
	} {
		if _, _, err := Split(bad.how, bad.share, 1, n, bad.c); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %q", bad.how, err, bad.want)
		}
	}
}

func TestChunksOf(t *testing.T) {
	for _, c := range []struct{ n, names, want int }{{49, 9, 1}, {50, 9, 6}, {50_000, 5_000, 6}, {50_001, 9, 6},
		{50_001, 4_096, 6}, {50_001, 4_097, 1}, {200_000, 9, 6}, {200_001, 9, 1}} {
		if got := chunksOf(c.n, c.names); got != c.want {
			t.Errorf("%d rows, %d names: %d chunks, want %d", c.n, c.names, got, c.want)
		}
	}
}

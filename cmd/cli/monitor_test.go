package cli

import (
	"math/rand/v2"
	"slices"
	"testing"

	"opl/train/logs"
	"opl/train/provenance"
)

// What a look counted stays as rows follow: the first rows of a group that stand together, of an id the first.
func TestRewardsOf_GroupsThatComeBackChangeNothingBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const n, groups = 400, 40
	all := &logs.Log{Actions: []string{"a", "b"}, Policies: []string{"p", "q"}}
	for i := range n {
		g := int32(r.IntN(groups))
		if i > 0 && r.IntN(2) == 0 {
			g = all.Group[i-1]
		}
		if i%10 == 0 {
			g = -1
		}
		all.Action = append(all.Action, 0)
		all.Group, all.Logger = append(all.Group, g), append(all.Logger, int32(r.IntN(5)/4))
		all.Cost, all.Time = append(all.Cost, -r.Float64()), append(all.Time, int64(i/2))
	}
	rewards := func(rows int) []float64 {
		of := *all
		of.Action = all.Action[:rows]
		of.Group, of.Logger, of.Cost, of.Time = all.Group[:rows], all.Logger[:rows], all.Cost[:rows], all.Time[:rows]
		got, _, counted, left, err := rewardsOf(&of, "p", func(i int) (uint64, bool) {
			return provenance.Hash(1, uint64(all.Group[i])), all.Group[i] >= 0
		})
		if mine := rows - int(sum(of.Logger)); err != nil || counted+left != mine {
			t.Fatalf("%d and %d of %d rows: %v", counted, left, mine, err)
		}
		return got
	}
	whole := rewards(n)
	if len(whole) < groups/2 {
		t.Fatalf("%d rewards", len(whole))
	}
	for rows := 2; rows < n; rows += 2 {
		if got := rewards(rows); !slices.Equal(got, whole[:len(got)]) {
			t.Fatalf("after %d rows: %v, later %v", rows, got, whole[:len(got)])
		}
	}
}

// Without times what stood together at a look is not known where groups come back.
func TestRewardsOf_GroupsThatComeBackNeedTimes(t *testing.T) {
	log := &logs.Log{Policies: []string{"p"}, Action: make([]int32, 4), Cost: make([]float64, 4), Logger: make([]int32, 4)}
	for _, c := range []struct {
		group []int32
		time  []int64
		want  int
	}{{[]int32{0, 0, 1, 2}, nil, 2}, {[]int32{0, 1, 0, 2}, nil, -1}, {[]int32{0, 1, 0, 2}, []int64{1, 2, 3, 4}, 2}, {[]int32{-1, 1, -1, 2}, nil, 3}} {
		log.Group, log.Time = c.group, c.time
		got, _, _, _, err := rewardsOf(log, "p", func(i int) (uint64, bool) { return uint64(log.Group[i] + 7), log.Group[i] >= 0 })
		if (err != nil) != (c.want < 0) || err == nil && len(got) != c.want {
			t.Errorf("%v: %v, %v", c.group, got, err)
		}
	}
}

// Rows of other policies are not inspected: what is said of the log is said of the policy's rows.
func TestRowsOf_AreThePolicys(t *testing.T) {
	log := &logs.Log{Actions: []string{"a", "b"}, Policies: []string{"p", "q", "r"}, Action: []int32{0, 1, 0, 1}, Cost: []float64{0, -1, -1, 0},
		Logger: []int32{0, 1, -1, 0}}
	if of := rowsOf(log, "p"); of.Len() != 2 || of.Cost[0] != 0 || of.Action[1] != 1 {
		t.Errorf("%+v", of)
	}
	for _, hash := range []string{"none", "r"} {
		if of := rowsOf(log, hash); hash == "none" && of != log || hash == "r" && of.Len() != 0 {
			t.Errorf("%s: %d rows", hash, of.Len())
		}
	}
}

func sum(v []int32) (s int32) {
	for _, x := range v {
		s += x
	}
	return s
}

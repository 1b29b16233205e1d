package inspect_test

import (
	"slices"
	"testing"

	"opl/train/inspect"
	"opl/train/logs"
)

// A log that has a stretch of its rows twice, of so few contexts that these do not tell, is unusable: the copy may come at the end or within,
// and of part of the rows. Rows that are sorted by what happened, that no chance draws, or of groups, are not taken for copies.
func TestCopies_AreFound(t *testing.T) {
	few := world{n: 1000, k: 34, rate: 0.006, contexts: 3}
	for _, c := range []struct {
		name  string
		w     world
		spoil func(in *logs.Log)
		found bool
	}{
		{"sound", worlds[8], func(*logs.Log) {}, false},
		{"sound, rare rewards", few, func(*logs.Log) {}, false},
		{"the log twice", worlds[8], func(in *logs.Log) { again(in, 1000, 0, 1000) }, true},
		{"a part, within", worlds[8], func(in *logs.Log) { again(in, 1203, 117, 300) }, true},
		{"a few rows", worlds[8], func(in *logs.Log) { again(in, 1203, 117, 20) }, false},
		{"the log twice, rare rewards", few, func(in *logs.Log) { again(in, 500, 0, 500) }, true},
		{"drawn by no chance", worlds[8], func(in *logs.Log) {
			again(in, 1000, 0, 1000)
			for i := range in.Propensity {
				in.Propensity[i], in.Propensities[2*i], in.Propensities[2*i+1] = 1, float64(1-in.Action[i]), float64(in.Action[i])
			}
		}, false},
		{"of groups", worlds[8], func(in *logs.Log) {
			again(in, 1000, 0, 1000)
			in.Group = make([]int32, in.Len())
			for i := range in.Group {
				in.Group[i] = int32(i % 1000)
			}
		}, false},
		{"sorted by action and reward", world{n: 1000, k: 2, all: true, rate: 0.5}, func(in *logs.Log) {
			rows := slices.Repeat([]int{0}, in.Len())
			for i := range rows {
				rows[i] = i
			}
			slices.SortStableFunc(rows, func(i, j int) int {
				return 2*int(in.Action[i]-in.Action[j]) + int(in.Cost[i]-in.Cost[j])
			})
			was := *in
			in.Action, in.Cost, in.Propensity, in.Propensities = nil, nil, nil, nil
			for _, i := range rows {
				in.Action, in.Cost, in.Propensity = append(in.Action, was.Action[i]), append(in.Cost, was.Cost[i]), append(in.Propensity, was.Propensity[i])
				in.Propensities = append(in.Propensities, was.Propensities[2*i:2*i+2]...)
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.w.log(3)
			c.spoil(in)
			f, _ := inspect.Inspect(in).Finding("rows written again")
			if found := f.Severity == inspect.Unusable; found != c.found || f.Severity == inspect.Doubtful {
				t.Errorf("%+v", f)
			}
		})
	}
}

// again writes n rows, those from from on, over those from to on.
func again(in *logs.Log, to, from, n int) {
	copy(in.Action[to:to+n], slices.Clone(in.Action[from:from+n]))
	copy(in.Cost[to:to+n], slices.Clone(in.Cost[from:from+n]))
	copy(in.Propensity[to:to+n], slices.Clone(in.Propensity[from:from+n]))
	if k := in.K(); in.Propensities != nil {
		copy(in.Propensities[k*to:k*(to+n)], slices.Clone(in.Propensities[k*from:k*(from+n)]))
	}
	for i := range n {
		contexts(in)[to+i] = contexts(in)[from+i]
	}
}

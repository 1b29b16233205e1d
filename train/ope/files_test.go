package ope_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opl/train/logs"
	"opl/train/ope"
)

// Shards that read their own files alone have the sums of those that read all, whatever they may be merged of; what hangs on all rows
// is left out.
func TestShards_OfFilesSumAsThoseOfRows(t *testing.T) {
	dir, r := t.TempDir(), rand.New(rand.NewPCG(7, 7))
	for f := range 7 {
		text := "decision_id,action,reward,propensity,group\n"
		for i := range 50 + 90*f {
			text += fmt.Sprintf("%d-%d,%c,%d,%v,%d\n", f, i, "abc"[r.IntN(3)], r.IntN(2), []float64{.2, .25, .5}[r.IntN(3)], 1000*f+i/3)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.csv", f)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	clip, err := ope.Estimators()[2].With(0.3)
	if err != nil {
		t.Fatal(err)
	}
	estimators := []ope.Estimator{ope.IPS(), ope.SNIPS(), clip}
	evaluate := func(n int, o ope.Options) ope.Result {
		var all []ope.Partial
		for i := range n {
			l, err := logs.Open(context.Background(), dir, logs.Options{NoCache: true, Share: logs.Shard{Number: i + 1, Of: n}, Actions: []string{"a", "b", "c"}})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			p, err := ope.EvaluatePartial(l, []ope.Target{ope.Uniform()}, o, logs.Shard{Number: i + 1, Of: n}, "x")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		if _, err := ope.Combine(all[1:]); n > 1 && (err == nil || !strings.Contains(err.Error(), "missing")) {
			t.Error(err)
		}
		res, err := ope.Combine(all)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	o := ope.Options{Estimators: estimators}
	l, err := logs.Open(context.Background(), dir, logs.Options{NoCache: true, Actions: []string{"a", "b", "c"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want, err := ope.Combine(partials(t, l, []ope.Target{ope.Uniform()}, o, 3))
	if err != nil {
		t.Fatal(err)
	}
	want = noted(t, want)
	for _, n := range []int{1, 2, 5, 7} {
		got := evaluate(n, o)
		agree(t, fmt.Sprint(n, " shards"), noted(t, got), want)
	}
	for _, m := range evaluate(2, ope.Options{Learn: func([]float64) (ope.Model, error) { panic("no model can be learned") }}).Missing {
		if !strings.Contains(m, "shards") {
			t.Error(m)
		}
	}
	if _, err := logs.Open(context.Background(), dir, logs.Options{NoCache: true, Share: logs.Shard{Number: 8, Of: 8}}); err == nil || !strings.Contains(err.Error(), "only 7 files") {
		t.Error(err)
	}
	// Of a shard whose rewards, actions or files are others, nothing is merged.
	for _, c := range []struct {
		what  string
		other func(*logs.Options)
	}{
		{"actions", func(o *logs.Options) { o.Actions = []string{"a", "c", "b"} }},
		{"rewards", func(o *logs.Options) { o.RewardMin, o.RewardMax = -1, 1 }},
		{"files", func(*logs.Options) { // to the end of the test
			if err := os.WriteFile(filepath.Join(dir, "1.csv"), []byte("action,reward,propensity\na,1,.5\nb,1,.5\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		var all []ope.Partial
		for i := range 2 {
			lo := logs.Options{NoCache: true, Share: logs.Shard{Number: 2 - i, Of: 2}, Actions: []string{"a", "b", "c"}}
			if i == 1 {
				c.other(&lo)
			}
			l, err := logs.Open(context.Background(), dir, lo)
			if c.what == "files" && i == 1 && err != nil {
				lo.Share.Number = 2 // whose files are the same
				l, err = logs.Open(context.Background(), dir, lo)
			}
			if err != nil {
				t.Fatal(c.what, err)
			}
			defer l.Close()
			p, err := ope.EvaluatePartial(l, []ope.Target{ope.Uniform()}, o, logs.Shard{Number: 2 - i, Of: 2}, "x")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		if _, err := ope.Combine(all); err == nil || !strings.Contains(err.Error(), "different targets, logs") {
			t.Error(c.what, err)
		}
	}
}

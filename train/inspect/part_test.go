package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opl/train/inspect"
	"opl/train/logs"
)

// days are files of rows of one log.
type days struct {
	files, rows int
	groups, all bool
	ids, times  bool
	weights     bool
	continuous  bool
	jump        float64 // of the reward, in the last file
	odd         bool    // propensities that are not those of the draw
	jsonl       bool    // every other file
}

func (d days) write(t *testing.T, dir string) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	for f := range d.files {
		var b strings.Builder
		names := []string{"action", "reward", "propensity", "x_a", "x_city"}
		for name, is := range map[string]bool{"group": d.groups, "decision_id": d.ids, "timestamp": d.times, "weight": d.weights, "p_a": d.all, "p_b": d.all, "p_c": d.all} {
			if is {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		lines := d.jsonl && f%2 == 1
		if !lines {
			fmt.Fprintln(&b, strings.Join(names, ","))
		}
		for i := range d.rows + 37*f {
			p := []float64{.2, .3, .5}
			if i%2 == 1 {
				p = []float64{.6, .3, .1}
			}
			a := 0
			for u := r.Float64() - p[0]; u > 0 && a < 2; u -= p[a] {
				a++
			}
			reward := 0.
			if r.Float64() < .3+.1*float64(a) || f == d.files-1 && r.Float64() < d.jump {
				reward = 1
			}
			if d.continuous {
				reward = r.Float64()
			}
			if d.odd {
				p = []float64{1. / 3, 1. / 3, 1. / 3}
			}
			of := map[string]any{"action": "abc"[a : a+1], "reward": reward, "propensity": p[a], "x_a": math.Round(1e3*r.NormFloat64()) / 1e3, "x_city": "OBR"[i%3 : i%3+1],
				"group": fmt.Sprintf("g%d-%d", f, i/4), "decision_id": fmt.Sprintf("%d-%d", f, i), "timestamp": 1.7e9 + float64(86400*f+i), "weight": 1 + i%3, "p_a": p[0], "p_b": p[1], "p_c": p[2]}
			var row []string
			for _, name := range names {
				v := fmt.Sprint(of[name])
				if lines {
					text, _ := json.Marshal(of[name])
					v = fmt.Sprintf("%q:%s", name, text)
				}
				row = append(row, v)
			}
			if text := strings.Join(row, ","); lines {
				fmt.Fprintln(&b, "{"+text+"}")
			} else {
				fmt.Fprintln(&b, text)
			}
		}
		name := fmt.Sprintf("%02d.csv", f)
		if lines {
			name = fmt.Sprintf("%02d.jsonl", f)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// share is a shard of the files in a folder, as it is read back.
func share(t *testing.T, dir string, number, of int, change ...func(*logs.Options)) (p inspect.Part) {
	t.Helper()
	shard := logs.Shard{Number: number, Of: of}
	o := logs.Options{NoCache: true, Share: shard, Actions: []string{"a", "b", "c"}}
	for _, c := range change {
		c(&o)
	}
	l, err := logs.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	part, err := inspect.Share(l, 1, shard)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(part)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shares(t *testing.T, dir string, of int) (all []inspect.Part) {
	for i := range of {
		all = append(all, share(t, dir, i+1, of))
	}
	return all
}

func inspected(t *testing.T, dir string) inspect.Report {
	t.Helper()
	l, err := logs.Open(context.Background(), dir, logs.Options{NoCache: true, Actions: []string{"a", "b", "c"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return inspect.Inspect(l)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a), math.Abs(b)) }

// What shards say of sums is what one machine says of all rows, and the verdict is the same.
func TestShares(t *testing.T) {
	own := []string{"repeated contexts", "rows written again", "rewards in sequence", "bets on propensities", "shards", "drift"} // that shards have of their own
	for what, d := range map[string]days{
		"logged":     {files: 7, rows: 200, ids: true, times: true},
		"all":        {files: 7, rows: 200, ids: true, all: true},
		"groups":     {files: 6, rows: 210, ids: true, all: true, groups: true, jsonl: true},
		"weights":    {files: 5, rows: 220, weights: true, groups: true},
		"continuous": {files: 6, rows: 300, continuous: true, times: true},
		"drift":      {files: 6, rows: 300, jump: .5, ids: true},
		"odd":        {files: 6, rows: 300, odd: true, all: true},
	} {
		dir := t.TempDir()
		d.write(t, dir)
		want := inspected(t, dir)
		for _, n := range []int{1, 2, 5} {
			all := shares(t, dir, n)
			got, err := inspect.Combine(append(slices.Clone(all[n/2:]), all[:n/2+1]...)) // one comes twice, in another order
			if err != nil {
				t.Fatalf("%s, %d: %v", what, n, err)
			}
			if got.Severity != want.Severity && !(what == "drift" && n > 1) {
				t.Errorf("%s, %d shards: %s, not %s", what, n, got.Summary(), want.Summary())
			}
			if got.Rows != want.Rows || got.From != want.From || got.To != want.To || got.Gamma != want.Gamma || got.Known != want.Known {
				t.Errorf("%s, %d: %+v", what, n, got)
			}
			if n > 1 && what == "drift" && got.Severity == inspect.Fine {
				t.Error("drift is not seen")
			}
			seen := 0
			for _, f := range want.Findings {
				if slices.ContainsFunc(own, func(name string) bool { return strings.HasPrefix(f.Check, name) }) {
					continue
				}
				g, is := got.Finding(f.Check)
				if !is || g.Severity != f.Severity || g.Means != f.Means {
					t.Errorf("%s, %d shards, %s: %+v, want %+v", what, n, f.Check, g, f)
					continue
				}
				seen++
				for i, v := range g.Numbers {
					if w := f.Numbers[i]; v.Name != w.Name || !near(v.Value, w.Value) {
						t.Errorf("%s, %d shards, %s: %s is %v, want %v", what, n, f.Check, v.Name, v.Value, w.Value)
					}
				}
				if text, _, _ := strings.Cut(f.Measured, "; top 1 %"); !strings.HasPrefix(g.Measured, text) && !(f.Check == "reward" && d.continuous) {
					t.Errorf("%s, %d shards, %s: %q, want %q", what, n, f.Check, g.Measured, f.Measured)
				}
			}
			if seen < 9 {
				t.Errorf("%s: only %d checks", what, seen)
			}
			for i, a := range want.ByAction {
				if b := got.ByAction[i]; a.Name != b.Name || a.Rows != b.Rows || !near(a.Expected, b.Expected) || !near(a.Z, b.Z) || !near(a.Reward, b.Reward) || !near(a.SE, b.SE) {
					t.Errorf("%s, %d shards: action %+v, want %+v", what, n, b, a)
				}
			}
			if n > 1 {
				if _, err := inspect.Combine(all[1:]); err == nil || !strings.Contains(err.Error(), "1/"+fmt.Sprint(n)+" is missing: run these shards") {
					t.Error(err)
				}
			}
		}
	}
}

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

	"opl/testdata/long"
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
func share(t *testing.T, dir string, number, of int, change ...func(*logs.Options)) (p inspect.Partial) {
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
	part, err := inspect.OfShard(l, 1, shard)
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

func shares(t *testing.T, dir string, of int) (all []inspect.Partial) {
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
func TestCombine_SaysWhatOneMachineSays(t *testing.T) {
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
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			d.write(t, dir)
			want := inspected(t, dir)
			for _, n := range []int{1, 5} {
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
				if f, _ := got.Finding("bets on propensities"); n == 1 {
					for i, v := range f.Numbers {
						if w, _ := want.Finding(f.Check); !near(v.Value, w.Numbers[i].Value) {
							t.Errorf("%+v, want %+v", f, w)
						}
					}
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
					t.Errorf("only %d checks", seen)
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
		})
	}
}

// What stands in files of two shards is found, and what shards cannot say is said.
func TestCombine_FindsRowsInTwoShards(t *testing.T) {
	d := days{files: 4, rows: 300, ids: true, times: true}
	edit := func(t *testing.T, dir, file string, change func(lines []string) []string) {
		t.Helper()
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err == nil {
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			err = os.WriteFile(path, []byte(strings.Join(append(lines[:1:1], change(lines[1:])...), "\n")+"\n"), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := func(t *testing.T, dir, file string) []string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	}
	field := func(lines []string, at int, of func(i int, was string) string) (out []string) {
		for i, line := range lines {
			cells := strings.Split(line, ",")
			cells[at] = of(i, cells[at])
			out = append(out, strings.Join(cells, ","))
		}
		return out
	}
	const action, id, timestamp, xa = 0, 1, 4, 5 // columns, sorted by name
	for what, c := range map[string]struct {
		d        days
		change   func(t *testing.T, dir string)
		check    string
		severity inspect.Severity
		measured string
		own      bool // of shards alone, not of the whole log
	}{
		"an id in two files": {d, func(t *testing.T, dir string) {
			edit(t, dir, "03.csv", func(l []string) []string {
				return field(l, id, func(i int, was string) string { return map[bool]string{true: "0-7", false: was}[i == 9] })
			})
		}, "decision ids", inspect.Doubtful, "1 of 1422 rows repeat an id", false},
		"a copy": {d, func(t *testing.T, dir string) {
			edit(t, dir, "03.csv", func(l []string) []string { return rows(t, dir, "00.csv") })
		}, "decision ids", inspect.Unusable, "300 of 1311 rows repeat an id", false},
		"other ids and contexts": {d, func(t *testing.T, dir string) {
			edit(t, dir, "03.csv", func(l []string) []string {
				return append(l[:50:50], field(field(rows(t, dir, "00.csv")[20:220], id, func(i int, _ string) string { return fmt.Sprint("n", i) }), xa, func(i int, _ string) string { return fmt.Sprint(i) })...)
			})
		}, "rows written again", inspect.Unusable, "", false},
		"in another order, other ids": {d, func(t *testing.T, dir string) {
			edit(t, dir, "03.csv", func(l []string) []string {
				copied := field(rows(t, dir, "00.csv"), id, func(i int, _ string) string { return fmt.Sprint("n", i) })
				slices.Reverse(copied)
				return field(copied, timestamp, func(i int, _ string) string { return fmt.Sprint(1.8e9 + float64(i)) })
			})
		}, "rows written twice", inspect.Doubtful, "", false},
		"a group in two": {days{files: 4, rows: 300, groups: true}, func(t *testing.T, dir string) {
			edit(t, dir, "03.csv", func(l []string) []string {
				return field(l, 1, func(i int, was string) string { return map[bool]string{true: "g0-1", false: was}[i < 3] })
			})
		}, "groups across shards", inspect.Doubtful, "1 groups have rows in several shards", true},
		"a shard without weight": {days{files: 4, rows: 300, weights: true}, func(t *testing.T, dir string) {
			edit(t, dir, "03.csv", func(l []string) []string { return field(l, 3, func(int, string) string { return "0" }) })
		}, "rows", inspect.Unusable, "in shard 4/4: all rows have weight 0", true},
		"shards of few rows": {days{files: 4, rows: 30, times: true}, func(*testing.T, string) {}, "rewards in sequence", inspect.Doubtful, "too few rows in each shard; not looked at in 4 shards", true},
		"times that mix": {d, func(t *testing.T, dir string) {
			edit(t, dir, "03.csv", func(l []string) []string {
				return field(l, timestamp, func(i int, _ string) string { return fmt.Sprint(1.7e9 + float64(i)) })
			})
		}, "shards", inspect.Doubtful, "4, by files", true},
	} {
		dir := t.TempDir()
		c.d.write(t, dir)
		c.change(t, dir)
		r, err := inspect.Combine(shares(t, dir, 4))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		f, _ := r.Finding(c.check)
		if f.Severity != c.severity || !strings.HasPrefix(f.Measured, c.measured) || r.Severity < c.severity || c.severity > inspect.Fine && f.Means == "" {
			t.Errorf("%s: %+v", what, f)
		}
		if !c.own {
			if f, _ := inspected(t, dir).Finding(c.check); f.Severity != c.severity {
				t.Errorf("%s: of the whole log %+v", what, f)
			}
		}
	}

	// Parts that do not go together.
	dir := t.TempDir()
	d.write(t, dir)
	all := shares(t, dir, 2)
	refused := func(want string, parts ...inspect.Partial) {
		t.Helper()
		if _, err := inspect.Combine(parts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused("there are no partial results")
	refused("2/2 is missing", all[0])
	refused("shards 1/2 and 3/3 are of another number of shards", all[0], share(t, dir, 3, 3))
	refused("name all actions by setting actions", all[0], share(t, dir, 2, 2, func(o *logs.Options) { o.Actions = []string{"a", "c", "b"} }))
	refused("different files", all[0], share(t, dir, 2, 2, func(o *logs.Options) { o.RewardMin, o.RewardMax = -1, 1 }))
	refused("different files", all[0], share(t, dir, 2, 2, func(o *logs.Options) { o.Categories = []string{"x_a"} }))
	broken := all[1]
	broken.Summary = nil
	refused("the partial result of shard 2/2 is none of an inspection", all[0], broken)
	text, err := json.Marshal(all[1])
	if err == nil {
		err = json.Unmarshal([]byte(strings.Replace(string(text), `"rows by action":[`, `"rows by action":[1,`, 1)), &broken)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused("other sums of rows by action", all[0], broken)
	refused("what a check reads, rows by action", func() inspect.Partial { p := broken; p.Shard = logs.Shard{Number: 1, Of: 1}; return p }())
	// A file that changes between shards: of another size, of the same.
	edit(t, dir, "03.csv", func(l []string) []string { return l[:len(l)-1] })
	refused("different files", all[0], share(t, dir, 2, 2))
	d.write(t, dir)
	edit(t, dir, "03.csv", func(l []string) []string {
		return field(l, action, func(int, string) string { return "a" })
	})
	refused("shard 2/2 comes twice with different sums", all[0], all[1], share(t, dir, 2, 2))
	d.write(t, dir)
	edit(t, dir, "03.csv", func(l []string) []string {
		return append([]string{strings.Replace(l[0], ",3-0,", ",9-0,", 1)}, l[1:]...)
	})
	refused("shard 2/2 comes twice with different sums", all[0], all[1], share(t, dir, 2, 2))
	for _, f := range []string{"02.csv", "03.csv"} {
		edit(t, dir, f, func(l []string) []string { return field(l, xa, func(i int, _ string) string { return "Oslo" }) })
	}
	refused("read column x_a as numbers and as names: say by setting categories", share(t, dir, 1, 2), share(t, dir, 2, 2))
	bare := t.TempDir()
	days{files: 4, rows: 300, ids: true}.write(t, bare)
	for _, f := range []string{"02.csv", "03.csv"} {
		if err := os.Rename(filepath.Join(bare, f), filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	refused("have other columns: times, ids", share(t, dir, 1, 2), share(t, dir, 2, 2))
}

// cut are shards of a log's rows, as if each were of files of its own.
func cut(t *testing.T, l *logs.Log, shards int) (parts []inspect.Partial) {
	t.Helper()
	for k := range shards {
		var rows []int
		for i := k * l.Len() / shards; i < (k+1)*l.Len()/shards; i++ {
			rows = append(rows, i)
		}
		part := l.Subset(rows)
		part.FilesHash = "files"
		p, err := inspect.OfShard(part, 1, logs.Shard{Number: k + 1, Of: shards})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, *p)
	}
	return parts
}

// What one machine looks at, and no shard has rows enough for, is no silence.
func TestCombine_DoubtsShardsThatAreTooSmall(t *testing.T) {
	const check = "rows written again"
	l := world{n: 6000, k: 2, sharpness: 4, rate: .02}.log(3)
	if _, is := inspect.Inspect(l).Finding(check); !is {
		t.Fatal("the log is too small itself")
	}
	for shards, want := range map[int]inspect.Severity{2: inspect.Fine, 20: inspect.Doubtful} {
		r, err := inspect.Combine(cut(t, l, shards))
		if err != nil {
			t.Fatal(err)
		}
		if f, is := r.Finding(check); !is || f.Severity != want || f.Severity > inspect.Fine && f.Means == "" {
			t.Errorf("%d shards: %+v", shards, f)
		}
	}
}

// Sound logs pass in shards, too.
func TestCombine_PassesSoundLogs(t *testing.T) {
	long.Test(t)
	n, shards, some := 1, 8, worlds[:3]
	if os.Getenv("OPL_LONG") != "" {
		n, some = 20, worlds
	}
	alarms, of := 0, map[string]int{}
	for _, w := range some {
		for s := range n {
			parts := cut(t, w.log(uint64(s)+1), shards)
			r, err := inspect.Combine(parts)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range r.Findings {
				if f.Severity > inspect.Fine && !strings.Contains(f.Measured, "not looked at in") {
					of[w.name+", "+f.Check]++
					found = true
				}
			}
			if found {
				alarms++
			}
		}
	}
	t.Logf("%d of %d sound logs in %d shards are doubted: %v", alarms, n*len(some), shards, of)
	if limit := max(1, n*len(some)/50); alarms > limit {
		t.Errorf("more than %d", limit)
	}
}

// What one shard doubts of its columns or last rows, the report of all shards doubts.
func TestCombine_KeepsWhatShardsDoubtOfHowRowsWereRead(t *testing.T) {
	for check, changes := range map[string][]func(*logs.Log){
		"columns as they were read": {
			func(l *logs.Log) { l.Doubts = []string{"column x: numbers with commas"} },
			func(l *logs.Log) {
				for i := range l.Len() / 20 {
					contexts(l)[20*i*l.Dim()] = -9999 // of the first column
				}
			},
			func(l *logs.Log) { l.Bare = "no column is read as context" },
		},
		"last row": {func(l *logs.Log) { l.Cut = []string{"row 400 is cut"} }},
	} {
		for _, change := range changes {
			l := world{n: 400, k: 2, rate: 0.3}.log(1)
			change(l)
			r, err := inspect.Combine(cut(t, l, 2))
			if err != nil {
				t.Fatal(err)
			}
			if f, _ := r.Finding(check); f.Severity != inspect.Doubtful {
				t.Errorf("%s: %+v", check, f)
			}
		}
	}
}

// Shards that doubt no more than rounding refute together what none refutes alone, and give no reason then. The reason
// is that of the shard that refutes the most. Actions of rows stay those of rows.
func TestCombine_GivesTheReasonOfAShard(t *testing.T) {
	dir := t.TempDir()
	days{files: 3, rows: 300}.write(t, dir)
	parts := shares(t, dir, 3)
	for i := range parts {
		parts[i].Origin.FromRows = true
		for j := range parts[i].Report.Findings {
			if f := &parts[i].Report.Findings[j]; f.Check == "bets on propensities" {
				f.Means, f.Numbers[0].Value, f.Numbers[1].Value = "they may be rounded: Γ = 1.001", 6, 8
			}
		}
	}
	for _, why := range []string{"no shard alone shows it", "because: of this"} {
		r, err := inspect.Combine(parts)
		f, _ := r.Finding("bets on propensities")
		if err != nil || f.Severity != inspect.Unusable || !strings.HasSuffix(f.Means, "more than once: "+why) {
			t.Errorf("%v, %+v", err, f)
		}
		if f, _ := r.Finding("support"); !strings.HasPrefix(f.Measured, "3 actions have rows") {
			t.Errorf("support: %s", f.Measured)
		}
		parts[2].Why = "because: of this"
		for j := range parts[2].Report.Findings {
			if f := &parts[2].Report.Findings[j]; f.Check == "bets on propensities" {
				f.Numbers[0].Value = 7
			}
		}
	}
}

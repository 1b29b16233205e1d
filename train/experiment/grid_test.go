package experiment_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"opl/objectives"
	"opl/objectives/weights"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
)

// withOwn is the library with a user's objective and weight.
func withOwn() library.Library {
	lib := library.Standard()
	lib.Objectives = append(lib.Objectives, library.Objective{Name: "mine", Policy: "softmax",
		Make: func(library.Args) objectives.Objective { return objectives.Risk() }})
	lib.Weights = append(lib.Weights, library.Weight{Name: "truncated", IPSAt: 0, Make: func(h float64) objectives.Weight {
		return objectives.Weight{Name: "truncated", Hyper: h,
			Of: func(pi, pi0 weights.Value) weights.Value { return pi.Div(pi0).AtMost(1 / h) }}
	}})
	return lib
}

func figure(t *testing.T, name string) experiment.Figure {
	t.Helper()
	for _, f := range experiment.Figures() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no figure %s", name)
	panic("unreachable")
}

// runsOf are a figure's, on data sets where it has none of its own.
func runsOf(t *testing.T, f experiment.Figure, datasets ...string) []train.Run {
	t.Helper()
	if f.Grid.Datasets == nil {
		f.Grid.Datasets = datasets
	}
	runs, err := f.Grid.Runs(library.Standard(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// Every figure has the runs of section 5 of the specification: the counts are
// (objectives × weights × hyperparameters × penalties + logging) × η₀ × data sets.
func TestFigures_HaveTheRunsOfThePaper(t *testing.T) {
	want := map[string]int{
		"fig1": (5 + 1) * 11 * 2, "fig2": (4*5 + 1) * 11 * 2, "fig3": (4*5 + 1) * 11 * 2,
		"fig4": (3*5 + 1) * 11 * 2, "fig5": (2*3 + 1) * 11 * 2, "fig6": (6 + 1) * 16,
	}
	var lists [][]train.Run
	for _, f := range experiment.Figures() {
		runs := runsOf(t, f, "mnist", "fashion")
		if len(runs) != want[f.Name] {
			t.Errorf("%s has %d runs, want %d", f.Name, len(runs), want[f.Name])
		}
		lists = append(lists, runs)
		for _, r := range runs {
			if r.Objective == train.LoggingPolicy {
				continue
			}
			if r.Epochs != 20 || r.LearningRate != .1 || r.BatchSize != 128 || r.Delta != .05 || r.Limit != 0 || r.Dtype != "float32" || r.Certify {
				t.Fatalf("%s: %+v is not the paper's setting", f.Name, r)
			}
			wantNoise := map[string]string{"softmax": "", "gaussian": "quadrature", "softmax-posterior": "iid"}[r.Policy]
			if r.Noise != wantNoise {
				t.Fatalf("%s: %s has noise %q, want %q", f.Name, r.Policy, r.Noise, wantNoise)
			}
		}
	}
	// 1,674 with repetitions: of these, logging policies (22 problems + 10 of fig1, fig6)
	// and Corollary 1's with Clip are in several figures.
	e := &experiment.Runner{Library: library.Standard(), DataDir: data}
	plan, err := e.Plan(lists...)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan) != 1514 {
		t.Errorf("%d different runs, want 1514", len(plan))
	}
	seen := map[string]bool{}
	done := map[string]bool{}
	last := ""
	for _, r := range plan {
		key := experiment.Key(r)
		if seen[key] {
			t.Fatalf("%s is planned twice", experiment.Name(r))
		}
		seen[key] = true
		if !r.Hyper.Valid() && r.Objective != train.LoggingPolicy {
			t.Fatalf("%s has no hyperparameter", experiment.Name(r))
		}
		problem := fmt.Sprint(r.Dataset, r.Eta0, r.Seed)
		if problem != last && done[problem] {
			t.Fatalf("the runs of %s are not together", problem)
		}
		done[problem], last = true, problem
	}
}

// A record belongs to the figures that ask for its run, and to no others.
func TestFigure_TakesTheRecordsThatItAsksFor(t *testing.T) {
	e := &experiment.Runner{Library: library.Standard(), DataDir: data}
	asked := map[string]map[string]bool{}
	var all []train.Run
	for _, f := range experiment.Figures() {
		runs, err := e.Plan(runsOf(t, f, "mnist", "fashion"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			key := experiment.Key(r)
			if asked[key] == nil {
				asked[key] = map[string]bool{}
				all = append(all, r)
			}
			asked[key][f.Name] = true
		}
	}
	n := map[string]int{"mnist": 1900, "fashion": 1663}
	records := map[string][]train.Record{}
	for _, r := range all {
		rec := train.Record{Run: r, N: n[r.Dataset]}
		for _, f := range experiment.Figures() {
			if got, want := f.Match(rec), asked[experiment.Key(r)][f.Name]; got != want {
				t.Errorf("%s matches %s: %v, want %v", f.Name, experiment.Key(r), got, want)
			}
			if asked[experiment.Key(r)][f.Name] {
				records[f.Name] = append(records[f.Name], rec)
			}
		}
	}
	for of, recs := range records {
		for _, f := range experiment.Figures() {
			if got, want := f.Has(recs), f.Name == of; got != want {
				t.Errorf("the records of %s suffice for %s: %v, want %v", of, f.Name, got, want)
			}
		}
		without := slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return r.Objective == recs[len(recs)-1].Objective })
		if figure(t, of).Has(without) {
			t.Errorf("%s does not miss %s", of, recs[len(recs)-1].Objective)
		}
	}
	// Other hyperparameters than the declared ones are the figure's too.
	rec := train.Record{Run: all[0], N: 1900}
	rec.Objective, rec.Weight, rec.Hyper, rec.Penalty, rec.Policy = "heuristic", "ix", .42, 1e-5, "softmax"
	if rec.Eta0 = .2; !figure(t, "fig3").Match(rec) {
		t.Error("fig3 does not take ix=0.42")
	}
	if rec.Eta0 = .25; figure(t, "fig3").Match(rec) {
		t.Error("fig3 takes η₀ = 0.25")
	}
}

func TestGrid_ListsEachRunOnce(t *testing.T) {
	lib := withOwn()
	g := experiment.Grid{Datasets: []string{"mnist", "mnist"}, Eta0: []float64{0, .5, 0}, Seeds: []uint64{1, 2}, Settings: train.DefaultSettings(),
		Entries: []experiment.Entry{
			{Objective: "mine", Weight: "truncated", Hypers: []float64{.1, math.NaN(), .1}},
			{Objective: "mine", Weight: "truncated"}, // the default again
			{Objective: "ls", Weight: "clip", Hypers: []float64{.1, .2}},
			{Objective: "implicit", Weight: "clip", Hypers: []float64{.1, .2}},
			{Objective: "risk", Weight: "ips", Hypers: []float64{.1, .2}},
			{Objective: "theorem1", Weight: "har", Lambdas: []string{"star", "0.5"}, Policy: "gaussian"},
		}}
	runs, err := g.Runs(lib, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := 4 * (1 + 2 + 1 + 2 + 1 + 2); len(runs) != want {
		t.Errorf("%d runs, want %d", len(runs), want)
	}
	if runs[0].Objective != train.LoggingPolicy || runs[1].Objective != "mine" || runs[1].Hyper != .1 {
		t.Errorf("the first runs are %+v", runs[:2])
	}
	// What has no meaning is named, and is an error where nobody listens.
	g.Entries = append(g.Entries, experiment.Entry{Objective: "corollary1", Weight: "har"})
	if _, err := g.Runs(lib, nil); err == nil || !strings.Contains(err.Error(), "corollary1 × har") {
		t.Errorf("unfit: %v", err)
	}
	left := 0
	more, err := g.Runs(lib, func(what string, _ error) { left++ })
	if err != nil || left != 1 || len(more) != len(runs) {
		t.Errorf("%d left out, %d runs, %v", left, len(more), err)
	}
	g.Entries = g.Entries[len(g.Entries)-1:]
	if _, err := g.Runs(lib, func(string, error) {}); err == nil || !strings.Contains(err.Error(), "nothing is left") {
		t.Errorf("nothing left: %v", err)
	}
	for _, c := range []struct {
		change func(*experiment.Grid)
		want   string
	}{
		{func(g *experiment.Grid) { g.Settings.Delta = 1 }, "delta 1"},
		{func(g *experiment.Grid) { g.Settings.PriorScales = []float64{0} }, "prior-scale"},
		{func(g *experiment.Grid) { g.Eta0 = []float64{math.Inf(1)} }, "eta0"},
		{func(g *experiment.Grid) {
			g.Entries = []experiment.Entry{{Objective: "l2", Weight: "clip", Penalties: []float64{-1}}}
		}, "penalty -1"},
		{func(g *experiment.Grid) {
			g.Entries = []experiment.Entry{{Objective: "l2", Weight: "clip", Hypers: []float64{2}}}
		}, "hyperparameter 2"},
		{func(g *experiment.Grid) {
			g.Entries = []experiment.Entry{{Objective: "theorem1", Weight: "clip", Lambdas: []string{"x"}}}
		}, `"x"`},
		{func(g *experiment.Grid) { g.Seeds = make([]uint64, experiment.MostRuns) }, "more than 100000"},
	} {
		h := g
		h.Entries = []experiment.Entry{{Objective: "l2", Weight: "clip"}}
		c.change(&h)
		if _, err := h.Runs(lib, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// The example is what it says, and every mistake is named with its line.
func TestParseGrid_NamesMistakesWithTheirLine(t *testing.T) {
	text, err := os.ReadFile("../../testdata/grid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g, err := experiment.ParseGrid("grid.yaml", text, library.Standard())
	if err != nil {
		t.Fatal(err)
	}
	runs, err := g.Runs(library.Standard(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * 2 * 2 * (1 + 2*2*2 + 2); len(runs) != want || g.Settings.Epochs != 5 || g.Settings.LearningRate != .05 || g.Seeds[1] != 2 {
		t.Errorf("%d runs, want %d, of %+v", len(runs), want, g)
	}
	g, err = experiment.ParseGrid("g", []byte("x: &x [0.1]\nruns: [{objectives: mine, weights: truncated, hyper: [0.1, default]}]\n"), withOwn())
	if err == nil || !strings.HasPrefix(err.Error(), `g:1: unknown key "x" (known: runs, dataset`) {
		t.Errorf("%v, %v", g, err)
	}
	g, err = experiment.ParseGrid("g", []byte("eta0: &x [0.1]\nseeds: 2\nseed: 7\nruns:\n- {objectives: mine, weights: truncated, hyper: *x}\n"), withOwn())
	if err != nil || g.Entries[0].Hypers[0] != .1 || g.Entries[0].Objective != "mine" || g.Seeds[1] != 8 {
		t.Errorf("%v, %v", g, err)
	}

	const good = "runs: [{objectives: risk}]\n"
	for _, c := range []struct{ text, want string }{
		{"", "g: the file is empty"},
		{"# nothing\n", "g: the file is empty"},
		{"dataset: mnist\n", "g:1: no runs"},
		{"- runs\n", "g:1: grid: want keys and values"},
		{"a: [1\n", "g:"},
		{"a: 1\n b: 2\n", "g:2: "},
		{"\n" + good + "epoch: 3\n", `g:3: unknown key "epoch": did you mean "epochs"?`},
		{good + "eta0: [0, 0.5]\neta0: 1\n", "g:3: eta0 is given twice, first in line 2"},
		{good + "eta0: []\n", "g:2: eta0 is empty"},
		{good + "eta0:\n", "g:2: eta0 is empty"},
		{good + "eta0:\n- 0\n- x\n", "g:4: eta0 x: want a number"},
		{good + "eta0: [.nan]\n", "g:2: eta0 .nan"},
		{good + "eta0: [1e400]\n", "g:2: eta0 1e400"},
		{good + "eta0: [[1]]\n", "g:2: eta0: want a single value"},
		{good + "epochs: 1.5\n", "g:2: epochs 1.5: want a whole number"},
		{good + "epochs: -1\n", "g:2: epochs -1: want 0 or more"},
		{good + "lr: 0\n", "g:2: lr 0: want a positive number"},
		{good + "delta: 1\n", "g:2: delta 1"},
		{good + "limit: 7\n", "g:2: limit 7"},
		{good + "seeds: 0\n", "g:2: seeds 0"},
		{good + "seeds: 1000000000\n", "g:2: seeds 1000000000"},
		{good + "seed: -1\n", "g:2: seed -1"},
		{good + "dtype: float16\n", "g:2: dtype"},
		{good + "schedule: cosine\n", "g:2: schedule"},
		{good + "noise: iiid\n", `g:2: noise: unknown noise "iiid": did you mean "iid"`},
		{good + "certify: perhaps\n", "g:2: certify: want true or false"},
		{good + "prior-scale: [1, 0]\n", "g:2: prior-scale"},
		{good + "---\n" + good, "a second document"},
		{"runs: []\n", "g:1: runs is empty"},
		{"runs: 3\n", "g:1: runs: want keys and values"},
		{"runs:\n- weights: clip\n", "g:2: runs: an entry without objectives"},
		{"runs:\n- objectives: []\n", "g:2: objectives is empty"},
		{"runs:\n- objectives: [risk,\n   theorem]\n", `g:3: objectives: unknown objective "theorem": did you mean "theorem1"`},
		{"runs:\n- objectives: risk\n  weights: klip\n", `g:3: weights: unknown weight "klip": did you mean "clip"`},
		{"runs:\n- objectives: risk\n  weight: clip\n", `g:3: unknown key "weight": did you mean "weights"`},
		{"runs:\n- objectives: risk\n  hyper: [0.1, 1.5]\n", "g:3: hyper 1.5: want a number in [0, 1], or default"},
		{"runs:\n- objectives: risk\n  hyper: [nan]\n", "g:3: hyper nan"},
		{"runs:\n- objectives: l2\n  penalty: -1\n", "g:3: penalty -1"},
		{"runs:\n- objectives: [risk, corollary1]\n  penalty: 1\n", "g:3: penalty: none of the objectives (risk, corollary1) takes one"},
		{"runs:\n- lambda: authors\n  objectives: risk\n", "g:2: lambda: none of the objectives (risk) takes one"},
		{"runs:\n- objectives: theorem1\n  lambda: [star, 0]\n", "g:3: lambda: \"0\""},
		{"runs:\n- objectives: risk\n  policy: gaussan\n", `g:3: policy: unknown policy "gaussan": did you mean "gaussian"`},
	} {
		_, err := experiment.ParseGrid("g", []byte(c.text), library.Standard())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// Whatever the text, ParseGrid gives a grid that can be expanded or an error that
// names the file.
func FuzzParseGrid(f *testing.F) {
	text, err := os.ReadFile("../../testdata/grid.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("runs: &r\n- objectives: *r\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Add([]byte("runs: [{<<: {objectives: risk}}]\n"))
	lib := library.Standard()
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := experiment.ParseGrid("name", text, lib)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "name:") {
				t.Errorf("%v", err)
			}
			return
		}
		if len(g.Seeds)*len(g.Eta0) > 1000 || len(g.Entries) > 100 {
			return
		}
		if runs, err := g.Runs(lib, func(string, error) {}); err == nil && len(runs) == 0 {
			t.Error("no runs")
		}
	})
}

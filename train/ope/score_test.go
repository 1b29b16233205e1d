package ope_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/ope"
)

var endings = []string{".csv", ".jsonl", ".parquet"}

// linear is a policy of some features, whose weights are drawn.
func linear(t *testing.T, actions []string, names ...string) *policyfile.File {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 1))
	e := features.Encoder{Names: names, Scale: slices.Repeat([]float64{1}, len(names)), Intercept: true}
	made, err := features.New(e)
	if err != nil {
		t.Fatal(err)
	}
	c := policyfile.Component{Weight: 1, Kind: policyfile.Gaussian, Sigma: .5, Encoder: made}
	for range actions {
		row := make([]float64, made.Dim())
		for j := range row {
			row[j] = r.NormFloat64()
		}
		c.Weights = append(c.Weights, row)
	}
	return &policyfile.File{Actions: actions, RewardMax: 1, Floor: .1, Components: []policyfile.Component{c}}
}

func made(t *testing.T, f *policyfile.File) *policyfile.Policy {
	t.Helper()
	p, err := policyfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// same reports whether a file of scores, as a target, is what a policy plays in the rows of a log, to the last bit.
func same(t *testing.T, path string, p *policyfile.Policy, log *logs.Log) {
	t.Helper()
	got, err := ope.Open("t="+path, log)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ope.FromPolicy("t", p, log)
	if err != nil {
		t.Fatal(err)
	}
	a, b := make([]float64, log.MostOptions()), make([]float64, log.MostOptions())
	for i := range log.Len() {
		a, b = a[:log.Options(i)], b[:log.Options(i)]
		if err := errors.Join(got.Row(a, i), want.Row(b, i)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a, b) {
			t.Fatalf("%s, row %d: %v, want %v", path, i, a, b)
		}
	}
}

// Scores in every format are what the policy plays, row by row, for any number of threads.
func TestWriteScores_WritesWhatThePolicyPlaysInEveryFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	var text strings.Builder
	text.WriteString("decision_id,x_a,x_town,action,reward,propensity\n")
	towns, actions := []string{"Bonn", "Ulm", "of \"x\", y"}, []string{"left", "right, up", "änd"}
	for i := range 9000 { // more than a block
		fmt.Fprintf(&text, "d%d,%v,\"%s\",\"%s\",%d,0.3\n", i, r.NormFloat64(), strings.ReplaceAll(towns[r.IntN(3)], `"`, `""`), actions[r.IntN(3)], r.IntN(2))
	}
	log, dir := open(t, text.String())
	p := made(t, linear(t, log.Actions, "x_a", "x_town=Ulm", "x_town="+towns[2]))
	for _, ending := range endings {
		path := filepath.Join(dir, "scores"+ending)
		for _, threads := range []int{1, 3} {
			columns, err := ope.WriteScores(context.Background(), path, p, log, ope.ScoreOptions{Threads: threads})
			if err != nil || !slices.Equal(columns, []string{"row", "decision_id", "logged_action", "probability", "probabilities"}) {
				t.Fatalf("%v, %v", columns, err)
			}
			same(t, path, p, log)
		}
		rows, err := logs.OpenRows(path, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var d logs.Decision
		for i := range log.Len() {
			rows.Next()
			log.Decision(i, &d)
			row, _ := rows.Number("row")
			id, _ := rows.Text("decision_id")
			action, _ := rows.Text("logged_action")
			pi, _ := rows.Number("probability")
			all, err := rows.List("probabilities")
			if err != nil || row != float64(i+1) || id != d.ID || action != log.Actions[d.Action] || pi != all[d.Action] {
				t.Fatalf("%s, row %d: %v %q %q %v %v, %v", path, i, row, id, action, pi, all, err)
			}
		}
		if rows.Next() || rows.Err() != nil {
			t.Errorf("%s: more rows, %v", path, rows.Err())
		}
		rows.Close()
	}
	// Probabilities of actions in another order are not taken for those of the log.
	turned := slices.Clone(log.Actions)
	slices.Reverse(turned)
	other, err := logs.Open(context.Background(), log.Path(), logs.Options{Actions: turned})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := ope.Open(filepath.Join(dir, "scores.csv"), other); err == nil || !strings.Contains(err.Error(), "another order of actions, which setting actions gives") {
		t.Error(err)
	}
}

// Sets are listed as rows offer them; of a catalogue of more than 100 actions the logged one is written, and all where they are asked for.
func TestWriteScores_ListsWhatRowsOffer(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	r := rand.New(rand.NewPCG(3, 3))
	var sets, whole, items strings.Builder
	items.WriteString("action,z_price\n")
	whole.WriteString("x_a,action,reward,propensity\n")
	for a := range 150 {
		fmt.Fprintf(&items, "i%d,%v\n", a, r.Float64())
	}
	for i := range 300 {
		a := r.IntN(150)
		fmt.Fprintf(&whole, "%v,i%d,%d,%v\n", r.NormFloat64(), a, i%2, 1/150.)
		n := 2 + r.IntN(5)
		fmt.Fprintf(&sets, `{"x_a":%v,"action":"a%d","reward":%d,"propensity":%v,"actions":[`, r.NormFloat64(), r.IntN(n), i%2, 1/float64(n))
		for a := range n {
			fmt.Fprintf(&sets, `%s{"id":"a%d","price":%v}`, map[bool]string{true: "", false: ","}[a == 0], a, r.Float64())
		}
		sets.WriteString("]}\n")
	}
	catalogue := write("items.csv", items.String())
	e, err := features.New(features.Encoder{Names: []string{"x_a"}, Scale: []float64{1}, Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	z, err := features.New(features.Encoder{Names: []string{"price"}, Scale: []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := features.NewItems(z, []string{"a1", "i7"})
	if err != nil {
		t.Fatal(err)
	}
	p := made(t, &policyfile.File{RewardMax: 1, Floor: .1, Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax, Encoder: e, Items: it, Weights: policyfile.Matrix{{1, 2}, {.5, 1}, {-1, 0}}}}})
	for _, ending := range endings {
		log, err := logs.Open(context.Background(), write("sets.jsonl", sets.String()), logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "scores"+ending)
		if columns, err := ope.WriteScores(context.Background(), path, p, log, ope.ScoreOptions{}); err != nil || !slices.Equal(columns, []string{"row", "logged_action", "probability", "probabilities"}) {
			t.Fatal(columns, err)
		}
		same(t, path, p, log)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if log, err = logs.Open(context.Background(), write("whole.csv", whole.String()), logs.Options{Catalogue: catalogue}); err != nil {
			t.Fatal(err)
		}
		want, err := ope.FromPolicy("t", p, log)
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range []bool{false, true} {
			columns, err := ope.WriteScores(context.Background(), path, p, log, ope.ScoreOptions{All: all})
			if err != nil || slices.Contains(columns, "probabilities") != all {
				t.Fatal(columns, err)
			}
			rows, err := logs.OpenRows(path, logs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range log.Len() {
				rows.Next()
				if pi, err := rows.Number("probability"); err != nil || pi != want.Logged[i] {
					t.Fatalf("row %d: %v, want %v, %v", i, pi, want.Logged[i], err)
				}
				if list, err := rows.List("probabilities"); (err == nil) != all || all && (len(list) != 150 || list[log.Chosen(i)] != want.Logged[i]) {
					t.Fatalf("row %d: %d probabilities, %v", i, len(list), err)
				}
			}
			rows.Close()
		}
		log.Close()
	}
}

// What does not fit is refused before anything is written, and what is there stays.
func TestWriteScores_RefusesBeforeAnythingIsWritten(t *testing.T) {
	log, dir := open(t, "x_a,x_town,x_hour,action,reward,propensity\n1,Bonn,3,up,1,0.5\n2,Ulm,4,down,0,0.25\n")
	path := filepath.Join(dir, "s.csv")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx     context.Context
		path    string
		actions []string
		names   []string
		want    string
	}{
		{nil, "s.txt", log.Actions, []string{"x_a"}, "ends in .parquet, .csv or .jsonl"},
		{nil, "-", log.Actions, []string{"x_a"}, "ends in .parquet, .csv or .jsonl"},
		{nil, path, []string{"up", "left"}, []string{"x_a"}, `the log has an action "down" that the policy does not know`},
		{nil, path, log.Actions, []string{"x_b"}, "none of the names"},
		{nil, path, log.Actions, []string{"x_a", "x_b", "x_c=1", "x_c=2"}, "lacks 2 of the columns that the policy reads: x_b, x_c"},
		{nil, path, log.Actions, []string{"x_a", "x_town"}, "the policy reads numbers in column x_town, and the log has names there, such as x_town="},
		{nil, path, log.Actions, []string{"x_a", "x_hour=3"}, "the log has numbers there: setting categories x_hour"},
		{cancelled, path, log.Actions, []string{"x_a"}, "canceled"},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		_, err := ope.WriteScores(ctx, c.path, made(t, linear(t, c.actions, c.names...)), log, ope.ScoreOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.names, err, c.want)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "before" {
		t.Errorf("%q, %v", text, err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, ".*tmp")); files != nil {
		t.Error(files)
	}
	// A policy of more actions than the log shows.
	p := made(t, linear(t, []string{"up", "new", "down"}, "x_a"))
	if _, err := ope.WriteScores(context.Background(), path, p, log, ope.ScoreOptions{}); err != nil {
		t.Error(err)
	}
}

package ope_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opl/train/logs"
	"opl/train/ope"
)

// decided is the log of two actions and three rows, with ids or without.
func decided(t testing.TB, ids bool) *logs.Log {
	if !ids {
		return &logs.Log{Actions: []string{"yes", "no"}, Action: make([]int32, 3)}
	}
	path := filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(path, []byte("decision_id,x_a,action,reward,propensity\na,1,yes,1,0.5\nb,2,no,1,0.5\nc,3,no,0,0.5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := logs.Open(context.Background(), path, logs.Options{Actions: []string{"yes", "no"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// read reads a target for a log.
func read(name, text string, log *logs.Log) (ope.Target, error) {
	dir, err := os.MkdirTemp("", "target")
	if err != nil {
		return ope.Target{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return ope.Target{}, err
	}
	r, err := logs.OpenRows(path, logs.Options{})
	if err != nil {
		return ope.Target{}, err
	}
	defer r.Close()
	return ope.ReadTarget("t", r, log)
}

func TestReadTarget_ReadsEveryLayout(t *testing.T) {
	byRow := []float64{0.1, 0.9, 1, 0, 0.25, 0.75}
	for _, c := range []struct {
		name, file, text string
		ids              bool
		want             []float64
	}{
		{"by action", "t.csv", "action,probability\nno,0.75\nyes,0.25\n", false, []float64{0.25, 0.75, 0.25, 0.75, 0.25, 0.75}},
		{"an action left out", "t.csv", "action,probability\nno,1\nmaybe,0\n", false, []float64{0, 1, 0, 1, 0, 1}},
		{"numbered", "t.csv", "p_0,p_1\n.1,.9\n1,0\n.25,.75\n", true, byRow},
		{"byte order mark, blanks", "t.csv", "\ufeffp_0, p_1\n.1, .9\n1,0\n.25,.75\n", false, byRow},
		{"named", "t.csv", "no,yes\n.9,.1\n0,1\n.75,.25\n", false, byRow},
		{"named p", "t.csv", "p_no,p_yes\n.9,.1\n0,1\n.75,.25\n", false, byRow},
		{"joined", "t.csv", "decision_id,p_0,p_1\nc,.25,.75\nz,x,y\na,.1,.9\nb,1,0\n", true, byRow},
		{"no IDs in the log", "t.csv", "decision_id,p_0,p_1\nc,.1,.9\nc,1,0\nc,.25,.75\n", false, byRow},
		{"a list", "t.csv", "probabilities\n\"[.1, .9]\"\n1 0\n.25;.75\n", false, byRow},
		{"json list", "t.jsonl", "{\"propensities\":[0.1,0.9]}\n\n{\"propensities\":[1,0]}\n{\"propensities\":[0.25,0.75]}", false, byRow},
		{"json joined", "t.jsonl", `{"decision_id":"b","p_0":1,"p_1":0}` + "\n" + `{"decision_id":"a","p_0":0.1,"p_1":0.9}` + "\n" + `{"decision_id":"c","p_0":0.25,"p_1":0.75}`, true, byRow},
		{"json by action", "t.jsonl", `{"action":"yes","probability":1}`, true, []float64{1, 0, 1, 0, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := read(c.file, c.text, decided(t, c.ids))
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			got := make([]float64, 6)
			for i := range 3 {
				if err := target.Row(got[2*i:2*i+2], i); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	// Rounded probabilities are divided by their sum, and the logged action's beside them may differ by as much.
	for file, text := range map[string]string{"t.csv": "p_0,p_1,probability\n.1,.8995,.1\n1,0,1\n.25,.75,.25\n",
		"a.csv": "action,probability\nyes,.1\nno,.8995\n"} {
		t.Run(file, func(t *testing.T) {
			target, err := read(file, text, decided(t, false))
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			got := make([]float64, 2)
			if err := target.Row(got, 0); err != nil || math.Abs(got[0]+got[1]-1) > 1e-12 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	logged, err := read("t.csv", "decision_id,probability\nc,.3\nb,.2\na,.1\n", decided(t, true))
	if err != nil || logged.Row != nil || !slices.Equal(logged.Logged, []float64{.1, .2, .3}) {
		t.Errorf("%v %v", logged.Logged, err)
	}
}

func TestReadTarget_SaysWhatIsWrong(t *testing.T) {
	log := decided(t, true)
	for _, c := range []struct{ name, file, text, says string }{
		{"empty", "t.csv", "", "empty"},
		{"no rows", "t.csv", "p_0,p_1\n", "t.csv: no rows"},
		{"column twice", "t.csv", "p_0,p_0\n1,0\n", "twice"},
		{"no probabilities", "t.csv", "x,y\n1,0\n", "want columns action and probability"},
		{"a column missing", "t.csv", "p_0,p_2\n1,0\n", "none p_1"},
		{"a column too many", "t.csv", "p_0,p_1,p_2\n1,0,0\n", "p_2"},
		{"too few rows", "t.csv", "decision,p_0,p_1\nx,1,0\n", "1 rows, but the log has 3"},
		{"too many rows", "t.csv", "p_0,p_1\n1,0\n1,0\n1,0\n1,0\n", "only 3 rows"},
		{"no number", "t.csv", "p_0,p_1\n1,0\n1,x\n1,0\n", `t.csv, row 2, column p_1: "x" is no number`},
		{"not a distribution", "t.csv", "p_0,p_1\n1,0\n1,0.1\n1,0\n", "row 2: the probabilities sum to 1.1"},
		{"not rounded alone", "t.csv", "p_0,p_1\n.5,.498\n1,0\n1,0\n", "row 1: the probabilities sum to 0.998"},
		{"negative", "t.csv", "p_0,p_1\n1.5,-0.5\n1,0\n1,0\n", "outside [0, 1]"},
		{"NaN", "t.csv", "p_0,p_1\nNaN,0\n1,0\n1,0\n", "outside [0, 1]"},
		{"ragged", "t.csv", "p_0,p_1\n1,0\n1\n1,0\n", "the header has 2"},
		{"id twice", "t.csv", "decision_id,p_0,p_1\na,1,0\na,1,0\nb,1,0\n", "came before"},
		{"ids missing", "t.csv", "decision_id,p_0,p_1\na,1,0\nx,1,0\nb,1,0\n", "1 of the log's 3 decisions are missing, the first is \"c\""},
		{"unknown action", "t.csv", "action,probability\nmaybe,1\n", `no action "maybe"`},
		{"action twice", "t.csv", "action,probability\nyes,.5\nyes,.5\n", "twice"},
		{"actions do not sum", "t.csv", "action,probability\nyes,.5\nno,.4\n", "sum to 0.9"},
		{"probability not a number", "t.csv", "action,probability\nyes,?\n", "no number"},
		{"list of another length", "t.jsonl", `{"propensities":[1]}`, "1 propensities for 2 actions"},
		{"list of words", "t.csv", "probabilities\n\"[a,b]\"\n", "no number"},
		{"not JSON", "t.jsonl", `{"propensities":[1,`, "t.jsonl, line 1"},
		{"not an object", "t.jsonl", `[1,2]`, "want JSON Lines"},
		{"null", "t.jsonl", `{"p_0":null,"p_1":1}`, "no number"},
		{"a field missing", "t.jsonl", `{"p_0":1,"p_1":0}` + "\n" + `{"p_0":1}`, "line 2: no field p_1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := read(c.file, c.text, log); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// Columns by number do not fit names in an order that nobody gave.
func TestReadTarget_RefusesNumbersForUnorderedNames(t *testing.T) {
	for _, c := range []struct {
		actions []string
		refused bool
	}{{[]string{"no", "yes"}, true}, {[]string{"yes", "no"}, false}, {[]string{"1", "2"}, false}} {
		_, err := read("t.csv", "p_0,p_1\n1,0\n1,0\n1,0\n", &logs.Log{Actions: c.actions, Action: make([]int32, 3)})
		if refused := err != nil && strings.Contains(err.Error(), "by number, but the log's actions have names"); refused != c.refused {
			t.Errorf("%q: %v", c.actions, err)
		}
	}
}

// No file makes the reader panic, and what it accepts are distributions.
func FuzzReadTarget(f *testing.F) {
	for _, s := range []string{"p_0,p_1\n1,0\n1,0\n1,0\n", "action,probability\nyes,1\n", "decision_id,yes,no\na,1,0\nb,1,0\nc,0,1\n", `{"action":"yes","probability":1}`,
		"{\"propensities\":[1,0]}\n{\"propensities\":[1,0]}\n{\"propensities\":[0.5,0.5]}", "probability\n1\n0\n.5\n", "\"", "{}", "probabilities\n[1 0]\n"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	of := map[bool]*logs.Log{true: decided(f, true), false: decided(f, false)}
	f.Fuzz(func(t *testing.T, text string, isCSV bool) {
		name := "t.jsonl"
		if isCSV {
			name = "t.csv"
		}
		target, err := read(name, text, of[isCSV])
		if err != nil {
			if strings.Contains(fmt.Sprint(err), "%!") {
				t.Error(err)
			}
			return
		}
		row := make([]float64, 2)
		for i := range 3 {
			if target.Row == nil {
				if p := target.Logged[i]; !(p >= 0 && p <= 1+1e-9) {
					t.Error(p)
				}
				continue
			}
			if err := target.Row(row, i); err != nil {
				t.Fatal(err)
			}
			if s := row[0] + row[1]; !(s > 1-1e-5 && s < 1+1e-5) {
				t.Error(row)
			}
		}
	})
}

// A file of predicted rewards is a model of the reward, in the log's units, by decision_id or in order; numbers that are
// not finite, or too few, are refused.
func TestReadModel_ReadsPredictedRewardsInTheLogsUnits(t *testing.T) {
	model := func(name, text string, log *logs.Log) (ope.Model, error) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := logs.OpenRows(path, logs.Options{})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return ope.ReadModel(r, log)
	}
	ids, plain := decided(t, true), decided(t, false)
	scaled := *plain
	scaled.RewardMin, scaled.RewardMax = 0, 10
	for _, c := range []struct {
		name, text string
		log        *logs.Log
		want       []float64
	}{
		{"q.csv", "q_no,q_yes\n.2,.1\n.4,.3\n.6,.5\n", plain, []float64{.1, .2, .3, .4, .5, .6}},
		{"q.csv", "q_0,q_1\n1,2\n3,4\n5,6\n", &scaled, []float64{.1, .2, .3, .4, .5, .6}},
		{"q.jsonl", `{"decision_id":"c","rewards":[0.5,0.6]}
{"decision_id":"a","rewards":[0.1,0.2]}
{"decision_id":"b","rewards":[0.3,0.4]}
`, ids, []float64{.1, .2, .3, .4, .5, .6}},
	} {
		m, err := model(c.name, c.text, c.log)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for i := range 3 {
			var got [2]float64
			if m(got[:], i); !logs.Near(got[0], c.want[2*i], 1e-12) || !logs.Near(got[1], c.want[2*i+1], 1e-12) {
				t.Errorf("%s: row %d: %v", c.text, i, got)
			}
		}
	}
	for text, want := range map[string]string{
		"q_yes,q_no\n1,Inf\n":              "row 1: a predicted reward is +Inf",
		"q_yes,q_no\n1,2\n":                "1 rows, but the log has 3",
		"q_yes\n1\n":                       "none q_no",
		"p_yes,p_no\n1,2\n":                "no predicted rewards; want columns q_0 to q_1, rewards,",
		"q_yes,q_no\n1,a\n":                `"a" is no number`,
		"rewards\n\"[1,2,3]\"\n":           "3 rewards for 2 actions",
		"rewards\n":                        "no rows",
		"q_yes,q_no\n1,1\n1,1\n1,1\n1,1\n": "the log has only 3 rows",
	} {
		if _, err := model("q.csv", text, plain); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Of actions that rows alone name, those drawn rarely are those drawn by luck: nothing is guaranteed of uniform.
func TestUniform_IsNotGuaranteedOfActionsThatRowsChose(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("x_a,action,reward,propensity\n")
	for range 3000 { // 50 common actions earn .1, 50 rare ones, of one row each on average, earn 1
		a, p, reward := draw.IntN(50), (1-50./3000)/50, 0
		if draw.Float64() < .1 {
			reward = 1
		}
		if draw.Float64() < 50./3000 {
			a, p, reward = 50+draw.IntN(50), 1./3000, 1
		}
		fmt.Fprintf(&text, "%.3f,a%02d,%d,%v\n", draw.Float64(), a, reward, p)
	}
	l, dir := open(t, text.String())
	p := evaluate(t, l, []ope.Target{ope.Uniform()}, ope.Options{}).Policies[0]
	if p.Guarantee != nil || !strings.Contains(p.Uncertified, "decide which actions") || !strings.Contains(fmt.Sprint(p.Warnings), "more may never have been drawn") {
		t.Errorf("%d actions of 100, guarantee %v; %q, %q", l.K(), p.Guarantee, p.Uncertified, p.Warnings)
	}
	var names []string
	for a := range 100 {
		names = append(names, fmt.Sprintf("a%02d", a))
	}
	all, err := logs.Open(t.Context(), filepath.Join(dir, "log.csv"), logs.Options{Actions: names})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if p := evaluate(t, all, []ope.Target{ope.Uniform()}, ope.Options{}).Policies[0]; p.Guarantee == nil || p.Guarantee.Guaranteed > .55 {
		t.Errorf("all actions named: %v, %q", p.Guarantee, p.Uncertified)
	}
}

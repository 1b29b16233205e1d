package ope_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/ope"
)

func open(t *testing.T, text string) (*logs.Log, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "log.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := logs.Open(context.Background(), path, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log, dir
}

// A policy file as target: softmax of one feature, its actions in another order
// than the log's. What this log taught is not certified.
func TestFromPolicy_ReadsActionsInAnotherOrder(t *testing.T) {
	log, dir := open(t, "x_a,action,reward,propensity\n1,up,1,0.5\n2,down,0,0.25\n0,up,0,0.5\n3,left,1,0.25\n")
	actions := log.Actions
	enc, err := features.New(features.Encoder{Names: log.Names(), Scale: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	file := policyfile.File{Actions: []string{"up", "down"}, RewardMax: 1, History: policyfile.History{Known: true, DataHash: strings.Repeat("ab", 32)},
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax, Encoder: enc, Weights: policyfile.Matrix{{1}, {-1}}}}}
	policy := filepath.Join(dir, "policy.json")
	save := func() {
		t.Helper()
		if err := policyfile.Save(policy, &file); err != nil {
			t.Fatal(err)
		}
	}
	save()
	target, err := ope.Open(policy, log)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, len(actions))
	for i, x := range []float64{1, 2, 0, 3} {
		if err := target.Row(row, i); err != nil {
			t.Fatal(err)
		}
		for a, name := range actions {
			want := map[string]float64{"up": 1 / (1 + math.Exp(-2*x)), "down": 1 / (1 + math.Exp(2*x)), "left": 0}[name]
			if math.Abs(row[a]-want) > 1e-12 {
				t.Errorf("row %d, %s: %v, want %v", i, name, row[a], want)
			}
		}
	}
	if target.Name != "policy" {
		t.Errorf("%+v", target)
	}
	r := evaluate(t, log, []ope.Target{target}, ope.Options{})
	if r.Policies[0].Guarantee == nil {
		t.Error("no guarantee of a fixed policy")
	}
	file.History.DataHash = log.Hash()
	save()
	if target, err = ope.Open("mine="+policy, log); err != nil {
		t.Fatal(err)
	}
	r = evaluate(t, log, []ope.Target{target}, ope.Options{})
	if p := r.Policies[0]; p.Name != "mine" || p.Guarantee != nil || !strings.Contains(p.Uncertified, "learned from this log") {
		t.Errorf("%+v", p)
	}
	file.Actions[1] = "sideways"
	save()
	if _, err := ope.Open(policy, log); err == nil || !strings.Contains(err.Error(), `no action "sideways"`) {
		t.Error(err)
	}
	if _, err := ope.Open("target.txt", log); err == nil {
		t.Error("no error for an unknown kind of file")
	}
}

// Ridge predicts from the named values of a log: rewards that a feature decides.
func TestRidge_LearnsFromNamedValues(t *testing.T) {
	var b strings.Builder
	b.WriteString("x_a,action,reward,propensity\n")
	for range 200 {
		b.WriteString("1,up,1,0.5\n0,up,0,0.5\n0,down,0,0.5\n1,down,0,0.5\n")
	}
	log, _ := open(t, b.String())
	model, err := ope.Ridge(log, ope.ModelOptions{Penalty: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	r := make([]float64, 2)
	for i := range 4 {
		model(r, i)
		for a, name := range log.Actions {
			want := 0.0
			if name == "up" && i == 0 || name == "up" && i == 3 {
				want = 1
			}
			if math.Abs(r[a]-want) > 0.01 {
				t.Errorf("row %d, %s: %v, want %v", i, name, r[a], want)
			}
		}
	}
}

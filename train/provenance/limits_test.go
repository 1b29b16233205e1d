package provenance_test

import (
	"encoding/json"
	"testing"

	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// Limits go through a policy's file, are read as in training unless the log says otherwise, and are named where nobody
// asks for them or the log lacks them.
func TestLimits_ComeBackFromTheFile(t *testing.T) {
	l := &logs.Log{Outcomes: []logs.Outcome{{Column: "cost_slow", Values: []float64{1, 2}, Range: logs.Units{High: 3}, AtRandom: true},
		{Column: "reward_safe", Values: []float64{1, 0}}, {Column: "cost_none"}}}
	l.Cost = []float64{0, 0}
	all := []provenance.Requirement{{Name: "slow", Limit: -0.05, Relative: true}, {Name: "safe", Limit: -0.01},
		{Name: "none", Budget: true, Limit: 2}, {By: "x_land", Limit: -0.1}}
	b, err := json.Marshal(map[string]any{"limits": provenance.LimitsOn(l, all)})
	if err != nil {
		t.Fatal(err)
	}
	f := &policyfile.File{Training: b}
	limits := provenance.LimitsOf(f, []provenance.Requirement{{Name: "safe", Limit: -0.5}})
	if len(limits) != 3 || limits[0].Requirement != all[0] || limits[2].Requirement != all[3] {
		t.Fatalf("%+v", limits)
	}
	later := &logs.Log{Outcomes: []logs.Outcome{{Column: "cost_slow", Values: []float64{0, 0}}}}
	if got := provenance.Testable(limits, later); len(got) != 2 || got[0].Name != "slow" || got[1].By != "x_land" {
		t.Errorf("%+v", got)
	}
	if o := later.Outcomes[0]; o.Range != (logs.Units{High: 3}) || !o.AtRandom {
		t.Errorf("%+v", o)
	}
	said := &logs.Log{Outcomes: []logs.Outcome{{Column: "cost_slow", Values: []float64{0}, Range: logs.Units{High: 9}}}}
	if provenance.Testable(limits, said); said.Outcomes[0].Range.High != 9 {
		t.Errorf("%+v", said.Outcomes[0])
	}
	if got := provenance.Untested(f, all[:2]); len(got) != 2 || got[0] != "budget none=2" || got[1] != "guardrail-by x_land:-0.1" {
		t.Errorf("%q", got)
	}
	f.Certificate = []byte(`{"decision":{"outcomes":[{"kind":"goal","name":"reward","column":"reward"},` +
		`{"kind":"guardrail","name":"safe","column":"reward_safe"},{"kind":"guardrail","name":"new","column":"cost_new"},` +
		`{"kind":"guardrail","name":"reward of x_land FR","column":"reward"}]}}`)
	if got := provenance.Untested(f, all); len(got) != 1 || got[0] != "guardrail new" {
		t.Errorf("%q", got)
	}
}

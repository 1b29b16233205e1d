package logs_test

import (
	"strings"
	"testing"

	"opl/policies/features"
	"opl/train/logs"
)

// Several logs are one: with the actions of all, by name, and who logged each row.
func TestTogether(t *testing.T) {
	collect := func(actions []string, rows ...logs.Decision) *logs.Log {
		t.Helper()
		l, err := logs.Collect(actions, rows)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	x := []features.Value{{Name: "u", Number: 2}}
	first := collect([]string{"a", "b"}, logs.Decision{ID: "1", Action: 1, Cost: -1, Propensity: 0.5, Context: x}, logs.Decision{ID: "2", Action: 0, Propensity: 0.5, Policy: "canary"})
	second := collect([]string{"c", "a"}, logs.Decision{ID: "3", Action: 1, Cost: -0.5, Propensity: 0.25}, logs.Decision{ID: "4", Action: 0, Propensity: 0.75, Context: x})
	second.Skipped, second.Unrewarded, second.Estimated = 2, 3, true
	l, err := logs.Together([]*logs.Log{first, second}, []string{"one", "two"})
	if err != nil {
		t.Fatal(err)
	}
	want := []logs.Decision{{ID: "1", Action: 1, Cost: -1, Propensity: 0.5, Policy: "one"}, {ID: "2", Action: 0, Propensity: 0.5, Policy: "canary"},
		{ID: "3", Action: 0, Cost: -0.5, Propensity: 0.25, Policy: "two"}, {ID: "4", Action: 2, Propensity: 0.75, Policy: "two"}}
	var d logs.Decision
	for i, w := range want {
		l.Decision(i, &d)
		if d.ID != w.ID || d.Action != w.Action || d.Cost != w.Cost || d.Propensity != w.Propensity || d.Policy != w.Policy || len(d.Context) != map[bool]int{true: 1}[i == 0 || i == 3] {
			t.Errorf("row %d is %+v, want %+v", i+1, d, w)
		}
	}
	if strings.Join(l.Actions, "") != "abc" || l.Skipped != 2 || l.Unrewarded != 3 || !l.Estimated {
		t.Errorf("%+v", l)
	}

	second.RewardMax = 5
	if _, err := logs.Together([]*logs.Log{first, second}, []string{"one", "two"}); err == nil || !strings.Contains(err.Error(), "rewards are from 0 to 5, in the log before from 0 to 1") {
		t.Error(err)
	}
	second.RewardMax = 0
	second.Propensities = []float64{0.75, 0.25, 0.75, 0.25}
	if _, err := logs.Together([]*logs.Log{first, second}, []string{"one", "two"}); err == nil || !strings.Contains(err.Error(), "list them by setting actions") {
		t.Error(err)
	}
	twice := collect([]string{"a", "b"}, logs.Decision{Action: 1, Cost: -1})
	if _, err := logs.Together([]*logs.Log{first, twice}, []string{"one", "two"}); err == nil {
		t.Error("rows without ids and propensities stand beside rows with them")
	}
}

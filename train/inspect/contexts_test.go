package inspect

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"opl/train/logs"
)

// The columns of a file reach the checks: contexts are told apart by names and
// values, whatever their order.
func TestContexts_AreToldApartByNamesAndValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.csv")
	const text = "decision_id,timestamp,x_a,x_b,action,reward,propensity\n" +
		"1,2026-01-01T00:00:00Z,1,0,up,1,0.5\n" +
		"2,2026-01-01T00:00:01Z,0,1,down,0,0.25\n" +
		"2,2026-01-01T00:00:02Z,1,0,up,0.5,0.5\n" +
		"3,2026-01-01T00:00:03Z,,1,up,0.5,0.5\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := logs.Open(context.Background(), path, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if h := log.ContextHashes(); len(h) != 4 || h[0] != h[2] || h[0] == h[1] {
		t.Errorf("contexts %v", h)
	}
	r := Inspect(log)
	if r.Rows != 4 || r.K != 2 || r.Known != "logged" {
		t.Errorf("%+v", r)
	}
	if f, ok := r.Finding("reading"); !ok || f.Measured != "column x_a, 1 rows: no value, or a word for none such as NA: it is read as missing" {
		t.Errorf("%+v", f)
	}
	if f, ok := r.Finding("decision ids"); !ok || f.Severity == Fine {
		t.Errorf("%+v", f)
	}
}

// Contexts of a log in memory are told apart by their vectors, wherever their rows are.
func TestContexts_InMemoryAreToldApart(t *testing.T) {
	l := &logs.Log{Actions: logs.Numbered(2), Action: make([]int32, 3), X: logs.Rows64{Width: 2, Data: []float64{1, 2, 2, 1}}, Rows: []int{0, 1, 0}}
	if h := l.ContextHashes(); h[0] != h[2] || h[0] == h[1] {
		t.Errorf("contexts %v", h)
	}
	l.X = nil
	if h := l.ContextHashes(); h != nil {
		t.Errorf("contexts %v of none", h)
	}
}

// Costs that are no numbers, which schema refuses, do not hold up the check.
func TestInspect_AllowsRewardsThatAreNoNumbers(t *testing.T) {
	l := &log{Log: logs.Log{Cost: []float64{math.NaN(), 0, math.NaN()}}, n: 3, k: 2, report: &Report{}}
	l.reward()
	if len(l.found) != 1 {
		t.Errorf("%+v", l.found)
	}
}

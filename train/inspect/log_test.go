package inspect_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"opl/train/inspect"
	"opl/train/logs"
)

// The columns of a file reach the checks: contexts are told apart by names and
// values, whatever their order.
func TestFromLog(t *testing.T) {
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
	in := inspect.FromLog(log)
	if len(in.Context) != 4 || in.Context[0] != in.Context[2] || in.Context[0] == in.Context[1] {
		t.Errorf("contexts %v", in.Context)
	}
	r := inspect.Inspect(in)
	if r.Rows != 4 || r.K != 2 || r.Known != "logged" {
		t.Errorf("%+v", r)
	}
	if f, ok := r.Finding("reading"); !ok || f.Measured != "column x_a, 1 rows: no value: it counts as 0" {
		t.Errorf("%+v", f)
	}
	if f, ok := r.Finding("decision ids"); !ok || f.Severity == inspect.Fine {
		t.Errorf("%+v", f)
	}
}

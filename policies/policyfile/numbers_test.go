package policyfile_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/policyfile"
	opl "opl/policies/python"
)

// A policy of numbers keeps what its actions stand for; readers of before refuse it; Python has its densities.
func TestNumbers_KeepWhatActionsStandFor(t *testing.T) {
	f := example(t, policyfile.Softmax, 3, 4, 3)
	f.Numbers = &numeric.Actions{Edges: []float64{0, 1, 4}, Atoms: []float64{2.5}}
	testNumbers(t, f)
	f.Components[0].Kind, f.Numbers.Window = policyfile.ArgMax, 2
	testNumbers(t, f)
	if f.Numbers.Window = 3; f.Numbers.Check() == nil {
		t.Error("a window of 3 bins of 2")
	}
}

func testNumbers(t *testing.T, f *policyfile.File) {
	t.Helper()
	f.Actions = f.Numbers.Names()
	b := saved(t, f)
	p, err := policyfile.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.File().Numbers; p.Name(0) != "[0,1)" || p.Name(1) != "[1,4]" || p.Name(2) != "2.5" || got.K() != 3 ||
		!bytes.Contains(b, []byte(`"version":6`)) {
		t.Errorf("%q, %+v", p.Actions(), got)
	}
	for _, of := range []numeric.Actions{{Edges: []float64{0, 1, 5}, Atoms: []float64{2.5}}, {Edges: []float64{0, 4}},
		{Edges: []float64{0, 4, 1}, Atoms: []float64{2.5}}, {Edges: []float64{0, 1, math.NaN()}, Atoms: []float64{2.5}}} {
		other := *f
		other.Numbers = &of
		if _, err := policyfile.New(&other); err == nil || !strings.Contains(err.Error(), "numbers") {
			t.Errorf("%+v: %v", of, err)
		}
	}
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	pi := make([]float64, 3)
	if err := p.Propensities(pi, []features.Value{{Name: "f0a", Number: .3}}); err != nil {
		t.Fatal(err)
	}
	const code = `import json, sys; sys.path.insert(0, sys.argv[2]); import opl_policy
p = opl_policy.load(sys.argv[1])
print(json.dumps(list(p.densities([{"f0a": .3}] * 5, [0.5, 2, 4, 2.5, 9]))))`
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "opl_policy.py"), []byte(opl.Source), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python(t), "-c", code, path, filepath.Dir(path)).Output()
	var got []float64
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{pi[0], pi[1] / 3, pi[1] / 3, pi[2], 0} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("density %d is %v, want %v", i, got[i], want)
		}
	}
}

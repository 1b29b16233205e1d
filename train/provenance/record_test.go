package provenance

import (
	"fmt"
	"reflect"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
)

// Of more rows than a file lists, those that certified an argmax policy are left out of it. The rows that may certify it
// stay the same, on this log and on another that shares rows with it.
func TestRecord_LeavesOutManyRowsThatCertified(t *testing.T) {
	before := mostListed
	defer func() { mostListed = before }()
	var rows []logs.Decision
	for i := range 600 {
		rows = append(rows, logs.Decision{ID: fmt.Sprint(i), Context: []features.Value{{Name: "u", Number: float64(i)}}, Action: i % 2,
			Propensity: .5, Weight: 1, Cost: -float64(i % 3 % 2)})
	}
	open := func(from, to int) *Judge {
		l, err := logs.Collect([]string{"a", "b"}, rows[from:to])
		if err != nil {
			t.Fatal(err)
		}
		return New(l)
	}
	taught, chosen := logs.Every(200), logs.Every(400)[200:]
	seen := map[int][2][]bool{}
	for _, mostListed = range []int{1000, 100} {
		f := &policyfile.File{Actions: []string{"a", "b"}, Components: []policyfile.Component{{Kind: policyfile.ArgMax}}}
		open(0, 400).Record(f, Made{Taught: taught, Chosen: chosen, Seed: 5})
		if listed := len(f.Components[0].Chosen); listed > 0 != (mostListed == 1000) || len(f.Components[0].Taught) != 200 {
			t.Fatalf("of %d rows at most %d are listed", mostListed, listed)
		}
		var all [2][]bool
		for k, j := range []*Judge{open(0, 400), open(200, 600)} {
			o, err := j.Compare(f, false)
			if err != nil {
				t.Fatal(err)
			}
			all[k] = o.Taught
		}
		seen[mostListed] = all
	}
	if !reflect.DeepEqual(seen[1000], seen[100]) {
		t.Error("other rows may certify")
	}
}

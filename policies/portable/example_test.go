package portable_test

import (
	"log"
	"os"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/portable"
)

// A policy that plays left up to the age of 40 and right above, as SQL. At a floor of 0.1, each action keeps a
// probability of at least 0.05.
func ExampleNew() {
	tree := &features.Forest{In: 1, Base: []float64{0, 0}, Outputs: []int32{0, 1}, Sizes: []int32{3, 3},
		Feature: []int32{0, -1, -1, 0, -1, -1}, Value: []float64{40, 1, 0, 40, 0, 1}, Right: []int32{2, 0, 0, 2, 0, 0}}
	p, err := policyfile.New(&policyfile.File{Actions: []string{"left", "right"}, Floor: 0.1, RewardMax: 1,
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.ArgMax,
			Encoder: &features.Encoder{Names: []string{"age"}, Scale: []float64{1}},
			Layers:  []features.Layer{{Trees: tree}}, Weights: policyfile.Matrix{{1, 0}, {0, 1}}}}})
	if err != nil {
		log.Fatal(err)
	}
	asTree, err := portable.New(p)
	if err != nil {
		log.Fatal(err)
	}
	if err := asTree.Write(os.Stdout, "text", ""); err != nil {
		log.Fatal(err)
	}
	// Output:
	// with probability 0.1 any of the 2 actions, all alike; else
	//
	// if age <= 40 or missing: left
	// else: right
	//
	// A missing value or an unlisted name goes to "else", unless the line says "missing".
}

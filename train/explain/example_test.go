package explain_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/explain"
	"opl/train/logs"
	"opl/train/provenance"
)

// A policy that plays left for the young, on a log of even draws: what it does, and what it reads.
func ExamplePolicy() {
	r := rand.New(rand.NewPCG(1, 2))
	var rows []logs.Decision
	for i := range 200 {
		age, a := float64(20+r.IntN(50)), r.IntN(2)
		d := logs.Decision{ID: fmt.Sprint(i), Action: a, Propensity: .5, Propensities: []float64{.5, .5}, Weight: 1,
			Context: []features.Value{{Name: "age", Number: age}}}
		if (age <= 40) == (a == 0) && r.IntN(10) > 0 {
			d.Cost = -1
		}
		rows = append(rows, d)
	}
	decisions, err := logs.Collect([]string{"left", "right"}, rows)
	if err != nil {
		log.Fatal(err)
	}
	policy, err := policyfile.New(&policyfile.File{Actions: []string{"left", "right"}, Floor: .1, RewardMax: 1,
		History: policyfile.History{Known: true}, // no log taught it
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.ArgMax,
			Encoder: &features.Encoder{Names: []string{"age"}, Scale: []float64{1}, Intercept: true},
			Weights: policyfile.Matrix{{-1, 40.5}, {0, 0}}}}})
	if err != nil {
		log.Fatal(err)
	}
	e, err := explain.Policy(context.Background(), policy, decisions, provenance.Within(decisions, 1), explain.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("earns %.2f, %+.2f ± %.2f beside the log\n%s", e.Reward, e.Gain, 2*e.GainSE, e.Surrogate.Rules)
	// Output:
	// earns 0.85, +0.38 ± 0.07 beside the log
	// if age <= 40: left
	// else: right
	//
	// A missing value or an unlisted name goes to "else", unless the line says "missing".
}

package policyfile_test

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// A policy in one's own process.
func Example() {
	dir, err := os.MkdirTemp("", "policy")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "policy.json")
	written := &policyfile.File{
		Actions: []string{"left", "right"}, Floor: 0.1, RewardMax: 1,
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax,
			Encoder: &features.Encoder{Names: []string{"age", "city=Oslo"}, Scale: []float64{0.01, 1}, Intercept: true},
			Weights: policyfile.Matrix{{1, 0, 0}, {0, 3, 0}},
		}},
	}
	if err := policyfile.Save(path, written); err != nil {
		log.Fatal(err)
	}

	p, err := policyfile.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2)) // goroutines must not share this source
	context := []features.Value{{Name: "age", Number: 41}, {Name: "city=Oslo", Number: 1}}
	action, propensity, err := p.Choose(context, r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s with propensity %.3f\n", p.Actions()[action], propensity)
	// Output: right with propensity 0.887
}

// A policy whose actions have features chooses among those that a decision offers, also new ones.
func ExamplePolicy_ChooseOffered() {
	items, err := features.NewItems(&features.Encoder{Names: []string{"price", "brand=Acme"}, Scale: []float64{0.1, 1}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	p, err := policyfile.New(&policyfile.File{
		Floor: 0.1, RewardMax: 1,
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax,
			Encoder: &features.Encoder{Names: []string{"age"}, Scale: []float64{0.01}, Intercept: true},
			Items:   items,
			Weights: policyfile.Matrix{{1, -2}, {0, 3}}, // of price and brand, by age and in general
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	context := []features.Value{{Name: "age", Number: 41}}
	offered := []features.Offer{
		{Action: "kettle", Features: []features.Value{{Name: "price", Number: 30}}},
		{Action: "pan", Features: []features.Value{{Name: "price", Number: 25}, {Name: "brand=Acme", Number: 1}}},
	}
	pi := make([]float64, len(offered))
	if err := p.PropensitiesOffered(pi, context, offered); err != nil {
		log.Fatal(err)
	}
	place, propensity, err := p.ChooseOffered(context, offered, r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s with propensity %.3f, of %.3f\n", offered[place].Action, propensity, pi)
	// Output: pan with propensity 0.930, of [0.070 0.930]
}

package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
)

// From decisions in memory to a policy file: collected, learned and certified, saved. In Oslo,
// and there alone, "left" is the better action; the system that logged tosses a coin.
func Example() {
	r := rand.New(rand.NewPCG(1, 2))
	var decisions []logs.Decision
	for i := range 2000 {
		city := []string{"Oslo", "Rome"}[r.IntN(2)]
		d := logs.Decision{
			ID:         fmt.Sprint("d", i), // tells rows of different logs apart
			Context:    []features.Value{{Name: "age", Number: float64(20 + r.IntN(50))}, {Name: "city=" + city, Number: 1}},
			Action:     r.IntN(2),
			Propensity: 0.5, Propensities: []float64{0.5, 0.5}, Weight: 1,
		}
		if (d.Action == 0) == (city == "Oslo") && r.Float64() < 0.8 {
			d.Cost = -1 // minus the reward, which is 1
		}
		decisions = append(decisions, d)
	}
	collected, err := logs.Collect([]string{"left", "right"}, decisions)
	if err != nil {
		log.Fatal(err)
	}
	learned, err := pipeline.Learn(context.Background(), library.Standard(), collected, pipeline.Options{Floor: 0.05, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if c := learned.Certificate; c != nil { // else learned.Unproven says why
		fmt.Printf("more than 0.6 is guaranteed: %v; %s than the coin\n", c.Guaranteed() > 0.6, c.Statement().Verdict)
	}
	dir, err := os.MkdirTemp("", "policy")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "policy.json")
	if err := policyfile.Save(path, learned.File); err != nil {
		log.Fatal(err)
	}

	p, err := policyfile.Load(path) // in the process that serves
	if err != nil {
		log.Fatal(err)
	}
	pi := make([]float64, len(p.Actions()))
	for _, city := range []string{"Oslo", "Rome"} {
		if err := p.Propensities(pi, []features.Value{{Name: "age", Number: 41}, {Name: "city=" + city, Number: 1}}); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: left %.3f, right %.3f\n", city, pi[0], pi[1])
	}
	// Output:
	// more than 0.6 is guaranteed: true; better than the coin
	// Oslo: left 0.975, right 0.025
	// Rome: left 0.025, right 0.975
}

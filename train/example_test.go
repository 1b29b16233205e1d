package train_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/logs"
	"opl/train/provenance"
)

// A log in memory, 4,000 decisions of the uniform policy in which the right action is
// the sign of a number; a policy learned from it by an objective, and one with a guarantee.
func Example() {
	const n, d, k = 4000, 2, 2
	r := rand.New(rand.NewPCG(1, 2))
	decisions := &logs.Log{Actions: []string{"left", "right"}}
	features := make([]float64, 0, n*d) // [n×d], row by row
	for range n {
		x := r.NormFloat64()
		a := r.IntN(k)
		cost := 0.0 // in [−1, 0]: minus the reward
		if (a == 1) == (x > 0) {
			cost = -1
		}
		features = append(features, x, 1)
		decisions.Action = append(decisions.Action, int32(a))
		decisions.Cost = append(decisions.Cost, cost)
		decisions.Propensity = append(decisions.Propensity, 0.5)
		decisions.Propensities = append(decisions.Propensities, 0.5, 0.5)
	}
	decisions.X = logs.Rows64{Width: d, Data: features}
	if err := decisions.Check(); err != nil {
		log.Fatal(err)
	}

	res, err := train.Fit(context.Background(), decisions, train.Config{
		Objective: objectives.LogSmoothing(), Policy: policies.Gaussian{},
		Prior:  policies.Prior{Mean: make([]float64, k*d), Scale: 1},
		Epochs: 20, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	contexts := logs.Rows64{Width: d, Data: []float64{-2, 1, 2, 1}}
	res.Propensities(contexts, func(i int, pi []float64) {
		fmt.Printf("x = %+.0f: left %.1f, right %.1f\n", contexts.Data[i*d], pi[0], pi[1])
	})

	out, err := train.Recipe{}.Learn(context.Background(), provenance.New(decisions), decisions, train.Config{Epochs: 20, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at least %.2f, %s than the logging policy\n", out.Certificate.Guaranteed(), out.Certificate.Statement().Verdict)
	// Output:
	// x = -2: left 1.0, right 0.0
	// x = +2: left 0.0, right 1.0
	// at least 0.97, better than the logging policy
}

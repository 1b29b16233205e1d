package ope_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"opl/train/logs"
	"opl/train/ope"
)

// A coin logged left and right; left earns .8 on average and right .3. What would "always left" have earned?
func Example() {
	r := rand.New(rand.NewPCG(1, 2))
	l := &logs.Log{Actions: []string{"left", "right"}}
	var always []float64 // π(·|x) [n×2]
	for range 2000 {
		a, cost := r.IntN(2), 0.
		if r.Float64() < []float64{.8, .3}[a] {
			cost = -1 // minus the reward
		}
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, cost)
		l.Propensity = append(l.Propensity, .5)
		l.Propensities = append(l.Propensities, .5, .5)
		always = append(always, 1, 0)
	}
	result, err := ope.Evaluate(l, []ope.Target{ope.Matrix("always left", always, 2)},
		ope.Options{Estimators: []ope.Estimator{ope.IPS(), ope.SNIPS()}, EstimatesAlone: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range result.Policies[0].Estimates {
		fmt.Printf("%-5s %.2f ± %.2f\n", e.Estimator, e.Value, (e.High-e.Low)/2)
	}
	// Output:
	// ips   0.79 ± 0.04
	// snips 0.79 ± 0.03
}

package online_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/online"
)

// Left earns .9 and right .1. The bound of "mostly left" is tighter with a model of the reward that each row's
// predecessors teach, though no row is given up to learn it.
func ExampleLearn() {
	r := rand.New(rand.NewPCG(1, 2))
	l := &logs.Log{Actions: []string{"left", "right"}}
	var rows []int
	var logged []float64 // π of the action of each row
	for i := range 1000 {
		a, cost := r.IntN(2), 0.
		if r.Float64() < []float64{.9, .1}[a] {
			cost = -1
		}
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, cost)
		l.Propensity, l.Propensities = append(l.Propensity, .5), append(l.Propensities, .5, .5)
		rows, logged = append(rows, i), append(logged, []float64{.8, .2}[a])
	}
	model, err := online.Learn(l, rows, nil, logged)
	if err != nil {
		log.Fatal(err)
	}
	mostlyLeft := func(pi []float64, _ int) error {
		pi[0], pi[1] = .8, .2
		return nil
	}
	for _, models := range [][]*certify.RewardModel{nil, {model}} {
		b, err := certify.Fixed(mostlyLeft, nil, l, rows, certify.Options{Delta: .05, Models: models})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("models: %d, reward at least %.2f\n", len(models), b.Reward())
	}
	// Output:
	// models: 0, reward at least 0.64
	// models: 1, reward at least 0.67
}

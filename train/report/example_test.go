package report_test

import (
	"fmt"

	"opl/train"
	"opl/train/library"
	"opl/train/report"
)

// Which of two configurations earns the most, in a sentence.
func ExampleBest() {
	var recs []train.Record
	for objective, reward := range map[string]float64{"theorem1": .61, "ls": .64} {
		r := train.Run{Dataset: "mnist", Eta0: .5, Objective: objective, Policy: "gaussian", Weight: "clip", Hyper: .1, Seed: 1}
		recs = append(recs, train.Record{Run: r, LoggingReward: .35, Reward: train.Number(reward)})
	}
	fmt.Println(report.Best(library.Standard(), recs))
	// Output:
	// On MNIST with η₀ = 0.5, ls, Clip(0.1), penalty 0 earns most: 0.6400; the logging policy earns 0.3500 (one seed).
}

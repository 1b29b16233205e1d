package experiment_test

import (
	"fmt"
	"log"

	"opl/train/experiment"
	"opl/train/library"
)

// A grid file names runs: here one objective by two weights, on the logs of two seeds.
func ExampleParseGrid() {
	text := `
dataset: mnist
seeds: 2
runs:
  - objectives: l2
    weights: [clip, har]
`
	lib := library.Standard()
	grid, err := experiment.ParseGrid("grid.yaml", []byte(text), lib)
	if err != nil {
		log.Fatal(err)
	}
	runs, err := grid.Runs(lib, func(what string, why error) { log.Println(what, why) })
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range runs {
		fmt.Println(r.Seed, experiment.Name(r))
	}
	// Output:
	// 1 logging, mnist η₀=0.5 seed 1
	// 1 l2 × clip, penalty 1e-05, mnist η₀=0.5 seed 1
	// 1 l2 × har, penalty 1e-05, mnist η₀=0.5 seed 1
	// 2 logging, mnist η₀=0.5 seed 2
	// 2 l2 × clip, penalty 1e-05, mnist η₀=0.5 seed 2
	// 2 l2 × har, penalty 1e-05, mnist η₀=0.5 seed 2
}

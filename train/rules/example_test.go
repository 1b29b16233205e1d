package rules_test

import (
	"context"
	"fmt"
	"log"

	"opl/train/regress"
	"opl/train/rules"
)

// Six visitors of one feature, and what each of two actions would earn from them: young ones earn by action 0.
func ExampleLearn() {
	ages := regress.Matrix{Width: 1, Data: []float64{20, 25, 30, 50, 60, 70}}
	scores := []float64{ // Γ, a row a visitor
		1, 0,
		1, 0,
		1, 0,
		0, 1,
		0, 1,
		0, 1,
	}
	tree, err := rules.Learn(context.Background(), ages, scores, 2, rules.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("age <= %v plays %d, else %d\n", tree.Cut, tree.Left.Plays(nil), tree.Right.Plays(nil))
	// Output: age <= 40 plays 0, else 1
}

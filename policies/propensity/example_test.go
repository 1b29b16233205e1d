package propensity_test

import (
	"fmt"

	"opl/policies/propensity"
)

func Example() {
	scores, pi := []float64{1, 0, 0}, make([]float64, 3) // φ(x)ᵀθ_a of one context
	propensity.Softmax{}.At(pi, scores, 0, nil)
	fmt.Printf("%.3f\n", pi)
	// Output: [0.576 0.212 0.212]
}

package policies_test

import (
	"fmt"

	"opl/policies"
)

// One family by the same scores φ(x)ᵀμ: the softmax, a mixture of argmax policies whose parameters have the standard
// deviation 1, and either with a floor, which keeps every propensity at 0.1/3 or more.
func Example() {
	scores, pi := []float64{2, 1, 0}, make([]float64, 3)
	policies.Softmax{}.At(pi, scores, 0, nil)
	fmt.Printf("softmax   %.3f\n", pi)
	policies.Gaussian{}.At(pi, scores, 1, nil)
	fmt.Printf("gaussian  %.3f\n", pi)
	policies.Gaussian{}.AtMean(pi, scores)
	fmt.Printf("its mean  %.3f\n", pi)
	policies.Floor{Policy: policies.Gaussian{}, Epsilon: 0.1}.AtMean(pi, scores)
	fmt.Printf("floored   %.3f\n", pi)
	// Output:
	// softmax   [0.665 0.245 0.090]
	// gaussian  [0.729 0.224 0.047]
	// its mean  [1.000 0.000 0.000]
	// floored   [0.933 0.033 0.033]
}

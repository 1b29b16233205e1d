package kernel_test

import (
	"fmt"

	"opl/graph/kernel"
)

// Softmaxes of two rows of scores.
func Example() {
	x := []float64{1, 0, 0, 2, 2, 2}
	kernel.Softmax(x, x, 3)
	fmt.Printf("%.3f %.3f\n", x[:3], x[3:])
	// Output: [0.576 0.212 0.212] [0.333 0.333 0.333]
}

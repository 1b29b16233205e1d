package weights_test

import (
	"fmt"

	"opl/objectives/weights"
)

// The weights of three rows: π/π₀ is 4, 1 and 0.5, and clipping bounds the first.
func Example() {
	pi, pi0 := weights.Column{.8, .5, .1}, weights.Column{.2, .5, .2}
	fmt.Println(pi.Div(pi0))
	fmt.Println(pi.Div(pi0.AtLeast(.4)))
	// Output:
	// [4 1 0.5]
	// [2 1 0.25]
}

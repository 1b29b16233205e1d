package numeric_test

import (
	"fmt"

	"opl/policies/numeric"
)

// A price that was drawn with the density .025 on [0, 40] is one of four actions, with the probability of its bin.
func Example() {
	a := numeric.Even(0, 40, 4)
	c := a.Bin(12.5)
	fmt.Println(a.Names()[c], .025*a.Width(c))
	// Output: [10,20) 0.25
}

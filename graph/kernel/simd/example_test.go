package simd_test

import (
	"fmt"

	"opl/graph/kernel/simd"
)

// Every kernel writes to dst, which may be an argument, too.
func Example() {
	x := []float32{1, -2, 3}
	simd.Add(x, x, []float32{10, 10, 10})
	simd.AtLeast(x, x, 10)
	fmt.Println(x)
	// Output: [11 10 13]
}

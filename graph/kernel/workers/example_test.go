package workers_test

import (
	"fmt"

	"opl/graph/kernel/workers"
)

// Four workers share ten parts; each part writes its own place, so that the result is the same for any number.
func ExampleDo() {
	squares := make([]int, 10)
	workers.Do(4, len(squares), func(_, part int) { squares[part] = part * part })
	fmt.Println(squares)
	// Output: [0 1 4 9 16 25 36 49 64 81]
}

package worlds_test

import (
	"fmt"

	"opl/train/bench/worlds"
)

// A log of the first world, what its logging policy earns in truth, and what no policy exceeds.
func Example() {
	world := worlds.All()[0]
	log, test := world.Draw(1000, 5000, 1)
	logging, best := worlds.Values(test)
	fmt.Printf("%s: %d rows, %d actions\n", world.Name, len(log), world.K)
	fmt.Printf("the logging policy earns %.2f, the best policy %.2f\n", logging, best)
	// Output:
	// linear: 1000 rows, 4 actions
	// the logging policy earns 0.44, the best policy 0.70
}

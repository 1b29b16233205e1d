package provenance_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// A judge inspects the log before it lets rows certify a policy that was fixed before them.
func Example() {
	r := rand.New(rand.NewPCG(1, 2))
	l := &logs.Log{Actions: []string{"left", "right"}}
	var left []float64 // π(a_i|x_i) of "always left"
	for range 2000 {
		a, cost := r.IntN(2), 0.
		if r.Float64() < []float64{.8, .3}[a] {
			cost = -1 // minus the reward
		}
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, cost)
		l.Propensity = append(l.Propensity, .5)
		left = append(left, float64(1-a))
	}
	c, err := provenance.New(l).Target(nil, left, provenance.FixedBefore(), certify.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at least %.2f: %s\n", c.Guaranteed(), c.Statement().Verdict)
	// Output:
	// at least 0.72: better
}

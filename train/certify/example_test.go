package certify_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"opl/train/certify"
	"opl/train/logs"
)

// A coin logged left and right; left earns .8 on average and right .3. "Always left" was fixed before the rows, so all
// of them bound its risk. A program that does not know where a policy comes from asks package provenance instead.
func Example() {
	r := rand.New(rand.NewPCG(1, 2))
	l := &logs.Log{Actions: []string{"left", "right"}}
	rows := make([]int, 2000)
	for i := range rows {
		a, cost := r.IntN(2), 0.
		if r.Float64() < []float64{.8, .3}[a] {
			cost = -1 // minus the reward
		}
		rows[i] = i
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, cost)
		l.Propensity = append(l.Propensity, .5)
	}
	left := func(pi []float64, _ int) error {
		pi[0], pi[1] = 1, 0
		return nil
	}
	b, err := certify.Fixed(left, nil, l, rows, certify.Options{Delta: .05})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("reward at least %.2f, gain at least %.2f\n", b.Reward(), -b.Gain.Risk)
	// Output:
	// reward at least 0.72, gain at least 0.19
}

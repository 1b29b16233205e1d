package inspect_test

import (
	"fmt"
	"math/rand/v2"

	"opl/train/inspect"
	"opl/train/logs"
)

// A log whose propensities are wrong: left was drawn with probability 0.8, and the log says 0.5.
func Example() {
	r := rand.New(rand.NewPCG(1, 2))
	l := &logs.Log{Actions: []string{"left", "right"}}
	for range 1000 {
		a := int32(0)
		if r.Float64() > .8 {
			a = 1
		}
		l.Action, l.Cost = append(l.Action, a), append(l.Cost, -float64(r.IntN(2)))
		l.Propensity = append(l.Propensity, .5)
	}
	report := inspect.Inspect(l)
	fmt.Println(report.Severity)
	for _, f := range report.Findings {
		if f.Severity == inspect.Unusable {
			fmt.Println(f.Check)
			break
		}
	}
	// Output:
	// unusable
	// bets on propensities
}

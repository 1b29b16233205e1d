package render_test

import (
	"fmt"
	"log"
	"strings"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/report/render"
	"opl/train/report/table"
)

// The estimates of an evaluation as opl evaluate prints them, in Markdown.
func Example() {
	l := &logs.Log{Actions: []string{"left", "right"}}
	for i := range 400 {
		a := i % 2
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, -float64(i/2%(2+a))/2)
		l.Propensity, l.Propensities = append(l.Propensity, .5), append(l.Propensities, .5, .5)
	}
	r, err := ope.Evaluate(l, []ope.Target{ope.Uniform()}, ope.Options{Estimators: []ope.Estimator{ope.IPS()}, EstimatesAlone: true})
	if err != nil {
		log.Fatal(err)
	}
	var b strings.Builder
	if err := render.Evaluation(&b, table.Markdown, r); err != nil {
		log.Fatal(err)
	}
	estimates, _, _ := strings.Cut(b.String(), "\n\n")
	fmt.Println(estimates)
	// Output:
	// | policy  | estimator | value | s.e.  | 95 % interval  | gain   | 95 % interval    |
	// |:--------|:----------|:------|:------|:---------------|:-------|:-----------------|
	// | logging | on-policy | 0.374 | 0.018 | 0.338 to 0.409 | —      | —                |
	// | uniform | ips *     | 0.374 | 0.018 | 0.338 to 0.409 | +0.000 | +0.000 to +0.000 |
}

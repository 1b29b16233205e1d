package bench_test

import (
	"context"
	"fmt"
	"log"

	"opl/train/bench"
	"opl/train/dataset"
	"opl/train/ope"
)

// How large the bias of two estimators is, and how often their intervals cover the truth, on 20 logs of 500 rows each.
func Example() {
	data, err := dataset.Open("mnist", "../../testdata/mnist")
	if err != nil {
		log.Fatal(err)
	}
	r, err := bench.Run(context.Background(), data, bench.Options{
		Estimators: []ope.Estimator{ope.IPS(), ope.SNIPS()}, Loggings: bench.Loggings()[:1], Rows: []int{500}, Seeds: 20,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range r.Cells {
		fmt.Printf("%s: bias %+.2f ± %.2f, %.0f %% of the intervals cover\n", c.Estimator, c.Bias.Value, 2*c.Bias.SE, 100*c.Coverage.Value)
	}
	// Output:
	// ips: bias +0.02 ± 0.03, 95 % of the intervals cover
	// snips: bias +0.01 ± 0.02, 85 % of the intervals cover
}

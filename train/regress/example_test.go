package regress_test

import (
	"context"
	"fmt"
	"log"

	"opl/train/regress"
)

// Fit a logistic regression of clicks on one feature and an intercept.
func Example() {
	x := regress.Matrix{Width: 2, Data: []float64{0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}}
	clicks := []float64{0, 0, 0, 1, 0, 1, 1, 1} // 1 of 4, then 3 of 4
	theta, err := regress.Logistic(context.Background(), x, clicks, regress.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log odds: %.3f, and %.3f more with the feature\n", theta[1], theta[0])
	// Output: log odds: -1.099, and 2.197 more with the feature
}

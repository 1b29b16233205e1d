package features_test

import (
	"fmt"
	"log"

	"opl/policies/features"
)

// Encode a context of named values. A name that the encoder does not have is counted and left out.
func Example() {
	e, err := features.New(features.Encoder{Names: []string{"age", "city=Oslo"}, Center: []float64{40, 0},
		Scale: []float64{0.1, 1}, Intercept: true})
	if err != nil {
		log.Fatal(err)
	}
	phi := make([]float64, e.Dim())
	unknown, err := e.Encode(phi, []features.Value{{Name: "age", Number: 45}, {Name: "height", Number: 180}})
	fmt.Println(phi, unknown, err)
	// Output: [0.5 0 1] 1 <nil>
}

package portable

import (
	"slices"
	"testing"

	"opl/policies/features"
)

// The number 1.2 is the category 1.2, and 1.20 only where that is the one of the two that is known.
func TestCondition_NumbersAreThoseOfTheirName(t *testing.T) {
	for known, want := range map[string][]float64{"version=1.2": nil, "version=1.3": {1.2}} {
		e, err := features.New(features.Encoder{Names: []string{"version=1.20", known}, Scale: []float64{1, 1}})
		if err != nil {
			t.Fatal(err)
		}
		c := Condition{Column: "version", In: []string{"1.20"}, apart: apart(e, 0, "version", "1.20")}
		if got := c.numbers(); !slices.Equal(got, want) {
			t.Errorf("beside %s: %v, want %v", known, got, want)
		}
	}
}

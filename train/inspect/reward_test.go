package inspect

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Costs that are no numbers count as one value.
func TestInspect_CountsRewardsThatAreNoNumbersAsOne(t *testing.T) {
	l := &log{n: 1000, report: &Report{}}
	l.Cost = slices.Repeat([]float64{math.NaN()}, l.n)
	l.reward()
	if f := l.found[0]; !strings.Contains(f.Measured, "100 % of rows have NaN") {
		t.Errorf("%+v", f)
	}
}

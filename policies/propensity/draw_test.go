package propensity_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/policies/propensity"
)

// Running sums are those of math.Exp, whatever the scores.
func TestCumulate_AddsAsMathExpDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, bad := range [][]float64{{1, math.NaN()}, {math.NaN(), 1}, {math.Inf(1), 1}, {math.Inf(-1), math.Inf(-1)}, {1, math.Inf(1)}} {
		if m := propensity.Cumulate(make([]float64, 2), bad); m-m == 0 {
			t.Errorf("%v: the largest score is %v", bad, m)
		}
	}
	for _, wide := range []float64{0, 1e-300, 1e-9, 1, 30, 600, 1e6, 1e300} {
		scores, sums := make([]float64, 2000), make([]float64, 2000)
		for a := range scores {
			scores[a] = wide * (r.Float64() - 0.5)
		}
		scores[7] = math.Inf(-1)
		m, sum := propensity.Cumulate(sums, scores), 0.
		for a, s := range scores {
			e := math.Exp(s - m)
			if sum += e; math.Abs(sums[a]-sum) > 1e-13*sum+1e-300 {
				t.Fatalf("±%v: %v of %d scores, want %v", wide, sums[a], a+1, sum)
			}
			if one := sums[:1]; a%50 == 0 { // an exponential by itself
				if propensity.Cumulate(sums[:2], []float64{s, m}); math.Abs(one[0]-e) > 4e-16*e+1e-300 {
					t.Fatalf("exp(%v) is %v, want %v", s-m, one[0], e)
				}
				propensity.Cumulate(sums, scores)
			}
		}
	}
}

package certify_test

import (
	"math/rand/v2"
	"testing"

	"opl/policies/features"
	"opl/train/certify"
	"opl/train/logs"
)

// Scores of a catalogue are sums of products in order, to the bit, whether or not its vectors are of 32 bits and
// held; rows of actions' own are added to them.
func TestCatalogueScores_AreSumsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 9))
	const k, q, m = 37, 5, 3
	for _, short := range []bool{true, false} {
		z, own := make([]float64, k*q), make([]int32, k)
		for i := range z {
			if z[i] = r.NormFloat64(); short {
				z[i] = float64(float32(z[i]))
			}
		}
		for a := range own {
			if own[a] = -1; a%4 == 1 {
				own[a] = q + int32(a/4)
			}
		}
		p := q + k/4 + 1
		theta, x := make([]float64, p*m), []float64{.3, -1.7, .9}
		for i := range theta {
			theta[i] = r.NormFloat64()
		}
		log := &logs.Log{Actions: logs.Numbered(k), Action: []int32{0}, Cost: []float64{0}, X: logs.Rows64{Width: m, Data: x},
			Choices: &logs.Choices{Z: logs.ItemRows{Values: logs.Rows64{Width: q, Data: z}, Own: own, Width: p}}}
		got := make([]float64, k)
		certify.Linear("scores", theta, log, func(dst, scores []float64) { copy(dst, scores) }).Predict(got, 0)
		for a := range k {
			var want float64
			for c := range q {
				want += float64(features.Dot(x, theta[c*m:(c+1)*m]) * z[a*q+c])
			}
			if own[a] >= 0 {
				want += features.Dot(x, theta[int(own[a])*m:(int(own[a])+1)*m])
			}
			if got[a] != want {
				t.Errorf("of 32 bits %v, action %d: %v, want %v", short, a, got[a], want)
			}
		}
	}
}

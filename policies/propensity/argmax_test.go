package propensity

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// An argmax plays evenly the neighbours whose mean score is the largest of all, or another action that has more.
func TestArgMax_PlaysTheBestWindowOrABetterAction(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		p := ArgMax{Window: 1 + r.IntN(4), Bins: 4 + r.IntN(6)}
		scores := make([]float64, p.Bins+r.IntN(3))
		for a := range scores {
			scores[a] = r.NormFloat64()
		}
		var plays [][]float64 // every policy that it may be
		for a := range scores {
			if n := p.Window; a < p.Bins && a+n > p.Bins {
				continue
			} else if pi := make([]float64, len(scores)); a >= p.Bins {
				pi[a] = 1
				plays = append(plays, pi)
			} else {
				floats.AddConst(1/float64(n), pi[a:a+n])
				plays = append(plays, pi)
			}
		}
		want := slices.MaxFunc(plays, func(p, q []float64) int {
			if floats.Dot(p, scores) < floats.Dot(q, scores) {
				return -1
			}
			return 1
		})
		got := make([]float64, len(scores))
		if p.At(got, scores, 0, nil); !floats.EqualApprox(got, want, 1e-12) {
			t.Fatalf("%+v, scores %.3v: %.3v, want %.3v", p, scores, got, want)
		}
	}
}

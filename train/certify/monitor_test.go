package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// By enumeration of all rewards of up to 10 rows: the mean of the e-value is at most 1 where the claim is true, exactly 1 at the
// claim itself; and it reaches 1/δ at any time with probability δ at most.
func TestMonitor_IsAnEValue(t *testing.T) {
	for _, claim := range []float64{.1, .5, .9} {
		for _, p := range []float64{claim, claim + (1-claim)/2, 1} {
			for _, n := range []int{1, 4, 10} {
				mean := 0.0
				reach := map[float64]float64{.5: 0, .2: 0, .05: 0}
				for code := range 1 << n {
					prob := 1.0
					rewards := make([]float64, n)
					for i := range rewards {
						if code>>i&1 == 1 {
							rewards[i] = 1
							prob *= p
						} else {
							prob *= 1 - p
						}
					}
					w, err := Monitor(rewards, claim)
					if err != nil {
						t.Fatal(err)
					}
					mean += prob * w.E
					for delta := range reach {
						if w.Refuted(delta) {
							reach[delta] += prob
						}
					}
				}
				if mean > 1+1e-9 || p == claim && math.Abs(mean-1) > 1e-9 {
					t.Errorf("claim %v, p %v, %d rows: the mean e-value is %v", claim, p, n, mean)
				}
				for delta, share := range reach {
					if share > delta {
						t.Errorf("claim %v, p %v, %d rows: refuted at %v with probability %v", claim, p, n, delta, share)
					}
				}
			}
		}
	}
}

// Poor rewards stand first since the order is not known: it is looked at where all of them are there.
func TestMonitor_LooksWhereTheOrderIsKnown(t *testing.T) {
	rewards := append(make([]float64, 40), slices.Repeat([]float64{1}, 60)...)
	every, err := Monitor(rewards, .5)
	last, err2 := Monitor(rewards, .5, 100)
	if err != nil || err2 != nil || !every.Refuted(.05) || last.Refuted(.05) || last.E != every.E {
		t.Errorf("after each %+v, after the last %+v, %v, %v", every, last, err, err2)
	}
}

// It finds a policy that earns less, soon, and not one that earns more.
func TestMonitor_FindsAPolicyThatEarnsLess(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		rewards := make([]float64, 4000)
		for i := range rewards {
			if r.Float64() < .6 {
				rewards[i] = 1
			}
		}
		low, err := Monitor(rewards, .65)
		if err != nil {
			t.Fatal(err)
		}
		high, err := Monitor(rewards, .59)
		if err != nil {
			t.Fatal(err)
		}
		if !low.Refuted(.05) || high.Refuted(.01) || math.Abs(low.Mean-.6) > .04 || math.Abs(low.SE-.0077) > .0005 {
			t.Errorf("seed %d: %+v, %+v", seed, low, high)
		}
	}
	for _, c := range []struct {
		rewards []float64
		claim   float64
	}{{[]float64{2}, .5}, {[]float64{math.NaN()}, .5}, {nil, 1}, {nil, math.NaN()}, {nil, -.1}} {
		if _, err := Monitor(c.rewards, c.claim); err == nil {
			t.Errorf("%v", c)
		}
	}
	if w, err := Monitor(make([]float64, 100_000), .999); err != nil || math.IsInf(w.E, 0) || !w.Refuted(1e-9) {
		t.Errorf("%+v, %v", w, err)
	}
}

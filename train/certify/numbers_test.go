package certify_test

import (
	"math/rand/v2"
	"testing"

	"opl/policies/numeric"
	"opl/train/certify"
	"opl/train/logs"
)

// Nine tenths of the numbers are drawn with a density whose propensity is above 1, and every number earns the same. A
// policy of the bin that they are in gains nothing, and earns no more than they do.
func TestFixed_TakesDensitiesAboveOne(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var decisions []logs.Decision
		for range 3000 {
			d := logs.Decision{Number: 10 * rng.Float64(), Density: .02}
			if rng.Float64() < .8 {
				d.Number /= 10
			}
			if d.Number < 1 {
				d.Density += .8
			}
			if rng.Float64() < .5 {
				d.Cost = -1
			}
			decisions = append(decisions, d)
		}
		log, err := logs.CollectNumbers(numeric.Even(0, 10, 2), decisions)
		if err != nil {
			t.Fatal(err)
		}
		plays := func(dst []float64, _ int) error { copy(dst, []float64{1, 0}); return nil }
		for _, o := range []certify.Options{{}, {Gamma: 1.2}, {AnyTime: true}} {
			b, err := certify.Fixed(plays, nil, log, logs.Every(log.Len()), o)
			if err != nil {
				t.Fatal(err)
			}
			if b.Better() || b.Reward() > .5 {
				t.Errorf("seed %d, %+v: it earns %v at least, and gains %v; want at most .5, and nothing", seed, o, b.Reward(), b.GainAtLeast())
			}
		}
	}
}

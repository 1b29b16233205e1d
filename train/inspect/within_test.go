package inspect_test

import (
	"math/rand/v2"
	"testing"

	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/inspect"
	"opl/train/logs"
)

// Propensities that are off by less than Γ are fine within Γ, at 1 and beyond Γ they are not: too small, too large and
// uniform ones, of all actions and of the logged one alone.
func TestWithin_AllowsWhatGammaCovers(t *testing.T) {
	long.Test(t)
	uneven := func(first float64) []float64 { return []float64{first, (1 - first) / 2, (1 - first) / 2} }
	for _, c := range []struct {
		name         string
		pi0, logged  []float64
		alone        bool
		inside, over float64
	}{
		{"too small", uneven(.5), uneven(.4), false, 1.26, 1.1},
		{"too large", uneven(.4), uneven(.5), false, 1.26, 1.1},
		{"uniform", uneven(.43), uneven(1. / 3), false, 1.3, 1.1},
		{"logged alone, all too small", uneven(.5), []float64{.42, .21, .21}, true, 1.26, 1.05},
		{"logged alone, all too large", uneven(.5), []float64{.6, .3, .3}, true, 1.26, 1.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 8))
			l := &logs.Log{Actions: logs.Numbered(3), X: logs.Rows64{Width: 1}}
			var x []float64
			for i := range 20_000 {
				a, u := 0, r.Float64()
				for ; a < 2 && u >= c.pi0[a]; a++ {
					u -= c.pi0[a]
				}
				x = append(x, r.NormFloat64())
				l.Action, l.Cost, l.Propensity = append(l.Action, int32(a)), append(l.Cost, -float64(r.IntN(2))), append(l.Propensity, c.logged[a])
				if l.Keys = append(l.Keys, uint64(i)); !c.alone {
					l.Propensities = append(l.Propensities, c.logged...)
				}
			}
			l.X = logs.Rows64{Width: 1, Data: x}
			if got := inspect.Inspect(l); got.Severity == inspect.Fine || got.Gamma > propensity.Rounded {
				t.Errorf("found %s at Γ = 1", got.Summary())
			}
			if got := inspect.Within(l, c.over); got.Severity == inspect.Fine {
				t.Errorf("found %s within %v", got.Summary(), c.over)
			}
			if got := inspect.Within(l, c.inside); got.Severity != inspect.Fine || got.Gamma != c.inside {
				t.Errorf("found %s within %v, Γ = %v", got.Summary(), c.inside, got.Gamma)
			}
		})
	}
}

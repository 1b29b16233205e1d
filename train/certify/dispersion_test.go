package certify

import (
	"math"
	"testing"
)

// The less rewards vary the more of r̂ is used, between what rewards of 0 and 1 use and r̂, and no single row costs more
// than log 100.
func TestShrink_UsesMoreOfRewardsThatVaryLess(t *testing.T) {
	for _, r := range []float64{0, .01, .3, .6, .97, 1} {
		for _, s := range []float64{.51, .8, 1.5, 4, 50, 1e6, 1e99} {
			last := shrink(r, s, 1)
			for _, phi := range []float64{.999, .5, .1, .01, 1e-6} {
				got := shrink(r, s, phi)
				if got < last-1e-12 || got > min(r, surest) || 1-s*got < 1-surest-1e-9 {
					t.Errorf("r̂ = %v, s = %v, φ = %v: %v, of more dispersion %v", r, s, phi, got, last)
				}
				last = got
			}
			if of := min(r, surest); s*of < .9 && math.Abs(last-of) > 1e-4 {
				t.Errorf("r̂ = %v, s = %v: without noise %v", r, s, last)
			}
		}
	}
}

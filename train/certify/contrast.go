package certify

import (
	"fmt"
	"math"
)

// Contrast says what the gain of a bound is measured against, in place of R(π₀). What is bounded from above is the
// mean of
//
//	X_i − κ c_i − s,   R(π) − κ R(π₀) − s
//
// with ℓ ≤ 1/(2 max(1, κ)). κ = 1, s = 0 is the gain. Of rewards c = −r:
//
//	V(π) ≥ (1 − ρ)V(π₀)       κ = 1 − ρ, s = 0       is that it is at most 0
//	C(π) ≤ (1 + ρ)C(π₀)       κ = 1 + ρ, s = ρ       at most 0, of a cost C in [0, 1], c = C − 1
//	C(π) ≤ b                  κ = 0, s = 0           at most b − 1
type Contrast struct {
	Logged float64 // κ ≥ 0
	Shift  float64 // s
	// Reversed takes 1 − r for every reward, and for what models predict of it: a bound from above becomes one from
	// below, R(π) − κR(π₀) − s = κ − 1 − s − (R̄(π) − κR̄(π₀)).
	Reversed bool
	// Missing are rows whose cost is not known: X is taken at the cost in [−1, 0] at which it is largest,
	// which is one of the ends. Nil: none.
	Missing []bool
}

// contrast is that of the options; without one the gain over the logging policy.
func (o Options) contrast() Contrast {
	if o.Contrast == nil {
		return Contrast{Logged: 1}
	}
	return *o.Contrast
}

// most is the largest ℓ.
func (c Contrast) most() float64 { return 0.5 / max(1, c.Logged) }

// limits are what the bounded mean can be.
func (c Contrast) limits() (low, high float64) { return -1 - c.Shift, c.Logged - c.Shift }

// check refuses a contrast that is none.
func (c Contrast) check() error {
	if !(c.Logged >= 0) || math.IsInf(c.Logged, 0) || c.Shift-c.Shift != 0 {
		return fmt.Errorf("certify: the contrast with %v times the logging policy, less %v, is none", c.Logged, c.Shift)
	}
	return nil
}

// Evidence is an e-value about the mean of a contrast.
type Evidence struct {
	mixture
	low, high float64
}

// Upper returns an upper bound on the mean that holds with probability 1 − δ. absurd says that the evidence rules
// out every mean.
func (e Evidence) Upper(delta float64) (bound float64, absurd bool) {
	return e.upper(e.low, e.high, delta)
}

// Log returns the logarithm of the e-value against the claim that the mean is at least r.
func (e Evidence) Log(r float64) float64 {
	return e.log(max(min(r, e.high), e.low))
}

// Needed estimates how many times as many rows of the same kind refute with δ that the mean is at least r, as
// the e-value has grown so far. Infinite: it does not grow.
func (e Evidence) Needed(r, delta float64) float64 {
	least := math.Inf(1)
	for g, l := range e.ell {
		if growth := e.sum[g] - e.n*math.Log1p(-l*r); growth > 0 {
			least = min(least, (-math.Log(delta)-e.logWeight[g])/growth)
		}
	}
	return least
}

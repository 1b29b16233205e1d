package certify

import (
	"fmt"
	"math"
)

// CheckGamma refuses a Γ that is no factor by which propensities can be off: one that is below 1 or not finite.
func CheckGamma(gamma float64) error {
	if !(gamma >= 1) || math.IsInf(gamma, 1) {
		return fmt.Errorf("%v: want a number of at least 1", gamma)
	}
	return nil
}

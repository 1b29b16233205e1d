package certify_test

import (
	"math"
	"testing"

	"opl/train/certify"
)

func TestCheckGamma_RefusesBelowOne(t *testing.T) {
	for gamma, ok := range map[float64]bool{1: true, 1.01: true, 1e300: true, .99: false, 0: false, -2: false, math.Inf(1): false, math.NaN(): false} {
		if err := certify.CheckGamma(gamma); (err == nil) != ok {
			t.Errorf("%v: %v", gamma, err)
		}
	}
}

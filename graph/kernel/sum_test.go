package kernel

import (
	"math"
	"testing"
)

// The sum of numbers that cancel is exact where a plain one is not, and one of many tenths is right to the last bit.
func TestSum_IsExactWhereNumbersCancel(t *testing.T) {
	var s Sum
	for _, v := range []float64{1, 1e100, 1, -1e100} {
		s.Add(v)
	}
	if s.Value() != 2 {
		t.Error(s.Value())
	}
	s = Sum{}
	for range 1_000_000 {
		s.Add(0.1)
	}
	if s.Value() != 100000 {
		t.Error(s.Value())
	}
	s.Add(math.Inf(1))
	s.Add(1)
	if !math.IsInf(s.Value(), 1) {
		t.Error(s.Value())
	}
}

package features

import "math"

// Number returns feature j, one of Names, of a context in which that name has the value v; NaN says that the
// context lacks it. Encode gives the same without Unit, which makes each feature depend on all values. v is NaN, or
// finite.
func (e *Encoder) Number(j int, v float64) float64 {
	if v != v && !e.Impute {
		v = 0
	}
	if e.Width != nil && e.Width[j] != 0 {
		v = math.Asinh(v / e.Width[j])
	}
	if e.Center != nil {
		v -= e.Center[j]
	}
	if v *= e.Scale[j]; v != v {
		v = 0
	}
	return v
}

// AtMost returns the largest value v of name j for which Number(j, v) ≤ u, so that a split of a feature is one of the
// values as they are logged. It is −Inf where no value is, and the largest number where all are. It needs a scale
// above 0.
func (e *Encoder) AtMost(j int, u float64) float64 {
	low, high := order(-math.MaxFloat64), order(math.MaxFloat64)
	if e.Number(j, -math.MaxFloat64) > u {
		return math.Inf(-1)
	}
	for low < high { // Number ≤ u at low
		middle := high - int64(uint64(high-low)/2)
		if e.Number(j, unorder(middle)) <= u {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return unorder(low)
}

// order numbers all numbers, in their order.
func order(v float64) int64 {
	if b := int64(math.Float64bits(v)); b >= 0 {
		return b
	}
	return -int64(math.Float64bits(-v))
}

func unorder(i int64) float64 {
	if i < 0 {
		return -math.Float64frombits(uint64(-i))
	}
	return math.Float64frombits(uint64(i))
}

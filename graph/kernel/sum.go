package kernel

import "math"

// Sum is a sum of numbers with what rounding took from it, so that it hardly depends on their order: its error is some
// 2⁻⁵³ of the sum, however many they are, as long as n²2⁻¹⁰⁶ Σ|x| is small beside it. The zero value is 0. Neumaier (1974).
type Sum struct{ sum, rest float64 }

// Add adds v.
func (s *Sum) Add(v float64) {
	t := s.sum + v
	if math.Abs(s.sum) >= math.Abs(v) {
		s.rest += s.sum - t + v
	} else {
		s.rest += v - t + s.sum
	}
	s.sum = t
}

// Value returns the sum so far. It is not finite if a number was not.
func (s Sum) Value() float64 {
	if v := s.sum + s.rest; v == v {
		return v
	}
	return s.sum
}

// Sums are sums of columns, as partial results have them.
type Sums []Sum

// Add adds a number to each sum.
func (s Sums) Add(v []float64) {
	for i, x := range v {
		s[i].Add(x)
	}
}

// Values returns the sums so far.
func (s Sums) Values() []float64 {
	out := make([]float64, len(s))
	for i, x := range s {
		out[i] = x.Value()
	}
	return out
}

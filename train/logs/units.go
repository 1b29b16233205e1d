package logs

import (
	"fmt"
	"math"
)

// Units is the range of a log's rewards.
type Units struct{ Low, High float64 }

// At turns a reward in [0, 1] into the log's units.
func (u Units) At(reward float64) float64 { return u.Low + reward*u.Span() }

// Span returns High − Low, or 1 if the range is not given.
func (u Units) Span() float64 {
	if u == (Units{}) {
		return 1
	}
	return u.High - u.Low
}

// Of writes a reward in the log's units, with the decimals that its standard error se allows.
func (u Units) Of(reward, se float64) string {
	return fmt.Sprintf("%.*f", Places(se*u.Span()), u.At(reward))
}

// Least writes a lower bound as Of does its estimate, with two digits at least, and never rounds it up.
func (u Units) Least(reward, se float64) string { return least(u.At(reward), Places(se*u.Span())) }

// LeastWidth writes a lower bound on a difference of rewards in the log's units, with two digits.
func (u Units) LeastWidth(v float64) string { return least(v*u.Span(), 0) }

func least(v float64, d int) string {
	if v == 0 {
		return "0"
	}
	d = max(d, Places(math.Abs(v)))
	return fmt.Sprintf("%.*f", d, Below(v, d))
}

// Places returns the decimals that show two digits of half an interval, or of a standard error.
func Places(half float64) int {
	if half > 1e-12 && half < 1e12 { // else it is 0 but for rounding
		return max(0, min(12, 1-int(math.Floor(math.Log10(half)))))
	}
	return 3
}

// Half returns half of the normal 95 % interval of what has a standard error: the number after ±.
func Half(se float64) float64 { return 1.959964 * se }

// Below rounds a lower bound down to d decimals, so that what is printed never promises more than was shown.
func Below(v float64, d int) float64 {
	p := math.Pow10(d)
	return math.Floor(v*p+1e-6)/p + 0
}

// Range says in words what rewards can be: nothing of those in [0, 1].
func (u Units) Range() string {
	if u.Low == 0 && u.Span() == 1 {
		return ""
	}
	return fmt.Sprintf("from %v to %v", u.Low, u.High)
}

// Units returns the units in which the log states rewards.
func (l *Log) Units() Units {
	low, high := l.RewardRange()
	return Units{low, high}
}

package logs

import (
	"fmt"
	"math"
	"strconv"
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

// Of writes a reward in the log's units.
func (u Units) Of(reward float64) string { return fmt.Sprintf("%.4g", u.At(reward)) }

// Least writes a lower bound as Of does, and never rounds it up.
func (u Units) Least(reward float64) string {
	v := u.At(reward)
	text := u.Of(reward)
	if above(text, v) {
		text = fmt.Sprintf("%.4g", v-place(v, 4)/2)
	}
	return text
}

// LeastWidth writes a lower bound as Width does, and never rounds it up.
func (u Units) LeastWidth(v float64) string {
	text := u.Width(v)
	if v *= u.Span(); !above(text, v) {
		return text
	}
	if v > -100 && v < 100 {
		return fmt.Sprintf("%.2g", v-place(v, 2)/2)
	}
	return fmt.Sprintf("%.0f", math.Floor(v))
}

// above reports a text of more than v, beyond what computing it may be wrong.
func above(text string, v float64) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && f > v+1e-9*math.Abs(v)
}

// place is what one of the last of so many digits of v is worth.
func place(v float64, digits int) float64 {
	return math.Pow10(int(math.Floor(math.Log10(math.Abs(v)))) - digits + 1)
}

// Width writes a difference of rewards in the log's units.
func (u Units) Width(v float64) string {
	if v *= u.Span(); v > -100 && v < 100 {
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.0f", v)
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

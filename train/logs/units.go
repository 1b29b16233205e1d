package logs

import "fmt"

// Units are those of a log's rewards.
type Units struct{ Low, High float64 }

// At is a reward in [0, 1] in the log's units.
func (u Units) At(reward float64) float64 { return u.Low + reward*u.Span() }

// Span is what a reward of 1 is more than one of 0. Units that are not given are those of [0, 1].
func (u Units) Span() float64 {
	if u == (Units{}) {
		return 1
	}
	return u.High - u.Low
}

// Of is At in words.
func (u Units) Of(reward float64) string { return fmt.Sprintf("%.4g", u.At(reward)) }

// Width is a difference of rewards, likewise.
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

// Units are the log's.
func (l *Log) Units() Units {
	low, high := l.RewardRange()
	return Units{low, high}
}

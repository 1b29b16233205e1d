package pipeline

import (
	"fmt"
	"math"
	"slices"

	"opl/train/logs"
)

// cut says how large rewards may be cut so that the range, which bounds are about as wide as, is a third of what it is or
// less. It cuts the largest 2.5 % of those that are not the most frequent one, as most may be 0. Losses are not cut: a
// policy that makes them would look good. "": that does not suffice. The rows must not be those that certify.
func cut(log *logs.Log, rows []int) string {
	low, high := log.RewardRange()
	rewards := make([]float64, len(rows))
	for i, r := range rows {
		rewards[i] = low - log.Cost[r]*(high-low)
	}
	slices.Sort(rewards)
	from, most := 0, 0 // of the most frequent reward: where it begins, how often it is there
	for i, begin := 1, 0; i <= len(rewards); i++ {
		if i == len(rewards) || rewards[i] != rewards[begin] {
			if i-begin > most {
				from, most = begin, i-begin
			}
			begin = i
		}
	}
	if most < len(rewards)/10 {
		most = 0
	}
	others := slices.Concat(rewards[:from], rewards[from+most:])
	if len(others) < 40 {
		return ""
	}
	largest := max(roundedUp(others[len(others)-1-len(others)/40]), roundedUp(rewards[from]-1e-9))
	if largest-low > (high-low)/3 {
		return ""
	}
	return fmt.Sprintf("rewards can be up to %v, and few are above %v: bounds allow for the whole range, and are tighter where these "+
		"may count as %[2]v, by setting reward 'min(reward, %[2]v)' with setting range reward=%[3]v:%[2]v", high, largest, low)
}

// roundedUp is a number to two digits.
func roundedUp(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-1)
	if unit < 1 { // so that the result is written with few digits
		return math.Ceil(v*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Ceil(v/unit) * unit
}

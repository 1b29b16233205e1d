package pipeline

import (
	"fmt"
	"math"
	"slices"

	"opl/train/logs"
)

// cut says how rewards may be cut so that their range, which bounds are about as wide as, is a fifth of what it is or less.
// It cuts the largest 2.5 % of them and the least, of those that are not the most frequent one, as most may be 0. "": that
// does not suffice. The rows must not be those that certify.
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
	end := len(others) / 40
	least, largest := rounded(others[end], math.Floor), rounded(others[len(others)-1-end], math.Ceil)
	if most > 0 {
		mode := math.Round(rewards[from]*1e9) / 1e9 // which may be -3.0000000000001137
		least, largest = min(least, rounded(mode, math.Floor)), max(largest, rounded(mode, math.Ceil))
	}
	if near := (largest - least) / 10; least-low < near {
		least = low
	} else if high-largest < near {
		largest = high
	}
	if !(least < largest) || largest-least > (high-low)/5 {
		return ""
	}
	formula := "reward"
	if largest < high {
		formula = fmt.Sprintf("min(%s, %v)", formula, largest)
	}
	if least > low {
		formula = fmt.Sprintf("max(%s, %v)", formula, least)
	}
	return fmt.Sprintf("rewards can be from %v to %v, and few are outside of %v to %v: bounds allow for the whole range, and are "+
		"tighter where such rewards may count as the nearer end, by setting reward '%s' with setting range reward=%[3]v:%[4]v",
		low, high, least, largest, formula)
}

// rounded is a number to two digits.
func rounded(v float64, to func(float64) float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-1)
	if unit < 1 { // so that the result is written with few digits
		return to(v*math.Round(1/unit)) / math.Round(1/unit)
	}
	return to(v/unit) * unit
}

package provenance

import (
	"encoding/json"
	"fmt"

	"opl/policies/policyfile"
	"opl/train/logs"
)

// FormulaOf is how the rewards were made that a policy was learned for; nil: they are what its log had.
func FormulaOf(f *policyfile.File) *logs.Formula {
	var t struct{ Formula *logs.Formula }
	if json.Unmarshal(f.Training, &t) != nil { // of another program
		return nil
	}
	return t.Formula
}

// RewardOf says what a policy calls reward: its range, and its formula.
func RewardOf(f *policyfile.File) string { return reward(f.RewardMin, f.RewardMax, FormulaOf(f)) }

// RewardIn says it of a log.
func RewardIn(l *logs.Log) string {
	low, high := l.RewardRange()
	return reward(low, high, l.Formula)
}

func reward(low, high float64, of *logs.Formula) string {
	text := fmt.Sprintf("from %v to %v", low, high)
	if of != nil && of.Reward != "" {
		text += " by " + of.String()
	}
	return text
}

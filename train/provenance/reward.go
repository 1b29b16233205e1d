package provenance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// Reward is what a policy or a log calls reward.
type Reward struct {
	text  string
	worth map[string]float64 // what words, or other numbers, are worth; nil: numbers are worth what they say
}

// RewardOf says what a policy calls reward: its range, its formula, and what words are worth.
func RewardOf(f *policyfile.File) *Reward { return reward(f.RewardMin, f.RewardMax, FormulaOf(f)) }

// RewardIn says it of a log.
func RewardIn(l *logs.Log) *Reward {
	low, high := l.RewardRange()
	return reward(low, high, l.Formula)
}

func reward(low, high float64, of *logs.Formula) *Reward {
	r := &Reward{text: fmt.Sprintf("from %v to %v", low, high)}
	if of != nil && of.Reward != "" {
		r.text += " by " + of.String()
	}
	if of == nil {
		return r
	}
	worth, says := map[string]float64{}, true
	for name, v := range of.Map {
		number, err := strconv.ParseFloat(name, 64)
		if err == nil { // 1.0 is 1
			name = strconv.FormatFloat(number, 'g', -1, 64)
		}
		worth[name], says = v, says && err == nil && number == v
	}
	if !says {
		r.worth = worth
	}
	return r
}

// String names the range, the formula, and what words are worth.
func (r *Reward) String() string {
	if len(r.worth) == 0 {
		return r.text
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(r.worth)) {
		pairs = append(pairs, fmt.Sprintf("%s=%v", name, r.worth[name]))
	}
	return r.text + " with reward-map " + strings.Join(pairs, ",")
}

// Differs reports rewards of another range, of another formula, or in which a word has another worth.
func (r *Reward) Differs(from *Reward) bool { return r.text != from.text || r.Remaps(from) }

// Remaps reports that a word has another worth. Words that only one of both has do not conflict, as logs may be
// written in other words.
func (r *Reward) Remaps(from *Reward) bool {
	for name, v := range r.worth {
		if other, both := from.worth[name]; both && other != v {
			return true
		}
	}
	return false
}

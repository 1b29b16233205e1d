package provenance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"opl/policies/policyfile"
	"opl/train/logs"
)

// Limit is a requirement that a policy was trained with, and how its outcome was read.
type Limit struct {
	Requirement
	Column   string      `json:"column,omitempty"` // of the outcome, with reward_ or cost_; "": not kept, or the reward in segments
	Range    *[2]float64 `json:"range,omitempty"`  // what the outcome can be; nil: it is the reward in segments
	AtRandom bool        `json:"missing_at_random,omitempty"`
}

// String is the limit as a setting has it.
func (l Limit) String() string {
	switch {
	case l.Budget:
		return fmt.Sprintf("budget %s=%v", l.Name, l.Limit)
	case l.Relative:
		return fmt.Sprintf("guardrail %s:%v%%", l.Name, 100*l.Limit)
	}
	return fmt.Sprintf("%s %s:%v", l.kind(), cmp.Or(l.Name, l.By), l.Limit)
}

// Same reports a limit of the same outcome or segments, of the same kind.
func (l Limit) Same(m Limit) bool {
	return l.Name == m.Name && l.By == m.By && l.Budget == m.Budget
}

// LimitsOn are requirements as a policy's file keeps them that is trained with them on a log.
func LimitsOn(log *logs.Log, all []Requirement) (limits []Limit) {
	for _, r := range all {
		limit := Limit{Requirement: r}
		if b, err := log.Beside(r.Name); err == nil && r.By == "" {
			limit.Column, limit.AtRandom = b.Of.Column, b.Of.AtRandom
			limit.Range = &[2]float64{b.Of.Range.Low, b.Of.Range.High}
		}
		limits = append(limits, limit)
	}
	return limits
}

// LimitsOf are the limits that a policy was trained with, as its file says, but for those that are among requirements.
func LimitsOf(f *policyfile.File, but []Requirement) []Limit {
	var t struct{ Limits []Limit }
	if json.Unmarshal(f.Training, &t) != nil { // of another program
		return nil
	}
	return slices.DeleteFunc(t.Limits, func(l Limit) bool {
		return slices.ContainsFunc(but, func(r Requirement) bool { return r.Name == l.Name && r.By == l.By })
	})
}

// Testable are the limits whose outcomes a log has, as what they were in training, reward or cost. The log reads these
// as they were read in training, but what it was opened with counts first.
func Testable(limits []Limit, log *logs.Log) (all []Limit) {
	for _, limit := range limits {
		i := slices.IndexFunc(log.Outcomes, func(o logs.Outcome) bool { return o.Name() == limit.Name })
		switch {
		case limit.By != "":
			all = append(all, limit)
		case i >= 0 && limit.Column != "" && limit.Column != log.Outcomes[i].Column: // more was better, and now is worse
		case i >= 0 && slices.ContainsFunc(log.Outcomes[i].Values, func(v float64) bool { return !math.IsNaN(v) }):
			if of := &log.Outcomes[i]; of.Range == (logs.Units{}) && limit.Range != nil {
				of.Range = logs.Units{Low: limit.Range[0], High: limit.Range[1]}
			}
			log.Outcomes[i].AtRandom = log.Outcomes[i].AtRandom || limit.AtRandom
			all = append(all, limit)
		}
	}
	return all
}

// Untested names the limits that a policy was trained or certified with, as its file says, and that are not among some
// requirements.
func Untested(f *policyfile.File, asked []Requirement) (names []string) {
	for _, limit := range LimitsOf(f, asked) {
		names = append(names, limit.String())
	}
	var s struct {
		Decision Decision `json:"decision"`
	}
	if f.Certificate == nil || json.Unmarshal(f.Certificate, &s) != nil {
		return names
	}
	for _, limit := range LimitsOf(f, nil) {
		asked = append(slices.Clip(asked), limit.Requirement)
	}
	for _, o := range s.Decision.Outcomes {
		if o.Kind != "goal" && !slices.ContainsFunc(asked, func(r Requirement) bool {
			return r.Name == o.Name || r.By != "" && o.Column == "reward"
		}) {
			names = append(names, o.Kind+" "+o.Name)
		}
	}
	return names
}

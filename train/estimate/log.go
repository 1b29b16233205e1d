package estimate

import (
	"fmt"

	"opl/policies/policyfile"
	"opl/train/logs"
)

// FromLog takes the columns of a log of logs.
func FromLog(l *logs.Log) Log {
	return Log{K: len(l.Actions), Action: l.Action, Cost: l.Cost, Propensity: l.Propensity, Propensities: l.Propensities,
		Weight: l.Weight, Group: l.Group, Estimated: l.Estimated}
}

// TableOf describes the log to [ReadTarget].
func TableOf(l *logs.Log) Table {
	t := Table{Actions: l.Actions, Rows: l.Len()}
	if l.HasIDs() {
		var d logs.Decision
		t.ID = func(i int) string { l.Decision(i, &d); return d.ID }
	}
	return t
}

// Served is the target of a policy file, computed row by row from the log, which
// must stay open; it is for one goroutine. The policy's actions must be among the log's;
// the others have probability 0. Some of the names in the log's contexts must be the
// policy's. Nothing is guaranteed of a policy that this log taught.
func Served(name string, p *policyfile.Policy, l *logs.Log) (Target, error) {
	actions, k := l.Actions, len(l.Actions)
	index := make(map[string]int, k)
	for a, action := range actions {
		index[action] = a
	}
	to := make([]int, 0, k)
	for _, action := range p.Actions() {
		a, ok := index[action]
		if !ok {
			return Target{}, fmt.Errorf("policy %s: the log has no action %q", name, action)
		}
		to = append(to, a)
	}
	if _, err := l.Known(p.Inputs()); err != nil {
		return Target{}, err
	}
	row := make([]float64, len(to))
	var d logs.Decision
	t := Target{Name: name, Policy: p, Row: func(dst []float64, i int) error {
		l.Decision(i, &d)
		if err := p.Propensities(row, d.Context); err != nil {
			return fmt.Errorf("policy %s, row %d of the log: %w", name, d.Row, err)
		}
		clear(dst)
		for j, a := range to {
			dst[a] = row[j]
		}
		return nil
	}}
	if p.File().History.DataHash == l.Hash() {
		t.Uncertified = "it was learned from this log, whose rows flatter it"
	}
	return t, nil
}

// Learn fits an encoder to the log's contexts, standardized and with an intercept,
// and the reward model on it, see [Ridge]. The log must stay open.
func Learn(l *logs.Log, columns Log, o RidgeOptions) (Model, error) {
	enc, err := l.FitEncoder(nil, logs.Scaling{Kind: "standard", Intercept: true})
	if err != nil {
		return nil, err
	}
	b, err := l.Encode(enc)
	if err != nil {
		return nil, err
	}
	return Ridge(b.X, b.Rows, columns, o)
}

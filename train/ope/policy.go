package ope

import (
	"fmt"
	"slices"

	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// FromPolicy is the target of a policy file, computed row by row from the log, which
// must stay open; it is for one goroutine. The policy's actions must be among the log's;
// the others have probability 0. Some of the names in the log's contexts must be the
// policy's. Nothing is guaranteed of a policy that this log taught.
func FromPolicy(name string, p *policyfile.Policy, l *logs.Log) (Target, error) {
	if l.Names() == nil {
		return Target{}, fmt.Errorf("policy %s: the log has no named values, which a policy file reads", name)
	}
	to := make([]int, 0, l.K())
	for _, action := range p.Actions() {
		a := slices.Index(l.Actions, action)
		if a < 0 {
			return Target{}, fmt.Errorf("policy %s: the log has no action %q", name, action)
		}
		to = append(to, a)
	}
	if _, err := l.Known(p.Inputs()); err != nil {
		return Target{}, err
	}
	row := make([]float64, len(to))
	var d logs.Decision
	t := Target{Name: name, Policy: p, Origin: provenance.FromFile(p.File()), Row: func(dst []float64, i int) error {
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
	return t, nil
}

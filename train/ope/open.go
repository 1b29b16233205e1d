package ope

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// Open makes the target that is named "uniform", by a policy file (.json), or by a file
// of probabilities as [ReadTarget] reads them, see [logs.OpenRows]. Its name is what
// stands before an =, or the file's without endings.
func Open(arg string, l *logs.Log) (Target, error) {
	name, path, named := strings.Cut(arg, "=")
	if !named {
		path = arg
		name, _, _ = strings.Cut(filepath.Base(path), ".")
	}
	if name == "" || path == "" {
		return Target{}, fmt.Errorf("target %q: want uniform, a file, or either as NAME=TARGET", arg)
	}
	switch ext := filepath.Ext(path); {
	case path == "uniform":
		t := Uniform()
		t.Name = name
		return t, nil
	case ext == ".json":
		p, err := policyfile.Load(path)
		if err != nil {
			return Target{}, err
		}
		return FromPolicy(name, p, l)
	}
	if _, err := os.Stat(path); err != nil && filepath.Ext(path) == "" {
		return Target{}, fmt.Errorf("target %s: neither uniform nor a file: %w", path, err)
	}
	rows, err := logs.OpenRows(path, logs.Options{})
	if err != nil {
		return Target{}, err
	}
	defer rows.Close()
	t, err := ReadTarget(name, rows, l)
	if !t.scores {
		t.Origin = provenance.FixedBefore() // the word of who gives the file
	}
	return t, err
}

// unread is what the policy of a file reads and the log does not have, see provenance.Unread.
func (t Target) unread(l *logs.Log) string {
	if t.Policy == nil {
		return ""
	}
	return provenance.Unread(t.Policy.File(), l)
}

// unknown is what the log has and the policy of a file does not know, see provenance.Unknown.
func (t Target) unknown(l *logs.Log) string {
	if t.Policy == nil {
		return ""
	}
	return provenance.Unknown(t.Policy.File(), l)
}

// FromPolicy returns the target of a policy file, computed row by row from the log, which must stay
// open; it is for one goroutine. The policy's actions must be among the log's; the others have
// probability 0. One whose actions have features plays what the rows offer; of a catalogue with
// logged propensities alone, its probabilities of the logged actions are computed at once. Some of
// the names in the log's contexts must be the policy's. Nothing is guaranteed of a policy that this
// log taught.
func FromPolicy(name string, p *policyfile.Policy, l *logs.Log) (Target, error) {
	if l.Names() == nil {
		return Target{}, fmt.Errorf("policy %s: the log has no named values, which a policy file reads", name)
	}
	f := p.File()
	if err := provenance.Fits(f, l); err != nil {
		return Target{}, fmt.Errorf("policy %s: %w", name, err)
	}
	if _, err := l.Known(p.Inputs()); err != nil {
		return Target{}, err
	}
	if f.HasItems() {
		t := Target{Name: name, Policy: p, Origin: provenance.FromFile(f)}
		var err error
		if l.Sets() || !l.LoggedOnly() {
			t.Row, err = provenance.Plays(p, l)
			return t, err
		}
		t.Logged, err = provenance.Logged(p, l, logs.Every(l.Len()), runtime.GOMAXPROCS(0))
		return t, err
	}
	if of := f.Numbers; of != nil && l.Numbers != nil && l.Numbers.Of.Refines(*of) {
		row := make([]float64, p.Len())
		var d logs.Decision
		return Target{Name: name, Policy: p, Origin: provenance.FromFile(f), Row: func(dst []float64, i int) error {
			l.Decision(i, &d)
			err := p.Propensities(row, d.Context)
			of.Spread(dst, row, l.Numbers.Of)
			return err
		}}, nil
	}
	to := make([]int, 0, l.K())
	for _, action := range p.Actions() {
		a := slices.Index(l.Actions, action)
		if a < 0 {
			return Target{}, fmt.Errorf("policy %s: the log has no action %q", name, action)
		}
		to = append(to, a)
	}
	row := make([]float64, len(to))
	var d logs.Decision
	return Target{Name: name, Policy: p, Origin: provenance.FromFile(p.File()),
		Row: func(dst []float64, i int) error {
			l.Decision(i, &d)
			if err := p.Propensities(row, d.Context); err != nil {
				return fmt.Errorf("policy %s, row %d of the log: %w", name, d.Row, err)
			}
			clear(dst)
			for j, a := range to {
				dst[a] = row[j]
			}
			return nil
		}}, nil
}

package ope

import (
	"fmt"
	"os"
	"path/filepath"
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
		t := Uniform(l.K())
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
	rows, err := logs.OpenRows(path)
	if err != nil {
		return Target{}, err
	}
	defer rows.Close()
	t, err := ReadTarget(name, rows, l)
	t.Origin = provenance.FixedBefore() // the word of who gives the file
	return t, err
}

package estimate

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opl/policies/serve"
	"opl/train/decisions"
)

// Open makes the target of --target: "uniform", a policy file (.json), or a file of
// probabilities as [ReadTarget] reads them: CSV (.csv) or JSON lines (.jsonl,
// .ndjson), plain or with .gz. Its name is what stands before an =, or the file's
// without endings.
func Open(arg string, l *decisions.Log) (Target, error) {
	name, path, named := strings.Cut(arg, "=")
	if !named {
		path = arg
		name, _, _ = strings.Cut(filepath.Base(path), ".")
	}
	if path == "uniform" {
		t := Uniform(len(l.Actions()))
		t.Name = name
		return t, nil
	}
	if filepath.Ext(path) == ".json" {
		p, err := serve.Load(path)
		if err != nil {
			return Target{}, err
		}
		return Served(name, p, l)
	}
	f, err := os.Open(path)
	if err != nil {
		return Target{}, err
	}
	defer f.Close()
	var r io.Reader = f
	plain := strings.ToLower(path)
	if strings.HasSuffix(plain, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return Target{}, fmt.Errorf("%s: %w", path, err)
		}
		defer z.Close()
		r, plain = z, strings.TrimSuffix(plain, ".gz")
	}
	var rows Rows
	switch ext := filepath.Ext(plain); {
	case ext == ".csv":
		if rows, err = CSVRows(path, r); err != nil {
			return Target{}, err
		}
	case slices.Contains([]string{".jsonl", ".ndjson"}, ext):
		rows = JSONRows(path, r)
	default:
		return Target{}, fmt.Errorf("%s: want uniform, or a file ending in .csv, .jsonl or .json (a policy), plain or .gz", path)
	}
	return ReadTarget(name, rows, TableOf(l))
}

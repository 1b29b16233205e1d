package ope

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// Open makes the target that arg names: "uniform", a policy file (.json), or a file of
// probabilities as [ReadTarget] reads them: CSV (.csv) or JSON lines (.jsonl,
// .ndjson), plain or with .gz or .zst, or Parquet (.parquet). Its name is what
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
	f, err := os.Open(path)
	if err != nil && filepath.Ext(path) == "" {
		return Target{}, fmt.Errorf("target %s: neither uniform nor a file: %w", path, err)
	}
	if err != nil {
		return Target{}, err
	}
	defer f.Close()
	rows, done, err := rowsOf(f)
	if err != nil {
		return Target{}, err
	}
	defer done()
	t, err := ReadTarget(name, rows, l)
	t.Origin = provenance.FixedBefore() // the word of who gives the file
	return t, err
}

// rowsOf reads rows as the file's name says.
func rowsOf(f *os.File) (rows Rows, done func(), err error) {
	path, done := f.Name(), func() {}
	var r io.Reader = f
	plain := strings.ToLower(path)
	switch ext := filepath.Ext(plain); ext {
	case ".gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		r, plain = z, strings.TrimSuffix(plain, ext)
	case ".zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		r, plain, done = z, strings.TrimSuffix(plain, ext), z.Close
	case ".parquet":
		info, err := f.Stat()
		if err != nil {
			return nil, nil, err
		}
		rows, err := ParquetRows(path, f, info.Size())
		return rows, done, err
	}
	switch filepath.Ext(plain) {
	case ".csv":
		rows, err = CSVRows(path, r)
	case ".jsonl", ".ndjson":
		rows = JSONRows(path, r)
	default:
		err = fmt.Errorf("%s: want uniform, or a file ending in .csv, .jsonl (also with .gz or .zst), .parquet or .json (a policy)", path)
	}
	if err != nil {
		done()
	}
	return rows, done, err
}

package ope_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"opl/train/ope"
)

// The same probabilities in every format are the same target.
func TestTarget_IsTheSameInEveryFormat(t *testing.T) {
	log, dir := open(t, "decision_id,x_a,action,reward,propensity\nd1,1,no,1,0.5\nd2,2,yes,0,0.5\n")
	row := make([]float64, 2)
	yes := slices.Index(log.Actions, "yes")
	check := func(name string) {
		t.Helper()
		target, err := ope.Open(filepath.Join(dir, name), log)
		if err != nil {
			t.Error(err)
			return
		}
		for i, want := range []float64{0.25, 1} {
			if err := target.Row(row, i); err != nil || row[yes] != want || row[1-yes] != 1-want || target.Name != "t" {
				t.Errorf("%s: row %d is %v", name, i, row)
			}
		}
	}
	write := func(name string, compress func(w io.Writer) io.WriteCloser, text string) {
		t.Helper()
		var b bytes.Buffer
		w := compress(&b)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		check(name)
	}
	const csv = "decision_id,yes,no\nd2,1,0\nd1,0.25,0.75\n"
	write("t.csv", func(w io.Writer) io.WriteCloser { return plain{w} }, csv)
	write("t.csv.gz", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, csv)
	write("t.csv.zst", func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}, csv)
	write("t.ndjson.gz", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, `{"decision_id":"d1","yes":0.25,"no":0.75}`+"\n"+`{"decision_id":"d2","yes":1,"no":0}`)

	type flat struct {
		ID  string  `parquet:"decision_id"`
		Yes float64 `parquet:"yes"`
		No  float32 `parquet:"no"`
	}
	if err := parquet.WriteFile(filepath.Join(dir, "t.parquet"), []flat{{"d2", 1, 0}, {"d1", 0.25, 0.75}}); err != nil {
		t.Fatal(err)
	}
	check("t.parquet")
	type list struct {
		Probabilities []float64 `parquet:"probabilities,list"`
	}
	pair := func(p float64) (l list) {
		l.Probabilities = make([]float64, 2)
		l.Probabilities[yes], l.Probabilities[1-yes] = p, 1-p
		return l
	}
	if err := parquet.WriteFile(filepath.Join(dir, "t.parquet"), []list{pair(0.25), pair(1)}); err != nil {
		t.Fatal(err)
	}
	check("t.parquet")

	if u, err := ope.Open("all=uniform", log); err != nil || u.Name != "all" {
		t.Errorf("%v %v", u.Name, err)
	}
	for name, text := range map[string]string{"u.csv.gz": "no gzip", "u.csv.zst": "no zstd", "u.parquet": "PAR1 no parquet at all PAR1", "u.txt": "1", "u.csv": "", "u.json": "{}"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := ope.Open(path, log); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := ope.Open(filepath.Join(dir, "none.csv"), log); err == nil {
		t.Error("no error for no file")
	}
	for arg, want := range map[string]string{"": "want uniform", "a=": "want uniform", "=uniform": "want uniform", "unifrom": "neither uniform nor a file"} {
		t.Run(arg, func(t *testing.T) {
			if _, err := ope.Open(arg, log); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("target %q: %v", arg, err)
			}
		})
	}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

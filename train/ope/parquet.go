package ope

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"opl/train/internal/parquetfile"
)

// ParquetRows reads rows of a Parquet file of size bytes; path is for errors. A
// field is a column of numbers or text, or a list of numbers.
func ParquetRows(path string, r io.ReaderAt, size int64) (rows Rows, err error) {
	p := &parquetRows{path: path, at: map[string][]int{}}
	defer func() { // of the library, at files that are not what they say
		if e := recover(); e != nil {
			rows, err = nil, fmt.Errorf("%s: not a Parquet file: %v", path, e)
		}
	}()
	f, err := parquetfile.Open(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: not a Parquet file: %w", path, err)
	}
	for c, column := range f.Schema().Columns() {
		p.at[column[0]] = append(p.at[column[0]], c)
	}
	p.groups = f.RowGroups()
	p.buffer = make([]parquet.Row, 256)
	return p, nil
}

type parquetRows struct {
	path   string
	at     map[string][]int // leaves of each field
	groups []parquet.RowGroup
	rows   parquet.Rows // of the first of groups; nil: not open
	buffer []parquet.Row
	ready  []parquet.Row // read and not used
	row    parquet.Row
	n      int
	err    error
}

func (r *parquetRows) Next() (more bool) {
	if r.err != nil {
		return false
	}
	defer func() {
		if e := recover(); e != nil {
			r.err, more = fmt.Errorf("%s, after row %d: %v", r.path, r.n, e), false
		}
	}()
	for len(r.ready) == 0 {
		if len(r.groups) == 0 {
			return false
		}
		if r.rows == nil {
			r.rows = r.groups[0].Rows()
		}
		n, err := r.rows.ReadRows(r.buffer)
		r.ready = r.buffer[:n]
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			r.err = fmt.Errorf("%s, after row %d: %w", r.path, r.n, err)
			return false
		case n == 0:
			_ = r.rows.Close()
			r.rows, r.groups = nil, r.groups[1:]
		}
	}
	r.row, r.ready = r.ready[0], r.ready[1:]
	r.n++
	return true
}

func (r *parquetRows) Err() error        { return r.err }
func (r *parquetRows) Where() string     { return where(r.path, "row", r.n) }
func (r *parquetRows) Has(f string) bool { return len(r.at[f]) == 1 }

// values are those of a field in the row.
func (r *parquetRows) values(f string) []parquet.Value {
	var of []parquet.Value
	for _, v := range r.row {
		if v.Column() == r.at[f][0] {
			of = append(of, v)
		}
	}
	return of
}

func (r *parquetRows) Text(f string) (string, error) {
	v := r.values(f)
	if len(v) != 1 || v[0].IsNull() {
		return "", fmt.Errorf("%s, column %s: no value", r.Where(), f)
	}
	return v[0].String(), nil
}

func (r *parquetRows) Number(f string) (float64, error) {
	v := r.values(f)
	if len(v) == 1 {
		if x := float(v[0]); x == x {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%s, column %s: no number", r.Where(), f)
}

func (r *parquetRows) List(f string) ([]float64, error) {
	var list []float64
	for _, v := range r.values(f) {
		x := float(v)
		if x != x {
			return nil, fmt.Errorf("%s, column %s: element %d is no number", r.Where(), f, len(list))
		}
		list = append(list, x)
	}
	return list, nil
}

// float is a value as a number, NaN if it is none.
func float(v parquet.Value) float64 {
	if v.IsNull() {
		return math.NaN()
	}
	switch v.Kind() {
	case parquet.Double:
		return v.Double()
	case parquet.Float:
		return float64(v.Float())
	case parquet.Int32:
		return float64(v.Int32())
	case parquet.Int64:
		return float64(v.Int64())
	}
	return math.NaN()
}

package ope

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// CSVRows reads rows of a CSV file with a header; path is for errors.
func CSVRows(path string, r io.Reader) (Rows, error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: the file is empty", path)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	rows := &csvRows{path: path, c: c, at: make(map[string]int, len(head))}
	for i, name := range head {
		if i == 0 {
			name = strings.TrimPrefix(name, "\ufeff")
		}
		name = strings.TrimSpace(name)
		if _, twice := rows.at[name]; twice {
			return nil, fmt.Errorf("%s: column %q comes twice", path, name)
		}
		rows.at[name] = i
	}
	return rows, nil
}

type csvRows struct {
	path string
	c    *csv.Reader
	at   map[string]int
	row  []string
	n    int // of the row, from 1
	err  error
}

func (r *csvRows) Next() bool {
	if r.err != nil {
		return false
	}
	row, err := r.c.Read()
	if err != nil {
		if err != io.EOF {
			r.err = fmt.Errorf("%s: %w", r.path, err)
		}
		return false
	}
	r.row = row
	r.n++
	return true
}

func (r *csvRows) Err() error        { return r.err }
func (r *csvRows) Where() string     { return where(r.path, "row", r.n) }
func (r *csvRows) Has(f string) bool { _, ok := r.at[f]; return ok }
func (r *csvRows) Text(f string) (string, error) {
	return strings.TrimSpace(r.row[r.at[f]]), nil
}

func (r *csvRows) Number(f string) (float64, error) {
	s, _ := r.Text(f)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%s, column %s: %q is no number", r.Where(), f, s)
	}
	return v, nil
}

// List reads numbers in brackets or without, separated by commas, semicolons or
// blanks.
func (r *csvRows) List(f string) ([]float64, error) {
	s, _ := r.Text(f)
	words := strings.FieldsFunc(strings.Trim(s, "[]"), func(c rune) bool { return c == ',' || c == ';' || c == ' ' })
	values := make([]float64, len(words))
	for i, w := range words {
		var err error
		if values[i], err = strconv.ParseFloat(w, 64); err != nil {
			return nil, fmt.Errorf("%s, column %s: %q is no number", r.Where(), f, w)
		}
	}
	return values, nil
}

// where names the n-th row of a file, 0: none of them.
func where(path, what string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s, %s %d", path, what, n)
}

// JSONRows reads one object a line; path is for errors.
func JSONRows(path string, r io.Reader) Rows {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	return &jsonRows{path: path, s: s}
}

type jsonRows struct {
	path string
	s    *bufio.Scanner
	row  map[string]json.RawMessage
	n    int
	err  error
}

func (r *jsonRows) Next() bool {
	if r.err != nil {
		return false
	}
	for r.s.Scan() {
		r.n++
		line := bytes.TrimSpace(r.s.Bytes())
		if len(line) == 0 {
			continue
		}
		clear(r.row)
		if err := json.Unmarshal(line, &r.row); err != nil {
			r.err = fmt.Errorf("%s: no JSON object: %w", r.Where(), err)
			return false
		}
		return true
	}
	if err := r.s.Err(); err != nil {
		r.err = fmt.Errorf("%s: %w", r.Where(), err)
	}
	return false
}

func (r *jsonRows) Err() error        { return r.err }
func (r *jsonRows) Where() string     { return where(r.path, "line", r.n) }
func (r *jsonRows) Has(f string) bool { _, ok := r.row[f]; return ok }

func (r *jsonRows) read(f string, to any, what string) error {
	v, ok := r.row[f]
	if !ok {
		return fmt.Errorf("%s: no field %s", r.Where(), f)
	}
	if err := json.Unmarshal(v, to); err != nil || string(v) == "null" {
		return fmt.Errorf("%s, field %s: %.40s is no %s", r.Where(), f, v, what)
	}
	return nil
}

// Text reads a string, or a number as it is written.
func (r *jsonRows) Text(f string) (string, error) {
	if v := r.row[f]; len(v) > 0 && v[0] != '"' {
		var n json.Number
		return string(v), r.read(f, &n, "text")
	}
	var s string
	return s, r.read(f, &s, "text")
}

func (r *jsonRows) Number(f string) (v float64, err error) {
	err = r.read(f, &v, "number")
	return v, err
}

func (r *jsonRows) List(f string) (v []float64, err error) {
	err = r.read(f, &v, "list of numbers")
	return v, err
}

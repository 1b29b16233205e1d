package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Rows reads a file of rows with named fields that is no log: probabilities of a target
// policy, rewards. Errors name file and row.
type Rows struct {
	reader reader
	b      *builder // whose row stays empty; the fields are in its table
	what   string   // a row is called; "line" of a file that does not name its fields at its beginning
	n      int      // of the row, from 1; 0: before the first
	err    error
}

// field is a value in a row that is no log's.
type field struct {
	row     int           // that has it
	form    jsontext.Kind // as of table.cell; '[' of a list, 'n' of none
	text    []byte        // as it is written
	numbers []float64     // those that have been read: a number, or those of a list
}

// String shows a field in errors.
func (f *field) String() string {
	switch {
	case f.form == 0 || f.form == '"':
		return quote(f.text)
	case len(f.text) == 0:
		return fmt.Sprint(f.numbers)
	}
	return fmt.Sprintf("%.40s", f.text)
}

// OpenRows opens a file of rows by its ending, as the error for others lists them. Columns and the map of rewards are
// read as o says.
func OpenRows(path string, o Options) (*Rows, error) {
	f, packed := formatOf(path)
	if f == nil || f.row == "" {
		return nil, fmt.Errorf("%s: no kind of file for rows of named fields: want %s", path,
			endingsOf(func(f *format) bool { return f.row != "" }))
	}
	if o.Dates != "" && dateLayouts[o.Dates] == nil {
		return nil, fmt.Errorf("%s: setting dates %s: want us or eu", path, o.Dates)
	}
	p, err := o.names()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := &builder{plan: p, path: path, memory: &memory{}, input: input{fields: true, byName: map[string]*column{}}}
	rd, err := f.reader(path, packed, b)
	if err != nil {
		return nil, err
	}
	return &Rows{reader: rd, b: b, what: f.row}, nil
}

// Next goes to the next row; it is false at the end and after an error.
func (r *Rows) Next() bool {
	if r.err != nil {
		return false
	}
	r.b.at++
	err := r.reader.next(r.b)
	if err == io.EOF {
		return false
	}
	r.n = max(r.b.at, r.b.table.n)
	var wrong *rowError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%s: %w", r.Where(), err)
	}
	r.err = err
	return err == nil
}

// Err returns the first error of reading.
func (r *Rows) Err() error { return r.err }

// Notes are what reading found out so far, as those of a log and its doubts.
func (r *Rows) Notes() []string { return append(append(r.b.Doubts, r.b.Cut...), r.b.Notes...) }

// Where names file and row for errors.
func (r *Rows) Where() string {
	if r.n == 0 {
		return r.b.path
	}
	return fmt.Sprintf("%s, %s %d", r.b.path, r.what, r.n)
}

// Fields returns the names of the row's fields; of a file whose columns are named at
// its beginning already before the first row, nil then of another.
func (r *Rows) Fields() (names []string) {
	for _, c := range r.b.table.columns {
		if r.what != "line" || c.field.row == r.b.at {
			names = append(names, c.as)
		}
	}
	return names
}

// Has reports whether the row has a field, be it empty.
func (r *Rows) Has(name string) bool { return r.find(name) != nil }

func (r *Rows) find(name string) *field {
	own, named := r.b.before[name]
	i, ok := r.b.table.index[own]
	if !named || !ok {
		i, ok = r.b.table.index[name]
	}
	if !ok {
		return nil
	}
	c := r.b.table.columns[i]
	if c.role != roleField || r.what == "line" && c.field.row != r.b.at {
		return nil
	}
	return &c.field
}

// wrong says that a field is not there, or what it is not.
func (r *Rows) wrong(name, not string, f fmt.Stringer) error {
	what := "column"
	if r.what == "line" {
		what = "field"
	}
	if !r.Has(name) {
		return fmt.Errorf("%s: no %s %s", r.Where(), what, name)
	}
	return fmt.Errorf("%s, %s %s: %s is no %s", r.Where(), what, name, f, not)
}

// Text reads a field; a number as it is written, "" of one that is empty or null.
func (r *Rows) Text(name string) (string, error) {
	f := r.find(name)
	switch {
	case f == nil || !strings.ContainsRune("\x00\"0n", rune(f.form)):
		return "", r.wrong(name, "text", f)
	case f.form == 'n':
		return "", nil
	case f.form == '0' && len(f.text) == 0:
		return fmt.Sprint(f.numbers[0]), nil
	}
	return string(f.text), nil
}

// Number reads a field that is a number, finite or not.
func (r *Rows) Number(name string) (float64, error) {
	f := r.find(name)
	if f != nil && len(f.numbers) == 1 {
		return f.numbers[0], nil
	}
	if f != nil && f.form == 0 {
		if v, ok := parseNumber(f.text); ok {
			return v, nil
		}
	}
	return 0, r.wrong(name, "number", f)
}

// Reward reads a field that is a number, or true or false, 1 or 0, in the words that a log's rewards may have.
func (r *Rows) Reward(name string) (float64, error) {
	f := r.find(name)
	if f != nil {
		if v, ok := r.b.o.mapped(f.form, f.text, 0); ok {
			return v, nil
		}
	}
	if f != nil && (f.form == 0 || f.form == 't') {
		if v, ok := boolean(f.text); ok {
			return v, nil
		}
	}
	v, err := r.Number(name)
	switch {
	case err == nil || f == nil:
	case f.form == 0 && bytes.ContainsAny(f.text, "0123456789"):
		err = fmt.Errorf("%w: numbers have points, and no commas, blanks or signs such as %%", err)
	default:
		err = fmt.Errorf("%w: setting reward-map says what words are worth", err)
	}
	return v, err
}

// Time reads a field that is a time, as a log's may be, text or numbers.
func (r *Rows) Time(name string) (time.Time, error) {
	f := r.find(name)
	if f != nil && f.form != '0' {
		if t, ok := parseTime(f.text, r.b.o.Dates); ok {
			return time.Unix(0, t).UTC(), nil
		}
	}
	if v, err := r.Number(name); err == nil {
		if t, ok := sinceEpoch(v); ok {
			return time.Unix(0, t).UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: setting dates us reads 12/31/2026, eu 31/12/2026 and 31.12.2026",
		r.wrong(name, "time", f))
}

// List reads a field of several numbers: a list, or in a text numbers in brackets or
// without, separated by commas, semicolons or blanks. It is gone with the next row.
func (r *Rows) List(name string) ([]float64, error) {
	f := r.find(name)
	if f == nil || f.form != 0 && f.form != '[' {
		return nil, r.wrong(name, "list of numbers", f)
	}
	list := f.numbers
	text := strings.TrimSuffix(strings.TrimPrefix(string(f.text), "["), "]")
	for _, w := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",; \t", c) }) {
		v, ok := parseNumber([]byte(w))
		if !ok {
			return nil, r.wrong(name, "number", &field{text: []byte(w)})
		}
		list = append(list, v)
	}
	return list, nil
}

// Close ends the reading.
func (r *Rows) Close() error { return r.reader.close() }

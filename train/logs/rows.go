package logs

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"
)

// Rows reads a file of rows with named fields that is no log: probabilities of a target
// policy, rewards. Errors name file and row.
type Rows interface {
	// Next goes to the next row; it is false at the end and after an error.
	Next() bool
	// Err is what went wrong.
	Err() error
	// Where names file and row for errors.
	Where() string
	// Fields are the names of the row's fields; of a file whose columns are named at its
	// beginning already before the first row, nil then of another.
	Fields() []string
	// Has reports whether the row has a field, be it empty.
	Has(field string) bool
	// Text reads a field; a number as it is written, "" of one that is empty or null.
	Text(field string) (string, error)
	// Number reads a field that is a number, finite or not.
	Number(field string) (float64, error)
	// List reads a field of several numbers: a list, or in a text numbers in brackets or
	// without, separated by commas, semicolons or blanks.
	List(field string) ([]float64, error)
	// Close ends the reading.
	Close() error
}

// OpenRows opens a file of rows by its ending, as the error for others lists them.
func OpenRows(path string) (Rows, error) {
	f, packed := formatOf(path)
	if f == nil || f.rows == nil {
		return nil, fmt.Errorf("%s: no kind of file for rows of named fields: want %s", path, endingsOf(func(f *format) bool { return f.rows != nil }))
	}
	l, err := f.open(path, packed)
	if err != nil {
		return nil, err
	}
	r, err := f.rows(l)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return r, nil
}

// at is where a reader of rows is.
type at struct {
	path, what string // row or line
	n          int    // from 1; 0: before the first
	err        error
}

func (a *at) Err() error { return a.err }

func (a *at) Where() string {
	if a.n == 0 {
		return a.path
	}
	return fmt.Sprintf("%s, %s %d", a.path, a.what, a.n)
}

// stop ends the reading by an error, which io.EOF is none of.
func (a *at) stop(err error) bool {
	if err != io.EOF {
		a.err = fmt.Errorf("%s: %w", a.Where(), err)
	}
	return false
}

// wrong is the error of a field.
func (a *at) wrong(field, format string, args ...any) error {
	what := "column"
	if a.what == "line" {
		what = "field"
	}
	return fmt.Errorf("%s, %s %s: %s", a.Where(), what, field, fmt.Sprintf(format, args...))
}

// numbersIn reads numbers in a text.
func (a *at) numbersIn(field, s string) ([]float64, error) {
	words := strings.FieldsFunc(strings.Trim(s, "[]"), func(c rune) bool { return c == ',' || c == ';' || c == ' ' })
	values := make([]float64, len(words))
	for i, w := range words {
		var err error
		if values[i], err = a.numberIn(field, w); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (a *at) numberIn(field, s string) (float64, error) {
	v, ok := parseNumber([]byte(s))
	if !ok {
		return 0, a.wrong(field, "%s is no number", quote([]byte(s)))
	}
	return v, nil
}

// csvRows are those of a CSV file with a header.
type csvRows struct {
	at
	records *records
	names   []string
	place   map[string]int
}

func newCSVRows(l *lines) (Rows, error) {
	r := &csvRows{at: at{path: l.path, what: "row"}, records: &records{lines: l}, place: map[string]int{}}
	if err := r.records.begin(); err != nil {
		return nil, err
	}
	for i, cell := range r.records.cells {
		name := strings.TrimSpace(string(cell))
		if _, twice := r.place[name]; twice && name != "" {
			return nil, fmt.Errorf("%s: column %s comes twice", l.path, name)
		}
		r.place[name], r.names = i, append(r.names, name)
	}
	return r, nil
}

func (r *csvRows) Next() bool {
	if r.err != nil {
		return false
	}
	err := r.records.read()
	if err != io.EOF {
		r.n++
	}
	if n := len(r.records.cells); err == nil && n != r.records.header {
		err = fmt.Errorf("wrong number of fields: %d, the header has %d", n, r.records.header)
	}
	return err == nil || r.stop(err)
}

func (r *csvRows) Fields() []string  { return r.names }
func (r *csvRows) Has(f string) bool { _, ok := r.place[f]; return ok }
func (r *csvRows) Close() error      { return r.records.close() }

func (r *csvRows) Text(f string) (string, error) {
	i, ok := r.place[f]
	if !ok {
		return "", fmt.Errorf("%s: no column %s", r.Where(), f)
	}
	return strings.TrimSpace(string(r.records.cells[i])), nil
}

func (r *csvRows) Number(f string) (float64, error) {
	s, err := r.Text(f)
	if err != nil {
		return 0, err
	}
	return r.numberIn(f, s)
}

func (r *csvRows) List(f string) ([]float64, error) {
	s, err := r.Text(f)
	if err != nil {
		return nil, err
	}
	return r.numbersIn(f, s)
}

// jsonRows are those of JSON Lines, an object in each line. A blank line is none.
type jsonRows struct {
	at
	*lines
	decoder *decoder
	row     map[string]jsontext.Value
}

func newJSONRows(l *lines) (Rows, error) {
	return &jsonRows{at: at{path: l.path, what: "line"}, lines: l, decoder: newDecoder(), row: map[string]jsontext.Value{}}, nil
}

func (r *jsonRows) Next() bool {
	if r.err != nil {
		return false
	}
	err := r.lines.next()
	if r.at.n = r.lines.n; err != nil {
		return r.stop(err)
	}
	clear(r.row)
	d := r.decoder
	d.begin(r.text)
	err = d.object("", func(name []byte) error {
		field := string(name)
		v, err := d.ReadValue()
		r.row[field] = v.Clone()
		return err
	})
	if err == nil {
		err = d.end()
	}
	return err == nil || r.stop(fmt.Errorf("no JSON object: %w", syntax("", err)))
}

func (r *jsonRows) Fields() []string {
	if r.lines.n == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(r.row))
}

func (r *jsonRows) Has(f string) bool { _, ok := r.row[f]; return ok }
func (r *jsonRows) Close() error      { return r.lines.close() }

// value is a field's, which must be of one of the kinds.
func (r *jsonRows) value(f, kinds, what string) (jsontext.Value, error) {
	v, ok := r.row[f]
	if !ok {
		return nil, fmt.Errorf("%s: no field %s", r.Where(), f)
	}
	if !strings.ContainsRune(kinds, rune(v.Kind())) {
		return nil, r.wrong(f, "%.40s is no %s", v, what)
	}
	return v, nil
}

func (r *jsonRows) Text(f string) (string, error) {
	v, err := r.value(f, `"0n`, "text")
	if err != nil || v.Kind() == 'n' {
		return "", err
	}
	if v.Kind() == '0' {
		return string(v), nil
	}
	s, err := r.decoder.unquoted(v)
	return string(s), err
}

func (r *jsonRows) Number(f string) (float64, error) {
	v, err := r.value(f, "0", "number")
	if err != nil {
		return 0, err
	}
	return r.numberIn(f, string(v))
}

func (r *jsonRows) List(f string) (values []float64, err error) {
	v, err := r.value(f, "[", "list of numbers")
	if err != nil {
		return nil, err
	}
	r.decoder.begin(v)
	err = r.decoder.list(f, func(int) error {
		x, err := r.decoder.number(f)
		values = append(values, x)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s, %w", r.Where(), err)
	}
	return values, nil
}

// parquetFields are those of a Parquet file. A field is a column of numbers or texts,
// or a list of numbers.
type parquetFields struct {
	at
	*parquetFile
	leaves []*leaf
	fields map[string][]int // their leaves
	names  []string
}

func newParquetRows(l *lines) (_ Rows, err error) {
	f, err := openParquet(l.path)
	if err != nil {
		return nil, err
	}
	r := &parquetFields{at: at{path: l.path, what: "row"}, parquetFile: f, fields: map[string][]int{}}
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(fmt.Errorf("%s: damaged: %v", l.path, p), f.close())
		}
	}()
	for _, top := range f.root.Columns() {
		r.names = append(r.names, top.Name())
		r.walk(top.Name(), top)
	}
	return r, nil
}

func (r *parquetFields) walk(name string, p *parquet.Column) {
	for _, child := range p.Columns() {
		r.walk(name, child)
	}
	if p.Leaf() {
		l := &leaf{}
		if t := p.Type().LogicalType(); t != nil {
			i, ok := t.Value.(*logical.IntType)
			l.unsigned = ok && !i.IsSigned
		}
		r.fields[name] = append(r.fields[name], len(r.leaves))
		r.leaves = append(r.leaves, l)
	}
}

func (r *parquetFields) Next() bool {
	if r.err != nil {
		return false
	}
	err := r.step(r.n + 1)
	if err == nil {
		r.n++
	} else if err != io.EOF {
		r.err = err
	}
	return err == nil
}

func (r *parquetFields) Fields() []string  { return r.names }
func (r *parquetFields) Has(f string) bool { return len(r.fields[f]) == 1 }
func (r *parquetFields) Close() error      { return r.close() }

// values are those of a field in the row.
func (r *parquetFields) values(f string) (of []parquet.Value, l *leaf, err error) {
	if !r.Has(f) {
		return nil, nil, fmt.Errorf("%s: no column %s of values or lists", r.Where(), f)
	}
	i := r.fields[f][0]
	for _, v := range r.row {
		if v.Column() == i {
			of = append(of, v)
		}
	}
	return of, r.leaves[i], nil
}

func (r *parquetFields) Text(f string) (string, error) {
	v, _, err := r.values(f)
	switch {
	case err != nil:
		return "", err
	case len(v) != 1:
		return "", r.wrong(f, "%d values, want one", len(v))
	case v[0].IsNull():
		return "", nil
	}
	return v[0].String(), nil
}

func (r *parquetFields) Number(f string) (float64, error) {
	v, l, err := r.values(f)
	if err != nil {
		return 0, err
	}
	if len(v) == 1 {
		if x, ok := asNumber(v[0], l); ok {
			return x, nil
		}
	}
	return 0, r.wrong(f, "no number")
}

func (r *parquetFields) List(f string) (list []float64, err error) {
	values, l, err := r.values(f)
	for i, v := range values {
		x, ok := asNumber(v, l)
		if !ok {
			return nil, r.wrong(f, "element %d is no number", i)
		}
		list = append(list, x)
	}
	return list, err
}

package logs

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// WriterOptions say how a log is written.
type WriterOptions struct {
	Format  string   // csv, jsonl or parquet; "": by the ending of the name, with .gz or .zst after it for the first two
	Actions []string // names of all actions, in their order
	// Names of the context's values that may occur. If all begin with "x_", each is a
	// column; if they are "0", "1", … in order, the column context is a list. nil, or
	// others: the column context has values by name.
	Names  []string
	Weight bool // write weights, which must all be 1 otherwise
}

// Writer writes a log in the schema that Open reads. Whether there are decision ids,
// times, groups and propensities is as in the first row, for all rows. The file is there
// once Close has succeeded, whole, or not at all.
type Writer struct {
	path     string
	o        WriterOptions
	format   string
	file     *os.File
	out      *bufio.Writer
	compress io.WriteCloser
	parquet  *parquet.GenericWriter[any]
	place    map[string]int // of parquet's leaves
	first    *Decision
	layout   layout
	index    map[string]int
	values   []float64
	buf      []byte
	row      parquet.Row
	n        int
	err      error
}

type layout int8

const (
	asObject layout = iota
	asList
	asColumns
)

// Create begins a log at path.
func Create(path string, o WriterOptions) (*Writer, error) {
	format, compression, err := formatOf(path, &Options{Format: o.Format})
	switch i, twice := duplicate(o.Actions); {
	case err != nil || format != "csv" && format != "jsonl" && format != "parquet":
		return nil, fmt.Errorf("%s: logs are written as .csv or .jsonl (also with .gz or .zst) or .parquet", path)
	case format == "parquet" && compression != "":
		return nil, fmt.Errorf("%s: a Parquet file is compressed within: leave out .%s", path, compression)
	case len(o.Actions) < 2:
		return nil, fmt.Errorf("%s: %d actions, want at least 2", path, len(o.Actions))
	case twice:
		return nil, fmt.Errorf("%s: action %s twice", path, o.Actions[i])
	}
	w := &Writer{path: path, o: o, format: format}
	if len(o.Names) > 0 {
		w.index = make(map[string]int, len(o.Names))
		list := true
		columns := true
		for i, name := range o.Names {
			if _, twice := w.index[name]; twice {
				return nil, fmt.Errorf("%s: name %s twice", path, name)
			}
			w.index[name] = i
			columns = columns && strings.HasPrefix(name, "x_")
			list = list && name == strconv.Itoa(i)
		}
		switch {
		case columns:
			w.layout = asColumns
		case list:
			w.layout = asList
		}
		w.values = make([]float64, len(o.Names))
	}
	if w.file, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp"); err != nil {
		return nil, err
	}
	w.out = bufio.NewWriterSize(w.file, 1<<20)
	switch compression {
	case "gz":
		w.compress = gzip.NewWriter(w.out)
	case "zst":
		if w.compress, err = zstd.NewWriter(w.out, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	return w, nil
}

// Write appends a row. Its Row is not written. After an error there is no log: Close
// removes what there is.
func (w *Writer) Write(d *Decision) error {
	if w.err == nil {
		w.err = w.write(d)
	}
	return w.err
}

func (w *Writer) write(d *Decision) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: row %d: %s", w.path, w.n+1, fmt.Sprintf(format, args...))
	}
	if w.first == nil {
		w.first = &Decision{ID: d.ID, Time: d.Time, Group: d.Group, Propensity: d.Propensity, Propensities: d.Propensities}
		if err := w.begin(); err != nil {
			return err
		}
	}
	f := w.first
	switch {
	case d.Action < 0 || d.Action >= len(w.o.Actions):
		return fail("action %d is outside 0 to %d", d.Action, len(w.o.Actions)-1)
	case !(d.Cost >= -1 && d.Cost <= 0):
		return fail("cost %v is outside [-1, 0]", d.Cost)
	case (d.ID == "") != (f.ID == ""), d.Time.IsZero() != f.Time.IsZero(), (d.Group == "") != (f.Group == ""),
		(d.Propensity == 0) != (f.Propensity == 0), (d.Propensities == nil) != (f.Propensities == nil):
		return fail("id, time, group and propensities must be there in all rows or in none")
	case d.Propensity != 0 && !(d.Propensity > 0 && d.Propensity <= 1):
		return fail("propensity %v is outside (0, 1]", d.Propensity)
	case d.Propensities != nil && len(d.Propensities) != len(w.o.Actions):
		return fail("%d propensities for %d actions", len(d.Propensities), len(w.o.Actions))
	case !w.o.Weight && d.Weight != 0 && d.Weight != 1:
		return fail("weight %v, but the log has none", d.Weight)
	}
	for _, p := range d.Propensities {
		if !(p >= 0 && p <= 1) {
			return fail("propensity %v is outside [0, 1]", p)
		}
	}
	for _, v := range d.Context {
		if v.Number-v.Number != 0 {
			return fail("%s is %v", v.Name, v.Number)
		}
	}
	if w.layout != asObject {
		clear(w.values)
		for _, v := range d.Context {
			i, ok := w.index[v.Name]
			if !ok {
				return fail("the context has %s, which is none of the names", v.Name)
			}
			w.values[i] = v.Number
		}
	}
	var err error
	switch w.format {
	case "csv":
		err = w.writeCSV(d)
	case "jsonl":
		err = w.writeJSON(d)
	default:
		err = w.writeParquet(d)
	}
	w.n++
	return err
}

// columns calls text or number for each column but the context, in order.
func (w *Writer) columns(d *Decision, text func(name, s string), number func(name string, v float64)) {
	if d.ID != "" {
		text("decision_id", d.ID)
	}
	if !d.Time.IsZero() {
		text("timestamp", d.Time.UTC().Format(time.RFC3339Nano))
	}
	if d.Group != "" {
		text("group", d.Group)
	}
	text("action", w.o.Actions[d.Action])
	number("reward", 0-d.Cost) // not −0
	if d.Propensity != 0 {
		number("propensity", d.Propensity)
	}
	for a, p := range d.Propensities {
		number("p_"+w.o.Actions[a], p)
	}
	if w.o.Weight {
		number("weight", d.Weight)
	}
}

// flush hands over what is in the buffer.
func (w *Writer) flush() error {
	var err error
	if w.compress != nil {
		_, err = w.compress.Write(w.buf)
	} else {
		_, err = w.out.Write(w.buf)
	}
	return err
}

// begin writes the header.
func (w *Writer) begin() error {
	switch w.format {
	case "csv":
		w.buf = w.buf[:0]
		w.columns(w.first, func(name, _ string) { w.cell(name) }, func(name string, _ float64) { w.cell(name) })
		if w.layout == asColumns {
			for _, name := range w.o.Names {
				w.cell(name)
			}
		} else {
			w.cell("context")
		}
		w.buf[len(w.buf)-1] = '\n'
		return w.flush()
	case "parquet":
		g := parquet.Group{}
		w.columns(w.first, func(name, _ string) {
			g[name] = parquet.String()
			if name == "timestamp" {
				g[name] = parquet.Timestamp(parquet.Nanosecond)
			}
		}, func(name string, _ float64) { g[name] = parquet.Leaf(parquet.DoubleType) })
		switch w.layout {
		case asColumns:
			for _, name := range w.o.Names {
				g[name] = parquet.Leaf(parquet.DoubleType)
			}
		case asList:
			g["context"] = parquet.List(parquet.Leaf(parquet.DoubleType))
		default:
			g["context"] = parquet.Map(parquet.String(), parquet.Leaf(parquet.DoubleType))
		}
		schema := parquet.NewSchema("log", g)
		w.place = map[string]int{}
		for i, path := range schema.Columns() {
			name := path[0]
			if path[len(path)-1] == "value" && len(path) > 1 {
				name += ".value"
			}
			w.place[name] = i
		}
		w.parquet = parquet.NewGenericWriter[any](w.out, schema, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(1<<16))
	}
	return nil
}

// cell appends a cell of CSV with its comma.
func (w *Writer) cell(s string) {
	if strings.ContainsAny(s, "\",\r\n") {
		s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	w.buf = append(append(w.buf, s...), ',')
}

func (w *Writer) number(v float64) { w.buf = strconv.AppendFloat(w.buf, v, 'g', -1, 64) }

func (w *Writer) writeCSV(d *Decision) error {
	w.buf = w.buf[:0]
	number := func(_ string, v float64) {
		w.number(v)
		w.buf = append(w.buf, ',')
	}
	w.columns(d, func(_, s string) { w.cell(s) }, number)
	if w.layout == asColumns {
		for _, v := range w.values {
			number("", v)
		}
	} else {
		at := len(w.buf)
		if err := w.context(d); err != nil {
			return err
		}
		s := string(w.buf[at:])
		w.buf = w.buf[:at]
		w.cell(s)
	}
	w.buf[len(w.buf)-1] = '\n'
	return w.flush()
}

// context appends the context as JSON.
func (w *Writer) context(d *Decision) error {
	if w.layout == asList {
		w.buf = append(w.buf, '[')
		for i, v := range w.values {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			w.number(v)
		}
		w.buf = append(w.buf, ']')
		return nil
	}
	w.buf = append(w.buf, '{')
	for i, v := range d.Context {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		var err error
		if w.buf, err = jsontext.AppendQuote(w.buf, v.Name); err != nil {
			return fmt.Errorf("%s: row %d: name %q: %w", w.path, w.n+1, v.Name, err)
		}
		w.buf = append(w.buf, ':')
		w.number(v.Number)
	}
	w.buf = append(w.buf, '}')
	return nil
}

func (w *Writer) writeJSON(d *Decision) error {
	w.buf = append(w.buf[:0], '{')
	var failed error
	quoted := func(s string) {
		var err error
		if w.buf, err = jsontext.AppendQuote(w.buf, s); err != nil {
			failed = fmt.Errorf("%s: row %d: %q: %w", w.path, w.n+1, s, err)
		}
	}
	number := func(name string, v float64) {
		quoted(name)
		w.buf = append(w.buf, ':')
		w.number(v)
		w.buf = append(w.buf, ',')
	}
	w.columns(d, func(name, s string) {
		quoted(name)
		w.buf = append(w.buf, ':')
		quoted(s)
		w.buf = append(w.buf, ',')
	}, number)
	if w.layout == asColumns {
		for i, name := range w.o.Names {
			number(name, w.values[i])
		}
		w.buf = w.buf[:len(w.buf)-1]
	} else {
		w.buf = append(w.buf, `"context":`...)
		failed = errors.Join(failed, w.context(d))
	}
	if failed != nil {
		return failed
	}
	w.buf = append(w.buf, '}', '\n')
	return w.flush()
}

func (w *Writer) writeParquet(d *Decision) error {
	row := w.row[:0]
	put := func(name string, v parquet.Value, repetition, definition int) {
		row = append(row, v.Level(repetition, definition, w.place[name]))
	}
	number := func(name string, v float64) { put(name, parquet.DoubleValue(v), 0, 0) }
	var failed error
	w.columns(d, func(name, s string) {
		if name == "timestamp" {
			at, ok := unixNano(d.Time)
			if !ok {
				failed = fmt.Errorf("%s: row %d: %s is outside 1678 to 2261", w.path, w.n+1, d.Time)
			}
			put(name, parquet.Int64Value(at), 0, 0)
			return
		}
		put(name, parquet.ByteArrayValue([]byte(s)), 0, 0)
	}, number)
	if failed != nil {
		return failed
	}
	repetition := func(i int) int { return min(i, 1) }
	switch w.layout {
	case asColumns:
		for i, name := range w.o.Names {
			number(name, w.values[i])
		}
	case asList:
		for i, v := range w.values {
			put("context", parquet.DoubleValue(v), repetition(i), 1)
		}
	default:
		for i, v := range d.Context {
			put("context", parquet.ByteArrayValue([]byte(v.Name)), repetition(i), 1)
			put("context.value", parquet.DoubleValue(v.Number), repetition(i), 1)
		}
		if len(d.Context) == 0 {
			put("context", parquet.NullValue(), 0, 0)
			put("context.value", parquet.NullValue(), 0, 0)
		}
	}
	slices.SortStableFunc(row, func(a, b parquet.Value) int { return a.Column() - b.Column() })
	w.row = row
	_, err := w.parquet.WriteRows([]parquet.Row{row})
	return err
}

// Close ends the log and gives it its name; or removes it, if Write failed.
func (w *Writer) Close() error {
	if w.err == nil && w.n == 0 {
		w.err = fmt.Errorf("%s: a log without rows is not written", w.path)
	}
	if w.err != nil {
		return errors.Join(w.err, w.Abort())
	}
	var err error
	if w.parquet != nil {
		err = w.parquet.Close()
	}
	if w.compress != nil {
		err = errors.Join(err, w.compress.Close())
	}
	if err = errors.Join(err, w.out.Flush()); err == nil {
		err = errors.Join(w.file.Chmod(0o644), w.file.Sync())
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	err = w.file.Close()
	if err == nil {
		err = os.Rename(w.file.Name(), w.path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(w.file.Name()))
	}
	return err
}

// Abort removes what was written; no log is left.
func (w *Writer) Abort() error {
	return errors.Join(w.file.Close(), os.Remove(w.file.Name()))
}

package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// records reads comma-separated values (RFC 4180) row by row. A blank line is none.
type records struct {
	*lines
	record []byte   // the row with its end
	cells  [][]byte // of the row
	header int      // columns
}

// begin reads the header into cells.
func (c *records) begin() error {
	err := c.read()
	if err == io.EOF {
		return fmt.Errorf("%s: no header: the file is empty", c.path)
	}
	var wrong *rowError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: header: %w", c.path, err)
	}
	c.header = len(c.cells)
	return err
}

// csv reads comma-separated values with a header.
type csv struct {
	*records
	*table
}

func newCSV(l *lines, o *Options) (reader, error) {
	c := &csv{records: &records{lines: l}, table: newTable(l.path, o.Preset)}
	if err := c.records.begin(); err != nil {
		return nil, err
	}
	if len(c.cells) == 1 && bytes.ContainsAny(c.cells[0], ";\t|") {
		return nil, fmt.Errorf("%s: header %s: columns are separated by commas", l.path, quote(c.cells[0]))
	}
	isAction := func(name []byte) bool { return roleOf(string(name), o.Preset) == roleAction }
	isNumber := func(name []byte) bool { _, ok := parseNumber(name); return ok }
	if i := slices.IndexFunc(c.cells, isNumber); i >= 0 && !slices.ContainsFunc(c.cells, isAction) {
		return nil, fmt.Errorf("%s: header: %s is a number: the first line must name the columns", l.path, quote(c.cells[i]))
	}
	for _, name := range c.cells {
		if bytes.IndexByte(name, '\r') >= 0 {
			return nil, fmt.Errorf("%s: header: a carriage return within the column %s: lines end in \\n or \\r\\n", l.path, quote(name))
		}
		if _, twice := c.index[string(name)]; twice {
			return nil, fmt.Errorf("%s: header: column %q twice", l.path, name)
		}
		if _, err := c.column(nil, name); err != nil {
			return nil, err
		}
	}
	return c, c.table.check()
}

func (c *csv) raw() []byte { return bytes.TrimRight(c.record, "\r\n") }

func (c *csv) next(b *builder) error {
	c.start(b)
	if err := c.read(); err != nil {
		return err
	}
	if len(c.cells) != c.header {
		c.again()
		return bad("", "%d fields, the header has %d", len(c.cells), c.header)
	}
	for i, col := range c.columns {
		if col.role == roleIgnored {
			continue
		}
		if err := c.text(b, col, c.cells[i]); err != nil {
			return err
		}
	}
	return c.done(b)
}

// read reads a record into cells.
func (c *records) read() error {
	line, err := c.line()
	for err == nil && len(bytes.TrimRight(line, "\r\n")) == 0 {
		line, err = c.line()
	}
	c.record, c.cells = line, c.cells[:0]
	if err != nil {
		return err
	}
	if bytes.IndexByte(line, '"') >= 0 {
		return c.quoted(line)
	}
	if err := checkText(line); err != nil {
		return err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	for {
		i := bytes.IndexByte(line, ',')
		if i < 0 {
			c.cells = append(c.cells, line)
			return nil
		}
		c.cells = append(c.cells, line[:i])
		line = line[i+1:]
	}
}

// quoted reads a record with quotes in it, which may go over several lines. Of one that is
// broken only the first line is lost: the others are read again.
func (c *records) quoted(line []byte) error {
	c.record = append([]byte(nil), line...)
	for odd := bytes.Count(line, []byte(`"`))%2 == 1; odd; {
		more, err := c.line()
		if err == nil {
			c.record = append(c.record, more...)
		}
		if err != nil || len(c.record) > maxRow {
			c.again()
			if err == nil || err == io.EOF {
				err = bad("", "a quote is not closed")
			}
			return err
		}
		odd = bytes.Count(more, []byte(`"`))%2 == 0
	}
	err := c.split(c.record)
	if err != nil {
		c.again()
	}
	return err
}

// again makes a record its first line, and has the others read again.
func (c *records) again() {
	if n := bytes.IndexByte(c.record, '\n') + 1; n > 0 && n < len(c.record) {
		c.back = append(c.record[n:len(c.record):len(c.record)], c.back...)
		c.record = c.record[:n]
	}
}

// split divides a record with quotes in it into cells.
func (c *records) split(record []byte) error {
	if err := checkText(record); err != nil {
		return err
	}
	rest := bytes.TrimSuffix(bytes.TrimSuffix(record, []byte("\n")), []byte("\r"))
	for {
		if len(rest) == 0 || rest[0] != '"' {
			i := bytes.IndexByte(rest, ',')
			cell := rest
			if i >= 0 {
				cell = rest[:i]
			}
			if bytes.IndexByte(cell, '"') >= 0 {
				return bad("", "a quote within the field %s: quote the field, and write the quote twice", quote(cell))
			}
			c.cells = append(c.cells, cell)
			if i < 0 {
				return nil
			}
			rest = rest[i+1:]
			continue
		}
		var cell []byte
		rest = rest[1:]
		for {
			i := bytes.IndexByte(rest, '"')
			if i < 0 {
				return bad("", "a quote is not closed")
			}
			cell = append(cell, rest[:i]...)
			if rest = rest[i+1:]; len(rest) == 0 || rest[0] != '"' {
				break
			}
			cell, rest = append(cell, '"'), rest[1:]
		}
		c.cells = append(c.cells, cell)
		if len(rest) == 0 {
			return nil
		}
		if rest[0] != ',' {
			return bad("", "text after the closing quote of %s", quote(cell))
		}
		rest = rest[1:]
	}
}

// numbered reports whether names are the numbers from 0, each once.
func numbered(names []string) bool {
	seen := make([]bool, len(names))
	for _, s := range names {
		i := 0
		for _, d := range []byte(s) {
			if i = 10*i + int(d-'0'); d < '0' || d > '9' || i >= len(names) {
				return false
			}
		}
		if s == "" || len(s) > 1 && s[0] == '0' || seen[i] {
			return false
		}
		seen[i] = true
	}
	return true
}

// csvWriter writes comma-separated values.
type csvWriter struct{ *Writer }

func newCSVWriter(w *Writer) encoder { return csvWriter{w} }

func (w csvWriter) begin() error {
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
}

func (w csvWriter) row(d *Decision) error {
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

func (w csvWriter) end() error { return nil }

// cell appends a cell of CSV with its comma.
func (w csvWriter) cell(s string) {
	if strings.ContainsAny(s, "\",\r\n") {
		s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	w.buf = append(append(w.buf, s...), ',')
}

package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csv reads comma-separated values (RFC 4180) with a header. A blank line is none. Where the header has no comma
// outside of quotes, but semicolons, tabs or bars, fields are separated by the first of these.
type csv struct {
	*table
	comma byte     // or what separates fields
	guess bool     // what separates fields, in the header
	cells [][]byte // of the row
	names []byte   // the header's line

	swallowed bool // it was said that a value holds rows
}

func newCSV(l *lines, b *builder) (reader, error) {
	c := &csv{table: newTable(l, b), comma: ','}
	switch d := b.o.Delimiter; {
	case b.fields:
	case d == "":
		c.guess = true
	case len(d) == 1 && strings.Contains(separators, d):
		c.comma = d[0]
	default:
		return nil, fmt.Errorf("%s: setting delimiter %q: want one of %q", l.path, d, separators)
	}
	err := c.read()
	c.guess = false
	var wrong *rowError
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("%s: no header: the file is empty", l.path)
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%s: header: %v", l.path, err)
	case err != nil:
		return nil, err
	}
	c.names = bytes.Clone(bytes.TrimRight(c.text, "\r\n"))
	if string(c.cells[0]) == "sep=" {
		return nil, fmt.Errorf("%s: the first line is a note to Excel: delete it", l.path)
	}
	for _, name := range c.cells {
		if b.fields {
			name = bytes.TrimSpace(name)
		}
		switch _, twice := c.index[string(name)]; {
		case bytes.IndexByte(name, '\r') >= 0:
			return nil, fmt.Errorf("%s: header: a carriage return within the column %s: lines end in \\n or \\r\\n",
				l.path, quote(name))
		case twice:
			return nil, fmt.Errorf("%s: header: column %q twice", l.path, name)
		case len(name) == 0:
			c.columns = append(c.columns, &column{})
			continue
		}
		if _, err := c.column(b, name); err != nil {
			return nil, err
		}
	}
	if err := b.absent(l.path, c.table); err != nil {
		return nil, err
	}
	err = c.check(b)
	isNumber := func(name []byte) bool { _, ok := parseNumber(name); return ok }
	if i := slices.IndexFunc(c.cells, isNumber); i >= 0 && err != nil {
		return nil, fmt.Errorf("%s: header: %s is a number: the first line must name the columns", l.path,
			quote(c.cells[i]))
	}
	return c, err
}

func (c *csv) next(b *builder) error {
	if there, err := c.table.next(b, c.readAhead); there {
		return c.ended(b, c.comma, err)
	}
	if a := c.blocks; a != nil && bytes.Count(c.back, []byte{'"'})%2 == 1 { // it may go over several lines
		c.alone(a.block.text[a.block.rows[a.at-1].from:])
	}
	if err := c.read(); err != nil {
		return err
	}
	if bytes.Equal(bytes.TrimRight(c.text, "\r\n"), c.names) {
		return bad("", "this is the header again, as where files were put together: remove the line")
	}
	if n := c.within(); n > 2 && !c.swallowed {
		c.swallowed = true
		b.Doubts = append(b.Doubts, fmt.Sprintf("row %d: a value in quotes holds %d lines that look like rows: a quote may "+
			"not be closed", b.at, n))
	}
	if len(c.cells) != len(c.columns) {
		c.again()
		return bad("", "%d fields, the header has %d", len(c.cells), len(c.columns))
	}
	for i, col := range c.columns {
		if err := c.cell(b, col, 0, c.cells[i], 0); err != nil {
			return err
		}
	}
	return c.ended(b, c.comma, nil)
}

// csvLine reads lines without quotes.
type csvLine struct {
	comma   byte
	numbers []bool // columns that are
	names   []byte // the header's line
}

// readAhead begins to read lines ahead, columns that had numbers so far as numbers of the context.
func (c *csv) readAhead() {
	r, columns, w := &csvLine{comma: c.comma, names: c.names}, []blockColumn(nil), &c.wide
	for _, col := range c.columns {
		s := blockColumn{column: col, place: -1}
		if col.role == roleContext && col.kind == number && col.hasID {
			s.place = len(w.columns)
			w.add(col)
		} else if col.role == roleContext || col.role == roleContexts {
			w.alone = false
		}
		columns, r.numbers = append(columns, s), append(r.numbers, s.place >= 0)
	}
	c.begin(r, columns)
}

func (r *csvLine) blank(line []byte) bool { return len(bytes.TrimRight(line, "\r\n")) == 0 }

func (r *csvLine) line(k *rowBlock, line []byte, at int) bool {
	if bytes.IndexByte(line, '"') >= 0 {
		return false
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if bytes.Equal(line, r.names) {
		return false
	}
	from := 0
	for _, isNumber := range r.numbers {
		if from > len(line) {
			return false
		}
		if isNumber {
			if v, end, ok := digits(line, from); ok && (end == len(line) || line[end] == r.comma) {
				k.numbers, from = append(k.numbers, v), end+1
				continue
			}
		}
		end := bytes.IndexByte(line[from:], r.comma) + from
		if end < from {
			end = len(line)
		}
		switch v, ok := parseNumber(line[from:end]); {
		case !isNumber:
			k.cells = append(k.cells, blockCell{from: at + from, to: at + end})
		case from == end:
			k.numbers = append(k.numbers, absent)
		case !ok || v-v != 0:
			return false
		case !k.code && zeroFirst(line[from:end]): // one of each block is noted
			k.code = true
			return false
		default:
			k.numbers = append(k.numbers, v)
		}
		from = end + 1
	}
	return from == len(line)+1
}

// read reads a record into cells. One with quotes in it may go over several lines; of one
// that is broken only the first line is lost: the others are read again.
func (c *csv) read() (err error) {
	c.cells = c.cells[:0]
	for blank := true; blank; blank = len(bytes.TrimRight(c.text, "\r\n")) == 0 {
		if c.text, err = c.line(); err != nil {
			return err
		}
	}
	mark := []byte(`"`)
	quotes := bytes.Count(c.text, mark)
	if quotes > 0 {
		c.text = bytes.Clone(c.text)
	}
	for odd := quotes%2 == 1; odd && err == nil; {
		var more []byte
		if more, err = c.line(); err == nil {
			c.text = append(c.text, more...)
		}
		if err == io.EOF || err == nil && len(c.text) > maxRow {
			err = bad("", "a quote is not closed")
		}
		odd = bytes.Count(more, mark)%2 == 0
	}
	if err == nil {
		err = c.split(quotes > 0)
	}
	if err != nil {
		c.again()
	}
	return err
}

// within counts the lines within a record that have as many fields as rows have.
func (c *csv) within() (n int) {
	if bytes.Count(c.text, []byte("\n")) < 5 {
		return 0
	}
	lines := bytes.Split(c.text, []byte("\n"))
	for i := 1; i < len(lines)-2; i++ {
		if bytes.Count(lines[i], []byte{c.comma}) == len(c.columns)-1 {
			n++
		}
	}
	return n
}

// again makes a record its first line, and has the others read again.
func (c *csv) again() {
	if n := bytes.IndexByte(c.text, '\n') + 1; n > 0 && n < len(c.text) {
		c.back = append(c.text[n:len(c.text):len(c.text)], c.back...)
		c.text = c.text[:n]
	}
}

// split divides a record into cells.
func (c *csv) split(quotes bool) error {
	if err := checkText(c.text); err != nil {
		return err
	}
	rest := bytes.TrimSuffix(bytes.TrimSuffix(c.text, []byte("\n")), []byte("\r"))
	if c.guess {
		c.comma = separator(rest)
	}
	comma, mark := []byte{c.comma}, []byte(`"`)
	for more := true; more; {
		var cell []byte
		if !bytes.HasPrefix(rest, mark) {
			cell, rest, more = bytes.Cut(rest, comma)
			if quotes && bytes.IndexByte(cell, '"') >= 0 {
				return bad("", "a quote within the field %s: quote the field, and write the quote twice", quote(cell))
			}
			c.cells = append(c.cells, cell)
			continue
		}
		for twice := true; twice; {
			part, after, closed := bytes.Cut(rest[1:], mark)
			if !closed {
				return bad("", "a quote is not closed")
			}
			cell = append(cell, part...)
			if twice = bytes.HasPrefix(after, mark); twice {
				cell = append(cell, '"')
			}
			rest = after
		}
		if len(rest) > 0 && rest[0] != c.comma {
			return bad("", "text after the closing quote of %s", quote(cell))
		}
		_, rest, more = bytes.Cut(rest, comma)
		c.cells = append(c.cells, cell)
	}
	return nil
}

// separators may separate fields.
const separators = ",;\t|"

// separator returns the character that separates the fields of a header: the first of the separators outside of
// quotes.
func separator(header []byte) byte {
	parts := bytes.Split(header, []byte{'"'}) // every other is between quotes
	for _, c := range []byte(separators) {
		for i := 0; i < len(parts); i += 2 {
			if bytes.IndexByte(parts[i], c) >= 0 {
				return c
			}
		}
	}
	return ','
}

// csvWriter writes comma-separated values.
type csvWriter struct{ *Writer }

func (w csvWriter) row(d *Decision) error {
	at := 0
	if w.buf = w.buf[:0]; w.n == 1 {
		w.columns(d, func(name, _ string) { w.cell(name) }, func(name string, _ float64) { w.cell(name) })
		w.nested(d, func(name string) { w.cell(name); at = len(w.buf) }, func() { w.buf = w.buf[:at] })
		w.buf[len(w.buf)-1] = '\n'
	}
	w.columns(d, func(_, s string) { w.cell(s) }, func(_ string, v float64) {
		if v == v { // else an outcome that is missing
			w.number(v)
		}
		w.buf = append(w.buf, ',')
	})
	w.nested(d, func(string) { at = len(w.buf) }, func() {
		s := string(w.buf[at:])
		w.buf = w.buf[:at]
		w.cell(s)
	})
	w.buf[len(w.buf)-1] = '\n'
	return w.flush()
}

// cell appends a cell of CSV with its comma.
func (w csvWriter) cell(s string) {
	if strings.ContainsAny(s, "\",\r\n") {
		s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	w.buf = append(append(w.buf, s...), ',')
}

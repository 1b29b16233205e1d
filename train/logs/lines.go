package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// stream opens a file, which errors call path, for reading, uncompressed; end closes it.
func stream(local, path, compression string) (r io.Reader, end func() error, err error) {
	f, err := os.Open(local)
	if err != nil {
		return nil, nil, err
	}
	r, end = f, f.Close
	switch compression {
	case "gz":
		if r, err = gzip.NewReader(bufio.NewReaderSize(f, 1<<16)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: not a gzip file: %w", path, err), f.Close())
		}
	case "zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: not a zstd file: %w", path, err), f.Close())
		}
		r, end = z, func() error { z.Close(); return f.Close() }
	}
	return r, end, nil
}

// lines reads a text file line by line.
type lines struct {
	path  string
	local string       // where the file is
	ends  bool         // the last line must have its end
	end   func() error // closes what r reads; nil: r is none
	r     *bufio.Reader
	buf   []byte
	back  []byte // lines to be read again
	any   bool
	text  []byte // the line that next read
	n     int    // its number, from 1

	least, most int // characters of the last values of rows, plus 1; 0: none yet
}

// next reads the next line that is not blank into text.
func (l *lines) next() (err error) {
	for {
		if l.text, err = l.line(); err == io.EOF {
			return err
		}
		l.n++
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(l.text)) > 0 {
			return checkText(l.text)
		}
	}
}

// raw returns the line that next read.
func (l *lines) raw() []byte { return bytes.TrimRight(l.text, "\r\n") }

// noText are how files begin that are no text in UTF-8, and what to do.
var noText = [][2]string{
	{"\xff\xfe", "text in UTF-16: save it as UTF-8"}, {"\xfe\xff", "text in UTF-16: save it as UTF-8"},
	{"PK\x03\x04", "a zip archive or a workbook: unpack it, or save the sheet as CSV"},
	{"\xd0\xcf\x11\xe0", "a workbook: save the sheet as CSV"}, {"BZh", "packed by bzip2: unpack it"},
	{"\xfd7zXZ", "packed by xz: unpack it"}, {"\x1f\x8b", "packed by gzip: its name must end in .gz"},
	{"PAR1", "a Parquet file: setting input-format parquet reads it"},
}

// line returns the next line with its end; it is gone with the next call. The last may
// have no end. Of a line that is too long the beginning comes with a *rowError.
func (l *lines) line() ([]byte, error) {
	if len(l.back) > 0 {
		n := cmp.Or(bytes.IndexByte(l.back, '\n')+1, len(l.back))
		b := l.back[:n]
		l.back = l.back[n:]
		return b, nil
	}
	b, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		for l.buf = l.buf[:0]; err == bufio.ErrBufferFull; b, err = l.r.ReadSlice('\n') {
			if len(l.buf) <= maxRow {
				l.buf = append(l.buf, b...)
			}
		}
		l.buf = append(l.buf, b...)
		b = l.buf
	}
	if len(b) > maxRow && (err == nil || err == io.EOF) {
		return b[:1000], bad("", "a line is longer than %d bytes: is this a text file?", maxRow)
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: damaged: %w", l.path, err)
	}
	if len(b) == 0 {
		return nil, io.EOF
	}
	if !l.any {
		for _, of := range noText {
			if bytes.HasPrefix(b, []byte(of[0])) {
				return nil, fmt.Errorf("%s: this is %s", l.path, of[1])
			}
		}
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
		l.any = true
	}
	if l.ends && b[len(b)-1] != '\n' {
		return b, bad("", "the last line has no end: is the file still being written?")
	}
	return b, nil
}

// noNewline is what notes say of a file whose last line has no end.
const noNewline = "does not end in a newline"

// ended notes that the line of a row has no end, unless a quote closes its last value. If the value is far shorter than
// in all rows before, it is doubted. It returns the row's error.
func (l *lines) ended(b *builder, comma byte, err error) error {
	if err != nil {
		return err
	}
	n := len(l.raw()) - bytes.LastIndexByte(l.text, comma)
	switch c := l.text[len(l.text)-1]; {
	case c == '\n' || c == '\r' || c == '"':
	case n < 2*l.least-l.most:
		b.Cut = append(b.Cut, fmt.Sprintf("row %d, the last, %s, and its last value is shorter than all others", b.at,
			noNewline))
	default:
		b.press("row %d, the last, %s: its last value may be cut; if it is whole, end the file by one", b.at, noNewline)
	}
	l.least, l.most = min(cmp.Or(l.least, n), n), max(l.most, n)
	return nil
}

// checkText refuses a line that is not text.
func checkText(line []byte) error {
	if !utf8.Valid(line) {
		return bad("", "the text is not UTF-8: save it as such")
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return bad("", "a byte is zero: is this a text file in UTF-8, and no archive?")
	}
	return nil
}

func (l *lines) close() error {
	if l.end == nil { // a whole file
		return nil
	}
	return l.end()
}

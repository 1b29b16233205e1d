package join

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/wholefile"
)

// maxLine is how long a line of a served log may be.
const maxLine = 1 << 26

// file is a served log as it was when it was opened: what is appended to it later is not read, and
// renaming it changes nothing.
type file struct {
	*os.File
	path        string
	info        fs.FileInfo
	first       time.Time // of its first decision; zero: it has none
	torn, zeros int       // bytes left out by each
	plain       int       // lines without a checksum
}

func openFile(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &file{File: f, path: path}
	if l.info, err = f.Stat(); err == nil && !l.info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file: a log is read more than once", path)
	}
	if err == nil {
		err = l.each(func(_ int, _ []byte, s *line, _ int, wrong error) error {
			if wrong != nil {
				return nil
			}
			l.first = s.Time
			return io.EOF
		})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// each hands the lines of a file to use, counted from 1, until it returns io.EOF: as they are, and
// decoded and checked, with the place of the action, or what is wrong with them. Errors name the file
// and the line.
func (f *file) each(use func(n int, raw []byte, s *line, action int, wrong error) error) error {
	f.plain = 0
	var text []byte
	return f.eachLine(func(n int, raw []byte, wrong error) error {
		if wrong != nil {
			return use(n, raw, nil, 0, wrong)
		}
		text = append(text[:0], raw[:len(raw)-1]...)
		object, sealed, err := wholefile.Unseal(text)
		if !sealed {
			f.plain++
		}
		var s line
		action := 0
		if err == nil {
			err = s.decode(object)
		}
		if err == nil && s.Slots != nil {
			slots, err := s.slots()
			if err != nil {
				return use(n, raw, &s, 0, err)
			}
			for _, one := range slots {
				if err := use(n, raw, one, slices.Index(one.names, one.Action), nil); err != nil {
					return err
				}
			}
			return nil
		}
		if err == nil {
			action, err = s.check()
		}
		return use(n, raw, &s, action, err)
	})
}

func (l *line) decode(b []byte) error {
	err := json.Unmarshal(b, l, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	wrong, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case err == nil:
		return nil
	case ok && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("unknown field %q: are these decisions that another system logged? Say so by setting "+
			"columns, as decision_id=NAME,action=NAME", wrong.JSONPointer.LastToken())
	case ok && wrong.Err == nil && wrong.GoType != nil:
		return fmt.Errorf("%s is a %s, want a %s", strings.ReplaceAll(strings.Trim(string(wrong.JSONPointer), "/"),
			"/", "."), wrong.JSONKind, wrong.GoType)
	}
	return fmt.Errorf("no JSON object: %w", err)
}

// eachLine hands the lines of a file to use, with their ends, until it returns io.EOF. It counts the
// bytes of a last line without an end, which use does not get, and the zeros that lines begin with.
func (f *file) eachLine(use func(n int, raw []byte, wrong error) error) error {
	f.torn, f.zeros = 0, 0
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.info.Size()), 1<<16)
	if begin, _ := r.Peek(2); bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		r = bufio.NewReaderSize(z, 1<<16)
	}
	var long []byte
	for n := 1; ; n++ {
		b, err := r.ReadByte()
		for ; err == nil && b == 0; b, err = r.ReadByte() {
			f.zeros++
		}
		if err == nil {
			err = r.UnreadByte()
		}
		var raw []byte
		if err == nil {
			raw, err = r.ReadSlice('\n')
		}
		var wrong error
		if err == bufio.ErrBufferFull {
			for long = long[:0]; err == bufio.ErrBufferFull; raw, err = r.ReadSlice('\n') {
				if len(long) > maxLine {
					wrong = fmt.Errorf("a line is longer than %d bytes", maxLine)
					continue
				}
				long = append(long, raw...)
			}
			long = append(long, raw...)
			raw = long
		}
		if err == io.EOF {
			f.torn = len(raw)
			return nil
		}
		if err == nil {
			err = use(n, raw, wrong)
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: line %d: %w", f.path, n, err)
		}
	}
}

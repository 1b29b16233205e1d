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
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"opl/policies/wholefile"
)

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
		err = l.each(func(_ int, _ []byte, s *line, wrong error) error {
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

// each hands the decisions of a file to use, with their lines, counted from 1, until it returns io.EOF: as they are,
// and decoded and checked, or what is wrong with them. Errors name the file and the line.
func (f *file) each(use func(n int, raw []byte, s *line, wrong error) error) error {
	r := bufio.NewReader(io.NewSectionReader(f, 0, f.info.Size()))
	lines := wholefile.NewLines(r)
	switch begin, _ := r.Peek(4); {
	case bytes.HasPrefix(begin, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		lines = wholefile.NewLines(z)
	case bytes.Equal(begin, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		defer z.Close()
		lines = wholefile.NewLines(z)
	}
	f.plain = 0
	defer func() { f.torn, f.zeros = lines.Torn, lines.Zeros }()
	for n := 1; ; n++ {
		var all []*line
		wrong, err := lines.Next()
		if err == nil && wrong == nil {
			if !lines.Sealed {
				f.plain++
			}
			all, wrong = decisions(lines.Object)
		}
		if wrong != nil {
			all = []*line{nil}
		}
		for i := 0; i < len(all) && err == nil; i++ {
			err = use(n, lines.Raw, all[i], wrong)
		}
		if wrote, is := err.(*writeError); is {
			return wrote.error
		} else if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: line %d: %w", f.path, n, err)
		}
	}
}

// decisions are those of a line: one, or the slots of a list.
func decisions(object []byte) ([]*line, error) {
	s := &line{}
	err := s.decode(object)
	if err == nil {
		err = s.among()
	}
	switch {
	case err != nil:
		return nil, err
	case s.ID == "":
		return nil, errors.New("no decision_id")
	case s.Time.IsZero():
		return nil, errors.New("no timestamp")
	case s.Slots != nil:
		return s.slots()
	}
	return []*line{s}, s.check()
}

const another = "are these decisions that another system logged? Say so by setting columns, as " +
	"decision_id=NAME,action=NAME"

func (l *line) decode(b []byte) error {
	err := json.Unmarshal(b, l, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	wrong, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case err == nil:
		return nil
	case ok && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("unknown field %q: %s", wrong.JSONPointer.LastToken(), another)
	case ok && wrong.Err == nil && wrong.GoType != nil:
		return fmt.Errorf("%s is a %s, want a %s: %s", strings.ReplaceAll(strings.Trim(string(wrong.JSONPointer), "/"),
			"/", "."), wrong.JSONKind, wrong.GoType, another)
	}
	return fmt.Errorf("no JSON object: %w", err)
}

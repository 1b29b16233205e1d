package logs

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"unsafe"
)

// texts are a column of strings.
type texts struct {
	ends stored[int64]
	text stored[byte]
}

func (t *texts) add(s []byte) {
	t.text.put(s...)
	t.ends.put(t.text.size)
}

// sections are the columns of a cache, which make a blob, and, unless all is nil, its strings.
func (t *texts) sections(in *blob, all *[]string) []section {
	text := of(&t.text, &in.text)
	return []section{of(&t.ends, &in.ends), {text.spill, func(b []byte) bool {
		ok := text.take(b) && in.sound()
		for i := 0; ok && all != nil && i < len(in.ends); i++ {
			*all = append(*all, in.at(i))
		}
		return ok
	}}}
}

// set numbers strings in the order in which they come.
type set struct {
	texts
	places map[string]int32
}

func (s *set) number(text []byte) int32 {
	i, ok := s.places[string(text)]
	if !ok {
		i = int32(len(s.places))
		s.places[string(text)] = i
		s.add(text)
	}
	return i
}

// spill is a column in a temporary file once it is long, and in memory before, or always if it has no folder.
type spill struct {
	dir  string
	file tempFile
	buf  []byte    // all of it in memory, or what is not written yet
	most int       // bytes of buf
	to   io.Writer // the cache, if rows are written there as they come; nil: a file of its own
	size int64
	err  error // of writing
}

// spillBytes is how much of a column is in memory.
const spillBytes = 1 << 16

// open begins a column in a folder, or in memory if that is "".
func (s *spill) open(dir string) {
	s.dir, s.most = dir, math.MaxInt
	if dir != "" {
		s.most = spillBytes
	}
}

// flush writes what is left.
func (s *spill) flush() error {
	if s.file.File != nil || s.to != nil {
		s.drain()
	}
	return s.err
}

// drain writes the buffer.
func (s *spill) drain() {
	to := s.to
	if to == nil && len(s.buf) > 0 {
		if s.file.File == nil && s.err == nil {
			s.file, s.err = temporary(s.dir)
		}
		to = s.file
	}
	if s.err == nil && len(s.buf) > 0 {
		_, s.err = to.Write(s.buf)
	}
	s.buf = s.buf[:0]
}

func (s *spill) bytes(b []byte) {
	s.size += int64(len(b))
	if s.buf = append(s.buf, b...); len(s.buf) >= s.most {
		s.drain() // an error stays until flush
	}
}

// copyTo writes the column to w.
func (s *spill) copyTo(w io.Writer) error {
	var from io.Reader = bytes.NewReader(s.buf)
	if s.file.File != nil {
		from = io.NewSectionReader(s.file, 0, s.size)
	}
	n, err := io.Copy(w, from)
	if err == nil && n != s.size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// mapped is the column as bytes that can be changed in place, until the function is called.
func (s *spill) mapped() ([]byte, func() error, error) {
	if s.file.File == nil {
		return s.buf, func() error { return nil }, nil
	}
	return mapFile(s.file.File, int(s.size), true)
}

// stored is a column of numbers.
type stored[T any] struct{ spill }

func (s *stored[T]) len() int { return int(s.size) / int(unsafe.Sizeof(*new(T))) }

func (s *stored[T]) put(v ...T) {
	s.bytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T)))))
}

// late puts the value of row n, if it has one, into a column that rows before may not have
// had: those without have none.
func (s *stored[T]) late(n int, none T, has bool, v T) {
	if !has && s.size == 0 {
		return
	}
	for s.len() < n {
		s.put(none)
	}
	if !has {
		v = none
	}
	s.put(v)
}

// tempFile is removed once it is closed.
type tempFile struct{ *os.File }

func (f tempFile) Close() error {
	err := f.File.Close()
	if e := os.Remove(f.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// temporary makes a temporary file in dir, or in the user's cache, or where temporary
// files go, wherever it can. Where the system can, it has no name from the start.
func temporary(dir string) (tempFile, error) {
	dirs := []string{dir, os.TempDir()}
	if user, err := os.UserCacheDir(); err == nil {
		dirs = slices.Insert(dirs, 1, filepath.Join(user, "opl"))
	}
	var failed error
	for _, d := range dirs {
		f, err := os.CreateTemp(d, ".opl-*.tmp")
		if err == nil {
			_ = os.Remove(f.Name()) // where it cannot be removed while open, Close does it
			return tempFile{f}, nil
		}
		failed = errors.Join(failed, err)
	}
	return tempFile{}, failed
}

// Package wholefile writes files whole or not at all. Use it for every result that a later step
// reads: a reader finds the file before or the file after, and no half.
package wholefile

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// File is a file that is being written and has no name yet: end it by Commit or Abort. Where
// the system can, a process that is killed leaves nothing of it; what others leave, the next
// writer of the same path removes after an hour.
type File struct {
	*os.File
	// New says that the file takes no other's place: if there is one by the time that it is given its name, that is an
	// fs.ErrExist.
	New   bool
	path  string
	named bool // it has a temporary name, that of File
}

// Create begins a file that is to be at path. Its mode is that of the file there, which it
// will replace, or else 0666; mode, unless 0, takes precedence. The umask is honoured but
// for what is replaced. A symbolic link stays, and the file is where it points. A folder, a pipe
// or a device, such as /dev/null, is not replaced: it is an error.
func Create(path string, mode fs.FileMode) (*File, error) {
	var keep fs.FileMode
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: a folder, a pipe or a device, want the name of a file", path)
	case err == nil && mode == 0:
		keep = info.Mode().Perm()
	case mode == 0:
		mode = 0o666
	}
	for range 40 { // as many as Linux follows
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(path) + string(filepath.Separator) + to // Join takes a/.. of a link a for nothing
		}
		path = to
	}
	clean(path)
	f := &File{path: path}
	var err error
	if f.File, err = unnamed(path, mode|keep); err != nil {
		f.named = true
		f.File, err = os.OpenFile(temporary(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode|keep)
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			at.Path = path
		}
	}
	if err == nil && keep != 0 {
		if err = f.Chmod(keep); err != nil {
			err = errors.Join(err, f.Abort())
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Commit gives the file its name, in place of what has it, once the disk has it. The name, too,
// survives a power cut. After an error what was there is still there, and nothing else.
func (f *File) Commit() error {
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := f.Place(); err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(f.path))
}

// Place gives the file its name, in place of what has it, without waiting for the disk: for what is checked when it
// is read. The file stays open, after an error, too, and has no name then.
func (f *File) Place() error {
	switch {
	case f.named && f.New:
		if err := os.Link(f.Name(), f.path); err != nil {
			return err
		}
		return os.Remove(f.Name())
	case f.named:
		return os.Rename(f.Name(), f.path)
	}
	err := link(f.File, f.path)
	if f.New || !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A link takes no name that is in use, a rename does.
	between := temporary(f.path)
	if err := link(f.File, between); err != nil {
		return err
	}
	if err := os.Rename(between, f.path); err != nil {
		return errors.Join(err, os.Remove(between))
	}
	return nil
}

// temporary is a name beside path that no file has.
func temporary(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text()+".tmp")
}

// clean removes what writers of path that were killed have left for an hour.
func clean(path string) {
	folder, begin := filepath.Split(temporary(path))
	begin = begin[:len(begin)-len(rand.Text())-len(".tmp")]
	files, _ := os.ReadDir(cmp.Or(folder, ".")) // if it cannot be read, nor can it be cleaned
	for _, e := range files {
		random, ours := strings.CutPrefix(e.Name(), begin)
		if !ours || len(random) != len(rand.Text())+len(".tmp") || !strings.HasSuffix(random, ".tmp") {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// Abort leaves nothing of the file.
func (f *File) Abort() error {
	err := f.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Open opens a regular file for reading. It refuses files larger than most bytes, and pipes and devices, without
// waiting for what they would give.
func Open(path string, most int64) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s: is a directory", path)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: no regular file", path)
	case info.Size() > most:
		err = fmt.Errorf("%s: %d bytes, at most %d are read", path, info.Size(), most)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// Read reads what Open opens.
func Read(path string, most int64) ([]byte, error) {
	f, info, err := Open(path, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > most {
		return nil, fmt.Errorf("%s: it grows beyond %d bytes", path, most)
	}
	return b.Bytes(), nil
}

// Write replaces the file at path by what write writes, or after an error leaves it as it is:
// see Create for mode.
func Write(path string, mode fs.FileMode, write func(f *os.File) error) error {
	return writeFile(path, mode, false, write)
}

// WriteNew writes a file where there is none: see [File.New].
func WriteNew(path string, write func(f *os.File) error) error {
	return writeFile(path, 0, true, write)
}

func writeFile(path string, mode fs.FileMode, only bool, write func(f *os.File) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	f.New = only
	if err := write(f.File); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit()
}

// WriteBytes writes bytes as Write does, with mode 0.
func WriteBytes(path string, b []byte) error {
	return Write(path, 0, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// SyncFolder makes the names of new files in a folder last.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SetAside appends what was torn off the end of a file, and a line end, to the file at path,
// made with a mode, and returns when the disk has it.
func SetAside(path string, mode fs.FileMode, torn io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.MultiReader(torn, strings.NewReader("\n")))
	return errors.Join(err, f.Sync(), f.Close())
}

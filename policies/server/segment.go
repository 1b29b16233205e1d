package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"opl/policies/wholefile"
)

const (
	lookAgain = 20 * time.Millisecond // between comparisons of an open file with its path
	stretch   = 1 << 20               // bytes that are handed to the disk together, which leaves fsync little to do
	spareRoom = 64 << 10              // bytes that a log which was full must find before it goes on
)

// segment is the open file of a log, which ends with a whole record. The log renames a full segment
// and opens the next.
type segment struct {
	path     string
	f        *os.File // nil: it could not be opened again
	lock     *flock.Flock
	mode     fs.FileMode
	size     int64     // of whole records
	flushed  int64     // bytes that were handed to the disk
	unsynced bool      // written to since the last fsync
	compared time.Time // when the file was last compared with its path
}

// openSegment opens or creates the file at a path, locks it, and repairs its end. Before it changes anything, it lets
// admit judge the records that are there.
func openSegment(path string, mode fs.FileMode, admit func(f io.ReaderAt, whole int64) error) (s *segment, torn int64,
	err error) {
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
		if err != nil {
			return nil, 0, err
		}
		s := &segment{path: path, f: f, lock: flock.New(path, flock.SetFlag(os.O_RDWR))}
		replaced, err := s.acquire()
		if err == nil && !replaced {
			if torn, err = s.repair(admit); err == nil {
				return s, torn, wholefile.SyncFolder(filepath.Dir(path))
			}
		}
		s.release()
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil, 0, fmt.Errorf("%s: the file is replaced again and again", path)
}

// acquire locks the file, and reports whether another file has taken its path meanwhile. Then the lock protects the
// wrong file, and opening starts again.
func (s *segment) acquire() (replaced bool, err error) {
	info, err := s.f.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("no regular file: its end cannot be repaired after a write that fails")
	}
	s.mode = info.Mode().Perm()
	switch held, err := s.lock.TryLock(); {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("locking: %w", err)
	case !held:
		return false, errors.New("another process writes this log: every server needs its own")
	}
	return !s.atPath(), nil
}

// repair finds the end of the last whole record. It moves a torn record behind it, which a death during a write leaves,
// to path + ".torn", and returns its length.
func (s *segment) repair(admit func(f io.ReaderAt, whole int64) error) (torn int64, err error) {
	size, err := s.f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	whole, err := wholeLines(s.f, size)
	if err != nil {
		return 0, err
	}
	if err := admit(s.f, whole); err != nil {
		return 0, err
	}
	if torn = size - whole; torn > 0 {
		rest := bufio.NewReader(io.NewSectionReader(s.f, whole, torn))
		if _, err = wholefile.SkipZeros(rest); err == nil {
			err = wholefile.SetAside(s.path+".torn", s.mode, rest)
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
		if err := s.f.Truncate(whole); err != nil {
			return 0, err
		}
	}
	s.size, s.flushed = whole, whole
	return torn, s.f.Sync()
}

// release closes and unlocks the file. Errors do not matter: it was synced before, or writing to it has failed.
func (s *segment) release() {
	_ = errors.Join(s.f.Close(), s.lock.Unlock())
	s.f = nil
}

// atPath reports whether the path still leads to the open file.
func (s *segment) atPath() bool {
	info, err := s.f.Stat()
	now, there := os.Stat(s.path)
	return err == nil && there == nil && os.SameFile(now, info)
}

// moved reports whether the file was renamed or removed since it was opened. It looks at the path every 20 ms at most,
// which keeps the system call out of most decisions, or at once if now.
func (s *segment) moved(now bool) bool {
	if t := time.Now(); now || t.Sub(s.compared) > lookAgain {
		s.compared = t
		return !s.atPath()
	}
	return false
}

// append writes records behind the others. After an error none of them is in the file.
func (s *segment) append(records []byte) error {
	if _, err := s.f.Write(records); err != nil {
		return errors.Join(err, s.cut())
	}
	s.size += int64(len(records))
	s.unsynced = true
	return nil
}

// cut removes what follows the whole records. If it cannot, it closes the file: opening it again repairs it, and no
// record that is left behind was answered.
func (s *segment) cut() error {
	size, _, err := state(s.f)
	if err == nil && size > s.size { // else another process has truncated it meanwhile
		err = s.f.Truncate(s.size)
	}
	if err != nil {
		s.release()
	}
	return err
}

// truncated goes on after another process has cut the file down to size. It ends a record that was cut in two, so that
// the next one stands on a line of its own.
func (s *segment) truncated(size int64) error {
	s.size, s.flushed = size, size
	var last [1]byte
	if size > 0 {
		if _, err := s.f.ReadAt(last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			return s.append([]byte{'\n'})
		}
	}
	return nil
}

//go:build unix

package server

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// firstLine is what a log may begin with.
const firstLine = `{"decision_id":"d","actions":["x","y"],"policy_hash":"ab"}` + "\n"

// linesOf counts the lines of all files in a folder, without ends of lines that were cut off.
func linesOf(t *testing.T, folder string) map[string]int {
	t.Helper()
	found := map[string]int{}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(b, 0) >= 0 {
			t.Errorf("%s: zeros", e.Name())
		}
		for s := range strings.Lines(string(b)) {
			found[s]++
		}
	}
	return found
}

// However a file is renamed under load, each line that was taken is in a file, and the log ends up
// in the file of its path.
func TestLog_LosesNoLineWhenItsFileIsRenamed(t *testing.T) {
	for name, do := range map[string]func(l *Log, path, to string) error{
		"renamed":                   func(_ *Log, path, to string) error { return os.Rename(path, to) },
		"renamed, and opened again": func(l *Log, path, to string) error { return errors.Join(os.Rename(path, to), l.Reopen()) },
		"renamed, and another made": func(l *Log, path, to string) error {
			err := os.Rename(path, to)
			f, other := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600) // as logrotate's create
			if errors.Is(other, fs.ErrExist) {                                                  // the log was first; who would truncate and write it, would write over its lines
				return err
			}
			_, wrote := f.WriteString(firstLine)
			return errors.Join(err, other, wrote, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "log")
			l, err := OpenLog(path, LogOptions{Fsync: FsyncNever})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Append([]byte(firstLine)); err != nil {
				t.Fatal(err)
			}
			var done atomic.Bool
			var wg sync.WaitGroup
			var taken [4]int
			for g := range taken {
				wg.Go(func() {
					for i := 0; !done.Load(); i++ {
						if err := l.Append(fmt.Appendf(nil, "%d %d\n", g, i)); err != nil {
							t.Error(err)
							return
						}
						taken[g]++
					}
				})
			}
			for i := range 10 {
				time.Sleep(30 * time.Millisecond)
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					if _, err := os.Stat(path); err == nil { // the last one was noticed
						break
					}
				}
				if err := do(l, path, fmt.Sprintf("%s-%d", path, i)); err != nil {
					t.Error(err)
				}
			}
			done.Store(true)
			wg.Wait()
			opened := l.opens.Load()
			if err := errors.Join(l.Reopen(), l.Append([]byte("last\n")), l.Close()); err != nil {
				t.Error(err)
			}
			if b, err := os.ReadFile(path); err != nil || !bytes.HasSuffix(b, []byte("last\n")) {
				t.Errorf("the file of the log's path: %q, %v", b[max(0, len(b)-80):], err)
			}
			found := linesOf(t, folder)
			missing, all := 0, 0
			for g, n := range taken {
				all += n
				for i := range n {
					if found[fmt.Sprintf("%d %d\n", g, i)] == 0 {
						missing++
					}
				}
			}
			if missing > 0 || opened < 2 {
				t.Errorf("%d of %d lines are in no file; it was opened %d times", missing, all, opened)
			}
		})
	}
}

// What is at the path and is no log is not written to; the log goes on when it is gone.
func TestLog_DoesNotWriteToAnotherFileAtItsPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := OpenLog(path, LogOptions{Fsync: FsyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.among([]string{"x", "y"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"notes\n", strings.Replace(firstLine, "y", "z", 1)} {
		if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := l.Reopen(); err == nil || l.Err() == nil || l.Append([]byte("a\n")) == nil {
			t.Errorf("%q is written to: %v", text, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
		if err := errors.Join(os.Remove(path), l.Reopen(), l.Err(), l.Append([]byte("b\n"))); err != nil {
			t.Error(err)
		}
	}
	// A line that is cut off does not spoil the next.
	if err := errors.Join(os.Truncate(path, 1), l.Append([]byte("c\n"))); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.HasSuffix(b, []byte("\nc\n")) {
		t.Errorf("%q, %v", b, err)
	}
}

// A log that is full begins another file; with no more room it takes nothing, and goes on once
// files are gone. It keeps the mode of what it had.
func TestLog_BeginsAnotherFileWhenFull(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "log")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(path+".000007.gz", make([]byte, 10), 0o600)); err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	l, err := OpenLog(path, LogOptions{Fsync: FsyncEach, MaxBytes: 1000, MaxTotal: 5000, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	row := func(i int) []byte { return fmt.Appendf(nil, "%099d\n", i) }
	n := 0
	for ; l.Append(row(n)) == nil; n++ {
	}
	if n != 49 || l.Err() == nil || !strings.Contains(l.Err().Error(), "move those") {
		t.Errorf("%d rows of 100 and 10 bytes within 5,000, %v", n, l.Err())
	}
	for i, first := range []int{0, 10, 20, 30} {
		name := fmt.Sprintf("%s.%06d", path, 8+i)
		b, err := os.ReadFile(name)
		if err != nil || len(b) != 1000 || !bytes.HasPrefix(b, row(first)) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Remove(path + ".000008"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); l.Err() != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := l.Append(row(n)); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if s := told.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "the limit is 5000") || !strings.Contains(s, "logged again") {
		t.Errorf("it was said: %s", s)
	}
}

// A file that is removed or truncated loses the decisions in it, which is said; those that are taken from then on
// are in the file of the log's path.
func TestLog_SaysWhenItsFileIsLost(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove, "truncated": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			path := filepath.Join(t.TempDir(), "log")
			l, err := OpenLog(path, LogOptions{Fsync: FsyncNever, Logger: slog.New(slog.NewTextHandler(&told, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(l.Append([]byte(firstLine)), l.Append([]byte("a\n")), lose(path), l.Append([]byte("b\n")), l.Append([]byte("c\n")), l.Close()); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if s := strings.TrimPrefix(string(b), "b\n"); err != nil || s != "b\nc\n" && s != "c\n" { // join counts a line once
				t.Errorf("%q, %v", b, err)
			}
			if !strings.Contains(told.String(), "rename a log to rotate it") {
				t.Errorf("it was said: %s", told.String())
			}
		})
	}
}

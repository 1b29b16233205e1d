//go:build linux

package server

import (
	"bytes"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// manyBytes are of a row: more than go test's own file, which meets the limit as well.
const manyBytes = 200_000

// A write that finds no room leaves whole lines, and the log goes on once there is
// room again.
func TestLog_OnAFullDiskKeepsWholeLinesAndGoesOn(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	var told bytes.Buffer // read after a lock of the log that follows its writing
	l, err := OpenLog(path, LogOptions{Fsync: FsyncNever, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	little := before
	little.Cur = 5 * manyBytes / 2
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &little); err != nil {
		t.Fatal(err)
	}
	row := append(bytes.Repeat([]byte("x"), manyBytes-1), '\n')
	var errs [4]error
	for i := range errs {
		errs[i] = l.Append(row)
	}
	if l.Err() == nil {
		t.Error("a log without room is ready")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if errs[0] != nil || errs[1] != nil || errs[2] == nil || errs[3] == nil {
		t.Errorf("2,500 bytes for rows of 1,000: %v", errs)
	}
	// It goes on by itself.
	for end := time.Now().Add(10 * time.Second); l.Err() != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := l.Append(row); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if s := told.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "cannot be logged") || !strings.Contains(s, "file too large") || !strings.Contains(s, "logged again") {
		t.Errorf("it was said: %s", s)
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, bytes.Repeat(row, 3)) {
		t.Errorf("%d bytes in the log, want 3 whole rows, %v", len(b), err)
	}
}

// A decision that was written before its file was renamed is answered, although the next file cannot be
// opened.
func TestLog_AnswersADecisionThoughTheNextFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := OpenLog(path, LogOptions{Fsync: FsyncNever})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	first, second := l.Append([]byte("a\n")), l.Append([]byte("b\n"))
	if b, err := os.ReadFile(path + ".1"); err != nil || string(b) != "a\n" || first != nil || second == nil || l.Err() == nil {
		t.Errorf("%q, %v, %v, %v", b, err, first, second)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err != nil {
		t.Error(err)
	}
	if err := l.Append([]byte("c\n")); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "c\n" {
		t.Errorf("%q, %v", b, err)
	}
}

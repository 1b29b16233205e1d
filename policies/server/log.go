package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"opl/policies/wholefile"
)

// Fsync says when what was written to a log is forced to the disk.
type Fsync string

// Every decision is written to the file before it is answered: it survives the
// death of the process (kill -9) under each of these. They differ in what a power
// cut or a crash of the system may take.
const (
	FsyncEach     Fsync = "each"     // nothing: decisions wait for the disk, together
	FsyncInterval Fsync = "interval" // the last second
	FsyncNever    Fsync = "never"    // what the system has not written by itself, half a minute or so
)

// Log is a file of decisions, one a line, that many goroutines append to. Lines
// that come while another write is under way are written together.
type Log struct {
	path  string
	torn  int64
	fsync Fsync
	has   []string // actions of its first line; nil: it has none

	mu      sync.Mutex // of pending and spare
	pending *batch     // nil: none waits
	spare   *batch     // to be used again

	file   sync.Mutex // of what follows
	f      *os.File
	lock   *flock.Flock
	size   int64 // of whole lines
	dirty  bool  // written since the last fsync
	broken error // why nothing can be written any more

	writes, fsyncs, lines atomic.Int64
	stop                  chan struct{}
	stopped               sync.WaitGroup
}

// batch is lines that are written together; written, left and err belong to
// Log.file.
type batch struct {
	lines   []byte
	n       int // who waits for it
	written bool
	left    int // of those, who has not been told
	err     error
}

// OpenLog opens the log at a path for appending, or makes one, and keeps other
// processes from doing so. A last line without an end, which a death during a
// write leaves and which was never answered, is moved to the end of path + ".torn";
// see [Log.Torn]. A file that does not begin with a decision is refused, and left as it is.
func OpenLog(path string, fsync Fsync) (*Log, error) {
	if !slices.Contains([]Fsync{FsyncEach, FsyncInterval, FsyncNever}, fsync) {
		return nil, fmt.Errorf("fsync %q: want %s, %s or %s", fsync, FsyncEach, FsyncInterval, FsyncNever)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := &Log{path: path, f: f, fsync: fsync, stop: make(chan struct{}), lock: flock.New(path, flock.SetFlag(os.O_RDWR))}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, f.Close(), l.lock.Unlock()))
	}
	if fsync == FsyncInterval {
		l.stopped.Go(l.syncEverySecond)
	}
	return l, nil
}

func (l *Log) open() error {
	info, err := l.f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("no regular file: its end cannot be repaired after a write that fails")
	}
	switch held, err := l.lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("locking: %w", err)
	case !held:
		return errors.New("another process writes this log: every server needs its own")
	}
	whole, err := wholeLines(l.f, info.Size())
	if err != nil {
		return err
	}
	if l.has, err = actionsOf(l.f, whole); err != nil {
		return err
	}
	if l.torn = info.Size() - whole; l.torn > 0 {
		if err := wholefile.SetAside(l.path+".torn", info.Mode().Perm(), io.NewSectionReader(l.f, whole, l.torn)); err != nil {
			return err
		}
		if err := l.f.Truncate(whole); err != nil {
			return err
		}
	}
	l.size = whole
	return l.f.Sync()
}

// wholeLines is the place after the last line end of a file.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		n := min(end, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// actionsOf reads the actions of the first of a log's whole lines, none of an empty log.
func actionsOf(f io.ReaderAt, whole int64) ([]string, error) {
	other := errors.New("it does not begin with a decision of a server: is it another file? give one that is new, or a server's log")
	if whole == 0 {
		var b [1]byte
		if n, _ := f.ReadAt(b[:], 0); n > 0 && b[0] != '{' && b[0] != 0 { // a power cut may leave zeros
			return nil, other
		}
		return nil, nil
	}
	first, err := bufio.NewReader(io.NewSectionReader(f, 0, whole)).ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var line struct {
		ID      string   `json:"decision_id"`
		Actions []string `json:"actions"`
		Hash    string   `json:"policy_hash"`
	}
	if err := json.Unmarshal(first, &line); err != nil || line.ID == "" || line.Hash == "" || len(line.Actions) == 0 {
		return nil, other
	}
	return line.Actions, nil
}

// Torn is the number of bytes of a last line without an end that opening set aside.
func (l *Log) Torn() int64 { return l.torn }

// Append appends a line, which ends in a line end, and returns when the system has
// it (for FsyncEach: the disk). After an error nothing of the line is in the file,
// unless the file says otherwise of itself: see [Log.Err].
func (l *Log) Append(line []byte) error {
	l.mu.Lock()
	b := l.pending
	if b == nil {
		if b, l.spare = l.spare, nil; b == nil {
			b = new(batch)
		}
		*b = batch{lines: b.lines[:0]}
		l.pending = b
	}
	b.lines = append(b.lines, line...)
	b.n++
	l.mu.Unlock()

	// The first of the batch to come this far writes it for all.
	l.file.Lock()
	defer l.file.Unlock()
	if !b.written {
		l.mu.Lock()
		l.pending = nil
		l.mu.Unlock()
		b.err = l.write(b.lines)
		b.written, b.left = true, b.n
		if b.err == nil {
			l.lines.Add(int64(b.n))
		}
	}
	err := b.err
	if b.left--; b.left == 0 && cap(b.lines) <= 1<<20 {
		l.mu.Lock()
		l.spare = b
		l.mu.Unlock()
	}
	return err
}

// write writes at the end of the whole lines, and takes back what a failure left.
func (l *Log) write(b []byte) error {
	if l.broken != nil {
		return l.broken
	}
	_, err := l.f.WriteAt(b, l.size)
	l.writes.Add(1)
	if err == nil {
		l.dirty = true
		if l.fsync == FsyncEach {
			err = l.sync()
		}
	}
	if err == nil {
		l.size += int64(len(b))
		return nil
	}
	if cut := l.f.Truncate(l.size); cut != nil && l.broken == nil {
		l.broken = fmt.Errorf("the log cannot be repaired after a failed write: %w", cut)
	}
	return err
}

// sync forces what was written to the disk. After a failure the system may have
// dropped it, and a second try that succeeds would mean nothing (fsyncgate): the
// log takes no more.
func (l *Log) sync() error {
	if !l.dirty || l.broken != nil {
		return l.broken
	}
	l.dirty = false
	l.fsyncs.Add(1)
	if err := l.f.Sync(); err != nil {
		l.broken = fmt.Errorf("fsync of the log failed: %w", err)
	}
	return l.broken
}

// syncEverySecond is sync, but does not hold the lock while the disk works.
func (l *Log) syncEverySecond() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		l.file.Lock()
		due := l.dirty && l.broken == nil
		l.dirty = false
		l.file.Unlock()
		if !due {
			continue
		}
		l.fsyncs.Add(1)
		if err := l.f.Sync(); err != nil {
			l.file.Lock()
			l.broken = fmt.Errorf("fsync of the log failed: %w", err)
			l.file.Unlock()
		}
	}
}

// Err says why the log takes no more lines, or nil.
func (l *Log) Err() error {
	l.file.Lock()
	defer l.file.Unlock()
	return l.broken
}

// Close forces the log to the disk and closes it.
func (l *Log) Close() error {
	close(l.stop)
	l.stopped.Wait()
	l.file.Lock()
	defer l.file.Unlock()
	err := l.sync()
	if l.broken == nil {
		l.broken = errors.New("the log is closed")
	}
	return errors.Join(err, l.f.Close(), l.lock.Unlock())
}

package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Fsync says when what was written to a log is forced to the disk.
type Fsync string

// The server writes every decision to the file before it answers. So an answered decision survives the death of the
// process (kill -9) under each of these. They differ in what a power cut or a crash of the system may lose.
const (
	FsyncEach     Fsync = "each"     // nothing: decisions wait for the disk, together
	FsyncInterval Fsync = "interval" // the last second
	FsyncNever    Fsync = "never"    // what the system has not written by itself, half a minute or so
)

// LogOptions says how a log is kept. Fsync must be set; zero values of the others are useful.
type LogOptions struct {
	Fsync Fsync // FsyncEach, FsyncInterval or FsyncNever
	// MaxBytes limits the file. The log renames a full one to its path and .000001, .000002 and so on, and begins a
	// new one. 0: no limit.
	MaxBytes int64
	// MaxTotal limits the file and the renamed ones together. The log never deletes decisions: above the limit it
	// refuses new ones until files are moved away. 0: no limit.
	MaxTotal int64
	Logger   *slog.Logger // is told what befalls the log; nil: nobody
}

// Log appends decisions to a file, one record per line, for many goroutines. Records that come while another write is
// under way are written together, as a batch: under load one write, and one fsync, serves many decisions.
//
// Rename the file to rotate it: the log goes on in a new file at its path, within a second. Removing or truncating the
// file loses the decisions in it.
type Log struct {
	path string
	o    LogOptions
	torn int64

	queue   sync.Mutex // of kind, pending and spare
	kind    string     // what its decisions are among, where actions have features; "": not known yet
	pending *batch     // collects the next batch; nil: nobody waits
	spare   *batch     // a batch to use again

	file      sync.Mutex // of what follows
	actions   []string   // of its first decision; nil: it has none
	segment   *segment
	renamed   int64 // bytes of the segments that were full and renamed
	unsynced  error // an fsync failed: no more can be written
	failing   error // why the last write failed; decisions are refused until a write of our own succeeds
	unrotated bool  // a full segment could not be renamed, and was reported

	writes, fsyncs, lines, opens atomic.Int64
	stop                         chan struct{}
	flush                        chan struct{} // asks for a stretch to be handed to the disk
	stopped                      sync.WaitGroup
}

// batch collects records that are written together. Log.file guards written, left and err.
type batch struct {
	lines   []byte
	n       int // appenders
	written bool
	left    int // appenders that do not know the outcome yet
	err     error
}

// OpenLog opens the log at a path for appending, or creates it, and locks it against other processes.
//
// If a process died during a write, the last line has no end. Its decision was never answered, so OpenLog moves it to
// the end of path + ".torn"; see [Log.Torn]. It refuses a file that does not begin with a decision, and leaves it as it
// is. It skips zeros, which truncating a file during a write may leave.
func OpenLog(path string, o LogOptions) (*Log, error) {
	if !slices.Contains([]Fsync{FsyncEach, FsyncInterval, FsyncNever}, o.Fsync) {
		return nil, fmt.Errorf("setting fsync %q: want %s, %s or %s", o.Fsync, FsyncEach, FsyncInterval, FsyncNever)
	}
	if o.MaxBytes < 0 || o.MaxTotal < 0 {
		return nil, errors.New("setting log-max-bytes, setting log-max-total: want 0 or more")
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	l := &Log{path: path, o: o, segment: &segment{path: path, mode: 0o666}, stop: make(chan struct{}),
		flush: make(chan struct{}, 1)}
	if err := l.open(); err != nil {
		return nil, err
	}
	l.renamed = l.rotated(nil)
	l.stopped.Go(l.everySecond)
	return l, nil
}

// open opens the file that is at the path now as the next segment.
func (l *Log) open() error {
	s, torn, err := openSegment(l.path, l.segment.mode, l.fits)
	if s != nil {
		l.segment = s
		l.torn += torn
		l.opens.Add(1)
	}
	return err
}

// fits refuses a file with decisions of another kind, or among other actions, than those so far: join could not read
// them as one log.
func (l *Log) fits(f io.ReaderAt, whole int64) error {
	actions, kind, err := actionsOf(f, whole)
	if err != nil {
		return err
	}
	if err := l.admit(kind); err != nil {
		return err
	}
	if l.actions == nil {
		l.actions = actions
	} else if actions != nil && !slices.Equal(actions, l.actions) {
		return otherActions(actions, l.actions)
	}
	return nil
}

// otherActions is the error of a log that holds decisions among other actions.
func otherActions(has, want []string) error {
	if len(has) == 0 || len(want) == 0 {
		return errors.New("in its decisions actions have features and the policy's have none, or the other way " +
			"round: " +
			"give a log of its own")
	}
	return fmt.Errorf("its decisions are among other actions, %q instead of %q: give a log of its own", has, want)
}

// among fixes the actions that all decisions of the log are among, and refuses others than it has already.
func (l *Log) among(actions []string) error {
	l.file.Lock()
	defer l.file.Unlock()
	if l.actions != nil && !slices.Equal(l.actions, actions) {
		return fmt.Errorf("%s: %w", l.path, otherActions(l.actions, actions))
	}
	l.actions = actions
	return nil
}

// What a decision is among, where actions have features. A log holds decisions of one kind, as join reads it as one.
const (
	described = "actions that requests describe"
	offered   = "actions of the catalogue that requests offer"
	all       = "all actions of the catalogue"
)

// admit refuses a decision of another kind than the log's first.
func (l *Log) admit(kind string) error {
	l.queue.Lock()
	defer l.queue.Unlock()
	l.kind = cmp.Or(l.kind, kind)
	if kind != "" && kind != l.kind {
		return fmt.Errorf("the decision would be among %s, those in the log are among %s: they could not be read "+
			"as one; "+
			"a server with a log of its own takes it", kind, l.kind)
	}
	return nil
}

// Torn returns how many bytes of unfinished last lines opening has set aside.
func (l *Log) Torn() int64 { return l.torn }

// Append appends a line with its line end, and returns when the system has it (with FsyncEach: the disk). After an
// error nothing of the line is in the file; see [Log.Err].
func (l *Log) Append(line []byte) error {
	l.queue.Lock()
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
	l.queue.Unlock()
	runtime.Gosched() // those that can go on by now join the batch

	// The first of the batch to come this far writes it for all.
	l.file.Lock()
	defer l.file.Unlock()
	if !b.written {
		l.queue.Lock()
		l.pending = nil
		l.queue.Unlock()
		if b.err = cmp.Or(l.failing, l.unsynced); b.err == nil {
			var next error
			b.err, next = l.write(b.lines)
			l.outcome(cmp.Or(b.err, next))
		}
		b.written, b.left = true, b.n
		if b.err == nil {
			l.lines.Add(int64(b.n))
		}
	}
	err := b.err
	if b.left--; b.left == 0 && cap(b.lines) <= 1<<20 {
		l.queue.Lock()
		l.spare = b
		l.queue.Unlock()
	}
	return err
}

// outcome notes whether writing fails, and reports each change once.
func (l *Log) outcome(err error) {
	switch {
	case err != nil && l.failing == nil:
		l.o.Logger.Error("decisions cannot be logged, and are refused until they can: "+err.Error(), "log", l.path)
	case err == nil && l.failing != nil:
		l.o.Logger.Info("decisions are logged again", "log", l.path)
	}
	l.failing = err
}

// write writes a batch. It begins a new file if the segment is full, and writes the batch again if the file was removed
// or truncated meanwhile. next is why the log takes no further batch, although it took this one.
func (l *Log) write(b []byte) (err, next error) {
	if l.o.MaxBytes > 0 && l.segment.size > 0 && l.segment.size+int64(len(b)) > l.o.MaxBytes {
		if err := l.rotate(); err != nil {
			return err, nil
		}
	}
	if err := l.within(len(b)); err != nil {
		return err, nil
	}
	for range 10 {
		if err := l.append(b); err != nil {
			return err, nil
		}
		switch lost, err := l.follow(false); {
		case !lost:
			return nil, err
		case err != nil:
			return err, nil
		}
	}
	return fmt.Errorf("%s: the file is taken away again and again", l.path), nil
}

// within refuses so many bytes more if they would exceed MaxTotal. It looks again at the renamed files, which may have
// been moved away.
func (l *Log) within(n int) error {
	if l.o.MaxTotal == 0 || l.segment.size+l.renamed+int64(n) <= l.o.MaxTotal {
		return nil
	}
	if l.renamed = l.rotated(nil); l.segment.size+l.renamed+int64(n) <= l.o.MaxTotal {
		return nil
	}
	return fmt.Errorf("%s and the files it was renamed to take %d bytes, the limit is %d: move those that have "+
		"been joined",
		l.path, l.segment.size+l.renamed, l.o.MaxTotal)
}

// append writes to the segment, whether or not it is still at the path, and syncs it with FsyncEach.
func (l *Log) append(b []byte) error {
	l.writes.Add(1)
	s := l.segment
	if err := s.append(b); err != nil {
		return err
	}
	switch {
	case l.o.Fsync == FsyncEach:
		if err := l.sync(); err != nil {
			s.size -= int64(len(b))
			return errors.Join(err, s.cut())
		}
	case l.o.Fsync == FsyncInterval && s.size-s.flushed > stretch:
		select {
		case l.flush <- struct{}{}:
		default:
		}
	}
	return nil
}

// follow goes on in a new segment if the file was renamed or removed, and at the new end of a file that was truncated.
// lost reports that the file may have taken the last batch with it, so that write must repeat it.
func (l *Log) follow(now bool) (lost bool, err error) {
	moved := l.segment.moved(now)
	size, gone, err := state(l.segment.f) // after the path, lest a file that is removed in between counts as renamed
	switch {
	case err != nil:
		return false, err
	case !moved && !gone && size >= l.segment.size:
		return false, nil
	case gone || size < l.segment.size:
		lost = true
		l.o.Logger.Warn("the log was removed or truncated, and the decisions in it are lost: rename a log to "+
			"rotate it", "log", l.path)
	}
	if !moved && !gone {
		return lost, l.segment.truncated(size)
	}
	if err := l.sync(); err != nil {
		return lost, err
	}
	l.segment.release()
	if err := l.open(); err != nil {
		return lost, err
	}
	l.o.Logger.Info("the log was opened again", "log", l.path)
	return lost, nil
}

// rotated returns the size of the files that the log was renamed to, compressed ones included, and calls use, if not
// nil, with their numbers.
func (l *Log) rotated(use func(n int)) (size int64) {
	files, _ := os.ReadDir(filepath.Dir(l.path)) // if not, there are none to be seen
	for _, e := range files {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(l.path)+".")
		digits, _, _ := strings.Cut(rest, ".")
		n, err := strconv.ParseUint(digits, 10, 31)
		if !ours || err != nil {
			continue
		}
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		if use != nil {
			use(int(n))
		}
	}
	return size
}

// rotate renames the full segment and opens the next one. A segment that cannot be renamed grows: decisions matter more
// than its size.
func (l *Log) rotate() error {
	if _, err := l.follow(true); err != nil { // lest another file is renamed
		return err
	}
	if err := l.sync(); err != nil {
		return err
	}
	last := 0
	l.renamed = l.rotated(func(n int) { last = max(last, n) })
	if err := os.Rename(l.path, fmt.Sprintf("%s.%06d", l.path, last+1)); err != nil {
		if !l.unrotated {
			l.o.Logger.Warn("the log cannot be renamed, and grows: "+err.Error(), "log", l.path)
		}
		l.unrotated = true
		return nil
	}
	l.unrotated = false
	l.renamed += l.segment.size
	l.segment.release()
	return l.open()
}

// sync forces what was written to the disk. After a failure the system may have dropped it, and a second try that
// succeeds would prove nothing ("fsyncgate"). So the log takes no more decisions.
func (l *Log) sync() error {
	if !l.segment.unsynced || l.unsynced != nil {
		return l.unsynced
	}
	l.segment.unsynced = false
	l.fsyncs.Add(1)
	return l.synced(l.segment.f.Sync())
}

// synced notes the outcome of an fsync.
func (l *Log) synced(err error) error {
	if err != nil {
		l.unsynced = fmt.Errorf("fsync of the log failed, start the server again once the disk is sound: %w", err)
	}
	return l.unsynced
}

// everySecond syncs the log, follows its file, and probes a file that failed. It holds no lock while the disk works, so
// that decisions go on. Between the seconds it hands stretches of the file to the disk, which leaves little to fsync.
func (l *Log) everySecond() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-l.flush:
			l.file.Lock()
			s := l.segment
			f, from := s.f, s.flushed
			n := (s.size - stretch/16 - from) &^ 0xffff // not the pages that are written to next, which would wait
			s.flushed += max(0, n)
			l.file.Unlock()
			if f != nil && n > 0 {
				writeOut(f, from, n)
			}
			continue
		case <-tick.C:
		}
		l.file.Lock()
		s := l.segment
		f, due := s.f, s.unsynced && l.failing == nil && l.o.Fsync == FsyncInterval
		s.unsynced = s.unsynced && !due
		l.file.Unlock()
		var err error
		if due {
			l.fsyncs.Add(1)
			err = f.Sync()
		}
		l.file.Lock()
		if err != nil && l.segment.f == f { // else it was synced and closed
			_ = l.synced(err) // check returns it
		}
		if err := l.check(false); err != nil || l.failing != nil {
			l.outcome(err)
		}
		l.file.Unlock()
	}
}

// Reopen looks at once whether the file was renamed, and then goes on in a new one.
func (l *Log) Reopen() error {
	l.file.Lock()
	defer l.file.Unlock()
	err := l.check(true)
	if err != nil || l.failing != nil {
		l.outcome(err)
	}
	return err
}

// check follows the file. If a write has failed, it tries whether the file can be written to again.
func (l *Log) check(now bool) error {
	if l.unsynced != nil {
		return l.unsynced
	}
	if l.segment.f == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if _, err := l.follow(now); err != nil || l.failing == nil {
		return err
	}
	if err := l.within(1); err != nil {
		return err
	}
	// Some bytes are written and removed, to learn whether the disk takes records again.
	_, err := l.segment.f.Write(bytes.Repeat([]byte{' '}, spareRoom))
	return errors.Join(err, l.segment.cut())
}

// Err returns why the log takes no decisions at the moment, or nil.
func (l *Log) Err() error {
	l.file.Lock()
	defer l.file.Unlock()
	return l.failing
}

// Close forces the log to the disk and closes it.
func (l *Log) Close() error {
	close(l.stop)
	l.stopped.Wait()
	l.file.Lock()
	defer l.file.Unlock()
	err := cmp.Or(l.failing, l.unsynced)
	l.failing = errors.New("the log is closed")
	if l.segment.f == nil {
		return err
	}
	return errors.Join(l.sync(), l.segment.f.Close(), l.segment.lock.Unlock())
}

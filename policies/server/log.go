package server

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

	"github.com/gofrs/flock"

	"opl/policies/policyfile"
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

// LogOptions says how a log is kept. The zero value of all but Fsync will do.
type LogOptions struct {
	Fsync Fsync
	// MaxBytes is how large the file becomes: a full one is renamed to its path and .000001,
	// .000002 and so on, and a new one begun. 0: no limit.
	MaxBytes int64
	// MaxTotal is what the file and those that were renamed may take together. What was
	// answered is never deleted: above this decisions are refused, until files are moved away.
	// 0: no limit.
	MaxTotal int64
	Logger   *slog.Logger // is told what befalls the log; nil: nobody
}

// Log is a file of decisions, one a line, that many goroutines append to. Lines
// that come while another write is under way are written together.
//
// That the file is removed or truncated is noticed at the next write, that it is renamed soon after, both
// within a second: the log goes on in a file of its path. What was written in the last
// seconds is written once more after a removal or a truncation, since a copy that was made
// before (logrotate's copytruncate) may lack it: the same line may be in two files.
type Log struct {
	path string
	o    LogOptions
	torn int64
	has  []string // actions of its first decision; nil: it has none

	mu      sync.Mutex // of kind, pending and spare
	kind    string     // what its decisions are among, where actions have features; "": not known yet
	pending *batch     // nil: none waits
	spare   *batch     // to be used again

	file    sync.Mutex // of what follows
	f       *os.File   // nil: it could not be opened again
	mode    fs.FileMode
	lock    *flock.Flock
	size    int64 // of whole lines
	others  int64 // of the files that it was renamed to
	dirty   bool  // written since the last fsync
	begun   int64 // what was handed to everySecond to write out
	broken  error // an fsync failed: nothing can be written any more
	recent  recent
	owed    int       // parts of what is recent that have to be written again: 2, 1 (the older) or none
	looked  time.Time // when the file was compared with its path
	failing error     // why the last write failed; others are not tried until one of our own succeeds
	stuck   bool      // a full file could not be renamed

	writes, fsyncs, lines, opens atomic.Int64
	stop                         chan struct{}
	out                          chan struct{} // there is much to be written out
	stopped                      sync.WaitGroup
}

// recent is what was written in the last seconds: at least those of recentTime, unless that
// is more than recentBytes. It is kept in parts, since a slice that grows is copied, which takes long.
type recent struct {
	now, before, spare [][]byte
	bytes              int // of now
	since              time.Time
}

const (
	recentTime  = 5 * time.Second
	recentBytes = 16 << 20
	lookAgain   = 20 * time.Millisecond
	stretch     = 1 << 20  // bytes that are written out together, so that an fsync has little left to do at once
	spareRoom   = 64 << 10 // bytes for which there must be room before a log that was full goes on
)

func (r *recent) add(b []byte) {
	if t := time.Now(); t.Sub(r.since) > recentTime || r.bytes > recentBytes {
		r.spare = append(r.spare, r.before...)
		r.now, r.before, r.bytes, r.since = r.before[:0], r.now, 0, t
	}
	last := len(r.now) - 1
	if last < 0 || len(r.now[last])+len(b) > cap(r.now[last]) {
		part := make([]byte, 0, max(stretch, len(b)))
		if n := len(r.spare) - 1; n >= 0 && len(b) <= cap(r.spare[n]) {
			part, r.spare = r.spare[n][:0], r.spare[:n]
		}
		r.now = append(r.now, part)
		last++
	}
	r.now[last] = append(r.now[last], b...)
	r.bytes += len(b)
}

// takeBack is for what was added last, of n bytes.
func (r *recent) takeBack(n int) {
	last := &r.now[len(r.now)-1]
	*last = (*last)[:len(*last)-n]
	r.bytes -= n
}

// forget is for a new file: what is in others is not lost with it.
func (r *recent) forget() {
	r.spare = slices.Concat(r.spare, r.now, r.before)
	r.now, r.before, r.bytes = r.now[:0], r.before[:0], 0
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
// see [Log.Torn]. A file that does not begin with a decision is refused, and left as it is;
// zeros, which truncating a file that is written to may leave, are passed over.
func OpenLog(path string, o LogOptions) (*Log, error) {
	if !slices.Contains([]Fsync{FsyncEach, FsyncInterval, FsyncNever}, o.Fsync) {
		return nil, fmt.Errorf("fsync %q: want %s, %s or %s", o.Fsync, FsyncEach, FsyncInterval, FsyncNever)
	}
	if o.MaxBytes < 0 || o.MaxTotal < 0 {
		return nil, errors.New("a log cannot be smaller than nothing")
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	l := &Log{path: path, o: o, mode: 0o666, stop: make(chan struct{}), out: make(chan struct{}, 1)}
	if err := l.open(); err != nil {
		return nil, err
	}
	l.others = l.rotated(nil)
	l.stopped.Go(l.everySecond)
	return l, nil
}

// open opens the file that is at the path by now.
func (l *Log) open() error {
	for range 10 {
		f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, l.mode)
		if err != nil {
			return err
		}
		lock := flock.New(l.path, flock.SetFlag(os.O_RDWR))
		same, err := l.take(f, lock)
		if err == nil && same {
			l.f, l.lock = f, lock
			l.opens.Add(1)
			return wholefile.SyncFolder(filepath.Dir(l.path))
		}
		if err = errors.Join(err, f.Close(), lock.Unlock()); err != nil {
			return fmt.Errorf("%s: %w", l.path, err)
		}
	}
	return fmt.Errorf("%s: the file is replaced again and again", l.path)
}

// take locks a file that was opened and finds its end. It reports that it is not at the path any more.
func (l *Log) take(f *os.File, lock *flock.Flock) (same bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("no regular file: its end cannot be repaired after a write that fails")
	}
	switch held, err := lock.TryLock(); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("locking: %w", err)
	case !held:
		return false, errors.New("another process writes this log: every server needs its own")
	}
	if now, err := os.Stat(l.path); err != nil || !os.SameFile(now, info) {
		return false, nil
	}
	whole, err := wholeLines(f, info.Size())
	if err != nil {
		return false, err
	}
	has, kind, err := actionsOf(f, whole)
	if err != nil {
		return false, err
	}
	if err := l.admit(kind); err != nil {
		return false, err
	}
	if l.has == nil {
		l.has = has
	} else if has != nil && !slices.Equal(has, l.has) {
		return false, otherActions(has, l.has)
	}
	if torn := info.Size() - whole; torn > 0 {
		l.torn += torn
		rest := bufio.NewReader(io.NewSectionReader(f, whole, torn))
		if err := skipZeros(rest); err == nil {
			err = wholefile.SetAside(l.path+".torn", info.Mode().Perm(), rest)
			if err != nil {
				return false, err
			}
		} else if err != io.EOF {
			return false, err
		}
		if err := f.Truncate(whole); err != nil {
			return false, err
		}
	}
	l.size, l.begun, l.mode, l.dirty = whole, whole, info.Mode().Perm(), false
	return true, f.Sync()
}

func otherActions(has, want []string) error {
	if len(has) == 0 || len(want) == 0 {
		return errors.New("in its decisions actions have features and the policy's have none, or the other way round: give a log of its own")
	}
	return fmt.Errorf("its decisions are among other actions, %q instead of %q: give a log of its own", has, want)
}

// among says which actions the log's decisions are among.
func (l *Log) among(actions []string) error {
	l.file.Lock()
	defer l.file.Unlock()
	if l.has != nil && !slices.Equal(l.has, actions) {
		return fmt.Errorf("%s: %w", l.path, otherActions(l.has, actions))
	}
	l.has = actions
	return nil
}

// What decisions are among, where actions have features: a log of one is read as one.
const (
	described = "actions that requests describe"
	offered   = "actions of the catalogue that requests offer"
	all       = "all actions of the catalogue"
)

// admit says whether a decision of that kind may be among the log's.
func (l *Log) admit(kind string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kind = cmp.Or(l.kind, kind)
	if kind != "" && kind != l.kind {
		return fmt.Errorf("the decision would be among %s, those in the log are among %s: they could not be read as one; a server with a log of its own takes it", kind, l.kind)
	}
	return nil
}

// skipZeros goes to the first byte that is not 0.
func skipZeros(r *bufio.Reader) error {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return r.UnreadByte()
		}
	}
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

// logged is what is read of a line of the log.
type logged struct {
	ID           string          `json:"decision_id"`
	Context      json.RawMessage `json:"context"`
	Action       string          `json:"action"`
	Propensity   float64         `json:"propensity"`
	Propensities []float64       `json:"propensities"`
	Actions      json.RawMessage `json:"actions"`
	Offered      json.RawMessage `json:"offered"`
	Top          []ranked        `json:"top"`
	Unknown      int             `json:"unknown"`
	Catalogue    string          `json:"catalogue"`
	Hash         string          `json:"policy_hash"`
}

// names are the actions of a line of a policy whose actions have no features; an error of one whose have.
func (d *logged) names() (names []string, err error) {
	if d.Actions == nil {
		return nil, errors.New("no actions")
	}
	return names, json.Unmarshal(d.Actions, &names)
}

// sets stands for the actions of a log whose actions have features: no two rows need offer the same.
var sets = []string{}

// among are the actions that a log of a policy is among.
func among(p *policyfile.Policy) []string {
	if p.HasItems() {
		return sets
	}
	return p.Actions()
}

// actionsOf reads the actions of the first decision of a log's whole lines, or of what kind it is,
// none of an empty log. Decisions begin in its first lines, of which some may be damaged.
func actionsOf(f io.ReaderAt, whole int64) (names []string, kind string, err error) {
	other := errors.New("it does not begin with a decision of a server: is it another file? give one that is new, or a server's log")
	if whole == 0 {
		var b [1]byte
		if n, _ := f.ReadAt(b[:], 0); n > 0 && b[0] != '{' && b[0] != 0 { // a power cut may leave zeros
			return nil, "", other
		}
		return nil, "", nil
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, whole), 1<<16)
	for read := 0; read < 4<<20; {
		if err := skipZeros(r); err == io.EOF {
			break
		} else if err != nil {
			return nil, "", err
		}
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		read += len(line)
		object, _, err := wholefile.Unseal(line[:len(line)-1])
		var d logged
		if err != nil || json.Unmarshal(object, &d) != nil || d.ID == "" || d.Hash == "" {
			continue
		}
		if names, err := d.names(); err == nil && len(names) > 0 {
			return names, "", nil
		}
		if c, ok := d.choice(); ok {
			return sets, c.kind(), nil
		}
	}
	return nil, "", other
}

// Torn is the number of bytes of a last line without an end that opening set aside.
func (l *Log) Torn() int64 { return l.torn }

// Append appends a line, which ends in a line end, and returns when the system has
// it (for FsyncEach: the disk). After an error nothing of the line is in the file; see
// [Log.Err].
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
	runtime.Gosched() // those that can go on by now join the batch

	// The first of the batch to come this far writes it for all.
	l.file.Lock()
	defer l.file.Unlock()
	if !b.written {
		l.mu.Lock()
		l.pending = nil
		l.mu.Unlock()
		if b.err = cmp.Or(l.failing, l.broken); b.err == nil {
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
		l.mu.Lock()
		l.spare = b
		l.mu.Unlock()
	}
	return err
}

// outcome keeps and tells that writing fails, and that it does so no longer.
func (l *Log) outcome(err error) {
	switch {
	case err != nil && l.failing == nil:
		l.o.Logger.Error("decisions cannot be logged, and are refused until they can: "+err.Error(), "log", l.path)
	case err == nil && l.failing != nil:
		l.o.Logger.Info("decisions are logged again", "log", l.path)
	}
	l.failing = err
}

// write writes at the end of the whole lines, and takes back what a failure left. next is why
// no more can be written, although this was.
func (l *Log) write(b []byte) (err, next error) {
	if l.o.MaxBytes > 0 && l.size > 0 && l.size+int64(len(b)) > l.o.MaxBytes {
		if err := l.rotate(); err != nil {
			return err, nil
		}
	}
	if err := l.room(len(b)); err != nil {
		return err, nil
	}
	if err := l.append(b); err != nil {
		return err, nil
	}
	l.recent.add(b)
	if next = l.follow(); next != nil && l.owed == 2 { // it may be lost
		l.recent.takeBack(len(b))
		return next, nil
	}
	return nil, next
}

// room reports that there is none for so many bytes more.
func (l *Log) room(n int) error {
	if l.o.MaxTotal == 0 || l.size+l.others+int64(n) <= l.o.MaxTotal {
		return nil
	}
	if l.others = l.rotated(nil); l.size+l.others+int64(n) <= l.o.MaxTotal {
		return nil
	}
	return fmt.Errorf("%s and the files it was renamed to take %d bytes, the limit is %d: move those that have been joined", l.path, l.size+l.others, l.o.MaxTotal)
}

// append writes to the file, which may be no longer at the path.
func (l *Log) append(b []byte) error {
	_, err := l.f.Write(b)
	l.writes.Add(1)
	if err == nil {
		l.dirty = true
		if l.o.Fsync == FsyncEach {
			err = l.sync()
		}
	}
	if err != nil {
		return errors.Join(err, l.cut())
	}
	if l.size += int64(len(b)); l.size-l.begun > stretch && l.o.Fsync == FsyncInterval {
		select {
		case l.out <- struct{}{}:
		default:
		}
	}
	return nil
}

// cut takes back what is after the whole lines. If it cannot, the file is opened again, which
// does so: what is left of whole lines was not answered.
func (l *Log) cut() error {
	size, _, err := state(l.f)
	if err == nil && size > l.size { // else it was truncated meanwhile
		err = l.f.Truncate(l.size)
	}
	if err != nil {
		l.leave()
	}
	return err
}

// leave gives up the file, for another or for itself when it is opened again.
func (l *Log) leave() {
	_ = errors.Join(l.f.Close(), l.lock.Unlock()) // it was synced, or has failed
	l.f = nil
}

// follow sees to it that the file is still that of the path, and still has what was written to it.
func (l *Log) follow() error {
	for range 10 {
		there := true
		if now := time.Now(); now.Sub(l.looked) > lookAgain {
			l.looked = now
			there = l.there()
		}
		size, lost, err := state(l.f) // after the path, lest what is removed between counts as renamed
		if err != nil {
			return err
		}
		there = there && !lost
		lost = lost || size < l.size
		if lost {
			l.owed = 2
		}
		if there && l.owed == 0 {
			return nil
		}
		l.looked = time.Time{}
		switch {
		case there && lost:
			l.size, l.begun = size, size
			if err := l.endLine(); err != nil {
				return err
			}
			l.o.Logger.Warn("the log was truncated; the decisions of the last seconds are written again", "log", l.path)
		case !there:
			if err := l.sync(); err != nil {
				return err
			}
			if l.owed == 0 {
				l.recent.forget()
			}
			l.leave()
			if err := l.open(); err != nil {
				return err
			}
			l.o.Logger.Info("the log was opened again", "log", l.path)
		}
		if l.owed == 0 {
			return nil
		}
		if err := l.again(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: the file is taken away again and again", l.path)
}

// there reports that the file is that of the path.
func (l *Log) there() bool {
	info, err := l.f.Stat()
	now, there := os.Stat(l.path)
	return err == nil && there == nil && os.SameFile(now, info)
}

// endLine ends a line that a truncation has cut off.
func (l *Log) endLine() error {
	var last [1]byte
	if l.size > 0 {
		if _, err := l.f.ReadAt(last[:], l.size-1); err != nil {
			return err
		}
	}
	if l.size == 0 || last[0] == '\n' {
		return nil
	}
	return l.append([]byte{'\n'})
}

// again writes what was written in the last seconds, the latest first: no copy is likely to have it.
func (l *Log) again() error {
	for ; l.owed > 0; l.owed-- {
		parts := l.recent.before
		if l.owed == 2 {
			parts = l.recent.now
		}
		for _, b := range parts {
			if len(b) == 0 {
				continue
			}
			if err := l.append(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// rotated hands the numbers of the files that the log was renamed to to use, compressed ones
// included, and is their size.
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

// rotate renames the file and begins another. If it cannot be renamed, it goes on.
func (l *Log) rotate() error {
	l.looked = time.Time{} // lest another file is renamed
	if err := l.follow(); err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return err
	}
	last := 0
	l.others = l.rotated(func(n int) { last = max(last, n) })
	if err := os.Rename(l.path, fmt.Sprintf("%s.%06d", l.path, last+1)); err != nil {
		if !l.stuck {
			l.o.Logger.Warn("the log cannot be renamed, and grows: "+err.Error(), "log", l.path)
		}
		l.stuck = true
		return nil
	}
	l.stuck = false
	l.others += l.size
	l.recent.forget()
	l.leave()
	return l.open()
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
	return l.unsafe(l.f.Sync())
}

func (l *Log) unsafe(err error) error {
	if err != nil {
		l.broken = fmt.Errorf("fsync of the log failed, start the server again once the disk is sound: %w", err)
	}
	return l.broken
}

// everySecond forces the log to the disk, of which it begins much of it sooner, without holding the lock while the disk works, follows
// its file, and tries whether one that failed can be written to.
func (l *Log) everySecond() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-l.out:
			l.file.Lock()
			f, from, n := l.f, l.begun, (l.size-stretch/16-l.begun)&^0xffff // not the pages that are written to next, which would wait
			l.begun += max(0, n)
			l.file.Unlock()
			if f != nil && n > 0 {
				writeOut(f, from, n)
			}
			continue
		case <-tick.C:
		}
		l.file.Lock()
		f, due := l.f, l.dirty && l.failing == nil && l.o.Fsync == FsyncInterval
		l.dirty = l.dirty && !due
		l.file.Unlock()
		var err error
		if due {
			l.fsyncs.Add(1)
			err = f.Sync()
		}
		l.file.Lock()
		if err != nil && l.f == f { // else it was synced and closed
			_ = l.unsafe(err) // check returns it
		}
		if err := l.check(); err != nil || l.failing != nil {
			l.outcome(err)
		}
		l.file.Unlock()
	}
}

// Reopen follows the file at once: one that was renamed is left for a new one.
func (l *Log) Reopen() error {
	l.file.Lock()
	defer l.file.Unlock()
	l.looked = time.Time{}
	err := l.check()
	if err != nil || l.failing != nil {
		l.outcome(err)
	}
	return err
}

// check follows the file, and writes and takes back some bytes if a write has failed.
func (l *Log) check() error {
	if l.broken != nil {
		return l.broken
	}
	if l.f == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if err := l.follow(); err != nil || l.failing == nil {
		return err
	}
	if err := l.room(1); err != nil {
		return err
	}
	_, err := l.f.Write(bytes.Repeat([]byte{' '}, spareRoom))
	return errors.Join(err, l.cut())
}

// Err says why the log takes no lines at the moment, or nil.
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
	err := cmp.Or(l.failing, l.broken)
	l.failing = errors.New("the log is closed")
	if l.f == nil {
		return err
	}
	return errors.Join(l.sync(), l.f.Close(), l.lock.Unlock())
}

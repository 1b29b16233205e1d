package experiment

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"opl/policies/wholefile"
	"opl/train"
)

// Names of the files of a store.
const (
	ResultsFile = "runs.jsonl" // a record a line
	TornFile    = "runs.torn"  // what was cut off the end of the results
	lockFile    = ".runs.lock" // held while a store is open
)

// Store keeps records in a folder, one a line of JSON in ResultsFile, with a checksum, see
// [wholefile.Seal]. A record is
// on the disk when Add returns, so that the end of the process at any moment costs
// at most the runs under way. One process at a time can hold a store.
type Store struct {
	path  string
	file  *os.File
	lock  *flock.Flock
	lines []line
	keys  map[string]bool
	notes []string
}

// line is a record with the line of the file that it stands in.
type line struct {
	number int
	rec    train.Record
}

// OpenStore opens the store of a folder, and makes both if need be. A line that
// was being written when a process ended is cut off and kept in TornFile. See
// Notes for this and for other lines that cannot be used.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	switch held, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("results: locking %s: %w", lock.Path(), err)
	case !held:
		return nil, fmt.Errorf("results: another process writes to %s: wait for it, or give another folder", dir)
	}
	s := &Store{path: filepath.Join(dir, ResultsFile), lock: lock, keys: map[string]bool{}}
	if err := s.open(dir); err != nil {
		s.Close()
		return nil, fmt.Errorf("results: %w", err)
	}
	return s, nil
}

func (s *Store) open(dir string) error {
	text, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err != nil {
		return err
	}
	if err := wholefile.SyncFolder(dir); err != nil {
		return err
	}
	if end := bytes.LastIndexByte(text, '\n') + 1; end < len(text) {
		if text, err = s.mend(dir, text, end); err != nil {
			return err
		}
	}
	s.read(s.path, text)
	return nil
}

// mend sees to a last line without its end: only the end may be missing, else it
// is moved to TornFile.
func (s *Store) mend(dir string, text []byte, end int) ([]byte, error) {
	if _, _, err := parseRecord(text[end:]); err == nil {
		return append(text, '\n'), s.write([]byte{'\n'})
	}
	aside := filepath.Join(dir, TornFile)
	if err := wholefile.SetAside(aside, 0o666, bytes.NewReader(text[end:])); err != nil {
		return nil, err
	}
	number := bytes.Count(text, []byte{'\n'}) + 1
	s.notes = append(s.notes, fmt.Sprintf("%s:%d: a truncated line, moved to %s", s.path, number, aside))
	return text[:end], errors.Join(s.file.Truncate(int64(end)), s.file.Sync())
}

// read takes the records of text, and notes what else is in it.
func (s *Store) read(path string, text []byte) {
	at := map[string]line{}
	number, plain := 0, 0
	for l := range bytes.Lines(text) {
		number++
		whole := bytes.HasSuffix(l, []byte{'\n'})
		l = bytes.TrimSpace(l)
		if len(l) == 0 {
			continue
		}
		note := func(format string, args ...any) {
			s.notes = append(s.notes, fmt.Sprintf("%s:%d: %s", path, number, fmt.Sprintf(format, args...)))
		}
		rec, sealed, err := parseRecord(l)
		key := ""
		if err == nil {
			key = Key(rec.Run)
		}
		first, twice := at[key]
		switch {
		case err != nil && !whole:
			note("a truncated line, ignored")
		case err != nil:
			note("not a record of opl, ignored: %v", err)
		case twice && sameResult(first.rec, rec):
			note("repeats line %d, ignored", first.number)
		case twice:
			note("repeats the run of line %d with another result, ignored", first.number)
		default:
			if !sealed {
				plain++
			}
			at[key] = line{number, rec}
			s.keys[key] = true
			s.lines = append(s.lines, at[key])
		}
	}
	if plain > 0 && !strings.HasSuffix(path, ".gz") { // that has a checksum of its own

		s.notes = append(s.notes, fmt.Sprintf("%s: %d records have no checksum, as older versions wrote them: damage would not be noticed", path, plain))
	}
}

// parseRecord reads a line, strictly, which may have no checksum.
func parseRecord(text []byte) (rec train.Record, sealed bool, err error) {
	object, sealed, err := wholefile.Unseal(bytes.Clone(text))
	if err == nil {
		rec, err = parseObject(object)
	}
	return rec, sealed, err
}

func parseObject(text []byte) (train.Record, error) {
	var rec train.Record
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&rec); err != nil {
		return rec, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return rec, errors.New("more than one value in a line")
	}
	if rec.Dataset == "" || rec.Objective == "" || rec.Policy == "" || rec.DataHash == "" || rec.N <= 0 {
		return rec, errors.New("dataset, objective, policy, n or data_hash is missing")
	}
	return rec, nil
}

// sameResult reports whether two records of a run are equal but for times and
// versions, and for learning curves that one of them lacks.
func sameResult(a, b train.Record) bool {
	if a.Curve == nil || b.Curve == nil {
		a.Curve, b.Curve = nil, nil
	}
	a.Seconds, b.Seconds = 0, 0
	a.Versions, b.Versions = train.Versions{}, train.Versions{}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Notes says what was found in the file that is not a record, or is one twice,
// with its line. It is left in the file, but for a truncated last line.
func (s *Store) Notes() []string { return s.notes }

// Check reports stored records that were made with other settings than runs of
// plan, or on other data than hash says; whoever mixed them would compare what
// cannot be compared. hash is asked for the data sets of plan.
func (s *Store) Check(plan []train.Run, hash func(dataset string) (string, error)) error {
	hashes := map[string]string{}
	for _, r := range plan {
		if _, known := hashes[r.Dataset]; !known {
			h, err := hash(r.Dataset)
			if err != nil {
				return err
			}
			hashes[r.Dataset] = h
		}
	}
	if len(plan) == 0 {
		return nil
	}
	differs := agreement(plan)
	for _, l := range s.lines {
		if h, known := hashes[l.rec.Dataset]; known && h != l.rec.DataHash {
			return fmt.Errorf("%s:%d: made on other data than the data set %s at hand (hash %s, not %s): use that data, or give another folder",
				s.path, l.number, l.rec.Dataset, l.rec.DataHash, h)
		}
		if diff := differs(l.rec.Run); diff != "" {
			return fmt.Errorf("%s:%d: %s: use that setting, or give another folder", s.path, l.number, diff)
		}
	}
	return nil
}

// mismatch names the first setting of some scopes in which two runs differ, or is
// empty.
func mismatch(r, want train.Run, scopes ...train.Scope) string {
	for _, e := range train.AllSettings() {
		if has, wants := e.Of(r.Settings), e.Of(want.Settings); slices.Contains(scopes, e.Scope) && has != wants {
			return fmt.Sprintf("%s has setting %s %s, not %s", Name(r), e.Name, has, wants)
		}
	}
	return ""
}

// agreement is what says in which setting a run differs from those of a plan: from its first
// that learns, if there is one, and, in what hangs on objective and policy, from all of these.
func agreement(plan []train.Run) func(train.Run) string {
	logging := func(r train.Run) bool { return r.Objective == train.LoggingPolicy }
	first := plan[max(0, slices.IndexFunc(plan, func(r train.Run) bool { return !logging(r) }))]
	kind := func(r train.Run) string { return r.Objective + "\n" + r.Policy }
	kinds := map[string][]train.Run{} // with different settings of their own
	own := func(r train.Run) (diff string) {
		for _, want := range kinds[kind(r)] {
			d := mismatch(r, want, train.OfMethod)
			if d == "" {
				return ""
			}
			diff = cmp.Or(diff, d)
		}
		return diff
	}
	for _, r := range plan {
		if !logging(r) && (own(r) != "" || kinds[kind(r)] == nil) {
			kinds[kind(r)] = append(kinds[kind(r)], r)
		}
	}
	return func(r train.Run) string {
		if logging(r) || logging(first) {
			return mismatch(r, first, train.OfProblem)
		}
		return cmp.Or(mismatch(r, first, train.OfProblem, train.OfLearning), own(r))
	}
}

// Missing lists the runs of plan that are not stored.
func (s *Store) Missing(plan []train.Run) []train.Run {
	return slices.DeleteFunc(slices.Clone(plan), func(r train.Run) bool { return s.keys[Key(r)] })
}

// OtherVersions is the number of stored records that other versions of opl, Go or
// the system made.
func (s *Store) OtherVersions(v train.Versions) int {
	n := 0
	for _, l := range s.lines {
		if l.rec.Versions != v {
			n++
		}
	}
	return n
}

// Path is that of the results file.
func (s *Store) Path() string { return s.path }

// Others is the number of stored records that are not of plan.
func (s *Store) Others(plan []train.Run) int {
	others := maps.Clone(s.keys)
	for _, r := range plan {
		delete(others, Key(r))
	}
	return len(others)
}

// Add appends a record and returns when it is on the disk.
func (s *Store) Add(rec train.Record) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("results: %s: %w", Name(rec.Run), err)
	}
	if err := s.write(append(wholefile.Seal(text), '\n')); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	s.keys[Key(rec.Run)] = true
	s.lines = append(s.lines, line{rec: rec})
	return nil
}

// write appends text at once, or not at all if it can be helped.
func (s *Store) write(text []byte) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if _, err = s.file.Write(text); err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		_ = s.file.Truncate(info.Size()) // else the next process mends it
	}
	return err
}

// Records returns what is stored, in an order that does not depend on that of the
// file.
func (s *Store) Records() []train.Record {
	recs := make([]train.Record, len(s.lines))
	for i, l := range s.lines {
		recs[i] = l.rec
	}
	slices.SortFunc(recs, func(a, b train.Record) int { return cmp.Compare(Key(a.Run), Key(b.Run)) })
	return recs
}

// Close ends the writing. The lock goes with it, as it does with the process.
func (s *Store) Close() error {
	if s.lock == nil {
		return nil
	}
	var err error
	if s.file != nil {
		err = s.file.Close()
	}
	return errors.Join(err, s.lock.Unlock())
}

// ReadStore reads a results file, which may be compressed by gzip if its name ends
// in .gz, or that of a folder, without changing anything. The store cannot be added
// to. Records whose settings or data do not agree are an error.
func ReadStore(path string) (*Store, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ResultsFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(z)
		}
		if err != nil {
			return nil, fmt.Errorf("results: %s: %w", path, err)
		}
	}
	s := &Store{path: path, keys: map[string]bool{}}
	s.read(path, text)
	hashes := map[string]string{}
	plan := make([]train.Run, len(s.lines))
	for i, l := range s.lines {
		plan[i] = l.rec.Run
		hashes[l.rec.Dataset] = cmp.Or(hashes[l.rec.Dataset], l.rec.DataHash)
	}
	return s, s.Check(plan, func(dataset string) (string, error) { return hashes[dataset], nil })
}

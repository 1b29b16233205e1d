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

	"github.com/cespare/xxhash/v2"
	"github.com/gofrs/flock"

	"opl/policies/wholefile"
	"opl/train"
)

// Names of the files of a store.
const (
	ResultsFile = "runs.jsonl"  // a record a line
	TimesFile   = "times.jsonl" // the seconds that runs took, which differ where results do not
	TornFile    = "runs.torn"   // lines that were taken out of the results, as they are no records
	lockFile    = ".runs.lock"  // held while a store is open
)

// Store keeps records in a folder, one a line of JSON in ResultsFile, with a checksum, see
// [wholefile.Seal], their seconds in TimesFile. A record is
// on the disk when Add returns, so that the end of the process at any moment costs
// at most the runs under way. One process at a time can hold a store.
type Store struct {
	path  string
	file  *os.File
	lock  *flock.Flock
	lines []line
	bad   [][]byte // lines that are no records, or other results of a run
	keys  map[string]bool
	notes []string
}

// line is a record with the line of the file that it stands in.
type line struct {
	path   string
	number int
	rec    train.Record
}

func (l line) String() string { return fmt.Sprintf("%s:%d", l.path, l.number) }

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
	if err == nil { // else it is created with its first record: an empty file would look like results
		if err := s.append(); err != nil {
			return err
		}
	}
	if end := bytes.LastIndexByte(text, '\n') + 1; end < len(text) {
		if text, err = s.mend(dir, text, end); err != nil {
			return err
		}
	}
	s.read(s.path, text)
	return nil
}

// append opens the file of results for appending, and creates it if need be.
func (s *Store) append() (err error) {
	if s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err != nil {
		return err
	}
	return wholefile.SyncFolder(filepath.Dir(s.path))
}

// mend repairs a last line without its line end. It adds the end if nothing else is missing, else it moves the line to
// TornFile.
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

// read takes the records from text, and notes what is no record.
func (s *Store) read(path string, text []byte) {
	at := map[string]line{}
	times := readTimes(filepath.Join(filepath.Dir(path), TimesFile))
	number, plain := 0, 0
	for l := range bytes.Lines(text) {
		number++
		whole := bytes.HasSuffix(l, []byte{'\n'})
		l = bytes.TrimSpace(l)
		if len(l) == 0 {
			continue
		}
		odd := true
		note := func(format string, args ...any) {
			if odd {
				s.bad = append(s.bad, l)
			}
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
			odd = false
			note("repeats line %d, ignored", first.number)
		case twice:
			note("repeats the run of line %d with another result, ignored", first.number)
		default:
			if !sealed {
				plain++
			}
			rec.Seconds = cmp.Or(rec.Seconds, times[hashOf(key)])
			at[key] = line{path, number, rec}
			s.keys[key] = true
			s.lines = append(s.lines, at[key])
		}
	}
	if plain > 0 && !strings.HasSuffix(path, ".gz") { // that has a checksum of its own

		s.notes = append(s.notes, fmt.Sprintf("%s: %d records have no checksum, as older versions wrote them: "+
			"damage would not be noticed", path, plain))
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
// what made them, and for learning curves that one of them lacks.
func sameResult(a, b train.Record) bool {
	if a.Curve == nil || b.Curve == nil {
		a.Curve, b.Curve = nil, nil
	}
	a.Seconds, b.Seconds = 0, 0
	a.Extensions, b.Extensions = "", ""
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
			return fmt.Errorf("%s: made on other data than the data set %s at hand (hash %s, not %s): use that "+
				"data, or give another folder",
				l, l.rec.Dataset, l.rec.DataHash, h)
		}
		if diff := differs(l.rec.Run); diff != "" {
			return fmt.Errorf("%s: %s: use that setting, or give another folder", l, diff)
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

// agreement returns a function that says in which setting a run differs from those of a plan. Settings of the
// problem and of learning must be those of the plan's first run that learns; settings of a method those of any
// run with the same objective and policy.
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

// OtherVersions returns the number of stored records that other versions of opl, Go or
// the system made, or processors with other extensions.
func (s *Store) OtherVersions(v train.Versions, extensions string) int {
	n := 0
	for _, l := range s.lines {
		if l.rec.Versions != v || l.rec.Extensions != extensions {
			n++
		}
	}
	return n
}

// Path returns the path of the results file.
func (s *Store) Path() string { return s.path }

// Others returns the number of stored records that are not of plan.
func (s *Store) Others(plan []train.Run) int {
	others := maps.Clone(s.keys)
	for _, r := range plan {
		delete(others, Key(r))
	}
	return len(others)
}

// Add appends a record and returns when it is on the disk.
func (s *Store) Add(rec train.Record) error {
	key := Key(rec.Run)
	text, err := sealed(rec)
	if err == nil {
		err = s.write(append(text, '\n'))
	}
	if err == nil {
		err = s.addTimes(map[string]float64{key: rec.Seconds})
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	s.keys[key] = true
	s.lines = append(s.lines, line{path: s.path, rec: rec})
	return nil
}

// sealed returns the line of a record. It leaves out the seconds, so that equal runs have equal lines.
func sealed(rec train.Record) ([]byte, error) {
	text, err := json.Marshal(struct {
		train.Record
		Seconds *float64 `json:"seconds,omitempty"` // in place of the record's
	}{Record: rec})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name(rec.Run), err)
	}
	return wholefile.Seal(text), nil
}

// took is a line of TimesFile.
type took struct {
	Run     string  `json:"run"` // see hashOf
	Seconds float64 `json:"seconds"`
}

// hashOf stands for a key in TimesFile, where a whole key would be long.
func hashOf(key string) string { return fmt.Sprintf("%016x", xxhash.Sum64String(key)) }

// addTimes notes the seconds of runs, by key. It does not wait for the disk: what a crash loses is no result.
func (s *Store) addTimes(seconds map[string]float64) error {
	if len(seconds) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(seconds)) {
		text, err := json.Marshal(took{hashOf(key), seconds[key]})
		if err != nil {
			return err
		}
		b.Write(append(text, '\n'))
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(s.path), TimesFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE,
		0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

// readTimes returns the seconds of runs, by hash. It skips lines that it cannot read.
func readTimes(path string) map[string]float64 {
	text, _ := os.ReadFile(path)
	times := map[string]float64{}
	for l := range bytes.Lines(text) {
		var t took
		if json.Unmarshal(l, &t) == nil && t.Seconds > 0 {
			times[t.Run] = t.Seconds
		}
	}
	return times
}

// Settle writes the records anew in an order of their own, that of Records, so that the file is
// the same to the byte whatever order runs ended in. Lines that are no records go to TornFile.
// The file is replaced whole or not at all.
func (s *Store) Settle() error {
	var b bytes.Buffer
	once := slices.CompactFunc(s.Records(), func(x, y train.Record) bool { return Key(x.Run) == Key(y.Run) })
	for _, rec := range once {
		text, err := sealed(rec)
		if err != nil {
			return fmt.Errorf("results: %w", err)
		}
		b.Write(append(text, '\n'))
	}
	seconds, known := map[string]float64{}, readTimes(filepath.Join(filepath.Dir(s.path), TimesFile))
	for _, rec := range once { // files of before have them in the records
		if key := Key(rec.Run); rec.Seconds > 0 && known[hashOf(key)] == 0 {
			seconds[key] = rec.Seconds
		}
	}
	now, err := os.ReadFile(s.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = s.addTimes(seconds)
	}
	if err == nil && bytes.Equal(now, b.Bytes()) {
		return nil
	}
	if err == nil && len(s.bad) > 0 {
		err = wholefile.SetAside(filepath.Join(filepath.Dir(s.path), TornFile), 0o666,
			bytes.NewReader(bytes.Join(s.bad, []byte{'\n'})))
	}
	if err == nil {
		err = wholefile.WriteBytes(s.path, b.Bytes())
	}
	if err == nil {
		if s.bad = nil; s.file != nil {
			err = s.file.Close()
		}
	}
	if err == nil {
		err = s.append()
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// write appends text at once, or not at all if it can be helped.
func (s *Store) write(text []byte) error {
	if s.file == nil {
		if err := s.append(); err != nil {
			return err
		}
	}
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
	slices.SortStableFunc(recs, func(a, b train.Record) int { return cmp.Compare(Key(a.Run), Key(b.Run)) })
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
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Stat(path + ".gz"); err == nil {
				path += ".gz"
			}
		}
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
	return s, s.agree()
}

// agree refuses records whose settings or data do not agree.
func (s *Store) agree() error {
	hashes := map[string]string{}
	plan := make([]train.Run, len(s.lines))
	for i, l := range s.lines {
		plan[i] = l.rec.Run
		hashes[l.rec.Dataset] = cmp.Or(hashes[l.rec.Dataset], l.rec.DataHash)
	}
	return s.Check(plan, func(dataset string) (string, error) { return hashes[dataset], nil })
}

package experiment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opl/policies/wholefile"
	"opl/train"
	"opl/train/library"
	"opl/train/logs"
)

// planFile stands beside the results of a shard and lists all runs of its grids, so that a merge knows what is missing.
const planFile = "plan.json"

// ShardRuns lists the runs of a plan that shard s has: a stretch of them, so that it makes few logs,
// of about an equal share of the Work. Every run is of one shard, whatever is stored.
func ShardRuns(lib library.Library, plan []train.Run, s logs.Shard) (share []train.Run) {
	for i, of := range shards(lib, plan, s.Of) {
		if of == s.Number {
			share = append(share, plan[i])
		}
	}
	return share
}

// shards returns the shard, 1 to n, of each run. It cuts the work into n equal stretches; a run belongs to the
// stretch that its middle is in.
func shards(lib library.Library, plan []train.Run, n int) []int {
	var total int64
	work := make([]int64, len(plan)) // in milliseconds, for whole numbers are the same everywhere
	for i, r := range plan {
		work[i] = 1 + int64(1000*Work(lib, r, 10_000))
		total += work[i]
	}
	of, before := make([]int, len(plan)), int64(0)
	for i, w := range work {
		of[i] = 1 + int(float64(2*before+w)/float64(2*total)*float64(n))
		before += w
	}
	return of
}

// planned is the content of planFile.
type planned struct {
	Shards int         `json:"shards"`
	Of     []int       `json:"of"` // the shard of each run
	Runs   []train.Run `json:"runs"`
}

// WritePlan notes in a folder of which plan its runs are a shard. A folder that has shards of another plan
// is refused.
func WritePlan(dir string, lib library.Library, plan []train.Run, n int) error {
	p := planned{n, shards(lib, plan, n), plan}
	path := filepath.Join(dir, planFile)
	switch old, err := readPlan(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil: // written anew
	case old.differs(p) != "":
		return fmt.Errorf("%s is of other runs: %s: give another folder", path, old.differs(p))
	}
	return wholefile.WriteSealed(path, p)
}

// readPlan reads a plan. One that is not there is an fs.ErrNotExist.
func readPlan(path string) (p planned, err error) {
	err = wholefile.ReadSealed(path, &p)
	if err == nil && (p.Shards < 1 || len(p.Of) != len(p.Runs)) {
		err = errors.New("it has no shard for every run")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: run the shard again, which writes it anew", path, err)
	}
	return p, err
}

// differs names a run that one of two plans lacks.
func (p planned) differs(q planned) string {
	keys := map[string]bool{}
	for _, r := range p.Runs {
		keys[Key(r)] = true
	}
	for _, r := range q.Runs {
		key := Key(r)
		if !keys[key] {
			for _, has := range p.Runs {
				if diff := mismatch(r, has, train.OfProblem, train.OfLearning, train.OfMethod); diff != "" &&
					Name(r) == Name(has) {
					return diff
				}
			}
			return fmt.Sprintf("it lacks %s", Name(r))
		}
		delete(keys, key)
	}
	for _, r := range p.Runs {
		if keys[Key(r)] {
			return fmt.Sprintf("it has %s, too", Name(r))
		}
	}
	return ""
}

// Merged counts what Merge found.
type Merged struct {
	Records int
	Sources int      // folders with results
	Repeats int      // records of runs that another folder has, too, with the same result
	Damaged int      // lines that are no records
	Missing []string // what shards lack, by shard
	Notes   []string
}

// Sources lists the folders with results or plans of dirs: a folder itself, or those in it.
func Sources(dirs []string) (list []string, err error) {
	has := func(dir string) bool {
		for _, name := range []string{ResultsFile, planFile} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return true
			}
		}
		return false
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("merge: %w", err)
		}
		found := []string{}
		if has(dir) {
			found = []string{dir}
		} else {
			for _, e := range entries {
				if sub := filepath.Join(dir, e.Name()); has(sub) {
					found = append(found, sub)
				}
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("merge: %s has no %s, nor has a folder in it: has its shard begun?", dir,
				ResultsFile)
		}
		for _, f := range found {
			if !slices.ContainsFunc(list, func(g string) bool { return same(f, g) }) {
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// same reports whether two names are of one folder.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// take adds the results of a store to all, by key.
func (m *Merged) take(s *Store, all map[string]line) error {
	m.Notes, m.Damaged = append(m.Notes, s.notes...), m.Damaged+len(s.bad)
	for _, l := range s.lines {
		key := Key(l.rec.Run)
		first, twice := all[key]
		if !twice {
			all[key] = l
			continue
		}
		if !sameResult(first.rec, l.rec) {
			return fmt.Errorf("merge: %s: %s has another result than in %s%s: take one out, or run it again", l,
				Name(l.rec.Run), first, apart(first.rec, l.rec))
		}
		kept, other := first, l
		if preferred(l.rec, first.rec) {
			kept, other = l, first
		}
		kept.rec.Seconds = cmp.Or(kept.rec.Seconds, other.rec.Seconds)
		all[key] = kept
		m.Repeats++
	}
	return nil
}

// Merge puts the results of folders, and of folders in them, together in the folder out, with those
// that it has: see [Store.Settle]. It is done whole or not at all, and again without harm. Runs
// that several have count once. Errors: two results of a run; records or plans that do not go
// together; and, unless partial, runs of the shards' plan that no folder has, and a plan that
// cannot be read.
func Merge(dirs []string, out string, partial bool) (*Store, Merged, error) {
	var m Merged
	dirs, err := Sources(dirs)
	if err != nil {
		return nil, m, err
	}
	dirs = slices.DeleteFunc(dirs, func(d string) bool { return same(d, out) }) // that of out itself
	if _, err := os.Stat(filepath.Join(out, planFile)); err == nil {
		return nil, m, fmt.Errorf("merge: %s is the folder of a shard, whose plan is not that of all results: "+
			"give another folder", out)
	}
	all := map[string]line{} // by key
	var plan *planned
	var planFrom string
	for _, dir := range dirs {
		p, err := readPlan(filepath.Join(dir, planFile))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil && partial:
			m.Notes = append(m.Notes, err.Error())
		case err != nil:
			return nil, m, fmt.Errorf("merge: %w", err)
		case plan == nil:
			plan, planFrom = &p, dir
		case plan.differs(p) != "":
			return nil, m, fmt.Errorf("merge: %s and %s are shards of different runs: of the first, %s", planFrom,
				dir, plan.differs(p))
		}
		s, err := ReadStore(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // begun, and nothing stored
		}
		if err == nil {
			err = m.take(s, all)
		}
		if err != nil {
			return nil, m, err
		}
		m.Sources++
	}
	old, err := ReadStore(out)
	if err == nil {
		err = m.take(old, all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, m, err
	}
	if plan != nil {
		m.Missing = plan.missing(all)
		if len(m.Missing) > 0 && !partial {
			return nil, m, fmt.Errorf("merge: %s: run these again with the same setting shard, or take what "+
				"there is with setting partial", strings.Join(m.Missing, "; "))
		}
	}
	together := &Store{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		together.lines = append(together.lines, all[key])
	}
	if err := together.agree(); err != nil {
		return nil, m, err
	}
	if len(all) == 0 {
		return nil, m, errors.New("merge: there are no results in these folders")
	}
	store, err := OpenStore(out)
	if err != nil {
		return nil, m, err
	}
	if err := store.fill(all); err != nil {
		return nil, m, errors.Join(err, store.Close())
	}
	m.Records = len(all)
	m.Notes = append(m.Notes, kinds(all)...)
	if plan != nil {
		if n := store.Others(plan.Runs); n > 0 {
			m.Notes = append(m.Notes, fmt.Sprintf("%d results are of other grids than the shards, and are kept", n))
		}
	}
	return store, m, nil
}

// apart says how the makers of two records differ: their extensions, or their versions.
func apart(a, b train.Record) string {
	switch {
	case a.Extensions != b.Extensions:
		return fmt.Sprintf(", where the processor has other extensions (%s, %s)", cmp.Or(a.Extensions, "none"),
			cmp.Or(b.Extensions, "none"))
	case a.Versions != b.Versions:
		return fmt.Sprintf(", which another version made (%v, %v)", a.Versions, b.Versions)
	}
	return ""
}

// preferred reports whether to keep a rather than b, two records of one run and result: the one with a learning
// curve, else by an order that does not depend on that of the folders.
func preferred(a, b train.Record) bool {
	if (a.Curve == nil) != (b.Curve == nil) {
		return a.Curve != nil
	}
	x, _ := sealed(a)
	y, _ := sealed(b)
	return bytes.Compare(x, y) < 0
}

// lacking lists the runs of the plan that are not there, by shard.
func (p planned) lacking(there func(key string) bool) map[int][]train.Run {
	lacks := map[int][]train.Run{}
	for i, r := range p.Runs {
		if !there(Key(r)) {
			lacks[p.Of[i]] = append(lacks[p.Of[i]], r)
		}
	}
	return lacks
}

// missing says which runs of the plan are not there, by shard.
func (p planned) missing(all map[string]line) (list []string) {
	lacks := p.lacking(func(key string) bool { _, is := all[key]; return is })
	for _, s := range slices.Sorted(maps.Keys(lacks)) {
		total := 0
		for _, of := range p.Of {
			if of == s {
				total++
			}
		}
		list = append(list, fmt.Sprintf("shard %d/%d lacks %d of %d runs (%s)", s, p.Shards, len(lacks[s]), total,
			Name(lacks[s][0])))
	}
	return list
}

// kinds says how many records are of each version and each set of extensions, if of several.
func kinds(all map[string]line) (notes []string) {
	by := map[string]int{}
	for _, l := range all {
		v := l.rec.Versions
		by[fmt.Sprintf("opl %s %s, %s, %s, extensions %s", v.Opl, v.Commit, v.Go, v.System,
			cmp.Or(l.rec.Extensions, "none"))]++
	}
	if len(by) < 2 {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		notes = append(notes, fmt.Sprintf("%d results are of %s", by[k], k))
	}
	return append(notes, "where versions or extensions differ, results may differ from one machine's in their "+
		"last digits")
}

// fill puts records into an open store in place of its own, all at once.
func (s *Store) fill(all map[string]line) error {
	for _, l := range s.lines { // added since they were read
		if _, is := all[Key(l.rec.Run)]; !is {
			return fmt.Errorf("merge: %s has changed meanwhile: merge again", s.path)
		}
	}
	s.lines, s.keys = nil, map[string]bool{}
	for key, l := range all {
		s.lines, s.keys[key] = append(s.lines, l), true
	}
	return s.Settle()
}

// Standing says how far a plan is whose shards write to folders below one folder.
type Standing struct {
	Shards int   // that the plan is cut into
	Before int   // shards that it was cut into before; 0: it was not
	Done   int   // runs that are stored
	Lack   []int // shards with runs that are not, from 1
	Merged bool  // all are in the folder itself
}

// ShardFolder returns the folder of a shard below the folder, or URL, of the results. number may be a variable
// of an engine that counts shards itself.
func ShardFolder(out string, number any, of int) string {
	return Join(out, "shards", fmt.Sprintf("%v-of-%d", number, of))
}

// Stand says how far a plan is, whose results are to be in the folder out. It is cut into n shards,
// or, if n is 0, into those that it was cut into before, or else 8.
func Stand(lib library.Library, plan []train.Run, out string, n int) (st Standing, err error) {
	done := map[string]bool{}
	read := func(dir string) error {
		s, err := ReadStore(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		maps.Copy(done, s.keys)
		return nil
	}
	if err := read(out); err != nil {
		return st, err
	}
	there := func(key string) bool { return done[key] }
	st.Merged = len(planned{Runs: plan, Of: make([]int, len(plan))}.lacking(there)) == 0
	folders, err := fs.Glob(os.DirFS(out), "shards/*")
	if err != nil {
		return st, err
	}
	for _, dir := range folders {
		dir = filepath.Join(out, dir)
		p, err := readPlan(filepath.Join(dir, planFile))
		if err == nil {
			if diff := p.differs(planned{Runs: plan}); diff != "" {
				return st, fmt.Errorf("%s is of other runs: %s: give another folder", dir, diff)
			}
			st.Before = p.Shards
		} else if !errors.Is(err, fs.ErrNotExist) {
			return st, err
		}
		if err := read(dir); err != nil {
			return st, err
		}
	}
	st.Shards, st.Done = min(cmp.Or(n, st.Before, 8), len(plan)), len(plan)
	lacks := planned{st.Shards, shards(lib, plan, st.Shards), plan}.lacking(there)
	for _, runs := range lacks {
		st.Done -= len(runs)
	}
	st.Lack = slices.Sorted(maps.Keys(lacks))
	return st, nil
}

package logs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"opl/policies/wholefile"
)

// plan holds what the options ask of a reader.
type plan struct {
	o         *Options
	itemsHash uint64            // hash of the catalogue's file
	catalogue *Catalogue        // of all actions; nil: there is none
	renamed   map[string]string // names of the schema, by the file's
	before    map[string]string // the file's, by those of the schema
	taken     map[string]bool   // names of the schema that a column has by renamed alone
}

// names makes the plan of what the options say of names of columns.
func (o *Options) names() (p *plan, err error) {
	p = &plan{o: o, before: map[string]string{}}
	p.renamed, p.taken, err = o.renames()
	for column, name := range p.renamed {
		p.before[name] = column
	}
	return p, err
}

// plan checks what the options say of a file of a format.
func (o *Options) plan(path string, format *format) (*plan, error) {
	p, err := o.names()
	if o.Catalogue != "" {
		if o.Actions != nil {
			return nil, fmt.Errorf("%s: setting actions and setting catalogue both say which actions there are: give "+
				"one of them", path)
		}
		var unread error
		if p.itemsHash, unread = fileHash(o.Catalogue, true); unread != nil {
			return nil, unread
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case o.PropensityForm != "" && propensityForms[o.PropensityForm] == nil:
		return nil, fmt.Errorf("%s: setting propensity-form %s: want log, percent or inverse", path, o.PropensityForm)
	case o.Dates != "" && dateLayouts[o.Dates] == nil:
		return nil, fmt.Errorf("%s: setting dates %s: want us or eu", path, o.Dates)
	case o.Delimiter != "" && format.name != "csv":
		return nil, fmt.Errorf("%s: setting delimiter is for CSV, not for format %s", path, format.name)
	case format.row == "" && len(o.Columns) > 0:
		return nil, fmt.Errorf("%s: setting columns is not for format %s, which has none", path, format.name)
	}
	return p, nil
}

// categories are all columns of names, as far as it was said.
func (o *Options) categories() []string { return slices.Concat(o.Categories, o.CategoriesBefore) }

// newMemory returns what is known before the first pass.
func (p *plan) newMemory() (*memory, error) {
	m := &memory{kinds: map[string]kind{}, reject: map[int]string{}, varied: p.o.Offered}
	for _, c := range p.o.categories() {
		m.kinds[c] = category
		if column, ok := p.before[c]; ok {
			m.kinds[column] = category
		}
	}
	if p.o.Catalogue == "" || p.catalogue != nil {
		return m, nil
	}
	var err error
	p.catalogue, err = p.o.catalogueOf(p.o.categories())
	return m, err
}

// as returns the column of the schema for which folders called name=value stand, "" for none.
func (p *plan) as(name string) string {
	as, renamed := p.renamed[name]
	if !renamed && !p.taken[name] {
		as = name
	}
	switch roleOf(as, "") {
	case roleIgnored, roleEach, roleContexts, rolePropensities, roleOffered, roleActions, roleOutcome, roleSlots,
		roleSlotPropensities, roleSlotRewards, roleFirstClick, roleSlate, roleSlot:
		return ""
	}
	return as
}

// opening opens files as one log. It finds their cache, or reads them in passes. A pass that learns something that it
// should have known, such as the kind of a column, is followed by another.
type opening struct {
	*Files
	*plan
	name    string // of the log, in errors
	alone   bool   // one file, by its own name: errors and rows are the file's, and no other is read without it
	mode    fs.FileMode
	dir     string   // of temporary files
	caches  []string // where the cache may be
	learned *memory  // what the passes before have learned; nil: nothing yet
}

// open reads all files as one log of a name. alone: it is one file by its own name.
func (f *Files) open(ctx context.Context, name string, alone bool, o *Options) (_ *Log, err error) {
	r := &opening{Files: f, name: name, alone: alone, mode: 0o666}
	defer func() {
		for _, g := range r.list {
			if g.local != "" {
				err = errors.Join(err, os.Remove(g.local))
			}
		}
	}()
	input := false
	for _, g := range f.list {
		called := g.name
		switch {
		case g.name == standardInput:
			var ending string
			if ending, err = g.spool(o); err != nil {
				return nil, err
			}
			if called, input = g.name+ending, true; alone {
				r.name, name = g.name, g.name
			}
		case g.bucket == nil:
			g.info, err = statLog(g.name)
		}
		if err != nil && alone {
			return nil, err
		}
		if g.format, g.packed, err = formatFor(called, o); err != nil {
			return nil, err
		}
		if first := f.list[0].format; g.format != first && (g.format.row == "" || first.row == "") {
			return nil, fmt.Errorf("%s: format %s, and %s before it is of format %s: give files of one kind", g.name,
				g.format.name, f.list[0].name, first.name)
		}
		if g.info == nil {
			r.mode = 0o600
			continue
		}
		r.mode &= modeOf(g.info)
		own := *o
		if !alone {
			own.Cache = ""
		}
		if err := keepsOthers(g.name, g.info, &own); err != nil {
			return nil, err
		}
	}
	if r.plan, err = o.plan(name, f.list[0].format); err != nil {
		return nil, err
	}
	if r.caches = f.cachePaths(alone, o); !alone && o.Cache != "" && !o.NoCache {
		if err := os.MkdirAll(o.Cache, 0o777); err != nil {
			return nil, fmt.Errorf("%s: setting cache %s: want a folder, for several files: %w", name, o.Cache, err)
		}
	}
	if r.dir = filepath.Dir(r.caches[0]); o.NoCache || input {
		r.caches = nil
	}
	if input {
		r.dir = os.TempDir()
	}
	if l, err := r.cached(); l != nil || err != nil {
		return l, err
	}
	if err := r.copyObjects(ctx); err != nil {
		return nil, err
	}
	for {
		if l, err := r.pass(ctx); !errors.Is(err, errAgain) {
			return l, err
		}
	}
}

// cachePaths are where the cache may be: where it was asked for; or beside the log, or else in the user's cache
// folder. That of several files has the name of the arguments that stand for them: it is made again once there is
// another file.
func (f *Files) cachePaths(alone bool, o *Options) (paths []string) {
	if alone && o.Cache != "" {
		return []string{o.Cache}
	}
	first, of := f.list[0], f.list[0].id()
	folder, name := filepath.Split(first.name)
	if !alone {
		of = fmt.Sprint(o.Share)
		for _, arg := range f.args {
			of += fmt.Sprintf(" %q", (&file{name: arg, bucket: first.bucket}).id())
		}
	}
	id := strconv.FormatUint(xxhash.Sum64String(of), 16)
	if !alone {
		name = id
	}
	if o.Cache != "" {
		return []string{filepath.Join(o.Cache, id+cacheEnding)}
	}
	if first.bucket == nil {
		paths = append(paths, filepath.Join(folder, "."+name+cacheEnding)) // beside the files
	}
	if user, err := os.UserCacheDir(); err == nil {
		paths = append(paths, filepath.Join(user, "opl", id+cacheEnding))
	}
	if len(paths) == 0 {
		paths = append(paths, filepath.Join(os.TempDir(), "opl-"+id+cacheEnding))
	}
	return paths
}

// key is what the cache depends on beside the content of the files: which they are, and what the options say.
func (r *opening) key(o *Options) string {
	k := key(r.list[0].format.name, o, r.itemsHash)
	if r.alone {
		return k
	}
	names := xxhash.New()
	for _, g := range r.list {
		fmt.Fprintf(names, "%q", g.name)
	}
	return fmt.Sprintf("%s files %v %d %016x", k, o.LoggedByFile, r.Passed, names.Sum64())
}

// cached returns the cache if the files are as they were when it was written, else nil.
func (r *opening) cached() (*Log, error) {
	keys, said := []string{r.key(r.o)}, *r.o
	if len(r.o.Columns) == 0 && len(r.renamed) > 0 { // the same columns, if it was said that they are there
		said.Columns, said.ColumnsBefore = r.before, nil
		keys = append(keys, r.key(&said))
	}
	if said.Actions != nil { // a policy's, where inspect and train found the same ones in the log
		said.Actions = nil
		keys = append(keys, r.key(&said))
	}
	var infos []os.FileInfo
	for _, g := range r.list {
		if g.info != nil {
			infos = append(infos, g.info)
		}
	}
	if _, err := os.Stat(r.o.BadRows); r.o.BadRows != "" && err != nil {
		return nil, nil
	}
	for _, path := range r.caches {
		for _, k := range keys {
			l, h, err := load(path, k, infos...)
			if err != nil {
				continue // none, or of another version, or damaged: it is made again
			}
			if r.fresh(h.Sources) && (k == keys[0] || r.o.Actions == nil || slices.Equal(h.Actions, r.o.Actions)) {
				l.path = r.name
				return l, nil
			}
			if err := l.Close(); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// fresh reports whether the files still have the content they had.
func (r *opening) fresh(sources []source) bool {
	if len(sources) != len(r.list) {
		return false
	}
	for i, g := range r.list {
		if s := sources[i]; s.Tag != g.tag() || g.bucket == nil && !fresh(g.name, s) {
			return false
		}
	}
	return true
}

// copyObjects copies the objects to temporary files, several at once.
func (r *opening) copyObjects(ctx context.Context) error {
	errs, stop := make([]error, len(r.list)), atomic.Bool{}
	var next atomic.Int64
	var all sync.WaitGroup
	for range max(8, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(errs)) && !stop.Load(); i = next.Add(1) - 1 {
				if g := r.list[i]; g.bucket != nil {
					errs[i] = g.fetch(ctx)
					stop.Store(stop.Load() || errs[i] != nil && !r.mayLeaveOut(errs[i]))
				}
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil && !r.mayLeaveOut(err) {
			return err
		} else if err != nil {
			r.leaveOut(r.list[i], err)
		}
	}
	return nil
}

// mayLeaveOut reports that a file which fails so may be left out: it is gone, or the fault is in it. Missing rights,
// room or network may be there tomorrow.
func (r *opening) mayLeaveOut(err error) bool {
	var system *fs.PathError
	var remote *remoteError
	switch {
	case r.alone || r.o.BadRows == "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, fs.ErrNotExist):
		return true
	}
	return !errors.As(err, &system) && !errors.As(err, &remote)
}

// leaveOut leaves a file out. What passes have learned of its rows is lost.
func (r *opening) leaveOut(g *file, err error) {
	g.left, r.learned = err, nil
	var e error
	if g.source, e = g.content(); e != nil {
		g.source.Size = math.MinInt64 // a cache without the file is never read
	}
}

// pass reads the files. errAgain: there must be another pass.
func (r *opening) pass(ctx context.Context) (_ *Log, err error) {
	if r.learned == nil {
		if r.learned, err = r.newMemory(); err != nil {
			return nil, err
		}
	}
	b, err := newBuilder(r.name, r.dir, r.plan, r.learned)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.beginCache(r.caches, r.dir, r.mode|0o600); err != nil {
		return nil, err
	}
	var left []*file
	for _, g := range r.list {
		if g.left != nil {
			left = append(left, g)
			b.aside(g.name, 0, g.left, nil)
		}
	}
	if len(left) == len(r.list) {
		return nil, fmt.Errorf("%s: none of %d files can be read; the first: %w", r.name, len(left), left[0].left)
	}
	c := &chain{opening: r}
	defer func() { err = errors.Join(err, c.close()) }()
	err = b.fill(ctx, c)
	switch {
	case c.failed, err == errAgain:
		return nil, errAgain
	case err != nil && b.n == 0 && b.Skipped > 0:
		return nil, errors.Join(err, r.keepBad(b))
	case err != nil:
		return nil, err
	}
	if len(b.columns) > 0 {
		if err := cmp.Or(b.absent(r.name, nil), b.uncategorized()); err != nil { // of a format without a header
			return nil, err
		}
	}
	if err := b.settle(); err != nil {
		return nil, err
	}
	names, err := b.finish()
	if err != nil {
		return nil, err
	}
	if err := r.unchanged(b); err != nil {
		return nil, err
	}
	if err := r.keepBad(b); err != nil {
		return nil, err
	}
	if r.Passed > 0 {
		b.note("", 0, "%d files were passed over, whose names do not end as those of logs do", r.Passed)
	}
	if len(left) > 0 {
		b.note("", 0, "%d of %d files were left out, see %s: guarantees speak of the rows of the others. The first: %v",
			len(left), len(r.list), r.o.BadRows, left[0].left)
	}
	h := cacheHeader{Key: r.key(r.o)}
	if b.LeftOut = len(left); !r.alone {
		b.Origin.Files = len(r.list)
	}
	for _, g := range r.list {
		h.Sources = append(h.Sources, g.source)
		if g.object.Size < 0 {
			b.note("", 0, "this is snapshot %s", g.name)
			b.Snapshots = append(b.Snapshots, g.name)
		}
	}
	l, err := b.save(h, names)
	if err == nil {
		l.path = r.name
	}
	return l, err
}

// keepBad writes the bad rows to their file.
func (r *opening) keepBad(b *builder) error {
	if r.o.BadRows == "" {
		return nil
	}
	if err := b.badRows.flush(); err != nil {
		return err
	}
	return wholefile.Write(r.o.BadRows, r.mode|0o600, func(f *os.File) error { return b.badRows.copyTo(f) })
}

// unchanged checks that catalogue and files are as they were before they were read. A file that may be left out is:
// errAgain, as its rows have been read.
func (r *opening) unchanged(b *builder) error {
	if r.o.Catalogue != "" {
		if h, err := fileHash(r.o.Catalogue, true); err != nil || h != r.itemsHash {
			return errors.Join(err, fmt.Errorf("%s: the catalogue changed while it was read", r.o.Catalogue))
		}
		if err := amongIt(r.name, b.Among, r.o); err != nil {
			return err
		}
	}
	for _, g := range r.list {
		if g.left != nil {
			continue
		}
		var err error
		if g.source, err = g.content(); err != nil && !r.mayLeaveOut(err) {
			return err
		} else if err != nil {
			r.leaveOut(g, err)
		}
	}
	if r.learned == nil {
		return errAgain // without the files that were left out now
	}
	return nil
}

// statLog finds the file of a log, which must be one that can be read again.
func statLog(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s: a folder, want a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file: a log is read more than once: write it to a file first", path)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s: the file is empty", path)
	}
	return info, nil
}

// keepsOthers refuses options that would write over the log, or over what is no cache, and to write where
// nothing can be.
func keepsOthers(path string, log os.FileInfo, o *Options) error {
	for _, f := range []struct{ what, path string }{{"setting skip-bad", o.BadRows}, {"setting cache", o.Cache}} {
		if f.path == "" {
			continue
		}
		info, err := os.Stat(f.path)
		catalogue, unlisted := os.Stat(o.Catalogue)
		dir, none := os.Stat(filepath.Dir(f.path))
		switch {
		case err == nil && os.SameFile(info, log):
			return fmt.Errorf("%s: %s %s would write over the log", path, f.what, f.path)
		case err == nil && unlisted == nil && os.SameFile(info, catalogue):
			return fmt.Errorf("%s: %s %s would write over the catalogue", path, f.what, f.path)
		case err == nil && info.IsDir():
			return fmt.Errorf("%s: %s %s is a folder, want a file", path, f.what, f.path)
		case none != nil || !dir.IsDir():
			return fmt.Errorf("%s: %s %s: there is no such folder", path, f.what, f.path)
		}
	}
	if o.Cache == "" {
		return nil
	}
	if o.BadRows != "" && filepath.Clean(o.BadRows) == filepath.Clean(o.Cache) {
		return fmt.Errorf("%s: setting skip-bad and setting cache are one file", path)
	}
	f, err := os.Open(o.Cache)
	if err != nil {
		return nil // none yet, or writing it says why not
	}
	defer f.Close()
	var first [8]byte
	if n, err := f.ReadAt(first[:], 0); n > 0 && (err != nil || binary.NativeEndian.Uint64(first[:])>>16 != magic>>16) {
		return fmt.Errorf("%s: setting cache %s is there and no cache: remove it, or give another name", path, o.Cache)
	}
	return nil
}

// modeOf is the mode of files that hold rows of a log: who may not read the log may not read them.
func modeOf(log os.FileInfo) fs.FileMode {
	if mode := log.Mode().Perm(); mode&0o004 != 0 {
		return mode&0o666 | 0o600
	}
	return 0o600
}

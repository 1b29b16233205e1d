package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// as is the column of the schema that folders called name=value stand for; "": none.
func (p *plan) as(name string) string {
	as, renamed := p.renamed[name]
	if !renamed && !p.taken[name] {
		as = name
	}
	switch roleOf(as, "") {
	case roleIgnored, roleEach, roleContexts, rolePropensities, roleOffered, roleActions:
		return ""
	}
	return as
}

// many reads several files as one log.
type many struct {
	*plan
	files  []*file
	parts  []*part
	temp   string // a folder for parts without a cache and copies of objects; "": not made yet
	making sync.Mutex
	left   []leftOut
	said   sync.Once
}

// leftOut is a file that is left out, and why.
type leftOut struct {
	name string
	err  error
}

// atOnce is how many files are read at the same time, of which objects wait for the network most of the time.
func atOnce(f *file) int {
	if f.bucket != nil {
		return max(8, runtime.GOMAXPROCS(0))
	}
	return runtime.GOMAXPROCS(0)
}

// open reads all files as one log of a name.
func (f *Files) open(ctx context.Context, name string, o *Options) (_ *Log, err error) {
	m := &many{files: f.list}
	tables := false
	for _, g := range f.list {
		if g.format, g.packed, err = formatFor(g.name, o); err != nil {
			return nil, err
		}
		if tables = g.format.row != ""; g.format != f.list[0].format && !(tables && f.list[0].format.row != "") {
			return nil, fmt.Errorf("%s: format %s, and %s before it is of format %s: give files of one kind", g.name, g.format.name, f.list[0].name, f.list[0].format.name)
		}
		if g.bucket == nil {
			alone := *o
			alone.Cache = ""
			info, _ := os.Stat(g.name) // if not, reading it says so
			if err := spare(g.name, info, &alone); err != nil {
				return nil, err
			}
		}
	}
	if o.Cache != "" && !o.NoCache {
		if err := os.MkdirAll(o.Cache, 0o777); err != nil {
			return nil, fmt.Errorf("%s: setting cache %s: want a folder, for several files: %w", name, o.Cache, err)
		}
	}
	if m.plan, err = o.plan(name, f.list[0].format); err != nil {
		return nil, err
	}
	first, err := m.memory()
	if err != nil {
		return nil, err
	}
	defer func() {
		if m.temp != "" {
			err = errors.Join(err, os.RemoveAll(m.temp))
		}
	}()
	if err := m.read(ctx, first); err != nil {
		return nil, err
	}
	if len(m.files) == 0 {
		return nil, fmt.Errorf("%s: none of %d files can be read; the first: %w", name, len(m.left), m.left[0].err)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	dir, mode := filepath.Dir(m.files[0].name), fs.FileMode(0o666)
	for _, g := range m.files {
		if info, err := os.Stat(g.name); g.bucket == nil && err == nil {
			mode &= modeOf(info)
		} else {
			mode = 0o600
		}
	}
	if m.files[0].bucket != nil {
		dir = os.TempDir()
	}
	return m.build(ctx, name, dir, nil, mode|0o600, first, func(b *builder) (reader, error) {
		for _, l := range m.left {
			b.aside(l.name, 0, l.err, nil)
		}
		w := &walk{many: m, z: z}
		b.table = w.begin(b)
		return w, nil
	}, func(b *builder, names []string) (*Log, error) {
		if f.Passed > 0 {
			b.note("", 0, "%d files were passed over, whose names do not end as those of logs do", f.Passed)
		}
		if n := len(m.left); n > 0 {
			b.note("", 0, "%d of %d files were left out, see %s: guarantees speak of the rows of the others. The first: %v", n, len(f.list), o.BadRows, m.left[0].err)
		}
		l, err := b.save("", names, source{}, nil)
		if err == nil {
			l.LeftOut, l.Files = len(m.left), len(f.list)
		}
		return l, err
	})
}

// read makes the parts of all files, until they agree on the kinds of columns.
func (m *many) read(ctx context.Context, first *memory) error {
	m.parts = make([]*part, len(m.files))
	again := make([]*memory, len(m.files)) // that a part is to be made with; nil: as it comes
	for {
		failed := m.each(ctx, func(i int) error {
			if m.parts[i] != nil && again[i] == nil {
				return nil
			}
			with := &memory{kinds: map[string]kind{}}
			for name, k := range first.kinds {
				with.kinds[name] = k
			}
			var was *partHeader
			if again[i] != nil {
				with, was = again[i], &m.parts[i].partHeader
			}
			p, err := m.part(ctx, i, with, was)
			m.parts[i], again[i] = p, nil
			return err
		})
		if err := m.sift(failed, &again); err != nil {
			return err
		}
		if err := m.sift(m.strangers(), &again); err != nil {
			return err
		}
		if !m.differing(first, again) {
			return nil
		}
	}
}

// each calls do for every file, several at once. The errors are those of files in their order, all of them where a
// file may be left out, or up to the first.
func (m *many) each(ctx context.Context, do func(i int) error) []error {
	failed := make([]error, len(m.files))
	var wait sync.WaitGroup
	var lock sync.Mutex
	next, stop := 0, false
	for range min(len(m.files), atOnce(m.files[0])) {
		wait.Go(func() {
			for {
				lock.Lock()
				i := next
				next++
				done := stop || i >= len(m.files)
				lock.Unlock()
				if done {
					return
				}
				if failed[i] = do(i); failed[i] != nil && !m.leave(failed[i]) {
					lock.Lock()
					stop = true // those before have begun
					lock.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return failed
}

// leave reports that a file which fails so may be left out: it is gone, or what is wrong is in it. That there is no right
// to read it, no room or no network may be another tomorrow.
func (m *many) leave(err error) bool {
	var system *fs.PathError
	var remote *remoteError
	switch {
	case m.o.BadRows == "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, fs.ErrNotExist):
		return true
	}
	return !errors.As(err, &system) && !errors.As(err, &remote)
}

// sift takes out the files that failed, or returns the first error.
func (m *many) sift(failed []error, again *[]*memory) error {
	var files []*file
	var parts []*part
	var with []*memory
	for i, err := range failed {
		switch {
		case err == nil:
			files, parts, with = append(files, m.files[i]), append(parts, m.parts[i]), append(with, (*again)[i])
		case m.leave(err):
			m.left = append(m.left, leftOut{m.files[i].name, err})
		default:
			return err
		}
	}
	if len(files) < len(m.files) {
		m.files, m.parts, *again = files, parts, with
	}
	return nil
}

// strangers are errors of files whose columns are others than those of the first that has a header.
func (m *many) strangers() []error {
	failed := make([]error, len(m.files))
	var schema []string
	from := ""
	for i, p := range m.parts {
		has := map[string]bool{}
		for _, c := range p.Columns {
			if has[c.As] = true; c.Role == roleIgnored {
				delete(has, c.As)
			}
		}
		for _, c := range m.files[i].fixed {
			if as := m.as(c[0]); as != "" {
				has[as] = true
			}
		}
		if m.files[i].format.row != "row" {
			continue
		}
		var names []string
		for name := range has {
			names = append(names, name)
		}
		slices.Sort(names)
		if from == "" {
			schema, from = names, m.files[i].name
			continue
		}
		if slices.Equal(names, schema) {
			continue
		}
		only := func(a, b []string) string {
			return strings.Join(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) }), ", ")
		}
		var what []string
		if s := only(schema, names); s != "" {
			what = append(what, "it has no column "+s)
		}
		if s := only(names, schema); s != "" {
			what = append(what, "it has "+s+" more")
		}
		failed[i] = fmt.Errorf("%s: other columns than %s has: %s: read files of the same columns together, or leave it out by setting skip-bad", m.files[i].name, from, strings.Join(what, ", "))
	}
	return failed
}

// differing finds the files that must be read again, as their parts took columns for what they are not in
// all files together, and with what.
func (m *many) differing(first *memory, again []*memory) bool {
	varied, untagged := false, false
	var multi []uint64
	total := map[string]*partColumn{}
	for _, p := range m.parts {
		varied, untagged = varied || p.Varied, untagged || p.Untagged
		if multi == nil {
			multi = p.Multi
		}
		for _, c := range p.Columns {
			if c.Role != roleContext || c.Told {
				continue
			}
			if total[c.Name] == nil {
				total[c.Name] = &partColumn{}
			}
			total[c.Name].Numbers += c.Numbers
			total[c.Name].Texts += c.Texts
		}
	}
	kinds := map[string]kind{}
	for name, c := range total {
		kinds[name] = c.want()
	}
	for name, k := range first.kinds {
		kinds[name] = k
	}
	differ := false
	for i, p := range m.parts {
		stale := p.Varied != varied || p.Untagged != untagged || !varied && p.Multi != nil && !slices.Equal(p.Multi, multi)
		for _, c := range p.Columns {
			stale = stale || c.Role == roleContext && !c.Told && c.Kind != undecided && c.Kind != kinds[c.Name]
		}
		if !stale {
			continue
		}
		with := &memory{kinds: map[string]kind{}, varied: varied, untagged: untagged, multi: multi}
		for name, k := range kinds {
			with.kinds[name] = k
		}
		again[i], differ = with, true
	}
	return differ
}

// part finds the part of file i, or makes it. was is the part's header of before, which is made again with what m
// says.
func (m *many) part(ctx context.Context, i int, with *memory, was *partHeader) (*part, error) {
	f, o := m.files[i], *m.o
	o.BadRows, o.Actions = "", nil // a part has all rows
	listed := uint64(0)
	if m.catalogue != nil {
		listed = 1
	}
	k := "part " + key(f.format.name, &o, listed)
	var info os.FileInfo
	var paths []string
	local := f.name
	if f.bucket == nil {
		var err error
		if info, err = statLog(f.name); err != nil {
			return nil, err
		}
	} else if f.object.Size == 0 {
		return nil, fmt.Errorf("%s: the file is empty", f.name)
	}
	if !o.NoCache {
		paths = m.partPaths(f)
	}
	for _, path := range paths {
		if was != nil {
			break
		}
		p, err := loadPart(path, k, info)
		if err == nil && (f.bucket == nil && fresh(f.name, p.Source) || f.bucket != nil && p.Tag == f.tag()) {
			return p, nil
		}
	}
	m.said.Do(func() { m.announce(paths) })
	dir, err := m.folder()
	if err != nil {
		return nil, err
	}
	if f.bucket != nil {
		local = filepath.Join(dir, strconv.Itoa(i)+".object")
		if err := f.copy(ctx, local); err != nil {
			return nil, err
		}
		defer os.Remove(local)
	}
	var failed error
	for _, path := range append(paths, filepath.Join(dir, strconv.Itoa(i)+partEnding)) {
		_ = os.MkdirAll(filepath.Dir(path), 0o755) // if not, creating the file says so
		mode := fs.FileMode(0o600)
		if info != nil {
			mode = modeOf(info)
		}
		var wrong error // with the file, not with the place
		err := placePart(path, mode, func(to *os.File) error {
			var h partHeader
			h, wrong = m.scan(ctx, f, local, with, was, to)
			if h.Key, h.Log, h.Tag = k, f.id(), f.tag(); wrong == nil && info != nil {
				h.Source, wrong = sourceOf(f.name, info)
			}
			if wrong != nil {
				return wrong
			}
			return h.end(to)
		})
		if wrong != nil {
			return nil, unfinished(f, local, wrong)
		}
		if err == nil {
			p, err := loadPart(path, k, info)
			if err == nil {
				return p, nil
			}
			failed = errors.Join(failed, err)
		}
		failed = errors.Join(failed, err)
	}
	return nil, fmt.Errorf("%s: the cache cannot be written: %w", f.name, failed)
}

// placePart writes a part that is there whole or not at all. Its checksum says whether the disk has it, so nobody waits for that.
func placePart(path string, mode fs.FileMode, write func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), unplaced)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what went wrong is told
	}
	return err
}

// unplaced are the names of parts that are being written.
const unplaced = ".opl-*.part.tmp"

// unfinished adds to an error that a file of a format with an end has none.
func unfinished(f *file, local string, err error) error {
	if !f.format.whole {
		return err
	}
	file, e := os.Open(local)
	if e != nil {
		return err
	}
	defer file.Close()
	var end [4]byte
	if info, e := file.Stat(); e == nil && info.Size() >= 4 {
		if _, e := file.ReadAt(end[:], info.Size()-4); e == nil && string(end[:]) == "PAR1" {
			return err
		}
	}
	return fmt.Errorf("%w: it has no end: is it still being written?", err)
}

// announce says what caches will take, before the first.
func (m *many) announce(paths []string) {
	if m.o.Caching == nil || len(paths) == 0 {
		return
	}
	var size int64
	for _, f := range m.files {
		if f.bucket != nil {
			size += f.object.Size
		} else if info, err := os.Stat(f.name); err == nil {
			size += info.Size()
		}
	}
	m.o.Caching(filepath.Dir(paths[0]), size)
}

// tag tells the content of an object.
func (f *file) tag() string {
	if f.bucket == nil {
		return ""
	}
	return fmt.Sprint(f.object.Tag, " ", f.object.Size, " ", f.object.Time.UnixNano())
}

// partPaths are where the cache of one of several files may be.
func (m *many) partPaths(f *file) (paths []string) {
	hash := strconv.FormatUint(xxhash.Sum64String(f.id()), 16) + partEnding
	if m.o.Cache != "" {
		return []string{filepath.Join(m.o.Cache, hash)}
	}
	if f.bucket == nil {
		paths = append(paths, filepath.Join(filepath.Dir(f.name), "."+filepath.Base(f.name)+partEnding))
	}
	if user, err := os.UserCacheDir(); err == nil {
		paths = append(paths, filepath.Join(user, "opl", hash))
	}
	return paths
}

// folder is a temporary one.
func (m *many) folder() (_ string, err error) {
	m.making.Lock()
	defer m.making.Unlock()
	if m.temp == "" {
		m.temp, err = os.MkdirTemp("", "opl-")
	}
	return m.temp, err
}

// walk gives the rows of all parts, one part after the other.
type walk struct {
	*many
	z     *zstd.Decoder
	at    int // the part after that which is read
	r     *partReader
	fixed []fixedCell // of its file
}

// fixedCell is a value that stands in the name of a folder.
type fixedCell struct {
	c     *column
	value []byte
}

// begin makes the table of the columns of all files, as a table of one file with all rows has them.
func (w *walk) begin(b *builder) *table {
	t := &table{lines: &lines{path: b.path}, preset: b.o.Preset, index: map[string]int{}, inner: newDecoder()}
	total := map[string]*partColumn{}
	for i, p := range w.parts {
		own := map[string]bool{}
		for _, c := range p.Columns {
			own[c.Name] = true
			if _, ok := t.index[c.Name]; !ok {
				t.index[c.Name] = len(t.columns)
				t.columns = append(t.columns, &column{name: c.Name, as: c.As, role: c.Role, slot: -1, told: true})
			}
			if all := t.columns[t.index[c.Name]]; all.kind == undecided {
				all.kind = c.Kind
			}
			t.columns[t.index[c.Name]].missing += c.Missing
		}
		for _, c := range w.files[i].fixed {
			if own[c[0]] {
				continue
			}
			if total[c[0]] == nil {
				total[c[0]] = &partColumn{}
			}
			if _, ok := parseNumber([]byte(c[1])); ok {
				total[c[0]].Numbers += p.Rows
			} else if c[1] != "" {
				total[c[0]].Texts += p.Rows
			}
		}
	}
	for i := range w.parts {
		for _, c := range w.files[i].fixed {
			as := w.as(c[0])
			if _, ok := t.index[c[0]]; ok || as == "" {
				continue
			}
			all := &column{name: c[0], as: as, role: roleOf(as, ""), slot: -1, told: true, kind: b.memory.kinds[c[0]]}
			if all.kind == undecided {
				all.kind = total[c[0]].want()
			}
			t.index[c[0]] = len(t.columns)
			t.columns = append(t.columns, all)
		}
	}
	return t
}

// distinct says of categories how many there are, once all rows are read.
func (w *walk) distinct(b *builder) {
	for _, c := range b.table.columns {
		if c.role != roleContext || c.kind != category || len(c.categories) > 0 {
			continue
		}
		c.categories = map[string]categoryID{}
		for _, name := range b.contexts.names {
			if value, ok := strings.CutPrefix(name, c.as+"="); ok {
				c.categories[value] = categoryID{}
			}
		}
	}
}

func (w *walk) next(b *builder) error {
	for {
		if w.r == nil {
			if w.at == len(w.parts) {
				w.distinct(b)
				return io.EOF
			}
			if err := w.enter(b); err != nil {
				return err
			}
		}
		err := w.r.next(b)
		if err == io.EOF {
			err := w.r.close()
			if w.r = nil; err != nil {
				return err
			}
			continue
		}
		if err == errPart {
			return fmt.Errorf("%s: %w: remove %s", w.files[w.at-1].name, err, w.r.path)
		}
		if err != nil {
			return err
		}
		for _, c := range w.fixed {
			if err := b.table.cell(b, c.c, 0, c.value, 0); err != nil {
				return err
			}
		}
		if b.o.LoggedByFile && len(b.row.policy) == 0 {
			b.row.policy = append(b.row.policy, loggerOf(w.files[w.at-1].name)...)
		}
		return nil
	}
}

// loggerOf is what the policy is called that logged a file.
func loggerOf(name string) string {
	base, _, _ := strings.Cut(filepath.Base(name), ".")
	return base
}

// enter begins the next part.
func (w *walk) enter(b *builder) error {
	p, f := w.parts[w.at], w.files[w.at]
	w.at++
	r, err := p.open(w.z)
	if err != nil {
		return err
	}
	w.r = r
	b.files = append(b.files, struct {
		name string
		from int
	}{f.name, b.at - 1})
	w.fixed = w.fixed[:0]
	for _, c := range f.fixed {
		if i, ok := b.table.index[c[0]]; ok && !slices.ContainsFunc(p.Columns, func(own partColumn) bool { return own.Name == c[0] }) {
			w.fixed = append(w.fixed, fixedCell{b.table.columns[i], []byte(c[1])})
		}
	}
	return r.begin(b, f.name)
}

func (w *walk) raw() []byte {
	if w.r == nil {
		return nil
	}
	return w.r.raw()
}

func (w *walk) close() error {
	if w.r == nil {
		return nil
	}
	return w.r.close()
}

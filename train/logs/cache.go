package logs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"opl/policies/wholefile"
)

// A cache is the magic number, the place of the header, sections each at a multiple of 64, of which values of contexts
// come first, the header in JSON, and the sum, see blockSum. Numbers are in the byte
// order of the machine, of which the magic number is one.
const (
	magic        = uint64(0x4f504c4c4f470006) // the last two bytes are the version
	sectionAlign = 64
	wholeHash    = 64 << 20  // files up to this size are hashed whole on each opening
	ownCopy      = 512 << 20 // caches up to this size are copied before they are used, where they cannot be watched
)

// source says which content a file has.
type source struct {
	stamp
	Sample uint64 `json:"sample"` // hash of blocks spread over it
	Whole  uint64 `json:"whole"`  // hash of all of it
}

// stamp changes with every change of a file that the system knows of, but perhaps its size and Time, which
// can be set.
type stamp struct {
	Size    int64  `json:"size"`
	Time    int64  `json:"time"`    // of its last change, unix nanoseconds
	Changed int64  `json:"changed"` // when its content, name, owner or mode last changed; 0: not known, or it can be set
	File    uint64 `json:"file"`    // its number in its file system
}

type cacheHeader struct {
	Key        string   `json:"key"`
	Log        string   `json:"log"`
	Source     source   `json:"source"`
	Rows       int      `json:"rows"`
	Width      int      `json:"width"` // of dense contexts; -1: sparse
	Actions    []string `json:"actions"`
	Notes      []string `json:"notes"`
	Hash       string   `json:"hash"`
	Skipped    int      `json:"skipped"`
	Unrewarded int      `json:"unrewarded"`
	Among      string   `json:"among,omitempty"`
	HasIDs     bool     `json:"has_ids"`
	Catalogue  bool     `json:"catalogue"` // items are those of all actions, in their order
	Items      int      `json:"items"`
	ItemWidth  int      `json:"item_width"` // as Width, of what actions are described by
	ByPlace    bool     `json:"by_place"`   // actions have no ids
	Sections   []int64  `json:"sections"`   // their lengths in bytes, in the order of Log.sections
}

// key is what of the options matters to the cache, with the hash of the catalogue's file; 0:
// there is none.
func key(format string, o *Options, catalogue uint64) string {
	k := fmt.Sprintf("6 %q %q %v %v %q %q %q %x", format, o.Preset, o.RewardMin, o.RewardMax, o.Actions, o.Categories, o.BadRows, catalogue)
	if len(o.Columns)+len(o.ColumnsBefore) > 0 {
		k += fmt.Sprintf(" columns %q %q", o.Columns, o.ColumnsBefore)
	}
	if o.Delimiter+o.Dates != "" {
		k += fmt.Sprintf(" as %q %q", o.Delimiter, o.Dates)
	}
	if o.Estimate { // rows may lack propensities
		k += " gaps"
	}
	return k
}

// fileHash hashes a file: all of it if it is small or that is asked for, else 256 blocks.
func fileHash(path string, all bool) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	h := xxhash.New()
	if all || info.Size() <= wholeHash {
		_, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<20))
		return h.Sum64(), err
	}
	buf := make([]byte, 1<<16)
	for i := range int64(256) {
		n, err := f.ReadAt(buf, (info.Size()-int64(len(buf)))/255*i)
		if err != nil && err != io.EOF {
			return 0, err
		}
		h.Write(buf[:n])
	}
	return h.Sum64(), nil
}

// fresh reports whether a file still has the content it had.
func fresh(path string, was source) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != was.Size {
		return false
	}
	touched, want := was.Changed == 0 || stampOf(path, info) != was.stamp, was.Sample // where changes are not told, all is read
	if touched {
		want = was.Whole
	}
	h, err := fileHash(path, touched)
	return err == nil && h == want
}

// cachePaths are where the cache may be: where it was asked for; or beside the log, or
// else in the user's cache folder.
func cachePaths(path string, o *Options) []string {
	if o.Cache != "" {
		return []string{o.Cache}
	}
	paths := []string{filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+cacheEnding)}
	abs, err := filepath.Abs(path)
	if user, e := os.UserCacheDir(); err == nil && e == nil {
		paths = append(paths, filepath.Join(user, "opl", strconv.FormatUint(xxhash.Sum64String(abs), 16)+cacheEnding))
	}
	return paths
}

// spare refuses to write over the log, or over what is no cache, and to write where
// nothing can be.
func spare(path string, log os.FileInfo, o *Options) error {
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

// plan is what the options say of reading.
type plan struct {
	o               *Options
	listed          uint64 // hash of the catalogue's file
	catalogue       *Catalogue
	renamed, before map[string]string // names of the schema by the file's; as if all of them were to be there
	taken           map[string]bool
}

// plan checks what the options say of a file of a format.
func (o *Options) plan(path string, format *format) (p *plan, err error) {
	p = &plan{o: o}
	if o.Catalogue != "" {
		if p.listed, err = catalogueHash(path, o); err != nil {
			return nil, err
		}
	}
	p.renamed, p.taken, err = o.renames()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case o.Dates != "" && dateLayouts[o.Dates] == nil:
		return nil, fmt.Errorf("%s: setting dates %s: want us or eu", path, o.Dates)
	case o.Delimiter != "" && format.name != "csv":
		return nil, fmt.Errorf("%s: setting delimiter is for CSV, not for format %s", path, format.name)
	case format.row == "" && len(o.Columns) > 0:
		return nil, fmt.Errorf("%s: setting columns is not for format %s, which has none", path, format.name)
	}
	p.before = map[string]string{}
	for column, name := range p.renamed {
		p.before[name] = column
	}
	return p, nil
}

// memory is what is known before the first pass.
func (p *plan) memory() (*memory, error) {
	m := &memory{kinds: map[string]kind{}, reject: map[int]string{}}
	for _, c := range p.o.Categories {
		m.kinds[c] = category
		if column, ok := p.before[c]; ok {
			m.kinds[column] = category
		}
	}
	if p.o.Catalogue == "" || p.catalogue != nil {
		return m, nil
	}
	var err error
	p.catalogue, err = ReadCatalogue(p.o.Catalogue, p.o.Categories...)
	return m, err
}

// build makes passes over the rows that open reads until one is whole, and hands it to save. The columns are in
// dir meanwhile, and the cache is written at one of caches; it and the bad rows get a mode.
func (p *plan) build(ctx context.Context, path, dir string, caches []string, mode fs.FileMode, m *memory, open func(b *builder) (reader, error), save func(b *builder, names []string) (*Log, error)) (*Log, error) {
	o := p.o
	pass := func() (l *Log, err error) {
		b, err := newBuilder(path, dir, o, m)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, b.close()) }()
		if err := b.begins(caches, dir, mode); err != nil {
			return nil, err
		}
		b.renamed, b.taken = p.renamed, p.taken
		if p.catalogue != nil {
			b.use(p.catalogue)
		}
		rd, err := open(b)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, rd.close()) }()
		keepBad := func() error {
			if o.BadRows == "" {
				return nil
			}
			if err := b.badRows.flush(); err != nil {
				return err
			}
			return wholefile.Write(o.BadRows, mode, func(f *os.File) error { return b.badRows.copyTo(f) })
		}
		if err := b.fill(ctx, rd); err == errAgain {
			return nil, nil
		} else if err != nil {
			if b.n == 0 && b.skipped > 0 {
				err = errors.Join(err, keepBad())
			}
			return nil, err
		}
		if b.table != nil {
			if err := cmp.Or(b.table.absent(b), b.table.uncategorized(o, b.catalogue)); err != nil { // of a format without a header
				return nil, err
			}
		}
		if b.table != nil && b.table.settle(b) {
			return nil, nil
		}
		names, again, err := b.finish()
		if err != nil || again {
			return nil, err
		}
		if err := keepBad(); err != nil {
			return nil, err
		}
		if o.Catalogue != "" {
			if h, err := fileHash(o.Catalogue, true); err != nil || h != p.listed {
				return nil, errors.Join(err, fmt.Errorf("%s: the catalogue changed while it was read", o.Catalogue))
			}
			if err := amongIt(path, b.among, o); err != nil {
				return nil, err
			}
		}
		if l, err = save(b, names); err == nil {
			l.path, l.files = path, b.files
		}
		return l, err
	}
	for {
		if l, err := pass(); l != nil || err != nil {
			return l, err
		}
	}
}

// statLog is the file of a log, which must be one that is read again.
func statLog(path string) (os.FileInfo, error) {
	if path == "-" {
		return nil, errors.New("standard input: a log is read more than once: write it to a file first")
	}
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

// open finds the cache of a log of one file, or makes it.
func open(ctx context.Context, path string, o *Options) (*Log, error) {
	info, err := statLog(path)
	if err != nil {
		return nil, err
	}
	format, packed, err := formatFor(path, o)
	if err != nil {
		return nil, err
	}
	if err := spare(path, info, o); err != nil {
		return nil, err
	}
	p, err := o.plan(path, format)
	if err != nil {
		return nil, err
	}
	k, paths := key(format.name, o, p.listed), cachePaths(path, o)
	said := *o // the same columns, if it was said that they are there
	said.Columns, said.ColumnsBefore = p.before, nil
	for _, c := range paths {
		if o.NoCache {
			break
		}
		l, src, err := load(c, k, info, nil)
		if err != nil && len(o.Columns) == 0 && len(p.renamed) > 0 {
			l, src, err = load(c, key(format.name, &said, p.listed), info, nil)
		}
		if err != nil {
			continue // none, or of another version, or damaged: it is made again
		}
		_, missing := os.Stat(o.BadRows)
		if (o.BadRows == "" || missing == nil) && fresh(path, src) {
			l.path = path
			return l, nil
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	m, err := p.memory()
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(paths[0])
	if o.NoCache {
		paths = nil
	}
	return p.build(ctx, path, dir, paths, modeOf(info), m, func(b *builder) (reader, error) { return format.reader(path, packed, b) },
		func(b *builder, names []string) (*Log, error) {
			src, err := sourceOf(path, info)
			if err != nil {
				return nil, err
			}
			return b.save(k, names, src, info)
		})
}

// sourceOf is the content of a file that was read, which is as info had it before.
func sourceOf(path string, info os.FileInfo) (src source, err error) {
	src.stamp = stampOf(path, info)
	if src.Whole, err = fileHash(path, true); err != nil {
		return src, err
	}
	if src.Sample = src.Whole; info.Size() > wholeHash {
		if src.Sample, err = fileHash(path, false); err != nil {
			return src, err
		}
	}
	if after, err := os.Stat(path); err != nil || stampOf(path, after) != src.stamp {
		return src, errors.Join(err, fmt.Errorf("%s: the file changed while it was read", path))
	}
	return src, nil
}

// absolute is the log's path, whatever folder one is in.
func (b *builder) absolute() string {
	if abs, err := filepath.Abs(b.path); err == nil {
		return abs
	}
	return b.path
}

// size is about that of the cache in bytes.
func (b *builder) size() (bytes int64) {
	for _, s := range b.spills() {
		bytes += s.size
	}
	return bytes
}

// modeOf is that of files with rows of a log: nobody reads them who may not read the log.
func modeOf(log os.FileInfo) fs.FileMode {
	if mode := log.Mode().Perm(); mode&0o004 != 0 {
		return mode&0o666 | 0o600
	}
	return 0o600
}

// place points the log's columns to the sections of a mapped cache.
func (l *Log) place(data []byte, sections []int64) bool {
	var names, described, policies blob
	c, t := l.Choices, &items{}
	if c == nil {
		c = &Choices{}
	} else {
		t = c.items
	}
	columns := []func([]byte) bool{to(&l.values), to(&l.Action), to(&l.Cost), to(&l.Propensity), to(&l.Propensities), to(&l.Weight), to(&l.Time), to(&l.Group), to(&l.Logger),
		to(&l.Keys), to(&l.contextHash), to(&l.rows), to(&l.texts.ends), to(&l.texts.text), to(&l.groups.ends), to(&l.groups.text), to(&policies.ends), to(&policies.text),
		to(&c.First), to(&c.Count), to(&c.At), to(&c.Actions), to(&c.Items), to(&t.acts)}
	columns = append(append(columns, l.named.columns(&names)[1:]...), t.columns(&described)...)
	at := int64(sectionAlign)
	if len(sections) != len(columns) {
		return false
	}
	for i, size := range sections {
		at = (at + sectionAlign - 1) / sectionAlign * sectionAlign
		if size < 0 || at > int64(len(data)) || size > int64(len(data))-at {
			return false
		}
		b := data[at : at+size : at+size]
		at += size
		if !columns[i](b) {
			return false
		}
	}
	if !l.texts.sound() || !l.groups.sound() || !policies.sound() || !names.sound() || !described.sound() {
		return false
	}
	l.names, l.Policies, t.names = names.all(), policies.all(), described.all()
	return l.Choices != nil || c.First == nil && t.ids == nil
}

// to returns what reads bytes as a column, of whole elements; none is nil.
func to[T any](c *[]T) func([]byte) bool {
	return func(b []byte) bool {
		var t T
		size := int(unsafe.Sizeof(t))
		if len(b) > 0 {
			*c = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
		}
		return len(b)%size == 0
	}
}

// sound reports whether the ends of the strings are in order and within the text.
func (b blob) sound() bool {
	n := len(b.ends)
	if n == 0 {
		return len(b.text) == 0
	}
	return b.ends[0] >= 0 && slices.IsSorted(b.ends) && b.ends[n-1] == int64(len(b.text))
}

// within reports whether all numbers of a column are from lo to hi−1.
func within[T int32 | uint32](column []T, lo, hi int) bool {
	for _, v := range column {
		if int(v) < lo || int(v) >= hi {
			return false
		}
	}
	return true
}

// sound reports whether the columns have the lengths that they must have, and every
// number that is an index is within its range.
func (l *Log) sound() bool {
	n, k := l.n, len(l.Actions)
	all := n * k
	if l.Choices != nil {
		if !l.Choices.sound(n, k) {
			return false
		}
		if l.Sets() {
			all = len(l.Choices.Actions)
		}
	}
	some := func(have, want int) bool { return have == 0 || have == want }
	if n < 1 || k < 2 || n > math.MaxInt/8/k || len(l.Action) != n || len(l.Cost) != n || len(l.Keys) != n || len(l.contextHash) != n || !some(len(l.Propensity), n) ||
		!some(len(l.Propensities), all) || l.Propensities != nil && l.Propensity == nil || !some(len(l.Weight), n) || !some(len(l.Time), n) ||
		!some(len(l.Group), n) || !some(len(l.Logger), n) || !some(len(l.rows), n) || l.hasIDs != (len(l.texts.ends) == n) {
		return false
	}
	if !l.named.sound() || !within(l.Action, 0, k) || !within(l.Group, 0, len(l.groups.ends)) ||
		!within(l.Logger, -1, len(l.Policies)) {
		return false
	}
	for none := range l.groups.ends { // the group without a name is none
		if l.groups.at(none) != "" {
			continue
		}
		l.Group = slices.Clone(l.Group)
		for i, g := range l.Group {
			if int(g) == none {
				l.Group[i] = -1
			}
		}
	}
	return true
}

// unixNano is t in nanoseconds since 1970, if it is within what they can say.
func unixNano(t time.Time) (int64, bool) {
	if y := t.UTC().Year(); y < 1678 || y > 2261 {
		return 0, false
	}
	return t.UnixNano(), true
}

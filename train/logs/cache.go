package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"opl/policies/wholefile"
)

// A cache is the columns of a log in one file: the magic number; sections, each at a multiple of 64, of which the
// values of contexts come first; the header in JSON; its length in bytes; and the xxHash64 of all before. Numbers are
// in the byte order of the machine, of which the magic number is one. A cache is written once, without a name or under
// a temporary one, and then renamed: who has mapped the cache before keeps it as it was.
const (
	magic        = uint64(0x4f504c4c4f470010) // the last two bytes are the version
	sectionAlign = 64
	cacheEnd     = 16 // bytes after the header
	cacheEnding  = ".opl-cache"
)

type cacheHeader struct {
	Key     string   `json:"key"`
	Sources []source `json:"sources"`         // the files, those that were left out among them
	Files   places   `json:"files,omitempty"` // of which the rows are, if there are several
	Origin  `json:"origin"`

	Rows      int      `json:"rows"`
	Actions   []string `json:"actions"`
	Hash      string   `json:"hash"`
	Catalogue bool     `json:"catalogue"` // items are those of all actions, in their order
	Items     int      `json:"items"`
	ByPlace   bool     `json:"by_place"` // actions have no ids
	// Outcomes have sections of their own, after the others.
	Outcomes []*outcome `json:"outcomes,omitempty"`
	Whole    bool       `json:"whole,omitempty"` // see Lists
	Joint    bool       `json:"joint,omitempty"` // propensities are of lists
	Sections []int64    `json:"sections"`        // their lengths in bytes
}

// section is a column of a cache: what a builder fills, and what makes its bytes the column of a log, if they are whole
// elements.
type section struct {
	*spill
	take func([]byte) bool
}

func of[T any](s *stored[T], column *[]T) section { return section{&s.spill, to(column)} }

// sections lists the columns of a cache in their order, each with where an emptyLog has it, and makes the log's
// outcomes. A column is listed here alone: opening, writing, sizing, reading and closing follow.
// TestSections_HaveAllColumns finds one that is not.
func sections(o *output, l *Log) []section {
	c, t := l.Choices, l.Choices.items
	all := slices.Concat(o.contexts.sections(&l.named), o.items.sections(&t.named), o.groups.sections(&l.groups, nil),
		o.decisionIDs.sections(&l.texts, nil), o.policies.sections(&blob{}, &l.Policies), []section{
			of(&o.acts, &l.Action), of(&o.costs, &l.Cost), of(&o.ps, &l.Propensity), of(&o.props, &l.Propensities),
			of(&o.weights, &l.Weight), of(&o.times, &l.Time), of(&o.group, &l.Group), of(&o.logger, &l.Logger),
			of(&o.rowIDs, &l.Keys), of(&o.contextHash, &l.contextHash), of(&o.rows, &l.fileRows),
			of(&o.optionFirst, &c.First), of(&o.optionCount, &c.Count), of(&o.optionAt, &c.At),
			of(&o.optionActs, &c.Actions), of(&o.optionItems, &c.Items), of(&o.itemActs, &t.acts),
			of(&o.slotNumbers, &l.Lists.Slot), of(&o.numbers, &l.Numbers.Value),
			of(&o.densities, &l.Numbers.Density), of(&o.transforms, &l.Numbers.Transform)})
	l.Outcomes = slices.Grow(l.Outcomes, len(o.outcomes)) // nil of none
	for i, x := range o.outcomes {
		l.Outcomes = append(l.Outcomes, Outcome{Column: x.Column, text: x.Text})
		all = append(all, of(&x.values, &l.Outcomes[i].Values))
	}
	return all
}

// emptyLog is a log that can have all columns.
func emptyLog() *Log {
	return &Log{store: &store{}, Choices: &Choices{items: &items{}}, Lists: &Lists{}, Numbers: &Numbers{}}
}

// cacheWriter writes a cache from its beginning to its end, and hashes it.
type cacheWriter struct {
	to  io.Writer
	sum *xxhash.Digest
	at  int64
}

func newCacheWriter(to io.Writer) (*cacheWriter, error) {
	w := &cacheWriter{to: to, sum: xxhash.New()}
	_, err := w.Write(append(binary.NativeEndian.AppendUint64(nil, magic), make([]byte, sectionAlign-8)...))
	return w, err
}

func (w *cacheWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.sum.Write(p[:n])
	w.at += int64(n)
	return n, err
}

// target is the file that the columns go into: the cache, or a temporary file of the same.
type target struct {
	cache     *wholefile.File // nil: a temporary file
	cachePath string          // where it will be
	own       *os.File
	written   *cacheWriter // to it
	abandon   func() error // of own; nil: it is in use
}

// beginCache begins the cache at the first of some paths where that is possible, or a temporary file of the same in a
// folder. Values of contexts, most of the cache, are written there while rows are read.
func (b *builder) beginCache(paths []string, dir string, mode fs.FileMode) (err error) {
	var failed error
	for i, path := range paths {
		if i > 0 {
			_ = os.MkdirAll(filepath.Dir(path), 0o755) // if not, creating the file says so
		}
		if info, e := os.Stat(path); e == nil && info.IsDir() {
			err = fmt.Errorf("%s: a folder", path)
		} else if b.cache, err = wholefile.Create(path, mode); err == nil {
			b.own, b.abandon, b.cachePath = b.cache.File, b.cache.Abort, path
			break
		}
		failed = errors.Join(failed, err)
	}
	if b.own == nil {
		if b.o.Cache != "" && len(paths) > 0 {
			return b.unwritten(failed)
		}
		f, err := temporary(dir)
		if err != nil {
			return b.unwritten(errors.Join(failed, err))
		}
		b.own, b.abandon = f.File, f.Close
	}
	if b.written, err = newCacheWriter(b.own); err != nil {
		return b.unwritten(err)
	}
	s := &b.contexts.values.spill
	s.most, s.to = 1<<18, b.written
	return nil
}

func (b *builder) unwritten(err error) error {
	return fmt.Errorf("%s: the cache cannot be written, setting cache puts it elsewhere: %w", cmp.Or(b.o.Cache, b.path), err)
}

// seal writes what comes after the values of contexts; of the header h, the part that the builder does not know.
func (b *builder) seal(to *cacheWriter, h cacheHeader, names []string) error {
	h.Rows, h.Actions, h.Origin, h.Files = b.n, names, b.Origin, b.files
	h.Hash = fmt.Sprintf("%016x", b.hash.Sum64())
	h.Catalogue, h.Items, h.ByPlace = b.catalogue != nil, b.items.n, b.byPlace
	h.Whole, h.Joint, h.Outcomes = b.whole, b.joint, b.outcomes
	w := bufio.NewWriterSize(to, 1<<18)
	for i, s := range sections(&b.output, emptyLog()) {
		h.Sections = append(h.Sections, s.size)
		if i == 0 {
			continue
		}
		for at := to.at + int64(w.Buffered()); at%sectionAlign != 0; at++ {
			w.WriteByte(0)
		}
		if err := s.copyTo(w); err != nil {
			return err
		}
	}
	header, err := json.Marshal(h)
	if err != nil {
		return err
	}
	w.Write(header)
	w.Write(binary.NativeEndian.AppendUint64(nil, uint64(len(header))))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = to.Write(binary.NativeEndian.AppendUint64(nil, to.sum.Sum64()))
	return err
}

// inMemory makes the cache of a builder that has its columns in memory.
func (b *builder) inMemory(names []string) (*Log, error) {
	var f bytes.Buffer
	w, err := newCacheWriter(&f)
	if err != nil {
		return nil, err
	}
	if err := b.contexts.values.copyTo(w); err != nil {
		return nil, err
	}
	if err := b.seal(w, cacheHeader{}, names); err != nil {
		return nil, err
	}
	l, _, err := parse(f.Bytes(), "")
	return l, err
}

// save ends the cache, gives it its name, and opens it. What has no name is open as long as the log is.
func (b *builder) save(h cacheHeader, names []string) (*Log, error) {
	if b.cache != nil && b.o.Caching != nil {
		var size int64
		for _, s := range b.spills() {
			size += s.size
		}
		b.o.Caching(b.cachePath, size)
	}
	if err := b.seal(b.written, h, names); err != nil {
		return nil, b.unwritten(err)
	}
	if b.cache != nil {
		err := b.cache.Place()
		if err == nil {
			b.abandon = b.own.Close
		} else if b.o.Cache != "" {
			return nil, b.unwritten(err)
		}
	}
	end := b.abandon
	b.abandon = nil
	l, _, err := mapCache(b.own, end, h.Key, true)
	return l, err
}

// load opens the cache of files: one that somebody else could have written is none.
func load(path, key string, of ...os.FileInfo) (*Log, *cacheHeader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	others := func(log os.FileInfo) bool { return !trusted(info, log) }
	if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(of, others) {
		return nil, nil, errors.Join(errDamaged, err, f.Close())
	}
	return mapCache(f, f.Close, key, false)
}

var errDamaged = errors.New("no cache of this version, or damaged")

// mapCache maps a cache that is found sound: its key, its checksum, unless that is known to be right, and every number
// that is used as an index. end closes the file, after an error or with the log.
func mapCache(f *os.File, end func() error, key string, right bool) (l *Log, h *cacheHeader, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	size := info.Size()
	if size < sectionAlign+cacheEnd || size > math.MaxInt {
		return nil, nil, errDamaged
	}
	data, unmap, err := mapFile(f, int(size), false)
	if err != nil {
		return nil, nil, err
	}
	if l, h, err = parse(data, key); err == nil && !right &&
		sumOf(data[:size-8]) != binary.NativeEndian.Uint64(data[size-8:]) {
		err = errDamaged
	}
	if err != nil {
		return nil, nil, errors.Join(err, unmap())
	}
	l.unmap = []func() error{unmap, end}
	if mappable {
		p := &l.pages
		p.maps, p.file, p.every = [][]byte{data}, f, max(1, releaseBytes/(size/int64(l.n)+1))
		p.release()
	}
	return l, h, nil
}

// sumOf hashes a mapped cache, and gives its pages back as it goes: what was read counts as memory.
func sumOf(data []byte) uint64 {
	sum := xxhash.New()
	for from := 0; from < len(data); from += releaseBytes {
		sum.Write(data[from:min(len(data), from+releaseBytes)])
		release(data)
	}
	return sum.Sum64()
}

// parse finds the log in a cache of at least sectionAlign + cacheEnd bytes, but does not check its sum.
func parse(data []byte, key string) (*Log, *cacheHeader, error) {
	end := int64(len(data)) - cacheEnd
	length := int64(binary.NativeEndian.Uint64(data[end:]))
	at := end - length
	if binary.NativeEndian.Uint64(data) != magic || length < 0 || at < sectionAlign {
		return nil, nil, errDamaged
	}
	h := &cacheHeader{}
	if err := json.Unmarshal(data[at:end], h); err != nil || h.Key != key || slices.Contains(h.Outcomes, nil) {
		return nil, nil, errDamaged
	}
	l := emptyLog()
	l.Actions, l.Origin, l.hash, l.files, l.n = h.Actions, h.Origin, h.Hash, h.Files, h.Rows
	t := l.Choices.items
	t.n, t.byPlace, t.catalogue = h.Items, h.ByPlace, h.Catalogue
	ok := takeColumns(data[:at], sections(&output{outcomes: h.Outcomes}, l), h.Sections)
	if c := l.Choices; t.n == 0 && !t.catalogue {
		l.Choices, ok = nil, ok && c.First == nil && t.ids == nil
	}
	if l.Lists.Whole = h.Whole; l.Lists.Slot == nil {
		l.Lists = nil
	}
	if !ok || !l.sound() || !l.takeNumbers() || !l.takeLists(h.Joint) {
		return nil, nil, errDamaged
	}
	return l, h, nil
}

// takeColumns points the columns of a log to the sections of a mapped cache, which have the given sizes.
func takeColumns(data []byte, sections []section, sizes []int64) bool {
	at := int64(sectionAlign)
	if len(sections) != len(sizes) {
		return false
	}
	for i, size := range sizes {
		at = (at + sectionAlign - 1) / sectionAlign * sectionAlign
		if size < 0 || at > int64(len(data)) || size > int64(len(data))-at {
			return false
		}
		b := data[at : at+size : at+size]
		at += size
		if !sections[i].take(b) {
			return false
		}
	}
	return true
}

// to returns what reads bytes as a column, of whole elements; none is nil.
func to[T any](c *[]T) func([]byte) bool {
	return func(b []byte) bool {
		size := int(unsafe.Sizeof(*new(T)))
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
	return !slices.ContainsFunc(column, func(v T) bool { return int(v) < lo || int(v) >= hi })
}

// sound reports whether the columns have the lengths that they must have, and every
// number that is an index is within its range.
func (l *Log) sound() bool {
	n, k := l.n, len(l.Actions)
	if n < 1 || k < 2 || n > math.MaxInt/8/k || len(l.Action) != n || l.Cost == nil || l.Keys == nil ||
		len(l.contextHash) != n || l.fileRows != nil && len(l.fileRows) != n || l.lengths() != nil ||
		l.Propensities != nil && l.Propensity == nil || l.HasIDs() && len(l.texts.ends) != n ||
		l.Choices != nil && !l.Choices.sound(k) {
		return false
	}
	if slices.ContainsFunc(l.Outcomes, func(o Outcome) bool { return !IsOutcome(o.Column) }) {
		return false
	}
	groups := len(l.groups.ends)
	if l.Lists != nil { // which are groups, too
		groups += n
	}
	if !l.named.sound() || !within(l.Action, 0, k) || !within(l.Group, -1, groups) ||
		!within(l.Logger, -1, len(l.Policies)) {
		return false
	}
	return true
}

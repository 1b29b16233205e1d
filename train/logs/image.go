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

	"github.com/cespare/xxhash/v2"

	"opl/policies/wholefile"
)

// blockSum makes the sum of a cache, of what comes after its first 64 bytes: the xxHash64 of these and of the xxHash64 of each MiB
// after them, so that several can be made at a time.
type blockSum struct {
	block xxhash.Digest
	n     int // bytes of the block
	all   []byte
	begun bool
}

const sumBlock = 1 << 20

func (s *blockSum) Write(p []byte) (int, error) {
	for left := p; len(left) > 0; {
		if !s.begun || s.n == sumBlock {
			s.end()
		}
		m := min(len(left), sumBlock-s.n)
		s.block.Write(left[:m])
		s.n, left = s.n+m, left[m:]
	}
	return len(p), nil
}

// end ends a block and begins the next.
func (s *blockSum) end() {
	if s.n > 0 {
		s.all = binary.NativeEndian.AppendUint64(s.all, s.block.Sum64())
	}
	s.block.Reset()
	s.begun, s.n = true, 0
}

// sum is that of all, with the first bytes.
func (s *blockSum) sum(first []byte) uint64 {
	s.end()
	return xxhash.Sum64(append(first[:len(first):len(first)], s.all...))
}

// sumOfCache is the sum of a mapped cache without it.
func sumOfCache(data []byte) uint64 {
	rest := data[sectionAlign:]
	blocks := (len(rest) + sumBlock - 1) / sumBlock
	all := make([]byte, 8*blocks)
	const together = span / sumBlock
	each((blocks+together-1)/together, func(part int) {
		for i := part * together; i < min(blocks, (part+1)*together); i++ {
			block := rest[i*sumBlock : min(len(rest), (i+1)*sumBlock)]
			binary.NativeEndian.PutUint64(all[8*i:], xxhash.Sum64(block))
		}
		forget(data) // what was read counts as memory
	})
	return xxhash.Sum64(append(data[:sectionAlign:sectionAlign], all...))
}

// begins begins the cache at the first of some paths where that is possible, or a temporary file of the same in a folder: values of contexts,
// most of it, are written there by a goroutine while rows are read.
func (b *builder) begins(paths []string, dir string, mode fs.FileMode) (err error) {
	var failed error
	for i, path := range paths {
		if i > 0 {
			_ = os.MkdirAll(filepath.Dir(path), 0o755) // if not, creating the file says so
		}
		if b.cache, err = wholefile.Create(path, mode); err == nil {
			b.own, b.abandon, b.caches = b.cache.File, b.cache.Abort, paths[i:]
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
			return fmt.Errorf("%s: the cache cannot be written: %w", b.path, errors.Join(failed, err))
		}
		b.own, b.abandon = f.File, f.Close
	}
	if _, err := b.own.Seek(sectionAlign, io.SeekStart); err != nil {
		return err
	}
	s := &b.contexts.values
	s.most, s.later = behindBytes, newBehind(io.MultiWriter(b.own, &b.sum))
	return nil
}

func (b *builder) unwritten(err error) error {
	return fmt.Errorf("%s: the cache cannot be written: %w", cmp.Or(b.o.Cache, b.path), err)
}

// image writes the cache after the values of contexts, and returns its first bytes and its sum. f and sum have been given
// values.
func (b *builder) image(f io.Writer, sum *blockSum, key string, names []string, src source) (first []byte, err error) {
	h := cacheHeader{Key: key, Log: b.absolute(), Source: src, Rows: b.n, Width: b.contexts.width(), Actions: names, Notes: b.notes, Hash: fmt.Sprintf("%016x", b.hash.Sum64()), Skipped: b.skipped, Unrewarded: b.unrewarded, Among: b.among, HasIDs: b.first.hasID,
		Catalogue: b.catalogue != nil, Items: b.items.n, ItemWidth: b.items.width(), ByPlace: b.byPlace}
	columns := b.spills()
	columns = columns[:len(columns)-1] // not the bad rows
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<18)
	at := int64(sectionAlign)
	for i, s := range columns {
		h.Sections = append(h.Sections, s.size)
		if i > 0 {
			for ; at%sectionAlign != 0; at++ {
				w.WriteByte(0)
			}
			if err := s.copyTo(w); err != nil {
				return nil, err
			}
		}
		at += s.size
	}
	header, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	w.Write(header)
	if err := w.Flush(); err != nil {
		return nil, err
	}
	first = binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, magic), uint64(at))
	first = append(first, make([]byte, sectionAlign-len(first))...)
	_, err = f.Write(binary.NativeEndian.AppendUint64(nil, sum.sum(first)))
	return first, err
}

// inMemory is the cache of a builder that has its columns there.
func (b *builder) inMemory(names []string) (*Log, error) {
	var f bytes.Buffer
	f.Write(make([]byte, sectionAlign))
	if err := b.contexts.values.copyTo(io.MultiWriter(&f, &b.sum)); err != nil {
		return nil, err
	}
	first, err := b.image(&f, &b.sum, "", names, source{})
	if err != nil {
		return nil, err
	}
	copy(f.Bytes(), first)
	l, _, err := parse(f.Bytes(), "")
	return l, err
}

// save ends the cache, gives it its name, and opens it. What has no name is open as long as the log is.
func (b *builder) save(key string, names []string, src source, log os.FileInfo) (*Log, error) {
	if b.cache != nil && b.o.Caching != nil {
		b.o.Caching(b.caches[0], b.size())
	}
	first, err := b.image(b.own, &b.sum, key, names, src)
	if err == nil {
		_, err = b.own.WriteAt(first, 0)
	}
	if err != nil {
		return nil, b.unwritten(err)
	}
	if b.cache == nil {
		return b.keep(key)
	}
	failed := b.cache.Place()
	if failed == nil {
		b.abandon = nil
		was, err := b.own.Stat()
		if err := errors.Join(err, b.own.Close()); err != nil {
			return nil, err
		}
		l, _, err := load(b.caches[0], key, log, was)
		return l, err
	}
	for _, path := range b.caches[1:] {
		_ = os.MkdirAll(filepath.Dir(path), 0o755) // if not, creating the file says so
		err := wholefile.Write(path, modeOf(log), func(f *os.File) error {
			_, err := io.Copy(f, io.NewSectionReader(b.own, 0, math.MaxInt64))
			return err
		})
		if err == nil {
			l, _, err := load(path, key, log, nil)
			return l, err
		}
		failed = errors.Join(failed, err)
	}
	if b.o.Cache != "" {
		return nil, b.unwritten(failed)
	}
	return b.keep(key)
}

// keep opens the builder's own file.
func (b *builder) keep(key string) (*Log, error) {
	end := b.abandon
	b.abandon = nil
	l, _, err := loadFile(b.own, end, key, true, nil)
	return l, err
}

// load opens the cache of a log: one that somebody else could have written is none. was is what it was when it was written,
// just now; nil: it was written before. It is watched, where the system can, and else a copy is read,
// unless the cache is large, or there is no room: whoever writes into the cache meanwhile,
// instead of replacing it, changes nothing of the log.
func load(path, key string, log, was os.FileInfo) (*Log, source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, source{}, err
	}
	watched := mappable && lease(f)
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !trusted(info, log) {
		return nil, source{}, errors.Join(errDamaged, err, f.Close())
	}
	if watched {
		same := was != nil && os.SameFile(was, info) && stampOf(path, was) == stampOf(path, info)
		return loadFile(f, f.Close, key, same, &watch{file: f})
	}
	if mappable && info.Size() <= ownCopy {
		if own, err := temporary(filepath.Dir(path)); err == nil {
			if _, err := io.Copy(own.File, f); err == nil {
				_ = f.Close() // it was only read
				return loadFile(own.File, own.Close, key, false, nil)
			}
			_ = own.Close() // it is gone all the same
		}
	}
	return loadFile(f, f.Close, key, false, nil)
}

var errDamaged = errors.New("no cache of this version, or damaged")

// loadFile maps a cache that is found sound: its key, its checksum, unless it is known to be right, and every number that
// is used as an index. end closes the file, after an error or with the log.
func loadFile(f *os.File, end func() error, key string, right bool, w *watch) (l *Log, src source, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, src, err
	}
	size := info.Size()
	if size < sectionAlign+8 || size > math.MaxInt {
		return nil, src, errDamaged
	}
	data, unmap, err := mapFile(f, int(size), false)
	if err != nil {
		return nil, src, err
	}
	if w != nil {
		unmap = w.begin(data, unmap)
	}
	if l, src, err = parse(data, key); err == nil && !right && sumOfCache(data[:len(data)-8]) != binary.NativeEndian.Uint64(data[len(data)-8:]) {
		err = errDamaged
	}
	if err != nil {
		return nil, src, errors.Join(err, unmap())
	}
	l.unmap = []func() error{unmap, end}
	if mappable {
		l.pages.hold(f, data, l.n)
	}
	return l, src, nil
}

// parse finds the log in a cache, but does not check its sum.
func parse(data []byte, key string) (*Log, source, error) {
	at := binary.NativeEndian.Uint64(data[8:])
	if binary.NativeEndian.Uint64(data) != magic || at > uint64(len(data)-8) {
		return nil, source{}, errDamaged
	}
	var h cacheHeader
	if json.Unmarshal(data[at:len(data)-8], &h) != nil || h.Key != key {
		return nil, source{}, errDamaged
	}
	l := &Log{Actions: h.Actions, Notes: h.Notes, Skipped: h.Skipped, Unrewarded: h.Unrewarded, Among: h.Among, store: &store{hash: h.Hash, named: named{n: h.Rows, width: h.Width}, hasIDs: h.HasIDs}}
	if h.Catalogue || h.Items > 0 {
		l.Choices = &Choices{items: &items{named: named{n: h.Items, width: h.ItemWidth}, byPlace: h.ByPlace, catalogue: h.Catalogue}}
	}
	if !l.place(data[:at], h.Sections) || !l.sound() {
		return nil, source{}, errDamaged
	}
	return l, h.Source, nil
}

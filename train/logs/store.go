package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"opl/policies/features"
)

// Decision is one row of a decision log as it was read and checked.
type Decision struct {
	ID           string           // empty: the log has none
	Time         time.Time        // zero: the log has none
	Group        string           // of rows that may depend on one another; empty: none
	Context      []features.Value // named values
	Offered      []Offer          // what could be done; nil: all of Log.Actions, without features of the row's own
	Action       int              // from 0, the place among Offered, or else in Log.Actions
	Cost         float64          // in [−1, 0]
	Propensity   float64          // π₀(a|x) of the logged action in (0, 1]; 0: not known
	Number       float64          // that the action was, of a log of numbers
	Density      float64          // π₀ at Number; 0: it has a propensity
	Propensities []float64        // π₀(·|x) of Offered, or of all actions; nil: not known
	Weight       float64          // of the row, 1 where the log has none
	Outcomes     []float64        // of [Log].Outcomes, in their order; NaN: missing
	Slate        string           // the list that the row is a slot of; empty: none
	Slot         int              // its slot, from 1; 0: none
	// decisions without a reward that were left out since the row before; of a log that was read 0, see Log.Unrewarded
	Unrewarded int
	Catalogue  string // hash of the catalogue that the decision was among, see Log.Among; empty: not known
	Policy     string // that logged the row, its name or hash; empty: not known
	Row        int    // in its file, from 1, without the header
}

// Offer describes an action that a row offers.
type Offer = features.Offer

// store is what a log that was read holds beside its columns: the named values of
// contexts, and the texts that columns number. Contexts, ids and rows of the file are by Log.Context.
type store struct {
	path        string
	files       places // of which the rows are, if there are several
	unmap       []func() error
	pages       pages
	hash        string
	named                // contexts
	fileRows    []int64  // places in the file; nil: i+1
	contextHash []uint64 // of its named values, see ContextHashes
	groups      blob
	texts       blob // decision ids
	once        sync.Once
	apart       []uint64 // of rows without ids, see Identity; made once
}

var unread store // of logs of vectors alone

// from returns the store of the log, an empty one of a log of vectors alone.
func (l *Log) from() *store { return cmp.Or(l.store, &unread) }

// Path returns the file that the log was read from, "" for one in memory.
func (l *Log) Path() string { return l.from().path }

// Names returns the names of all values that occur in contexts; none of a log of
// vectors alone.
func (l *Log) Names() []string { return l.from().names }

// HasIDs reports that rows have a decision_id.
func (l *Log) HasIDs() bool { return l.from().texts.ends != nil }

// where names file and row for errors.
func (l *Log) where(i int) string { return l.from().files.where(l.name(), l.Row(i)) }

// places are the files of a log, in their order.
type places []start

type start struct {
	Name   string `json:"name"`
	Before int    `json:"before"` // rows of the files before
}

// place is the file of a row, and its place there; the row itself if there is one file alone.
func (p places) place(row int) (name string, at int) {
	i, _ := slices.BinarySearchFunc(p, row, func(f start, row int) int { return cmp.Compare(f.Before, row) })
	if i == 0 {
		return "", row
	}
	return p[i-1].Name, row - p[i-1].Before
}

// where names file and row for errors, of a log that is called path.
func (p places) where(path string, row int) string {
	name, at := p.place(row)
	return fmt.Sprintf("%s: row %d", cmp.Or(name, path), at)
}

// Row returns the place of row i in its file, from 1, without the header; of several files that among the rows of
// all, one after the other.
func (l *Log) Row(i int) int {
	if rows := l.from().fileRows; rows != nil {
		return int(rows[l.Context(i)])
	}
	return i + 1
}

// Decision reads row i into d, whose slices it uses again. Propensities is shared
// with the log, and nil if it is [Log.Derived].
func (l *Log) Decision(i int, d *Decision) {
	ids, values := l.Values(i)
	x := slices.Grow(d.Context[:0], len(ids))
	for j, id := range ids {
		x = append(x, features.Value{Name: l.names[id], Number: values[j]})
	}
	outcomes := d.Outcomes[:0]
	for _, o := range l.Outcomes {
		outcomes = append(outcomes, at(o.Values, i, math.NaN()))
	}
	*d = Decision{Context: x, Outcomes: outcomes, Offered: l.offers(i, d.Offered[:0]), Action: l.Chosen(i),
		Cost: l.Cost[i], Propensity: at(l.Propensity, i, 0), Weight: at(l.Weight, i, 1),
		Catalogue: l.Among, Row: l.Row(i)}
	if !l.Derived() {
		d.Propensities = l.Pi0(i)
	}
	if l.HasIDs() {
		d.ID = l.texts.at(l.Context(i))
	}
	if l.Lists != nil {
		d.Slate, d.Slot = cmp.Or(l.listGroup(i), strconv.Itoa(int(l.Lists.Of[i]))), int(l.Lists.Slot[i])
	}
	if l.Time != nil {
		d.Time = time.Unix(0, l.Time[i]).UTC()
	}
	if l.store != nil && l.Group != nil && l.Group[i] >= 0 {
		if g := int(l.Group[i]); g < len(l.groups.ends) {
			d.Group = l.groups.at(g)
		} else {
			d.Group = l.listGroup(i)
		}
	}
	if l.Logger != nil && l.Logger[i] >= 0 {
		d.Policy = l.Policies[l.Logger[i]]
	}
	if l.Numbers != nil {
		d.Number, d.Density = l.Numbers.Value[i], l.Numbers.Density[i]
	}
}

// offers returns what row i offers, in buf; nil of a log without sets.
func (l *Log) offers(i int, buf []Offer) []Offer {
	if !l.Sets() {
		return nil
	}
	t := l.items()
	for j := range l.Options(i) {
		a, item := l.Option(i, j)
		if len(buf) < cap(buf) {
			buf = buf[:j+1]
		} else {
			buf = append(buf, Offer{})
		}
		o := &buf[j]
		o.Action, o.Features = l.Actions[a], o.Features[:0]
		if t.byPlace {
			o.Action = ""
		}
		if !t.catalogue {
			o.Features = t.appendTo(item, o.Features)
		}
	}
	return buf
}

// Close gives the memory of a log that was read back. Slices of the log, and of what
// was made of it, are gone then.
func (l *Log) Close() error {
	if l.store == nil {
		return nil
	}
	var err error
	for _, f := range l.unmap {
		err = errors.Join(err, f())
	}
	*l = Log{store: &store{path: l.path}}
	return err
}

// Scratch returns zeros that live until Close: on the heap, or, if they are many and there is a place for one, in a
// mapped file without a name. Only one goroutine may ask for them at a time.
func (l *Log) Scratch(n int) (x []float64) {
	if n < 1<<22 || !mappable || l.Path() == "" {
		return make([]float64, n)
	}
	f, err := temporary(filepath.Dir(l.path))
	if err != nil {
		return make([]float64, n)
	}
	defer f.Close()
	if f.Truncate(8*int64(n)) != nil {
		return make([]float64, n)
	}
	b, unmap, err := mapFile(f.File, 8*n, true)
	if err != nil {
		return make([]float64, n)
	}
	l.unmap = append(l.unmap, unmap)
	l.pages.maps = append(l.pages.maps, b)
	to(&x)(b)
	return x
}

// blob is many strings in one.
type blob struct {
	ends []int64
	text []byte
}

func (b blob) at(i int) string {
	var lo int64
	if i > 0 {
		lo = b.ends[i-1]
	}
	return string(b.text[lo:b.ends[i]])
}

const (
	releaseBytes = 32 << 20 // bytes of a log that are passed before its pages are given back
	near         = 64       // rows ahead that the system is likely to have mapped with the last
)

// pages are the mapped pages of a log, which count as memory of the process until they
// are given back. Rows that are read in order are taken from the mapping. Around a row
// read out of order the system would map much that nobody reads: it is read from the
// file.
type pages struct {
	maps   [][]byte // the cache first
	file   *os.File // it as well; nil: nothing is mapped
	every  int64    // rows
	passed atomic.Int64
	// of near rows each, that were read last, from 1: a reader in order is among them, and so are several
	recent [64]atomic.Int64
}

// release gives the pages back, which are read again when needed.
func (p *pages) release() {
	for _, b := range p.maps {
		release(b)
	}
}

// ordered counts a row as read, and reports whether it comes soon after one that was read.
func (p *pages) ordered(i int) bool {
	if p.file == nil {
		return true
	}
	at := int64(i)/near + 1
	here, before := &p.recent[at%int64(len(p.recent))], &p.recent[(at-1)%int64(len(p.recent))]
	if here.Load() == at {
		return true
	}
	ordered, ahead := before.Load() == at-1, int64(1)
	if here.Store(at); ordered {
		ahead = near
	}
	if p.passed.Add(ahead) >= p.every {
		p.passed.Store(0)
		p.release()
	}
	return ordered
}

// context returns the names and values of row i.
func (l *Log) context(i int) (ids []uint32, values []float64) {
	ids, values = l.named.row(i)
	if l.pages.ordered(i) {
		return ids, values
	}
	if some := make([]float64, len(values)); fetch(&l.pages, some, values) {
		values = some
	}
	if l.offsets != nil {
		if some := make([]uint32, len(ids)); fetch(&l.pages, some, ids) {
			ids = some
		}
	}
	return ids, values
}

// fetch reads a part of the mapped cache from its file. It reports whether it could.
func fetch[T uint32 | float64](p *pages, dst, mapped []T) bool {
	if len(dst) == 0 {
		return true
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mapped))) - uintptr(unsafe.Pointer(unsafe.SliceData(p.maps[0])))
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)*int(unsafe.Sizeof(dst[0])))
	n, err := p.file.ReadAt(b, int64(at))
	return n == len(b) && (err == nil || err == io.EOF)
}

package logs

import (
	"errors"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"opl/policies/features"
)

// store is what a log that was read holds beside its columns: the named values of
// contexts, and the texts that columns have numbers of. Contexts, ids and rows of the
// file are those of Log.Context.
type store struct {
	path     string
	unmap    []func() error
	pages    pages
	names    []string
	hash     string
	n, width int // width: names in every row, if dense

	values  []float64
	ids     []uint32 // of names; of every row, if dense
	offsets []int64  // into values, n+1; nil: dense

	rows     []int64 // in the file; nil: i+1
	category []byte  // 1 for the names of categories
	groups   blob
	texts    blob // decision ids
	hasIDs   bool
}

// Path is the file that the log was read from, "" for one in memory.
func (l *Log) Path() string {
	if l.store == nil {
		return ""
	}
	return l.path
}

// Names are the names of all values that occur in contexts; none of a log of vectors
// alone.
func (l *Log) Names() []string {
	if l.store == nil {
		return nil
	}
	return l.names
}

// HasIDs reports that rows have a decision_id.
func (l *Log) HasIDs() bool { return l.store != nil && l.hasIDs }

// Row is the place of row i in its file, from 1, without the header.
func (l *Log) Row(i int) int {
	if l.store == nil || l.rows == nil {
		return i + 1
	}
	return int(l.rows[l.Context(i)])
}

// Decision reads row i into d, whose slices it uses again. Propensities is shared
// with the log.
func (l *Log) Decision(i int, d *Decision) {
	x := d.Context[:0]
	if l.store != nil {
		ids, values := l.context(l.Context(i), nil)
		x = slices.Grow(x, len(ids))
		for j, id := range ids {
			x = append(x, features.Value{Name: l.names[id], Number: values[j]})
		}
	}
	*d = Decision{Context: x, Action: int(l.Action[i]), Cost: l.Cost[i], Weight: 1, Row: l.Row(i)}
	if l.HasIDs() {
		d.ID = l.texts.at(l.Context(i))
	}
	if l.Time != nil {
		d.Time = time.Unix(0, l.Time[i]).UTC()
	}
	if l.store != nil && l.Group != nil && l.Group[i] >= 0 {
		d.Group = l.groups.at(int(l.Group[i]))
	}
	if l.Logger != nil && l.Logger[i] >= 0 {
		d.Policy = l.Policies[l.Logger[i]]
	}
	if l.Propensity != nil {
		d.Propensity = l.Propensity[i]
	}
	if k := l.K(); l.Propensities != nil {
		d.Propensities = l.Propensities[i*k : i*k+k : i*k+k]
	}
	if l.Weight != nil {
		d.Weight = l.Weight[i]
	}
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

// scratch returns zeros that live until Close: on the heap, or in a mapped file
// without a name when they are many.
func (l *Log) scratch(n int) ([]float64, error) {
	if n < 1<<22 || !mappable || l.path == "" {
		return make([]float64, n), nil
	}
	f, err := temporary(filepath.Dir(l.path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(8 * int64(n)); err != nil {
		return nil, err
	}
	b, unmap, err := mapFile(f.File, 8*n, true)
	if err != nil {
		return nil, err
	}
	l.unmap = append(l.unmap, unmap)
	l.pages.maps = append(l.pages.maps, b)
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
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

// all are the strings; nil if there are none.
func (b blob) all() []string {
	var s []string
	for i := range b.ends {
		s = append(s, b.at(i))
	}
	return s
}

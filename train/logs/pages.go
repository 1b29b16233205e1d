package logs

import (
	"io"
	"os"
	"sync/atomic"
	"unsafe"
)

const (
	span = 32 << 20 // bytes of a log that are passed before its pages are given back
	near = 64       // rows ahead that the system is likely to have mapped with the last
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
	last   atomic.Int64 // row that was read
}

// hold begins with the cache of n rows.
func (p *pages) hold(f *os.File, data []byte, n int) {
	p.maps, p.file, p.every = append(p.maps, data), f, max(1, span/int64(len(data)/n+1))
	p.forget()
}

// forget gives the pages back, which are read again when needed.
func (p *pages) forget() {
	for _, b := range p.maps {
		forget(b)
	}
}

// ordered counts a row as read, and reports whether it comes soon after the last.
func (p *pages) ordered(i int) bool {
	if p.file == nil {
		return true
	}
	ahead := int64(i) - p.last.Swap(int64(i))
	ordered := ahead >= 0 && ahead <= near
	if !ordered {
		ahead = 1
	}
	if p.passed.Add(ahead) >= p.every {
		p.passed.Store(0)
		p.forget()
	}
	return ordered
}

// context returns the names and values of row i. It may write the values to room.
func (l *Log) context(i int, room []float64) (ids []uint32, values []float64) {
	lo, hi := i*l.width, (i+1)*l.width
	ids = l.ids
	if l.offsets != nil {
		lo, hi = int(l.offsets[i]), int(l.offsets[i+1])
		ids = l.ids[lo:hi]
	}
	values = l.values[lo:hi]
	if l.pages.ordered(i) {
		return ids, values
	}
	if len(room) < len(values) {
		room = make([]float64, len(values))
	}
	if room = room[:len(values)]; fetch(&l.pages, room, values) {
		values = room
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

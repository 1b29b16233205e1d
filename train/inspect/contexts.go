package inspect

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"

	"opl/train/logs"
)

// contextsFit reports that every row has a context, if any has.
func (l *log) contextsFit() bool {
	if l.Rows != nil && len(l.Rows) != l.n {
		return false
	}
	if l.X == nil {
		return true
	}
	if m, ok := l.X.(logs.Rows64); ok && m.Width < 1 {
		return false
	}
	for _, r := range l.Rows {
		if r < 0 || r >= l.X.Len() {
			return false
		}
	}
	return l.Rows != nil || l.X.Len() == l.n
}

// contextHashes is a hash of each row's context: of its named values in any order, or
// of its vector. It is nil where the log has neither.
func contextHashes(l *logs.Log) []uint64 {
	hashes := make([]uint64, l.Len())
	switch {
	case l.Path() != "": // it was read
		var d logs.Decision
		for i := range hashes {
			l.Decision(i, &d)
			for _, v := range d.Context {
				// A sum does not depend on the order of the values.
				hashes[i] += mix(xxhash.Sum64String(v.Name) ^ math.Float64bits(v.Number)*0x9e3779b97f4a7c15)
			}
		}
	case l.X != nil:
		x, b := make([]float64, l.Dim()), make([]byte, 0, 8*l.Dim())
		for i := range hashes {
			l.X.Row64(l.Context(i), x)
			b = b[:0]
			for _, v := range x {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
			hashes[i] = xxhash.Sum64(b)
		}
	default:
		return nil
	}
	return hashes
}

// mix spreads a hash over its bits (the finalizer of SplitMix64).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

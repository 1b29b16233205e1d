package logs

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
)

const (
	ByID      = "xxHash64 of the seed and the number of the row, which is xxHash64 of its decision_id"
	ByContent = "xxHash64 of the seed and the number of the row, which is that of its content and its place among rows of equal content"
)

type Logger struct {
	Policy string
	Rows   int
}

func (l *Log) Loggers() []Logger { return nil }

func (l *Log) Identity() (string, []uint64) {
	if l.HasIDs() || l.Keys == nil {
		return ByID, l.Keys
	}
	ids := slices.Clone(l.Keys)
	seen := make(map[uint64]uint64, len(ids))
	for i, h := range ids {
		k := seen[h]
		seen[h] = k + 1
		if k > 0 {
			var b [16]byte
			binary.LittleEndian.PutUint64(b[:8], k)
			binary.LittleEndian.PutUint64(b[8:], h)
			ids[i] = xxhash.Sum64(b[:])
		}
	}
	return ByContent, ids
}

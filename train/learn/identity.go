package learn

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"opl/train/logs"
)

// What rows are told apart by, as policy files say it.
const (
	byID      = "xxHash64 of the seed and the number of the row, which is xxHash64 of its decision_id"
	byContent = "xxHash64 of the seed and the number of the row, which is that of its content and its place among rows of equal content"
)

// identity is what tells the rows of a log apart, wherever they are copied to.
type identity struct {
	how string // byID or byContent
	ids []uint64
}

// identify numbers the rows of a log. Rows of the same decision_id are one. Without
// ids, rows of equal content differ by their place among them: which of them is
// which makes no difference.
func identify(log *logs.Log) identity {
	if log.HasIDs() {
		return identity{byID, log.Keys}
	}
	return identity{byContent, distinct(log.Keys)}
}

// distinct returns the hashes with those that come again made different.
func distinct(hashes []uint64) []uint64 {
	ids := slices.Clone(hashes)
	seen := make(map[uint64]uint64, len(ids))
	for i, h := range ids {
		k := seen[h]
		seen[h] = k + 1
		if k > 0 {
			ids[i] = hash(k, h)
		}
	}
	return ids
}

// hash is the xxHash64 of two numbers.
func hash(seed, of uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], of)
	return xxhash.Sum64(b[:])
}

// hashes are those of some of the rows, as a file records them: sorted, distinct.
func (d identity) hashes(seed uint64, rows []int) []uint64 {
	out := make([]uint64, len(rows))
	for i, r := range rows {
		out[i] = hash(seed, d.ids[r])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// content is a hash of what a decision holds but for its id and what depends on how
// the log is read: time, context and action. It does not depend on the order of the
// context's values.
func content(d *logs.Decision, actions []string) uint64 {
	sum := hash(uint64(d.Time.UnixNano()), xxhash.Sum64String(actions[d.Action]))
	for _, v := range d.Context {
		sum += hash(math.Float64bits(v.Number), xxhash.Sum64String(v.Name))
	}
	return sum
}

package propensity

import "slices"

// RowSet is a set of log rows, each by a hash that stands for it.
type RowSet struct{ sorted []uint64 }

// NewRowSet returns the set of the rows of the given hashes.
func NewRowSet(hashes []uint64) RowSet {
	s := slices.Clone(hashes)
	slices.Sort(s)
	return RowSet{slices.Compact(s)}
}

// Len returns the number of rows.
func (s RowSet) Len() int { return len(s.sorted) }

// Hashes returns the hashes of the rows, sorted.
func (s RowSet) Hashes() []uint64 { return slices.Clone(s.sorted) }

// Has reports whether the row of that hash is in the set.
func (s RowSet) Has(hash uint64) bool {
	_, ok := slices.BinarySearch(s.sorted, hash)
	return ok
}

// Package keys sorts hashes of many rows, and finds those that come more than once, in little
// memory. Use it where a map of all rows would be too large.
package keys

import (
	"iter"
	"slices"
)

// few is how many keys are compared; more are sorted by their digits.
const few = 512

// Sort sorts keys.
func Sort(keys []uint64) {
	if len(keys) < few {
		slices.Sort(keys)
		return
	}
	byDigits(keys, nil)
}

// SortRows sorts rows by their keys; those of one key stay in their order.
func SortRows(rows []int32, key []uint64) {
	keys := make([]uint64, len(rows))
	for at, i := range rows {
		keys[at] = key[i]
	}
	byDigits(keys, rows)
}

// byDigits sorts keys, and rows with them unless they are nil, stably, by their bytes from the lowest (Knuth, TAOCP 3,
// algorithm 5.2.5R).
func byDigits(keys []uint64, rows []int32) {
	to, toRows := make([]uint64, len(keys)), make([]int32, len(rows))
	var count [8][256]int
	for _, k := range keys {
		for d := range 8 {
			count[d][k>>(8*d)&255]++
		}
	}
	from, fromRows := keys, rows
	for d := range 8 {
		if slices.Contains(count[d][:], len(keys)) { // all are alike
			continue
		}
		at := 0
		for b, n := range count[d] {
			count[d][b], at = at, at+n
		}
		for i, k := range from {
			b := k >> (8 * d) & 255
			at := count[d][b]
			if count[d][b]++; len(rows) > 0 {
				toRows[at] = fromRows[i]
			}
			to[at] = k
		}
		from, to, fromRows, toRows = to, from, toRows, fromRows
	}
	if len(keys) > 0 && &from[0] != &keys[0] {
		copy(keys, from)
		copy(rows, fromRows)
	}
}

// Filter holds hashes; it may find one that it does not hold, in one of 16 cases at most. The zero value holds none.
type Filter struct {
	bits  []uint64
	shift int
}

// NewFilter has buffer for n hashes.
func NewFilter(n int) Filter {
	f := Filter{shift: 64}
	for size := 1; size < 16*n; size *= 2 {
		f.shift--
	}
	f.bits = make([]uint64, 1<<(64-f.shift)/64+1)
	return f
}

// Add adds a hash.
func (f *Filter) Add(h uint64) { b := Mix(h) >> f.shift; f.bits[b/64] |= 1 << (b % 64) }

// Has reports that the filter holds a hash, or may.
func (f *Filter) Has(h uint64) bool {
	if f.bits == nil {
		return false
	}
	b := Mix(h) >> f.shift
	return f.bits[b/64]>>(b%64)&1 != 0
}

// Repeated returns the keys of lists that come more than once, each as often as it comes, in their order, among a few
// that do not.
func Repeated(lists ...[]uint64) (some []uint64) {
	n := 0
	for _, keys := range lists {
		n += len(keys)
	}
	seen := NewFilter(n)
	twice := Filter{make([]uint64, len(seen.bits)), seen.shift}
	for _, keys := range lists {
		for _, k := range keys {
			b := Mix(k) >> seen.shift
			bit := uint64(1) << (b % 64)
			twice.bits[b/64] |= seen.bits[b/64] & bit
			seen.bits[b/64] |= bit
		}
	}
	n = 0
	for _, keys := range lists {
		for _, k := range keys {
			if twice.Has(k) {
				n++
			}
		}
	}
	some = make([]uint64, 0, n)
	for _, keys := range lists {
		for _, k := range keys {
			if twice.Has(k) {
				some = append(some, k)
			}
		}
	}
	Sort(some)
	return some
}

// Again counts the keys that were there before.
func Again(keys []uint64) (n int) {
	sorted := Repeated(keys)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			n++
		}
	}
	return n
}

// Apart returns the keys, where equal ones differ by their place among them: of says what the n-th, from 1, after the
// first is instead. Keys that all differ are returned as they are.
func Apart(keys []uint64, of func(n, key uint64) uint64) []uint64 {
	_, shared := Sharing(keys)
	if shared.bits == nil {
		return keys
	}
	keys, before := slices.Clone(keys), map[uint64]uint64{}
	for i, k := range keys {
		if !shared.Has(k) {
			continue
		}
		n := before[k]
		if before[k] = n + 1; n > 0 {
			keys[i] = of(n, k)
		}
	}
	return keys
}

// Mix makes every bit of its result depend on every bit of x (Steele, Lea & Flood 2014).
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Sharing finds the contexts that more than one row of logs has, and of how many rows they are, in their order.
func Sharing(contexts ...[]uint64) (sizes []int, shared Filter) {
	sorted := Repeated(contexts...)
	var twice []uint64
	for from, to := 0, 0; from < len(sorted); from = to {
		for to = from + 1; to < len(sorted) && sorted[to] == sorted[from]; to++ {
		}
		if to-from > 1 {
			sizes, twice = append(sizes, to-from), append(twice, sorted[from])
		}
	}
	if len(twice) > 0 {
		shared = NewFilter(len(twice))
	}
	for _, h := range twice {
		shared.Add(h)
	}
	return sizes, shared
}

// Twice finds the first value that is there before, by its place.
func Twice[T comparable](values []T) (at int, twice bool) {
	seen := make(map[T]bool, len(values))
	for i, v := range values {
		if seen[v] {
			return i, true
		}
		seen[v] = true
	}
	return 0, false
}

// First returns the first n of items in an order, without sorting the others: there may be many.
func First[T any](items iter.Seq[T], n int, order func(a, b T) int) (some []T) {
	full := false // some[n-1] is the last of n, in order
	for x := range items {
		if full && order(x, some[n-1]) >= 0 {
			continue
		}
		if some = append(some, x); len(some) == 2*n {
			slices.SortFunc(some, order)
			some, full = some[:n], true
		}
	}
	slices.SortFunc(some, order)
	return some[:min(n, len(some))]
}

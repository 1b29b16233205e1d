package inspect

import (
	"math/bits"
	"slices"
)

// few is how many keys are compared; more are sorted by their digits.
const few = 512

// sortKeys sorts keys.
func sortKeys(keys []uint64) {
	if len(keys) < few {
		slices.Sort(keys)
		return
	}
	byDigits(keys, func(key uint64) uint64 { return key })
}

// sortRows sorts rows by their keys; those of one key stay in their order.
func sortRows(rows []int, key []uint64) {
	type row struct {
		key uint64
		i   int
	}
	all := make([]row, len(rows))
	for at, i := range rows {
		all[at] = row{key[i], i}
	}
	byDigits(all, func(r row) uint64 { return r.key })
	for at, r := range all {
		rows[at] = r.i
	}
}

// byDigits sorts by keys, stably: hashes by their first digits and then by comparing, other keys by their bytes from the lowest (Knuth, TAOCP 3,
// algorithm 5.2.5R).
func byDigits[T any](all []T, key func(T) uint64) {
	to := make([]T, len(all))
	if spread(all, to, key) {
		return
	}
	var count [8][256]int
	for _, v := range all {
		for d, k := 0, key(v); d < 8; d, k = d+1, k>>8 {
			count[d][k&255]++
		}
	}
	from := all
	for d := range 8 {
		if slices.Contains(count[d][:], len(all)) { // all are alike
			continue
		}
		at := 0
		for b, n := range count[d] {
			count[d][b], at = at, at+n
		}
		for _, v := range from {
			b := key(v) >> (8 * d) & 255
			to[count[d][b]] = v
			count[d][b]++
		}
		from, to = to, from
	}
	if len(all) > 0 && &from[0] != &all[0] {
		copy(all, from)
	}
}

// spread sorts what has keys spread as evenly as those of hashes, with room for as many, and reports whether they are.
func spread[T any](all, room []T, key func(T) uint64) bool {
	digits := min(16, bits.Len(uint(len(all)))-3) // of which about 8 keys are alike
	if digits < 1 {
		return false
	}
	ends := make([]int32, 1<<digits)
	for _, v := range all {
		ends[key(v)>>(64-digits)]++
	}
	at, most := int32(0), int32(64+len(all)>>(digits-1))
	for b, n := range ends {
		if n > most {
			return false
		}
		ends[b], at = at, at+n
	}
	for _, v := range all {
		b := key(v) >> (64 - digits)
		room[ends[b]] = v
		ends[b]++
	}
	from := int32(0)
	for _, end := range ends {
		for i := from; i < end; i++ { // insertion, Knuth's 5.2.1S
			v, j := room[i], i
			for k := key(v); j > from && key(all[j-1]) > k; j-- {
				all[j] = all[j-1]
			}
			all[j] = v
		}
		from = end
	}
	return true
}

// filter holds hashes; it may find one that it does not hold, in one of 16 cases at most. The zero value holds none.
type filter struct {
	bits  []uint64
	shift int
}

// newFilter has room for n hashes.
func newFilter(n int) filter {
	f := filter{shift: 64}
	for size := 1; size < 16*n; size *= 2 {
		f.shift--
	}
	f.bits = make([]uint64, 1<<(64-f.shift)/64+1)
	return f
}

func (f *filter) add(h uint64) { b := mix(h) >> f.shift; f.bits[b/64] |= 1 << (b % 64) }

func (f *filter) has(h uint64) bool {
	if f.bits == nil {
		return false
	}
	b := mix(h) >> f.shift
	return f.bits[b/64]>>(b%64)&1 != 0
}

// shares finds how many rows have each of the contexts, in their order, and the contexts that more than one row has.
func shares(contexts []uint64) (sizes []int, shared filter) {
	sorted := slices.Clone(contexts)
	sortKeys(sorted)
	var twice []uint64
	for from, to := 0, 0; from < len(sorted); from = to {
		for to = from + 1; to < len(sorted) && sorted[to] == sorted[from]; to++ {
		}
		if sizes = append(sizes, to-from); to-from > 1 {
			twice = append(twice, sorted[from])
		}
	}
	if len(twice) > 0 {
		shared = newFilter(len(twice))
	}
	for _, h := range twice {
		shared.add(h)
	}
	return sizes, shared
}

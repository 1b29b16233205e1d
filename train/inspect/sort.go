package inspect

import "slices"

// few is how many keys are compared; more are sorted by their digits.
const few = 512

// sortKeys sorts keys.
func sortKeys(keys []uint64) {
	if len(keys) < few {
		slices.Sort(keys)
		return
	}
	byDigits(keys, nil)
}

// sortRows sorts rows by their keys; those of one key stay in their order.
func sortRows(rows []int, key []uint64) {
	keys, places := make([]uint64, len(rows)), make([]int32, len(rows))
	for at, i := range rows {
		keys[at], places[at] = key[i], int32(i)
	}
	byDigits(keys, places)
	for at, i := range places {
		rows[at] = int(i)
	}
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

// filter holds hashes; it may find one that it does not hold, in one of 16 cases at most. The zero value holds none.
type filter struct {
	bits  []uint64
	shift int
}

// newFilter has buffer for n hashes.
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

// repeated are the keys that come more than once, each as often as it comes, in their order, among a few that do not.
func repeated(keys []uint64) (some []uint64) {
	seen := newFilter(len(keys))
	twice := filter{make([]uint64, len(seen.bits)), seen.shift}
	for _, k := range keys {
		b := mix(k) >> seen.shift
		bit := uint64(1) << (b % 64)
		twice.bits[b/64] |= seen.bits[b/64] & bit
		seen.bits[b/64] |= bit
	}
	for _, k := range keys {
		if twice.has(k) {
			some = append(some, k)
		}
	}
	sortKeys(some)
	return some
}

// again counts the keys that were there before.
func again(keys []uint64) (n int) {
	sorted := repeated(keys)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			n++
		}
	}
	return n
}

// sharing finds the contexts that more than one row has, and of how many rows they are, in their order.
func sharing(contexts []uint64) (sizes []int, shared filter) {
	sorted := repeated(contexts)
	var twice []uint64
	for from, to := 0, 0; from < len(sorted); from = to {
		for to = from + 1; to < len(sorted) && sorted[to] == sorted[from]; to++ {
		}
		if to-from > 1 {
			sizes, twice = append(sizes, to-from), append(twice, sorted[from])
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

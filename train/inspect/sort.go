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

// byDigits sorts by keys, stably: by their bytes from the lowest (Knuth, TAOCP 3, algorithm 5.2.5R).
func byDigits[T any](all []T, key func(T) uint64) {
	var count [8][256]int
	for _, v := range all {
		for d, k := 0, key(v); d < 8; d, k = d+1, k>>8 {
			count[d][k&255]++
		}
	}
	from, to := all, make([]T, len(all))
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

package logs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	distinct "opl/train/internal/keys"
)

// What the rows of a log are told apart by, as policy files say it.
const (
	ByID      = "xxHash64 of the seed and the number of the row, which is xxHash64 of its decision_id"
	ByContent = "xxHash64 of the seed and the number of the row, which is that of its content and its place among " +
		"rows of equal content"
)

// Identity is what tells rows apart, wherever they are copied to, and how: ByID or
// ByContent. Rows of the same decision_id are one. Without ids, rows of equal content
// differ by their place among them: which of them is which makes no difference. Content is
// what the file says of the row: of a log with sets also which actions it offers, in whatever
// order, with their ids, features and propensities, and which of these was taken. What a
// catalogue says of actions is none of it: a row stays the same row when prices change. A log
// with neither ids nor Keys has as content of a row its context, action, cost and
// propensity. A subset keeps what its rows have in the log that it is of. Keys are shared, and must not change.
func (l *Log) Identity() (how string, keys []uint64) {
	switch {
	case l.source != nil:
		return l.source.Identity()
	case l.HasIDs():
		return ByID, l.Keys
	case l.identity != nil:
		return ByContent, l.identity
	}
	apart := func() {
		if keys = l.Keys; keys == nil {
			keys = l.content()
		}
		keys = distinct.Apart(keys, func(n, key uint64) uint64 { return hashOf(n, key) })
	}
	if l.store == nil {
		apart()
		return ByContent, keys
	}
	l.once.Do(func() {
		apart()
		l.apart = keys
	})
	return ByContent, l.apart
}

// Hashes returns what tells each of the given rows apart. They stand for rows in a
// [propensity.RowSet], and stay the same in subsets of the log.
func (l *Log) Hashes(rows []int) []uint64 {
	_, keys := l.Identity()
	return Pick(keys, rows)
}

// Hash returns the hash of the content, the same in every format that holds the same rows.
func (l *Log) Hash() string {
	if l.source != nil {
		return l.source.Hash()
	}
	if l.store != nil && l.identity == nil {
		return l.store.hash
	}
	return fmt.Sprintf("%016x", hashOf(l.content()...))
}

// GroupHashes returns the hashes of the names of groups, by their numbers in Group; nil of a
// log that has no groups, or no names of them.
func (l *Log) GroupHashes() []uint64 {
	return l.GroupHashesAs(func(name string) string { return name })
}

// GroupHashesAs is GroupHashes of names in another spelling.
func (l *Log) GroupHashesAs(spell func(name string) string) []uint64 {
	if l.Group == nil || len(l.from().groups.ends) == 0 {
		return nil
	}
	hashes := make([]uint64, len(l.groups.ends))
	for g := range hashes {
		hashes[g] = xxhash.Sum64String(spell(l.groups.at(g)))
	}
	return l.listGroups(hashes)
}

// Grouped reports that row i is of a group, and of none that only its own list makes.
func (l *Log) Grouped(i int) bool {
	return l.Group != nil && l.Group[i] >= 0 && (l.Lists == nil || int(l.Group[i]) < len(l.from().groups.ends))
}

// groupName returns the one spelling of a group, as programs write 46 as " 46", 46.0 or 4.6e+01: it has no blanks
// around it, and an integer has neither decimals nor an exponent. Digits that are a code, such as 0e12, stay.
func groupName(s []byte) []byte {
	s = bytes.TrimSpace(s)
	if !bytes.ContainsAny(s, ".eE") {
		return s
	}
	v, number := parseNumber(s)
	whole, zeros, _ := bytes.Cut(s, []byte("."))
	switch {
	case !number:
	case len(bytes.Trim(zeros, "0")) == 0 && len(bytes.Trim(whole, "+-")) > 0 && !bytes.ContainsAny(s, "eE"):
		return whole
	case s[0] > '0' && strings.IndexByte(".eE", s[1]) >= 0 && v == math.Trunc(v) && v < 1<<53:
		return strconv.AppendInt(nil, int64(v), 10)
	}
	return s
}

// BareGroup returns the name of a group without leading zeros, which some programs drop.
func BareGroup(name string) string {
	last := max(0, len(name)-1)
	return strings.TrimLeft(name[:last], "0") + name[last:]
}

// ContextHashes returns a hash of each row's context: of its named values, in whatever
// order; without names of the vector; nil if there are no contexts. Of a log with sets what
// the row offers is part of its context: ids and features of its actions, in whatever order,
// of actions without ids the features alone. What a catalogue says of actions is not. Hashes are shared, and must not
// change.
func (l *Log) ContextHashes() []uint64 {
	if of := cmp.Or(l.source, l); of.store != nil && of.Rows == nil && !of.Sets() {
		return of.contextHash
	}
	return l.RoundedHashes(nil, nil, true, nil)
}

// RoundedHashes are those of the contexts of the given rows, nil: of all, whose values are rounded first, in place,
// unless round is nil. What is rounded to 0 is as if it were not there. Without offered, what rows offer is left out.
// Of contexts with names those in only count; nil: all.
func (l *Log) RoundedHashes(round func([]float64), rows []int, offered bool, only map[string]bool) []uint64 {
	if l.source != nil {
		return l.source.RoundedHashes(round, rows, offered, only)
	}
	if l.contexts() < 0 {
		return nil
	}
	n, row := l.Len(), func(i int) int { return i }
	if rows != nil {
		n, row = len(rows), func(i int) int { return rows[i] }
	}
	hashes := make([]uint64, n)
	if l.store == nil {
		x, bits := make([]float64, l.Dim()), make([]uint64, l.Dim())
		for i := range hashes {
			if l.X.Row64(l.Context(row(i)), x); round != nil {
				round(x)
			}
			for j, v := range x {
				if round != nil {
					v += 0 // no −0
				}
				bits[j] = math.Float64bits(v)
			}
			hashes[i] = hashOf(bits...)
		}
	} else if round == nil && only == nil {
		for i := range hashes {
			hashes[i] = l.contextHash[l.Context(row(i))]
		}
	} else {
		l.hashes(hashes, round, only, func(i int) ([]uint32, []float64) { return l.context(l.Context(row(i))) })
	}
	if !offered || !l.Sets() {
		return hashes
	}
	t := l.items()
	var some []bool // items that are offered
	if rows != nil {
		some = l.offeredItems(rows)
	}
	actions, described := make([]uint64, l.K()), t.described(round, some)
	for a, name := range l.Actions {
		actions[a] = xxhash.Sum64String(name)
	}
	for i := range hashes {
		for j := range l.Options(row(i)) {
			a, item := l.Option(row(i), j)
			var h uint64
			if t.acts != nil { // else items are told by their names, or vectors of a log that was put together by hand
				h = described[item]
			}
			if !t.byPlace {
				h += actions[a]
			}
			hashes[i] += mix(h)
		}
	}
	return hashes
}

// described returns hashes of the descriptions of some items (nil: all), 0 for those of a catalogue.
func (t *items) described(round func([]float64), some []bool) []uint64 {
	whole := round == nil && some == nil
	if h := t.plain.Load(); h != nil && whole {
		return *h
	}
	hashes := make([]uint64, t.n)
	if t.catalogue {
		return hashes
	}
	t.hashes(hashes, round, nil, func(i int) ([]uint32, []float64) {
		if some != nil && !some[i] {
			return nil, nil
		}
		return t.row(i)
	})
	if whole {
		t.plain.Store(&hashes)
	}
	return hashes
}

// hashes writes to dst those of rows of named values, of names in only unless that is nil, in whatever order, that are
// rounded first, unless round is nil.
func (v *named) hashes(dst []uint64, round func([]float64), only map[string]bool, row func(i int) ([]uint32, []float64)) {
	names, counts := make([]uint64, len(v.names)), make([]bool, len(v.names))
	for id, name := range v.names {
		names[id], counts[id] = xxhash.Sum64String(name), only == nil || only[name]
	}
	eachBlock(len(dst), 1<<13, func(from, to int) {
		var buf []float64
		for i := from; i < to; i++ {
			ids, values := row(i)
			if round != nil {
				buf = append(buf[:0], values...)
				round(buf)
				values = buf
			}
			var sum uint64
			for j, id := range ids {
				if u := values[j]; counts[id] && (round == nil || u != 0) {
					sum += contextHash(names[id], math.Float64bits(u))
				}
			}
			dst[i] = sum
		}
	})
}

// contextHash returns what the bits of a value add to the hash of a context.
func contextHash(name, bits uint64) uint64 { return mix(name ^ bits*0x9e3779b97f4a7c15) }

// content hashes rows: context, action, cost and propensity.
func (l *Log) content() []uint64 {
	keys := slices.Clone(l.ContextHashes())
	if keys == nil {
		keys = make([]uint64, l.Len())
	}
	for i := range keys {
		keys[i] = hashOf(keys[i], uint64(l.Action[i]), math.Float64bits(l.Cost[i]),
			math.Float64bits(at(l.Propensity, i, 0)))
	}
	return keys
}

// hashOf returns the xxHash64 of numbers.
func hashOf(numbers ...uint64) uint64 {
	b := make([]byte, 0, 64)
	for _, v := range numbers {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return xxhash.Sum64(b)
}

// mix is short for keys.Mix.
func mix(x uint64) uint64 { return distinct.Mix(x) }

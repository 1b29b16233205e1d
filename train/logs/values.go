package logs

import (
	"bytes"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"opl/policies/features"
)

// named is rows of named values, as a cache holds them.
type named struct {
	names    []string
	category []byte // 1 for the names of categories
	n        int    // rows

	values  []float64
	ids     []uint32 // of names; of every row, if dense
	offsets []int64  // into values, n+1; nil: dense
}

// row returns the names and values of row i, shared with the rows.
func (v *named) row(i int) (ids []uint32, values []float64) {
	if v.offsets == nil {
		w := len(v.ids)
		return v.ids, v.values[i*w : (i+1)*w]
	}
	lo, hi := v.offsets[i], v.offsets[i+1]
	return v.ids[lo:hi], v.values[lo:hi]
}

// rowReader reads a row of named values.
type rowReader func(i int) (ids []uint32, values []float64)

// Values returns the values of row i's context and the places of their names in Names, none of a log of vectors
// alone. They are shared with the log.
func (l *Log) Values(i int) (names []uint32, values []float64) {
	if l.store == nil {
		return nil, nil
	}
	return l.context(l.Context(i))
}

// appendTo appends the named values of row i.
func (v *named) appendTo(i int, to []features.Value) []features.Value {
	ids, values := v.row(i)
	for j, id := range ids {
		to = append(to, features.Value{Name: v.names[id], Number: values[j]})
	}
	return to
}

// sound reports whether the columns have the lengths that they must have, and every number
// that is an index is within its range.
func (v *named) sound() bool {
	if len(v.category) != len(v.names) {
		return false
	}
	switch {
	case v.offsets == nil:
		if w := len(v.ids); w > 0 && len(v.values)/w != v.n || len(v.values) != v.n*w {
			return false
		}
	case len(v.offsets) != v.n+1 || v.offsets[0] != 0 || v.offsets[v.n] != int64(len(v.values)) ||
		len(v.ids) != len(v.values),
		!slices.IsSorted(v.offsets):
		return false
	}
	return within(v.ids, 0, len(v.names))
}

// bag makes the columns of named.
type bag struct {
	vocabulary set // of names of values
	names      []string
	nameHash   []uint64
	indices    []uint32 // the names "0", "1", …
	stamp      []int    // the row that had the name last
	place      []int    // and where in it

	at    int // of the row being read
	ids   []uint32
	vals  []float64
	first []uint32 // those of the first row
	n     int      // rows
	dense bool

	sum    sums // of the row
	summed bool // and they are known

	values   stored[float64]
	numbers  stored[uint32]
	offsets  stored[int64]
	category stored[byte]
}

// begin begins a row.
func (g *bag) begin() {
	g.at++
	g.ids, g.vals, g.summed = g.ids[:0], g.vals[:0], false
}

// sections are the columns of a cache, of which the values come first.
func (g *bag) sections(v *named) []section {
	return append([]section{of(&g.values, &v.values), of(&g.numbers, &v.ids), of(&g.offsets, &v.offsets),
		of(&g.category, &v.category)}, g.vocabulary.sections(&blob{}, &v.names)...)
}

// add appends the row: values alone as long as all rows have the names of the first in its
// order, with offsets and names once one has not.
func (g *bag) add() {
	switch {
	case g.n == 0:
		g.numbers.put(g.ids...)
		g.first, g.dense = slices.Clone(g.ids), true
	case g.dense && !slices.Equal(g.first, g.ids):
		g.dense = false
		w := int64(len(g.first))
		g.offsets.put(0, w)
		for i := range int64(g.n - 1) {
			g.numbers.put(g.first...)
			g.offsets.put((i + 2) * w)
		}
		fallthrough
	case !g.dense:
		g.numbers.put(g.ids...)
		g.offsets.put(int64(g.values.len() + len(g.ids)))
	}
	g.values.put(g.vals...)
	g.n++
}

// sums are hashes of a row's values by name, in whatever order: what it adds to the hash of the log, and of
// [Log.ContextHashes].
type sums struct{ content, context uint64 }

// content hashes the row.
func (g *bag) content() (sum sums) {
	if g.summed {
		return g.sum
	}
	for i, id := range g.ids {
		name, bits := g.nameHash[id], math.Float64bits(g.vals[i])
		sum.content += mix(name + mix(bits))
		sum.context += contextHash(name, bits)
	}
	return sum
}

// categoryName is name=value, whose first = ends the name.
func categoryName(column string, name, value []byte) ([]byte, error) {
	if bytes.IndexByte(name, '=') >= 0 {
		return nil, bad(column, "the values of %s are names: give it a name without =, by setting columns or in the file",
			quote(name))
	}
	return append(append(name, '='), value...), nil
}

// name returns the number of a name.
func (b *builder) name(name []byte, cat bool) (uint32, error) {
	g := b.into
	if g == &b.items && b.catalogue != nil {
		return 0, bad(b.offers.column, "the actions have features in the log, and in setting catalogue: exactly "+
			"one of them may say")
	}
	if id, ok := g.vocabulary.places[string(name)]; ok {
		return uint32(id), nil
	}
	if len(name) == 0 {
		return 0, bad(b.what(), "a value without a name")
	}
	if len(g.names) == maxNames {
		return 0, b.fatal("more than %d names of %s values: is a column of identifiers among the %s?", maxNames,
			b.what(), b.what())
	}
	g.names, g.nameHash = append(g.names, string(name)), append(g.nameHash, xxhash.Sum64(name))
	g.stamp, g.place = append(g.stamp, 0), append(g.place, 0)
	var c byte
	if cat {
		c = 1
	}
	g.category.put(c)
	return uint32(g.vocabulary.number(name)), nil
}

// what is what errors call what is being read.
func (b *builder) what() string {
	if b.into == &b.items {
		return "action"
	}
	return "context"
}

// named adds a value by its name to the row's context, or to the action's features.
func (b *builder) named(column string, name []byte, cat bool, v float64) error {
	id, err := b.name(name, cat)
	if err != nil {
		return err
	}
	return b.value(column, id, v)
}

// value adds a value to the row's context, or to the action's features.
func (b *builder) value(column string, id uint32, v float64) error {
	g := b.into
	if v-v != 0 {
		return bad(column, "%v is not finite", v)
	}
	if g.stamp[id] == g.at {
		if !b.sums {
			return bad(column, "the %s has %s twice", b.what(), g.names[id])
		}
		if v += g.vals[g.place[id]]; v-v != 0 {
			return bad(column, "the values of %s add up to more than a number can be", g.names[id])
		}
		g.vals[g.place[id]] = v
		return nil
	}
	g.summed = false
	g.stamp[id], g.place[id] = g.at, len(g.ids)
	g.ids, g.vals = append(g.ids, id), append(g.vals, v)
	return nil
}

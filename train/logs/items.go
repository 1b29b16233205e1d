package logs

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"opl/policies/features"
)

// items holds the descriptions of a log's actions: an item is an action with the
// features that it had in some rows. No two items of a log are alike.
type items struct {
	named
	acts      []int32 // by item, its action; −1: of any, nil: item a is action a
	byPlace   bool    // actions have no ids, but are named by their place among the offered
	catalogue bool    // they are a catalogue's: rows say nothing of them

	plain atomic.Pointer[[]uint64] // see described, once these are known
}

// rounded rounds contexts to 32 bits.
type rounded struct{ Contexts }

func (r rounded) Row64(i int, dst []float64) {
	dst = dst[:r.Dim()]
	r.Contexts.Row64(i, dst)
	for j, v := range dst {
		dst[j] = float64(float32(v))
	}
}

func (r rounded) Norm(i int) float64 { return norm(r, i) }

// ItemRows are vectors z(a) in two parts: the features by the encoder, and the place of the
// 1 of an action with a row of its own. Features are rounded to 32 bits, as [features.Items]
// does. They are Contexts, but most of them are zeros where
// many actions have a row of their own: who knows the parts need not look at those.
type ItemRows struct {
	Values Contexts // features by the encoder, by action
	Own    []int32  // the place of the 1, from Values.Dim(); −1: none. nil: of all
	Width  int      // of z(a)
}

var _ Contexts = ItemRows{}

// Len returns the number of vectors.
func (r ItemRows) Len() int { return r.Values.Len() }

// Dim returns the number of features, p.
func (r ItemRows) Dim() int { return r.Width }

// Place is where vector i has the 1 of an action with a row of its own, −1: nowhere.
func (r ItemRows) Place(i int) int {
	if r.Own == nil {
		return -1
	}
	return int(r.Own[i])
}

// Norm is ‖z‖₂ of vector i.
func (r ItemRows) Norm(i int) float64 {
	n := r.Values.Norm(i)
	if r.Place(i) >= 0 {
		n = math.Hypot(n, 1)
	}
	return n
}

// Row64 writes vector i.
func (r ItemRows) Row64(i int, dst []float64) { writeItem(r, i, dst, r.Values.Row64) }

// Row32 writes vector i, rounded.
func (r ItemRows) Row32(i int, dst []float32) { writeItem(r, i, dst, r.Values.Row32) }

// writeItem writes vector i, whose features the function writes.
func writeItem[T float32 | float64](r ItemRows, i int, dst []T, features func(i int, dst []T)) {
	d := r.Values.Dim()
	features(i, dst[:d])
	clear(dst[d:r.Width])
	if at := r.Place(i); at >= 0 {
		dst[at] = 1
	}
}

// encode encodes all items; actions are the names of what they are of.
func (t *items) encode(it *features.Items, actions []string) (Contexts, error) {
	x := newEncoded(&t.named, it.Encoder, t.row)
	if it.Encoder.Knows(t.names) == 0 && len(t.names) > 0 && len(it.Encoder.Names) > 0 {
		return nil, fmt.Errorf("none of the names of what actions are described by (%s) is one of the policy's "+
			"(%s): it was learned from others", some(t.names), some(it.Encoder.Names))
	}
	r := ItemRows{Width: it.Dim()}
	if len(it.Own) > 0 && !t.byPlace {
		r.Own = make([]int32, t.n)
		for i := range r.Own {
			a := i
			if t.acts != nil {
				a = int(t.acts[i])
			}
			r.Own[i] = int32(it.Place(actions[a]))
		}
	}
	d := x.Dim()
	r.Values = rounded{x}
	if t.n > heldNumbers/max(1, d) {
		return r, nil
	}
	held := Rows32{d, make([]float32, t.n*d)}
	eachBlock(t.n, 1<<12, func(from, to int) {
		for i := from; i < to; i++ {
			x.Row32(i, held.Placed32(i))
		}
	})
	if i := slices.IndexFunc(held.Data, func(v float32) bool { return v-v != 0 }); i >= 0 {
		return nil, fmt.Errorf("feature %d of an action is %v once it is scaled, too large for 32 bits", i%d,
			held.Data[i])
	}
	r.Values = held
	return r, nil
}

// items returns those of the log. If its actions are not described, these are K empty ones.
func (l *Log) items() *items {
	if l.Choices != nil && l.Choices.items != nil {
		return l.Choices.items
	}
	return &items{named: named{n: l.K()}, catalogue: true}
}

// ItemNames returns the names of all values that actions are described by; nil: they have
// but their own names.
func (l *Log) ItemNames() []string { return l.items().names }

// ItemValues returns the values that an action is described by, by its place in Choices.Z as [Log.Option] has it,
// and the places of their names in ItemNames; none of a log of vectors. They are shared with the log.
func (l *Log) ItemValues(item int) (names []uint32, values []float64) {
	if t := l.items(); len(t.names) > 0 {
		return t.row(item)
	}
	return nil, nil
}

// ByPlace reports that actions have no ids, but are called by their place among those that a
// row offers, from "1": the same name is another action in another row.
func (l *Log) ByPlace() bool { return l.items().byPlace }

// Catalogue is what actions are described by, where a catalogue says so; nil: rows do, or nothing does.
func (l *Log) Catalogue() *Catalogue {
	if t := l.items(); t.acts == nil && !t.byPlace && len(t.names) > 0 {
		return &Catalogue{Actions: l.Actions, items: t.named}
	}
	return nil
}

// FitItems makes the encoder of what actions are described by. Its vocabulary and scalings
// are those of the distinct actions, as they are described, that the given rows offer, each
// counted once; nil: all rows. Actions that these rows logged at least own times have a row
// of their own, in the order of Actions; 0: none has, nor has any that is named by its place.
// The intercept, and nothing else of how, is needed where actions have no features.
func (l *Log) FitItems(rows []int, how Scaling, own int) (*features.Items, error) {
	t := l.items()
	if l.Choices != nil && l.Choices.items == nil && l.Choices.Z != nil {
		return nil, errUnnamed
	}
	var offered []int // items
	if l.Sets() {
		offered = make([]int, 0, t.n)
		for item, has := range l.offeredItems(rows) {
			if has {
				offered = append(offered, item)
			}
		}
	}
	e, err := t.fit(offered, how, t.row)
	if err != nil {
		return nil, err
	}
	var names []string
	if own > 0 && !t.byPlace {
		logged := make([]int, l.K())
		forRows(rows, l.Len(), func(_, row int) { logged[l.Action[row]]++ })
		for a, times := range logged {
			if times >= own {
				names = append(names, l.Actions[a])
			}
		}
	}
	return features.NewItems(e, names)
}

// offeredItems tells which items some of the rows offer; nil: all.
func (l *Log) offeredItems(rows []int) []bool {
	some := make([]bool, l.items().n)
	forRows(rows, l.Len(), func(_, row int) {
		for j := range l.Options(row) {
			_, item := l.Option(row, j)
			some[item] = true
		}
	})
	return some
}

// EncodeItems returns the log with the vectors z(a) of what its actions are described by, in
// Choices.Z: an [ItemRows], encoded once where there is room. The log must stay open. Errors:
// the encoder knows none of the names, actions that are vectors without names.
func (l *Log) EncodeItems(it *features.Items) (*Log, error) {
	var c Choices
	if l.Choices != nil {
		c = *l.Choices
	}
	if c.items == nil && c.Z != nil {
		return nil, errUnnamed
	}
	z, err := l.items().encode(it, l.Actions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name(), err)
	}
	c.Z = z
	out := *l
	out.Choices = &c
	return &out, nil
}

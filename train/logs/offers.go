package logs

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// offers holds what the row being read offers, as it is written. The features of its actions
// are in builder.items.
type offers struct {
	column string // that has them; "": there are none
	ids    []byte // of all, one after the other
	ends   []int  // of each among ids
	starts []int  // of each among the values of builder.items
	named  int    // that have an id
	at     int    // the place of the logged one; −1: not found yet

	numbers  []int32 // of each among builder.actions
	numbered bool    // numbers are those of the row
}

// optionSets holds the actions that rows offer, and their descriptions.
type optionSets struct {
	offers      offers // of the row
	serial      int    // of the row, that marks what it offers
	byPlace     bool   // actions have no ids
	described   bool   // actions have features
	seeds       [2]maphash.Seed
	itemNumbers map[itemKey]int32
	itemHash    []uint64
}

// id returns the id of option j.
func (o *offers) id(j int) []byte {
	lo := 0
	if j > 0 {
		lo = o.ends[j-1]
	}
	return o.ids[lo:o.ends[j]]
}

// beginOffers begins the row's options, which a column has.
func (b *builder) beginOffers(column string) error {
	o := &b.offers
	if o.column != "" {
		return bad(column, "the row has column %s as well: exactly one of them says what is offered", o.column)
	}
	o.column = column
	b.items.ids, b.items.vals = b.items.ids[:0], b.items.vals[:0]
	return nil
}

// option begins one of them: values go into its features, until the row's context goes on.
func (b *builder) option() {
	b.into = &b.items
	b.items.at++
	b.offers.starts = append(b.offers.starts, len(b.items.ids))
}

// optionID ends it with its id, in the form that it has in the file, see [table.cell]; nil: it has none.
func (b *builder) optionID(form jsontext.Kind, id []byte) error {
	o := &b.offers
	b.into = &b.contexts
	if id != nil {
		o.named++
		if len(id) == 0 {
			return bad(o.column, "an action with an empty id")
		}
		text, err := b.idText(o.column, form, id)
		if err != nil {
			return err
		}
		o.ids = append(o.ids, text...)
	}
	o.ends = append(o.ends, len(o.ids))
	return nil
}

// idText is an id as actions are named: a text as it is, a number without the fraction of
// an integer. Where a file says which they are, all ids must be one of them; a catalogue may write
// 1 where the log has "1".
func (b *builder) idText(column string, form jsontext.Kind, s []byte) ([]byte, error) {
	switch form {
	case 0:
		return s, nil
	case '0', '"':
	default:
		return nil, bad(column, "%s is no id: want a text or an integer", quote(s))
	}
	r := &b.row
	if r.ids == 0 {
		r.ids = form
	}
	if r.ids != form || b.idForm != 0 && b.idForm != form {
		const mixed = "the id %s is a %s, and others, of the row or the rows before, are %ss: write all of them one way"
		if form == '0' {
			return nil, bad(column, mixed, s, "number", "text")
		}
		return nil, bad(column, mixed, quote(s), "text", "number")
	}
	if form == '0' {
		v, ok := parseNumber(s)
		if !ok || v != math.Trunc(v) || v-v != 0 {
			return nil, bad(column, "%s is no id: want a text or an integer", quote(s))
		}
		if slices.ContainsFunc(s, func(c byte) bool { return c == '.' || c == 'e' || c == 'E' }) {
			return strconv.AppendFloat(nil, v, 'f', -1, 64), nil
		}
	}
	return s, nil
}

// checkOffers checks what the row offers and finds the numbers of the actions, the place of the
// logged one and its propensity.
func (b *builder) checkOffers() (err error) {
	r, o := &b.row, &b.offers
	n := len(o.ends)
	if n == 0 {
		return bad(o.column, "no action is offered")
	}
	described, plain := 0, -1
	for j := range n {
		values := len(b.items.ids)
		if j+1 < n {
			values = o.starts[j+1]
		}
		if values > o.starts[j] {
			described++
		} else {
			plain = j
		}
	}
	switch {
	case o.named != 0 && o.named != n:
		return bad(o.column, "%d of %d actions have an id: all of them must, or none", o.named, n)
	case b.n > 0 && (o.named == 0) != b.byPlace:
		return bad(o.column, "ids of actions must be there in all rows or in none")
	case b.mayLack:
	case o.named == 0 && described == 0:
		return bad(o.column, "the actions have neither ids nor features")
	case described > 0 && described < n:
		return bad(o.column, "action %s has no features, and others have", o.name(plain))
	case b.n > 0 && (described > 0) != b.described:
		return bad(o.column, "features of actions must be there in all rows or in none")
	}
	if err := b.number(o); err != nil {
		return err
	}
	text := r.action
	if o.named > 0 {
		if text, err = b.idText("action", r.form, r.action); err != nil {
			return err
		}
	}
	a, known := b.actionID[string(text)]
	if o.at = slices.Index(o.numbers, a); !known || o.at < 0 {
		return bad("action", "%s was not offered: the row has %s", quote(r.action), o.list())
	}
	if b.n == 0 {
		b.byPlace, b.described = o.named == 0, described > 0
	}
	if !r.hasProps {
		return nil
	}
	switch {
	case !r.listed:
		return bad("propensities", "of actions that are offered by row they must be a list, in the order of column %s",
			o.column)
	case len(r.props) != n:
		return bad("propensities", "%d of them for %d actions offered", len(r.props), n)
	}
	names := make([]string, n)
	for j := range names {
		names[j] = o.name(j)
	}
	if err := b.distribution(names); err != nil {
		return err
	}
	switch q := r.props[o.at]; {
	case q <= 0:
		return bad("propensities", "that of the logged action %s is 0", names[o.at])
	case r.hasP && !Near(r.p, q, Agreement):
		return bad("propensity", "%v, but %v among those of all actions offered", r.p, q)
	default:
		b.differs = r.hasP && !Near(r.p, q, Exact)
		r.p = q
	}
	return nil
}

// number finds the numbers of the actions that are offered, if they are not known yet.
func (b *builder) number(o *offers) error {
	if o.numbered {
		return nil
	}
	o.numbers, o.numbered, b.serial = o.numbers[:0], true, b.serial+1
	for j := range o.ends {
		a, err := b.action([]byte(o.name(j)))
		if err != nil {
			return err
		}
		action := &b.actions[a]
		if action.offered == b.serial {
			return bad(o.column, "action %s is offered twice", action.text)
		}
		action.offered = b.serial
		o.numbers = append(o.numbers, a)
	}
	return nil
}

// name returns the name of option j: its id, or its place from 1.
func (o *offers) name(j int) string {
	if o.named == 0 {
		return strconv.Itoa(j + 1)
	}
	return string(o.id(j))
}

// list shows what is offered, in errors.
func (o *offers) list() string {
	var names []string
	for j := range min(4, len(o.ends)) {
		names = append(names, o.name(j))
	}
	return some(names)
}

// appendOffers appends what the row, which is good, offers, and returns the hash of the logged
// action and the sum of those of all, in whatever order: of id, features and propensity.
// An action that is named by its place has no id there.
func (b *builder) appendOffers() (logged, sum uint64) {
	o, g := &b.offers, &b.items
	ids, vals := g.ids, g.vals
	put(&b.optionFirst, b.optionActs.size/4)
	put(&b.optionCount, int32(len(o.ends)))
	put(&b.optionAt, int32(o.at))
	put(&b.optionActs, o.numbers...)
	for j, a := range o.numbers {
		b.actions[a].offers++
		var h uint64
		if o.named > 0 {
			h = b.actions[a].hash
		}
		if b.catalogue == nil {
			end := len(ids)
			if j+1 < len(o.starts) {
				end = o.starts[j+1]
			}
			g.ids, g.vals = ids[o.starts[j]:end], vals[o.starts[j]:end]
			if o.named == 0 {
				a = -1
			}
			item, features := b.item(a)
			put(&b.optionItems, item)
			h += features
		}
		if h = mix(h); j == o.at {
			logged = h
		}
		p := 0.0
		if b.row.hasProps {
			p = b.row.props[j]
		}
		sum += mix(h + mix(math.Float64bits(p)))
	}
	g.ids, g.vals = ids[:0], vals[:0]
	return logged, sum
}

// itemKey tells items apart by two hashes with secret seeds.
type itemKey [2]uint64

// item is the number of the item of an action, −1: of any, that has the values in
// builder.items, and the hash of these. One that was there before has the number it had.
func (b *builder) item(action int32) (number int32, content uint64) {
	g := &b.items
	if !slices.IsSorted(g.ids) { // names in another order are no other item
		byName := make(map[uint32]float64, len(g.ids))
		for i, id := range g.ids {
			byName[id] = g.vals[i]
		}
		slices.Sort(g.ids)
		for i, id := range g.ids {
			g.vals[i] = byName[id]
		}
	}
	buf := appendNumbers(b.scratch[:0], action)
	buf = appendNumbers(appendNumbers(buf, g.ids...), g.vals...)
	b.scratch = buf
	key := itemKey{maphash.Bytes(b.seeds[0], buf), maphash.Bytes(b.seeds[1], buf)}
	number, ok := b.itemNumbers[key]
	if !ok {
		number = int32(len(b.itemHash))
		b.itemNumbers[key] = number
		b.itemHash = append(b.itemHash, g.content().content)
		put(&b.itemActs, action)
		g.add()
	}
	return number, b.itemHash[number]
}

func appendNumbers[T int32 | uint32 | float64](buf []byte, v ...T) []byte {
	return append(buf, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))...)
}

package logs

import (
	"cmp"
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
	column   string // that has them; "": there are none
	options  []option
	text     []byte // of their ids, one after the other
	named    int    // that have an id
	at       int    // the place of the logged one; −1: not found yet
	numbered bool   // numbers of actions are known
}

// option is one of the actions that the row offers.
type option struct {
	id       []byte // within offers.text
	from, to int    // its features, among the values of builder.items
	action   int32  // its number among builder.actions
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
	b.offers.options = append(b.offers.options, option{from: len(b.items.ids)})
}

// optionID ends it with its id, in the form that it has in the file, see [table.cell]; nil: it has none.
func (b *builder) optionID(form jsontext.Kind, id []byte) error {
	o := &b.offers
	b.into = &b.contexts
	last := &o.options[len(o.options)-1]
	last.to = len(b.items.ids)
	if id == nil {
		return nil
	}
	o.named++
	if len(id) == 0 {
		return bad(o.column, "an action with an empty id")
	}
	text, err := b.idText(o.column, form, id)
	if err != nil {
		return err
	}
	from := len(o.text)
	o.text = append(o.text, text...)
	last.id = o.text[from:]
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
	if r.ids = cmp.Or(r.ids, form); r.ids != form || b.idForm != 0 && b.idForm != form {
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
	n := len(o.options)
	if n == 0 {
		return bad(o.column, "no action is offered")
	}
	described, plain := 0, -1
	for j, of := range o.options {
		if of.to > of.from {
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
	o.at = slices.IndexFunc(o.options, func(of option) bool { return of.action == a })
	if !known || o.at < 0 {
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
	o.numbered, b.serial = true, b.serial+1
	for j := range o.options {
		a, err := b.action([]byte(o.name(j)))
		if wrong, is := err.(*rowError); is {
			wrong.column = cmp.Or(o.column, wrong.column)
		}
		if err != nil {
			return err
		}
		action := &b.actions[a]
		if action.offered == b.serial {
			return bad(o.column, "action %s is offered twice", action.text)
		}
		action.offered = b.serial
		o.options[j].action = a
	}
	return nil
}

// name returns the name of option j: its id, or its place from 1.
func (o *offers) name(j int) string {
	if o.named == 0 {
		return strconv.Itoa(j + 1)
	}
	return string(o.options[j].id)
}

// list shows what is offered, in errors.
func (o *offers) list() string {
	var names []string
	for j := range min(4, len(o.options)) {
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
	b.optionFirst.put(int64(b.optionActs.len()))
	b.optionCount.put(int32(len(o.options)))
	b.optionAt.put(int32(o.at))
	for j, of := range o.options {
		a := of.action
		b.optionActs.put(a)
		b.actions[a].offers++
		var h uint64
		if o.named > 0 {
			h = b.actions[a].hash
		}
		if b.catalogue == nil {
			g.ids, g.vals = ids[of.from:of.to], vals[of.from:of.to]
			if o.named == 0 {
				a = -1
			}
			item, features := b.item(a)
			b.optionItems.put(item)
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
		b.itemActs.put(action)
		g.add()
	}
	return number, b.itemHash[number]
}

func appendNumbers[T int32 | uint32 | float64](buf []byte, v ...T) []byte {
	return append(buf, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))...)
}

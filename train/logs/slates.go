package logs

import (
	"bytes"
	"slices"
	"strconv"
)

// slotValues are what slots of a list are described by, beside the row's context.
type slotValues struct {
	ids  []uint32
	vals []float64
}

// describeSlot reads what the list's next slot is described by. The row's context stays as it is.
func (b *builder) describeSlot(read func() error) error {
	context := slotValues{b.contexts.ids, b.contexts.vals}.clone()
	b.into = &b.contexts
	b.contexts.begin()
	if err := read(); err != nil {
		return err
	}
	b.shown.described = append(b.shown.described, slotValues{b.contexts.ids, b.contexts.vals}.clone())
	b.contexts.begin()
	return b.values("context", context)
}

func (of slotValues) clone() slotValues {
	return slotValues{slices.Clone(of.ids), slices.Clone(of.vals)}
}

// values adds values to the context.
func (b *builder) values(column string, of slotValues) error {
	for i, id := range of.ids {
		if err := b.value(column, id, of.vals[i]); err != nil {
			return err
		}
	}
	return nil
}

// showPlace shows the option of a place, from 0, in the list's next slot, where it has a name. The place is that among
// all options, or, own, among those of the slot.
func (b *builder) showPlace(column string, place int, own bool, among []int, p float64) error {
	s, k := &b.shown, len(b.offers.options)
	if own && place >= len(among) {
		return bad(column, "slot %d shows action %d of its %d, counted from 0", len(s.ids)+1, place, len(among))
	} else if own {
		place = among[place]
	}
	if place < 0 || place >= k || among != nil && !slices.Contains(among, place) {
		return bad(column, "slot %d shows action %d, counted from 0, which is none that it may", len(s.ids)+1, place)
	}
	s.column[0], s.column[1] = column, column
	s.sets, s.ps = append(s.sets, among), append(s.ps, p)
	s.ids, s.forms = append(s.ids, bytes.Clone(b.offers.options[place].id)), append(s.forms, 0)
	return nil
}

// list reads an example of several lines that takes several actions, a conditional contextual bandit (ccb) or a slate:
//
//	ccb shared |…                                    slates shared cost |…
//	ccb action |…                                    slates action slot |…
//	ccb slot a:cost:p[,…] [actions, "0,2,3"] |…      slates slot a:p[,…] |…
//
// Slots and actions count from 0, those of a slate among the actions of their slot. Actions are called by their place
// in the example, from 1. An action that a slot of a ccb shows is gone for those below.
func (r *vw) list(b *builder, kind string) error {
	slates, lo, own := kind == "slates", 0, map[int][]int{}
	for i, end := range r.ends {
		label, spaces, err := r.parts(r.text[lo:end])
		if err != nil {
			return err
		}
		lo = end
		fields := r.tag(b, label)
		if len(fields) < 2 || string(fields[0]) != kind {
			return bad("label", "line %d of the example: want %s shared, action or slot, and a space before the bar",
				i+1, kind)
		}
		word, rest := string(fields[1]), fields[2:]
		switch {
		case word == "shared" && i == 0:
			if slates && len(rest) > 0 {
				cost, err := numberIn("cost", rest[0])
				if err == nil {
					err = b.reward("label", -cost, true)
				}
				if err != nil {
					return err
				}
			}
			err = r.spaces(b, spaces)
		case word == "action" && len(b.shown.described) == 0:
			if slates {
				slot, err := strconv.ParseUint(string(bytes.Join(rest, nil)), 10, 16)
				if err != nil {
					return bad("label", "line %d of the example: want slates action and its slot, from 0", i+1)
				}
				own[int(slot)] = append(own[int(slot)], len(b.offers.options))
			}
			b.option()
			if err = r.spaces(b, spaces); err == nil {
				err = b.optionID(0, strconv.AppendInt(nil, int64(len(b.offers.options)), 10))
			}
		case word == "slot":
			if err = b.describeSlot(func() error { return r.spaces(b, spaces) }); err == nil {
				err = r.slot(b, rest, own, slates)
			}
		default:
			return bad("label", "line %d of the example is %s %s: want one line shared, then actions, then slots",
				i+1, kind, quote(fields[1]))
		}
		if err != nil {
			return err
		}
	}
	if n := len(b.shown.described); n == 0 || slates && !b.row.hasCost {
		return bad("label", "%d slots, or no cost: setting skip-bad leaves out examples that only ask for a prediction", n)
	}
	return nil
}

// slot reads the label of the list's next slot, and what it may show.
func (r *vw) slot(b *builder, fields [][]byte, own map[int][]int, slates bool) error {
	at := len(b.shown.described) - 1
	var label []byte
	among, parts := own[at], 3
	if slates {
		parts = 2
	}
	for _, f := range fields {
		switch {
		case bytes.IndexByte(f, ':') >= 0 && label == nil:
			label, _, _ = bytes.Cut(f, []byte(","))
		case slates || label == nil && len(fields) > 1 || among != nil:
			return bad("label", "%s of slot %d: want %d numbers with colons, and of a ccb the actions that it may show",
				quote(f), at+1, parts)
		default:
			for _, text := range bytes.Split(f, []byte(",")) {
				a, err := strconv.ParseUint(string(text), 10, 24)
				if err != nil {
					return bad("label", "%s of slot %d is no list of actions", quote(f), at+1)
				}
				among = append(among, int(a))
			}
		}
	}
	numbers := make([]float64, 0, 3)
	for _, text := range bytes.Split(label, []byte(":")) {
		v, err := numberIn("label", text)
		if err != nil || len(label) == 0 {
			return bad("label", "slot %d has no action: want %d numbers with colons; setting skip-bad leaves out "+
				"examples that only ask for a prediction", at+1, parts)
		}
		numbers = append(numbers, v)
	}
	if len(numbers) != parts || numbers[0] != float64(int(numbers[0])) || !(numbers[0] >= 0 && numbers[0] < maxNames) {
		return bad("label", "%s of slot %d: want an action, from 0, and %d numbers after colons", quote(label), at+1,
			parts-1)
	}
	if !slates {
		b.shown.rewards, b.shown.column[2] = append(b.shown.rewards, -numbers[1]), "label"
	}
	return b.showPlace("label", int(numbers[0]), slates, among, numbers[parts-1])
}

// slotOutcome is what a line of dsjson says of a slot.
type slotOutcome struct {
	id      string
	actions []int
	first   float64 // probability of the first
	cost    float64
	has     bool // it has a cost
}

// slots reads c._slots: what each is described by, which actions it may show (_inc), and its name (_id).
func (r *dsjson) slots(b *builder) error {
	d := r.decoder
	r.slotIDs, r.among = r.slotIDs[:0], r.among[:0]
	return d.list("c._slots", func(int) error {
		var among []int
		id := ""
		err := b.describeSlot(func() error {
			return d.object("c._slots", func(name []byte) error {
				switch string(name) {
				case "_id":
					_, text, err := d.read()
					id = string(text)
					return err
				case "_inc":
					return d.list("_inc", func(int) error {
						a, err := r.whole("_inc")
						among = append(among, a)
						return err
					})
				}
				if len(name) > 0 && name[0] == '_' {
					return d.SkipValue()
				}
				return d.flatten(b, "c._slots", append([]byte("slot."), name...), 1)
			})
		})
		r.slotIDs, r.among = append(r.slotIDs, id), append(r.among, among)
		return err
	})
}

// outcomes reads _outcomes, one for each slot: the action that was shown, its probability, and its cost.
func (r *dsjson) outcomes() error {
	d := r.decoder
	r.results = r.results[:0]
	return d.list("_outcomes", func(int) error {
		var o slotOutcome
		drawn := false
		err := d.object("_outcomes", func(name []byte) (err error) {
			switch string(name) {
			case "_id":
				_, text, err := d.read()
				o.id = string(text)
				return err
			case "_label_cost":
				o.cost, err = d.number("_label_cost")
				o.has = true
			case "_a":
				return d.list("_a", func(int) error {
					a, err := r.whole("_a")
					o.actions = append(o.actions, a)
					return err
				})
			case "_p":
				return d.list("_p", func(i int) error {
					p, err := d.number("_p")
					if drawn = true; i == 0 {
						o.first = p
					}
					return err
				})
			default:
				return d.SkipValue()
			}
			return err
		})
		if err == nil && o.has && len(o.actions) > 0 && !drawn {
			err = bad("_p", "missing in slot %d: the probability of what it showed comes first", len(r.results)+1)
		}
		r.results = append(r.results, o)
		return err
	})
}

// list makes slots and outcomes the row's list: of a conditional contextual bandit, or of a slate, whose actions have a
// _slot_id and whose cost is the line's.
func (r *dsjson) list(b *builder) error {
	n := len(b.shown.described)
	slates := slices.ContainsFunc(r.slotOf, func(slot int) bool { return slot >= 0 })
	if n == 0 || len(r.results) != n {
		return bad("_outcomes", "%d of them for %d of c._slots", len(r.results), n)
	}
	for l, o := range r.results {
		among := r.among[l]
		switch {
		case o.id != "" && r.slotIDs[l] != "" && o.id != r.slotIDs[l]:
			return bad("_outcomes", "slot %d is %s, and in c._slots %s", l+1, quote([]byte(o.id)),
				quote([]byte(r.slotIDs[l])))
		case len(o.actions) == 0 || o.has == slates:
			return bad("_outcomes", "slot %d has no action, or no cost, or a cost beside that of its slate", l+1)
		case slates:
			among = nil
			for place, slot := range r.slotOf {
				if slot == l {
					among = append(among, place)
				}
			}
		default:
			b.shown.rewards, b.shown.column[2] = append(b.shown.rewards, -o.cost), "_outcomes"
		}
		if err := b.showPlace("_outcomes", o.actions[0], slates, among, o.first); err != nil {
			return err
		}
	}
	if slates && !b.row.hasCost {
		return bad("_label_cost", "missing: a slate has one cost")
	}
	return nil
}

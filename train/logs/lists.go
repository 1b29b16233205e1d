package logs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// Lists say which rows of a log are slots of lists. A list (a_1, …, a_L) of slot propensities p_l = π₀(a_l|x,
// a_<l) and slot rewards r_l is read as L rows, one after the other: row l offers what the slots above left, its
// context has the slot as a category slot=l, and its propensity is p_l. So what learns from rows that offer sets learns
// from lists. The rows of a list depend on one another: they share a group. What a list earns is made of its rows by
// package certify's [opl/train/certify.Slots].
type Lists struct {
	Of   []int32 // by row: the number of its list
	Slot []int32 // by row: its slot, from 1
	// Whole says that rewards are of the list: each of its rows has the same.
	Whole bool
	// Joint is π₀(a_1, …, a_L|x) by list, where the log has no propensities of slots: its Propensity is nil.
	Joint []float64
	// How lists are valued, see [Options].
	Assume, SlotWeights string
}

// Jointly reports that a log has a joint propensity for each list, and none of slots.
func (s *Lists) Jointly() bool { return s != nil && s.Joint != nil }

// Starts returns the first rows of the lists, and the end.
func (s *Lists) Starts() (starts []int) {
	for i, of := range s.Of {
		if i == 0 || of != s.Of[i-1] {
			starts = append(starts, i)
		}
	}
	return append(starts, len(s.Of))
}

// takeLists finds the lists of a log from the slots of its rows, whose propensities may be joint ones, and makes each
// list without a group a group of its own.
func (l *Log) takeLists(joint bool) bool {
	if l.Lists == nil {
		return true
	}
	slots := l.Lists.Slot
	of, last := make([]int32, len(slots)), int32(-1)
	for i, s := range slots {
		if s == 1 {
			last++
		} else if i == 0 || s != slots[i-1]+1 {
			return false
		}
		of[i] = last
	}
	if l.Lists.Of = of; joint && l.Propensity != nil {
		starts := l.Lists.Starts()
		l.Lists.Joint, l.Propensity = Pick(l.Propensity, starts[:len(starts)-1]), nil
	}
	group := make([]int32, len(of))
	for i, list := range of {
		if group[i] = int32(len(l.groups.ends)) + list; l.Group != nil && l.Group[i] >= 0 {
			group[i] = l.Group[i]
		}
	}
	l.Group = group
	return true
}

// listGroup names the group that a list is, by the id of its decision; empty: it has none.
func (l *Log) listGroup(i int) string {
	if !l.HasIDs() {
		return ""
	}
	id := l.texts.at(l.Context(i))
	return id[:max(0, strings.LastIndexByte(id, '/'))]
}

// listGroups returns the hashes of groups that are lists, whose numbers follow those of groups with names.
func (l *Log) listGroups(named []uint64) []uint64 {
	if l.Lists == nil || len(named) == 0 {
		return named
	}
	for i, g := range l.Group {
		for int(g) >= len(named) {
			named = append(named, 0)
		}
		if named[g] == 0 {
			named[g] = xxhash.Sum64(strconv.AppendUint(nil, l.Keys[i], 16))
		}
	}
	return named
}

// ByList is a log with a row for each list, of its cost, its joint propensity and the group that the lists of a
// visitor share, if it has a name. It has no contexts, and is of the same file.
func (l *Log) ByList(starts []int, cost, joint []float64, group []int32) *Log {
	n := len(cost)
	out := &Log{Actions: l.Actions, Action: make([]int32, n), Cost: cost, Propensity: joint, RewardMin: l.RewardMin,
		RewardMax: l.RewardMax, Origin: l.Origin, source: l}
	out.Weight, out.Time = Pick(l.Weight, starts[:n]), Pick(l.Time, starts[:n])
	named := func(g int32) bool { return int(g) < len(l.from().groups.ends) }
	if slices.ContainsFunc(group, named) {
		out.Group = group
	}
	return out
}

// shown holds the list of the row that is being read.
type shown struct {
	forms       []jsontext.Kind
	ids         [][]byte
	ps, rewards []float64
	column      [4]string // that gave them: slots, slot_propensities, slot_rewards, first_click; empty: none
	click       float64   // place of the first click, from 1; 0: none
	numbered    bool      // slots have columns of their own

	described []slotValues // by slot
	sets      [][]int      // by slot: places of the options that it may show; nil: all

	// of a row that is a slot itself: its list and its place there, from 1
	rows  bool
	slate []byte
	slot  float64
}

// slots reads the value of a column of lists.
func (d *decoder) slots(b *builder, c *column) error {
	s := &b.shown
	s.column[c.role-roleSlots] = c.name
	return d.list(c.name, func(int) error {
		form, text, err := d.read()
		switch {
		case err != nil:
			return err
		case c.role == roleSlots:
			s.forms, s.ids = append(s.forms, form), append(s.ids, bytes.Clone(text))
			return nil
		}
		v := 0.0
		switch {
		case form == 't' && c.role == roleSlotRewards:
			v = 1
		case form == 'f' && c.role == roleSlotRewards:
		case form != '0':
			return bad(c.name, "%s is not a number", quote(text))
		default:
			if v, err = numberIn(c.name, text); err != nil {
				return err
			}
		}
		if c.role == roleSlotRewards {
			s.rewards = append(s.rewards, v)
		} else {
			s.ps = append(s.ps, v)
		}
		return nil
	})
}

// check says what is wrong with the list of the row.
func (b *builder) check() error {
	s, r, form := &b.shown, &b.row, propensityForms[b.o.PropensityForm]
	n := len(s.ids)
	if s.numbered {
		if err := b.gaps(); err != nil {
			return err
		}
	}
	has := func(role role) bool { return s.column[role-roleSlots] != "" }
	switch {
	case n == 0:
		return bad(b.slotColumn(roleSlots, 0), "no action was shown")
	case s.rows:
		return bad("slate_id", "the row has a list, in column slots, as well: a row is a list, or a slot of one")
	case r.hasAction:
		return bad("action", "the row has a list, in column slots, as well: exactly one of them says what was done")
	case r.hasProps:
		return bad("propensities", "the row has a list: want slot_propensities")
	case r.hasP && has(roleSlotPropensities):
		return bad("propensity", "the row has slot_propensities, too: give those, or their product alone")
	case has(roleSlotPropensities) && len(s.ps) != n:
		return bad("slot_propensities", "%d of them for %d slots", len(s.ps), n)
	case has(roleSlotRewards) && len(s.rewards) != n:
		return bad("slot_rewards", "%d of them for %d slots", len(s.rewards), n)
	case r.hasCost && (has(roleSlotRewards) || has(roleFirstClick)), has(roleSlotRewards) && has(roleFirstClick):
		return bad("slot_rewards", "the row has a reward of the list, rewards of slots, or the first click: exactly "+
			"one of them must be there")
	case has(roleFirstClick) && !(s.click >= 0 && s.click <= float64(n) && s.click == float64(int(s.click))):
		return bad("first_click", "%v is no slot: want 1 to %d, or 0 for none", s.click, n)
	}
	for l, p := range s.ps {
		if form != nil {
			p = form(p)
		}
		if !(p > 0 && p <= 1) {
			return bad(b.slotColumn(roleSlotPropensities, l), "%v of slot %d is outside (0, 1]", p, l+1)
		}
	}
	return nil
}

// offeredHere makes all actions but those above what the row offers, if it does not say.
func (b *builder) offeredHere(above [][]byte) error {
	if b.offers.column != "" {
		return nil
	}
	all := b.o.Actions
	if b.catalogue != nil {
		all = b.catalogue.Actions
	}
	if all == nil {
		return bad("offered", "missing: lists need what could be shown: column offered or actions, setting actions, "+
			"or setting catalogue")
	}
	if err := b.beginOffers("offered"); err != nil {
		return err
	}
	for _, id := range all {
		if slices.ContainsFunc(above, func(other []byte) bool { return string(other) == id }) {
			continue
		}
		b.option()
		if err := b.optionID(0, []byte(id)); err != nil {
			return err
		}
	}
	return nil
}

// addList checks the row's list and appends a row for each of its slots, all or none.
func (b *builder) addList() error {
	s := &b.shown
	if err := b.check(); err != nil {
		return err
	}
	if err := b.offeredHere(nil); err != nil {
		return err
	}
	if b.offers.named == 0 {
		return bad(b.offers.column, "what lists show must have ids")
	}
	whole, joint := b.row.hasCost || b.o.formula != nil, b.row.hasP
	if b.n > 0 && (whole != b.whole || joint != b.joint || s.column != b.columnsOfLists) {
		return bad("slots", "the row has other columns of lists than the rows before, which have %s: a reward and a "+
			"propensity are of the list in all rows or in none", strings.Join(strings.Fields(strings.Join(b.columnsOfLists[:], " ")), ", "))
	}
	full, n := b.listRow(), len(s.ids)
	left := Every(len(full.options))
	places := make([]int, n)
	for l := range places {
		b.row.ids = full.row.ids
		text, err := b.idText("slots", s.forms[l], s.ids[l])
		if err != nil {
			return err
		}
		j := slices.IndexFunc(left, func(j int) bool { return bytes.Equal(full.options[j].id, text) })
		switch {
		case j < 0 && slices.ContainsFunc(s.ids[:l], func(id []byte) bool { return bytes.Equal(id, s.ids[l]) }):
			return bad(b.slotColumn(roleSlots, l), "%s is shown twice", quote(s.ids[l]))
		case j < 0:
			return bad(b.slotColumn(roleSlots, l), "%s was not offered: the row has %s", quote(s.ids[l]), full.list())
		}
		places[l] = left[j]
		left = slices.Delete(left, j, j+1)
	}
	if s.sets == nil { // slots offer parts of it
		if err := b.number(&full.offers); err != nil {
			return err
		}
	}
	for keep := range 2 {
		for l := range n {
			if err := b.slot(full, places[:l], l); err != nil {
				return err
			}
			action, err := b.sound()
			if err != nil {
				return err
			}
			if keep == 0 {
				continue
			}
			if b.keep(action); b.n == 1 {
				b.columnsOfLists, b.whole, b.joint = s.column, whole, joint
			}
			b.slotNumbers.put(int32(l + 1))
		}
	}
	return nil
}

// addSlot checks a row that is a slot of a list, whose rows stand together in their order, and appends it.
func (b *builder) addSlot() error {
	s, last := &b.shown, b.lastSlot
	slot := int32(min(s.slot, 1<<20))
	switch again := last.at > 0 && string(s.slate) == last.slate; {
	case len(s.slate) == 0 || !(s.slot >= 1) || s.slot != float64(slot):
		return bad("slot", "want a slate_id, and the slot counted from 1")
	case b.n > 0 && last.at == 0:
		return bad("slate_id", "given, while the rows before have none")
	case again && slot != last.at+1, !again && slot != 1:
		return bad("slot", "%d of list %s after %d of list %s: the rows of a list stand together, from slot 1 on", slot,
			quote(s.slate), last.at, quote([]byte(last.slate)))
	case !again:
		last.above = nil
	}
	if err := b.offeredHere(last.above); err != nil {
		return err
	}
	if err := b.placeSlot(slot); err != nil {
		return err
	}
	action, err := b.sound()
	if err != nil {
		return err
	}
	b.keep(action)
	b.lastSlot.slate, b.lastSlot.at = string(s.slate), slot
	b.lastSlot.above = append(last.above, bytes.Clone(b.row.action))
	b.slotNumbers.put(slot)
	return nil
}

// placeSlot adds the slot to the context, if it is not there, and refuses another value that is called slot.
func (b *builder) placeSlot(slot int32) error {
	b.into = &b.contexts
	name := fmt.Appendf(nil, "slot=%d", slot)
	for _, id := range b.contexts.ids {
		had := b.contexts.names[id]
		if column, _, _ := strings.Cut(had, "="); column == "slot" && had != string(name) {
			return bad("slots", "the context of slot %d has a value %s, and lists call their slots so: give it another name",
				slot, quote([]byte(had)))
		}
	}
	if id, known := b.contexts.vocabulary.places[string(name)]; known && b.contexts.stamp[id] == b.contexts.at {
		return nil
	}
	return b.named("slots", name, true, 1)
}

// listRow holds a row with a list, from which the rows of its slots are made.
type listRow struct {
	row row
	offers
	items, context slotValues
}

func (b *builder) listRow() *listRow {
	f := &listRow{row: b.row, offers: b.offers}
	b.offers = offers{} // its memory is the list's now
	f.items = slotValues{b.items.ids, b.items.vals}.clone()
	f.context = slotValues{b.contexts.ids, b.contexts.vals}.clone()
	f.row.id, f.row.outcomes = bytes.Clone(b.row.id), slices.Clone(b.row.outcomes)
	f.row.group, f.row.policy = bytes.Clone(b.row.group), bytes.Clone(b.row.policy)
	return f
}

// slot makes the row that of slot l, from 0: above are the places of the options that the slots above took.
func (b *builder) slot(f *listRow, above []int, l int) error {
	s, r, column := &b.shown, &b.row, f.offers.column
	*r = f.row
	r.action, r.form, r.hasAction = s.ids[l], s.forms[l], true
	if r.hasID {
		r.id = strconv.AppendInt(append(bytes.Clone(f.row.id), '/'), int64(l+1), 10)
	}
	if len(s.ps) > 0 {
		r.p, r.hasP = s.ps[l], true
	}
	reward, as := 0.0, roleFirstClick
	switch {
	case s.rewards != nil:
		reward, as = s.rewards[l], roleSlotRewards
	case s.column[as-roleSlots] == "":
	case s.click == float64(l+1):
		reward = 1
	}
	if from := s.column[as-roleSlots]; from != "" {
		if err := b.reward(from, reward, false); err != nil {
			err.(*rowError).column = b.slotColumn(as, l)
			return err
		}
	}
	b.contexts.begin()
	b.into = &b.contexts
	own := slotValues{}
	if s.described != nil {
		own = s.described[l]
	}
	if err := cmp.Or(b.values("context", f.context), b.values("context", own)); err != nil {
		return err
	}
	if err := b.placeSlot(int32(l + 1)); err != nil {
		return err
	}
	o := &b.offers
	*o = offers{column: column, options: o.options[:0], numbered: f.numbered}
	g := &b.items
	g.ids, g.vals = g.ids[:0], g.vals[:0]
	may := at(s.sets, l, nil) // nil: all
	for j, of := range f.options {
		if slices.Contains(above, j) || may != nil && !slices.Contains(may, j) {
			continue
		}
		from := len(g.ids)
		g.ids, g.vals = append(g.ids, f.items.ids[of.from:of.to]...), append(g.vals, f.items.vals[of.from:of.to]...)
		of.from, of.to = from, len(g.ids)
		o.options = append(o.options, of)
	}
	o.named = len(o.options)
	return nil
}

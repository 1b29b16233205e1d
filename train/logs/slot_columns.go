package logs

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A table may have a list in columns slot_1, slot_2, …, one a slot, with slot_propensity_1, … and slot_reward_1,
// …. Empty cells at its end make a list shorter. Rows fill the same [shown] as lists in single columns do.

// listColumns are the columns that they stand for, by role.
var listColumns = [...]string{"slots", "slot_propensities", "slot_rewards"}

// numbered finds the columns of the table that have one slot, and checks that none is left out. Where rows have an
// action, such columns are of something else: they are not read.
func (t *table) numbered() error {
	byName, listed, counts := map[string]*column{}, map[role]string{}, map[role]int{}
	var of [3]string // names without the number, by role
	for _, c := range t.columns {
		stem := strings.TrimRight(c.as, "0123456789")
		switch {
		case c.role < roleSlots || c.role > roleSlotRewards || stem == c.as:
			listed[c.role] = c.name
			continue
		case byName[c.as] != nil:
			return fmt.Errorf("%s: columns %s and %s are the same", t.path, byName[c.as].name, c.name)
		}
		byName[c.as], of[c.role-roleSlots] = c, stem
		counts[c.role]++
	}
	if len(byName) == 0 || listed[roleAction] != "" && listed[roleSlate] == "" {
		for _, c := range byName {
			c.role = roleIgnored
		}
		return nil
	}
	n := counts[roleSlots]
	for as, stem := range of {
		if stem == "" {
			continue
		}
		for _, other := range []role{roleSlots, roleSlotPropensities, roleSlotRewards, roleSlate, roleSlot} {
			if name := listed[other]; name != "" {
				return fmt.Errorf("%s: there are columns %s and %sN: a list has columns by slot, or one for all "+
					"slots, or a row for each slot", t.path, name, stem)
			}
		}
		if many := counts[role(as)+roleSlots]; many != n {
			return fmt.Errorf("%s: columns %sN are %d, and slot_N %d: want one for each slot", t.path, stem, many, n)
		}
		for l := range n {
			c := byName[fmt.Sprint(stem, l+1)]
			if c == nil {
				return fmt.Errorf("%s: columns %sN are %d, and none is %s%d: want them counted from 1, without gaps",
					t.path, stem, n, stem, l+1)
			}
			c.slot = l
		}
	}
	return nil
}

// ofSlot takes the cell of a column that has one slot.
func (t *table) ofSlot(b *builder, c *column, form jsontext.Kind, s []byte, v float64) error {
	l, empty := &b.shown, form == 0 && len(s) == 0
	if !empty || c.role == roleSlots {
		l.column[c.role-roleSlots] = listColumns[c.role-roleSlots]
	}
	if l.numbered = true; empty {
		return nil
	} else if c.role != roleSlots {
		return t.number(b, c, form, s, v)
	}
	l.ids = setAt(l.ids, c.slot, append([]byte{}, s...), nil)
	l.forms = setAt(l.forms, c.slot, form, 0)
	return nil
}

// setAt sets the value at a place, after values that are none.
func setAt[T any](of []T, l int, v, none T) []T {
	for len(of) <= l {
		of = append(of, none)
	}
	of[l] = v
	return of
}

// gaps refuses a list, of columns by slot, that lacks a cell.
func (b *builder) gaps() error {
	s := &b.shown
	given := func(of []float64, l int) bool { return l < len(of) && of[l] == of[l] }
	for _, c := range b.table.columns {
		l, there := c.slot, false
		shows := l >= 0 && l < len(s.ids) && s.ids[l] != nil
		switch c.role {
		case roleSlots:
			if l < len(s.ids) && !shows {
				return bad(c.name, "empty, and slot %d is not: a list may be shorter, and has no gaps", len(s.ids))
			}
			continue
		case roleSlotPropensities:
			there = given(s.ps, l)
		case roleSlotRewards:
			there = given(s.rewards, l)
		default:
			continue
		}
		switch {
		case there && !shows:
			return bad(c.name, "given, and slot %d shows no action", l+1)
		case shows && !there && s.column[c.role-roleSlots]+b.columnsOfLists[c.role-roleSlots] != "":
			return bad(c.name, "empty, and slot %d shows an action", l+1)
		}
	}
	return nil
}

// slotColumn names the column that has slot l of the row's list, from 0.
func (b *builder) slotColumn(as role, l int) string {
	for _, c := range b.columns {
		if b.shown.numbered && c.role == as && c.slot == l {
			return c.name
		}
	}
	return b.shown.column[as-roleSlots]
}

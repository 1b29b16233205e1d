package logs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	distinct "opl/train/internal/keys"
)

// actionNumbers collects the actions that rows took, and those that have propensities.
type actionNumbers struct {
	actions   []action
	actionID  map[string]int32
	propsOf   []string // names of the actions of row.props
	propsHash []uint64
	// of propsOf, the last ones: actions that setting actions lists and the log does not name, of propensity 0
	added      int
	listed     bool   // propsOf are numbers 0 to K−1
	base       int    // actions are numbers from here; −1: to be found out
	actionsMin int    // there are at least so many
	match      [2]int // rows whose propensity is the entry of their action counted from 0, 1
}

// action holds a distinct action, as logged.
type action struct {
	text   string
	number int // −1: none
	row    int // that had it first
	rows   int
	hash   uint64

	offered int // the serial of the row that offered it last
	offers  int // rows that did
}

// fixed checks the propensities of a row that offers what all rows do, and returns the number
// of its action.
func (b *builder) fixed() (int32, error) {
	r := &b.row
	if r.listed && b.unlisted() {
		if len(r.props) < 2 {
			return 0, bad("propensities", "%d of them: there must be at least 2 actions", len(r.props))
		}
		b.propsOf, b.listed = Numbered(len(r.props)), true
	}
	if r.hasProps && !r.listed && b.catalogue == nil {
		if b.unlisted() {
			b.extend()
		}
		for j := len(b.propsOf) - b.added; j <= len(r.props) && j < len(b.propsOf); j++ {
			r.props = append(r.props[:j], 0)
		}
	}
	if r.hasProps {
		if b.catalogue != nil {
			return 0, bad("propensities", "those of all actions of a catalogue are not read: want the logged "+
				"action's, or column offered")
		}
		if len(r.props) != len(b.propsOf) {
			return 0, bad("propensities", "%d of them, while the rows before have %d", len(r.props), len(b.propsOf))
		}
		if i := slices.IndexFunc(r.props, math.IsNaN); i >= 0 {
			return 0, bad("p_"+b.propsOf[i], "missing")
		}
		if err := b.distribution(b.propsOf); err != nil {
			return 0, err
		}
	}
	text := r.action
	if b.catalogue != nil {
		var err error
		if text, err = b.idText("action", r.form, text); err != nil {
			return 0, err
		}
	}
	id, err := b.action(text)
	if err != nil {
		return 0, err
	}
	a := b.actions[id].number
	if r.hasProps && r.hasP && a >= 0 {
		for base := range 2 {
			if j := a - base; j >= 0 && j < len(r.props) && Near(r.props[j], r.p, Agreement) {
				b.match[base]++
			}
		}
	}
	return id, nil
}

// distribution checks the propensities of the actions of some names, and divides them by their sum if that is rounded.
func (b *builder) distribution(names []string) error {
	r := &b.row
	sum, err := Distribution(r.props, names, Rounding)
	if err != nil {
		hint := ""
		outside := func(p float64) bool { return !(p >= 0 && p <= 1+1e-9) }
		if i := slices.IndexFunc(r.props, outside); i >= 0 && i < len(names) && b.byName["p_"+names[i]] != nil {
			hint = fmt.Sprintf("; a context called p_%s is read by setting columns x_p_%s=p_%s", names[i], names[i], names[i])
		}
		return bad("propensities", "%v%s", err, hint)
	}
	if b.off = !Near(sum, 1, Exact) || slices.Max(r.props) > 1; b.off {
		for i := range r.props {
			r.props[i] /= sum
		}
	}
	return nil
}

// extend adds the actions that setting actions lists to those that propensities are named by, if it lists all of these.
func (b *builder) extend() {
	for j, s := range b.propsOf {
		if at := slices.Index(b.o.Actions, s); at < 0 || b.listed && at != j {
			return
		}
	}
	for _, s := range b.o.Actions {
		if !slices.Contains(b.propsOf, s) {
			b.propsOf = append(b.propsOf, s)
			b.added++
		}
	}
}

// action returns the number of an action by its text. An integer that is written as
// a fraction, 2.0, is that integer.
func (b *builder) action(text []byte) (int32, error) {
	if id, ok := b.actionID[string(text)]; ok {
		return id, nil
	}
	if b.catalogue != nil {
		return 0, bad("action", "%s is none of the %d of the catalogue %s: it must have all actions that the log "+
			"speaks of", quote(text), len(b.actions), b.o.Catalogue)
	}
	if len(b.actionID) == maxNames {
		return 0, b.fatal("more than %d actions", maxNames)
	}
	s, n := string(text), -1
	if b.offers.column == "" {
		s = integer(s)
	}
	if v, err := strconv.ParseUint(s, 10, 31); err == nil && strconv.Itoa(int(v)) == s {
		n = int(v)
	}
	id, ok := b.actionID[s]
	if !ok {
		id = int32(len(b.actions))
		b.actionID[s] = id
		b.actions = append(b.actions, action{text: s, number: n, row: b.at, hash: xxhash.Sum64String(s)})
	}
	b.actionID[string(text)] = id
	return id, nil
}

// integer is a name, or the integer that it writes as a fraction.
func integer(s string) string {
	if strings.ContainsAny(s, ".eE") {
		if v, ok := parseNumber([]byte(s)); ok && v == math.Trunc(v) && math.Abs(v) < 1<<31 {
			return strconv.Itoa(int(v))
		}
	}
	return s
}

// decide finds the names of all actions in their order, the number of each action that
// was logged (−1: it is none of them, which makes its rows bad), and the numbers of the
// actions of row.props.
func (b *builder) decide() (names []string, number, props []int32, err error) {
	if b.catalogue != nil {
		for i := range b.actions {
			number = append(number, int32(i))
		}
		return b.catalogue.Actions, number, nil, nil
	}
	names, base, err := b.nameActions()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", b.path, err)
	}
	b.FromRows = len(b.o.Actions) == 0 && len(b.propsOf) == 0 && b.actionsMin == 0 && b.numbering.of == nil &&
		!b.first.hasSet
	place := make(map[string]int32, len(names))
	for i, s := range names {
		place[s] = int32(i)
	}
	taken := 0
	for _, a := range b.actions {
		n, ok := place[a.text]
		if base >= 0 {
			n, ok = int32(a.number-base), a.number >= base && a.number < base+len(names)
		}
		if !ok {
			n = -1
		} else {
			taken++
		}
		number = append(number, n)
	}
	if base >= 0 && taken < len(names) {
		b.note("action", 0, "%d of the %d actions were never logged", len(names)-taken, len(names))
	}
	of := b.propsOf
	if b.first.hasSet { // whose propensities are in the order of what is offered
		of = nil
	}
	for _, s := range of {
		j, ok := place[s]
		if b.listed {
			v, _ := strconv.Atoi(s)
			j = int32(v)
		} else if !ok {
			return nil, nil, nil, fmt.Errorf("%s: there is a propensity of action %s, which is none of those that the "+
				"policy or setting actions lists: %s", b.path, s, strings.Join(names[:min(len(names), 5)], ", "))
		}
		props = append(props, j)
	}
	switch {
	case len(names) < 2 && b.first.hasSet:
		return nil, nil, nil, fmt.Errorf("%s: column action: %s is the only one ever offered, and there is "+
			"nothing to learn", b.path, names[0])
	case len(names) < 2:
		return nil, nil, nil, fmt.Errorf("%s: column action: %s is the only action, and there is nothing to "+
			"learn: setting actions lists those that were possible", b.path, names[0])
	}
	return names, number, props, nil
}

// nameActions finds the names of all actions, and the number of the first where they are logged by number; −1: they
// are logged by name.
func (b *builder) nameActions() (names []string, base int, err error) {
	if b.numbering.of != nil {
		return b.numbering.all(), -1, nil
	}
	// The least and the largest of the actions that are integers from 0, the place of the
	// first that is none, −1: they all are, and whether most rows have one that is none.
	lo, hi, other, rows := math.MaxInt, 0, -1, 0
	for i, a := range b.actions {
		if a.number >= 0 {
			lo, hi = min(lo, a.number), max(hi, a.number)
			continue
		}
		if rows += a.rows; other < 0 {
			other = i
		}
	}
	named := 2*rows > b.n
	k := 0 // actions, that are logged by number; 0: by name
	switch sets := b.first.hasSet; {
	case sets && b.mayLack && b.byPlace && len(b.items.names) == 0:
		return nil, 0, errors.New("column label: the actions have neither ids nor features")
	case sets && len(b.o.Actions) == 0:
		for _, a := range b.actions {
			if a.offers > 0 {
				names = append(names, a.text)
			}
		}
		slices.SortFunc(names, byValue)
	case len(b.o.Actions) > 0:
		names = slices.Clone(b.o.Actions)
		if !sets && len(b.propsOf) > 0 && len(b.propsOf) != len(names) {
			return nil, 0, fmt.Errorf("%d propensities in a row, but setting actions lists %d: a list has all of "+
				"them in their order, columns p_NAME only those that are not 0", len(b.propsOf), len(names))
		}
		if i, twice := distinct.Twice(names); twice {
			return nil, 0, fmt.Errorf("setting actions has %s twice", names[i])
		}
		if !sets && !named && !slices.ContainsFunc(b.actions, func(a action) bool { return slices.Contains(names, a.text) }) {
			k = len(names)
		}
	case len(b.propsOf) > 0 && !b.listed:
		names = slices.Clone(b.propsOf)
		slices.SortStableFunc(names, byValue)
	case len(b.propsOf) > 0 || b.base >= 0:
		if named {
			a := b.actions[other]
			return nil, 0, fmt.Errorf("row %d, column action: %q is a name, and the propensities are those of "+
				"numbers: setting actions must give the names in their order", a.row, a.text)
		}
		if k = max(len(b.propsOf), b.actionsMin); len(b.propsOf) == 0 {
			k = max(k, hi+1-b.base)
		}
		if k > max(manyActions, b.n) {
			return nil, 0, fmt.Errorf("actions are numbered up to %d in %d rows: are they identifiers? setting "+
				"actions lists those that were possible", k-1+b.base, b.n)
		}
	case other < 0 && lo <= 1 && hi+1-lo <= 2*len(b.actions):
		k = hi + 1 - lo
	default:
		for _, a := range b.actions {
			names = append(names, a.text)
		}
		slices.SortFunc(names, byValue)
		if other < 0 {
			b.note("action", 0, "the %d distinct actions between %d and %d are taken for names", len(names), lo, hi)
		} else if !named {
			a := b.actions[other]
			b.note("action", a.rows, "%q, first in row %d, is no number and most actions are: all are taken for names",
				a.text, a.row)
		}
	}
	if k == 0 {
		return names, -1, nil
	}
	base = max(0, b.base)
	if b.base < 0 && lo != 0 && (hi >= k || len(b.propsOf) == 0 && len(b.o.Actions) == 0 || b.match[1] == b.n &&
		b.match[0] < b.n) {
		base = 1
	}
	if base == 1 {
		b.note("action", 0, "actions are the numbers 1 to %d: they are counted from 1", k)
	} else {
		b.note("action", 0, "actions are the numbers 0 to %d", k-1)
	}
	for a := len(names); a < k; a++ {
		names = append(names, strconv.Itoa(a+base))
	}
	return names, base, nil
}

// byValue orders names, integers among them by their value and first.
func byValue(a, b string) int {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// numbered reports whether names are the numbers from 0, each once.
func numbered(names []string) bool {
	want := Numbered(len(names))
	slices.Sort(want)
	return slices.Equal(slices.Sorted(slices.Values(names)), want)
}

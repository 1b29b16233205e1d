package logs

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"opl/train/internal/spelling"
)

// role is what a column is for.
type role int8

const (
	roleIgnored role = iota
	roleID
	roleTime
	roleGroup
	roleContext  // one value of the context
	roleContexts // all of it
	roleAction
	roleReward
	roleCost
	rolePropensity
	rolePropensities // all of them
	roleEach         // that of one action
	roleWeight
	rolePolicy // that logged the row
)

var roles = map[string]role{
	"decision_id": roleID, "timestamp": roleTime, "group": roleGroup, "context": roleContexts, "action": roleAction,
	"reward": roleReward, "cost": roleCost, "propensity": rolePropensity, "propensities": rolePropensities, "weight": roleWeight, "policy": rolePolicy,
}

var obdRoles = map[string]role{
	"timestamp": roleTime, "item_id": roleAction, "position": roleContext, "click": roleReward, "propensity_score": rolePropensity, "action_prob": rolePropensity,
}

// roleOf is the role of a column by its name.
func roleOf(name, preset string) role {
	if preset == "obd" {
		if strings.HasPrefix(name, "user_feature_") || strings.HasPrefix(name, "user-item_affinity_") || strings.HasPrefix(name, "user_item_affinity_") {
			return roleContext
		}
		return obdRoles[name]
	}
	r, ok := roles[name]
	switch {
	case ok:
		return r
	case strings.HasPrefix(name, "x_"):
		return roleContext
	case strings.HasPrefix(name, "p_"):
		return roleEach
	}
	return roleIgnored
}

// column is a column of a table.
//
// A column of the context is numeric if at least nine in ten of its values are
// numbers; the others are then errors. If not, every value v of it is a
// category: the name "column=v" with the value 1. A pass takes the kind of the first
// value that it sees, and finds out in the end: then the file is read again.
type column struct {
	name string
	role role
	slot int  // of the action, for roleEach
	kind kind // of the values of a context
	told bool // the kind is known from the start

	id         uint32
	hasID      bool
	categories map[string]categoryID
	numbers    int
	texts      int
	missing    int
}

type categoryID struct {
	id      uint32
	numeric bool
}

// table reads rows of named cells. It is what csv, jsonl and parquet share.
type table struct {
	path, preset string
	columns      []*column
	index        map[string]int
	begun        bool
}

func newTable(path, preset string) *table {
	return &table{path: path, preset: preset, index: map[string]int{}}
}

// column returns a column by its name, making it at first.
func (t *table) column(b *builder, name []byte) (*column, error) {
	if i, ok := t.index[string(name)]; ok {
		return t.columns[i], nil
	}
	if len(t.columns) == maxNames {
		return nil, fatalError{fmt.Errorf("%s: more than %d columns", t.path, maxNames)}
	}
	c := &column{name: string(name), role: roleOf(string(name), t.preset), slot: -1}
	if b != nil {
		t.begin(b, c)
	}
	t.index[c.name] = len(t.columns)
	t.columns = append(t.columns, c)
	return c, nil
}

// begin tells a column what is known of it.
func (t *table) begin(b *builder, c *column) {
	c.kind, c.told = b.memory.kinds[c.name], b.memory.kinds[c.name] != undecided
	if t.preset == "obd" && (c.name == "position" || strings.HasPrefix(c.name, "user_feature_")) {
		c.kind, c.told = category, true
	}
	if c.role == roleEach {
		if s := strings.TrimPrefix(c.name, "p_"); b.n == 0 {
			c.slot = len(b.slots)
			b.slots = append(b.slots, s)
		}
	}
}

// start begins a pass over rows whose columns are all known.
func (t *table) start(b *builder) {
	if t.begun {
		return
	}
	t.begun = true
	for _, c := range t.columns {
		t.begin(b, c)
	}
	if b.slots != nil {
		b.listed = numbered(b.slots)
	}
}

// settle ends a pass: it reports whether the file must be read again, with other kinds,
// and notes what is to be said of the columns.
func (t *table) settle(b *builder) bool {
	again := false
	for _, c := range t.columns {
		if c.role != roleContext || c.told {
			continue
		}
		want := number
		if c.texts > 0 && c.numbers < 9*c.texts {
			want = category
		}
		if c.kind != want && c.kind != undecided || want == number && c.texts > 0 {
			again = true
		}
		if c.kind != undecided {
			b.memory.kinds[c.name] = want
		}
	}
	if again || b.typesOnly {
		return true
	}
	var ignored []string
	for _, c := range t.columns {
		switch {
		case c.role == roleIgnored && c.name != "":
			ignored = append(ignored, c.name)
		case c.role == roleContext && c.kind == undecided:
			b.note(Note{Kind: "missing", Column: c.name, Text: "the column has no values"})
		case c.role == roleContext && c.missing > 0:
			b.note(Note{Kind: "missing", Column: c.name, Rows: c.missing, Text: "no value: it counts as 0"})
		}
		if n := len(c.categories); c.role == roleContext && n > 1000 {
			b.note(Note{Kind: "categories", Column: c.name, Text: fmt.Sprintf("%d distinct values, each a feature of its own: an identifier is no context", n)})
		}
	}
	if len(ignored) > 0 {
		text := "columns that are not read: " + strings.Join(ignored, ", ")
		for _, name := range ignored {
			if near, ok := nearest(name); ok {
				text += fmt.Sprintf("; did you mean %s by %s?", near, name)
				break
			}
		}
		b.note(Note{Kind: "ignored", Text: text})
	}
	return false
}

// nearest returns the column of the schema that a name may be a misspelling of.
func nearest(name string) (string, bool) {
	names := make([]string, 0, len(roles))
	for n := range roles {
		names = append(names, n)
	}
	slices.Sort(names)
	best, least := "", 3
	for _, n := range names {
		if d := spelling.Distance(strings.ToLower(name), n); d < least {
			best, least = n, d
		}
	}
	return best, best != ""
}

// check says which columns are missing or contradict each other.
func (t *table) check() error {
	has := map[role]*column{}
	var names []string
	for _, c := range t.columns {
		if names = append(names, c.name); strings.TrimSpace(c.name) != c.name {
			names[len(names)-1] = strconv.Quote(c.name)
		}
		if other := has[c.role]; other != nil && c.role != roleContext && c.role != roleEach && c.role != roleIgnored {
			return fmt.Errorf("%s: columns %s and %s are the same", t.path, other.name, c.name)
		}
		has[c.role] = c
	}
	shown := names
	if len(names) > 20 {
		shown = append(names[:20:20], "…")
	}
	wanted := func(what string) error {
		text := fmt.Sprintf("%s: no column %s; there are %s", t.path, what, strings.Join(shown, ", "))
		for i, c := range t.columns {
			if near, ok := nearest(c.name); ok && c.role == roleIgnored && strings.Contains(what, near) {
				return fmt.Errorf("%s: did you mean %s by %s?", text, near, names[i])
			}
		}
		if t.preset == "" && t.index["item_id"] > 0 && t.index["click"] > 0 {
			text += ": setting preset obd reads the Open Bandit Dataset"
		}
		return fmt.Errorf("%s", text)
	}
	switch {
	case has[roleAction] == nil && t.preset == "obd":
		return wanted("item_id")
	case has[roleAction] == nil:
		return wanted("action")
	case has[roleReward] != nil && has[roleCost] != nil:
		return fmt.Errorf("%s: there are columns %s and %s: exactly one must be there", t.path, has[roleReward].name, has[roleCost].name)
	case has[roleReward] == nil && has[roleCost] == nil && t.preset == "obd":
		return wanted("click")
	case has[roleReward] == nil && has[roleCost] == nil:
		return wanted("reward or cost")
	case has[rolePropensities] != nil && has[roleEach] != nil:
		return fmt.Errorf("%s: there are columns propensities and %s: one or the other", t.path, has[roleEach].name)
	case has[roleContexts] != nil && has[roleContext] != nil:
		return fmt.Errorf("%s: there are columns context and %s: one or the other", t.path, has[roleContext].name)
	}
	return nil
}

// parseNumber reads a decimal number, or one of the words for what is not finite.
func parseNumber(s []byte) (float64, bool) {
	if len(s) == 0 || len(s) > 400 {
		return 0, false
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '-', c == '+', c == '.':
	case c == 'n', c == 'N', c == 'i', c == 'I':
		if len(s) > 8 {
			return 0, false
		}
	default:
		return 0, false
	}
	for _, c := range s {
		if c == 'x' || c == 'X' || c == '_' { // numbers of Go, and none here
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(s), len(s)), 64)
	if err != nil && !math.IsInf(v, 0) { // out of range is a number, and refused as one
		return 0, false
	}
	return v, true
}

// text takes a cell whose type is not known: a number if it reads like one.
func (t *table) text(b *builder, c *column, s []byte) error {
	switch c.role {
	case roleIgnored:
		return nil
	case roleContext:
		if len(s) == 0 {
			c.missing++
			return nil
		}
		if c.kind == category {
			return t.category(b, c, s, false)
		}
		if v, ok := parseNumber(s); ok {
			return t.contextNumber(b, c, v)
		}
		return t.category(b, c, s, false)
	case roleReward, roleCost, rolePropensity, roleEach, roleWeight:
		if len(s) == 0 {
			return bad(c.name, "empty")
		}
		v, ok := parseNumber(s)
		if !ok {
			return bad(c.name, "%s is not a number", quote(s))
		}
		return t.number(b, c, v)
	}
	return t.string(b, c, s)
}

// number takes a cell that is a number.
func (t *table) number(b *builder, c *column, v float64) error {
	r := &b.row
	if c.role != roleIgnored && v-v != 0 {
		return bad(c.name, "%v is not finite", v)
	}
	switch c.role {
	case roleContext:
		if c.kind == category {
			return t.category(b, c, strconv.AppendFloat(nil, v, 'g', -1, 64), false)
		}
		return t.contextNumber(b, c, v)
	case roleReward:
		return b.reward(c.name, v)
	case roleCost:
		return b.cost(c.name, v)
	case rolePropensity:
		r.p, r.hasP = v, true
	case roleWeight:
		r.weight, r.hasWeight = v, true
	case roleEach:
		if c.slot < 0 {
			return bad(c.name, "given, while the rows before have none")
		}
		if !r.hasProps {
			r.hasProps = true
			r.props = slices.Grow(r.props[:0], len(b.slots))[:len(b.slots)]
			for i := range r.props {
				r.props[i] = math.NaN() // missing so far
			}
		}
		for len(r.props) < len(b.slots) { // in the first row, whose keys make the slots
			r.props = append(r.props, math.NaN())
		}
		r.props[c.slot] = v
	case roleTime:
		return t.time(b, c, v)
	case roleContexts, rolePropensities:
		return bad(c.name, "%v is not a list", v)
	case roleID, roleGroup, roleAction, rolePolicy:
		var s []byte
		if math.Abs(v) < 1<<53 && v == math.Trunc(v) {
			s = strconv.AppendInt(nil, int64(v), 10)
		} else {
			s = strconv.AppendFloat(nil, v, 'g', -1, 64)
		}
		return t.string(b, c, s)
	}
	return nil
}

// string takes a cell that is a text.
func (t *table) string(b *builder, c *column, s []byte) error {
	r := &b.row
	switch c.role {
	case roleID:
		r.id, r.hasID = append(r.id[:0], s...), true
	case roleGroup:
		r.group, r.hasGroup = append(r.group[:0], s...), true
	case rolePolicy:
		r.policy = append(r.policy[:0], s...)
	case roleAction:
		if len(s) == 0 {
			return bad(c.name, "empty")
		}
		r.action, r.hasAction = append(r.action[:0], s...), true
	case roleTime:
		if v, ok := parseNumber(s); ok {
			return t.time(b, c, v)
		}
		at, ok := parseTime(s)
		if !ok {
			return bad(c.name, "%s is no time: want RFC 3339 or seconds since 1970", quote(s))
		}
		r.time, r.hasTime = at, true
	case roleContext:
		if len(s) == 0 {
			c.missing++
			return nil
		}
		return t.category(b, c, s, true)
	case roleReward, roleCost, rolePropensity, roleEach, roleWeight:
		return t.text(b, c, s)
	case roleContexts:
		if s = bytes.TrimSpace(s); len(s) > 0 && (s[0] == '[' || s[0] == '{') {
			return inlineJSON(s, c.name, func(d *decoder) error { return d.context(b, c.name) })
		}
		return sparse(b, c.name, s)
	case rolePropensities:
		if s = bytes.TrimSpace(s); len(s) == 0 || s[0] != '[' && s[0] != '{' {
			return bad(c.name, "%s is not a list", quote(s))
		}
		return inlineJSON(s, c.name, func(d *decoder) error { return d.propensities(b, c.name) })
	}
	return nil
}

// done ends a row: actions without a propensity are found.
func (t *table) done(b *builder) error {
	if r := &b.row; r.hasProps {
		for i, p := range r.props {
			if p != p {
				return bad("p_"+b.slots[i], "missing")
			}
		}
	}
	return nil
}

// sparse reads "index:value index:value".
func sparse(b *builder, column string, s []byte) error {
	for _, entry := range bytes.Fields(s) {
		colon := bytes.LastIndexByte(entry, ':')
		if colon < 1 {
			return bad(column, "%s is not index:value", quote(entry))
		}
		v, ok := parseNumber(entry[colon+1:])
		if !ok {
			return bad(column, "%s is not a number", quote(entry[colon+1:]))
		}
		id, err := b.name(entry[:colon], false)
		if err == nil {
			err = b.value(column, id, v, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// contextNumber adds a number of a column to the context.
func (t *table) contextNumber(b *builder, c *column, v float64) error {
	c.numbers++
	if c.kind == undecided {
		c.kind = number
	}
	if b.typesOnly {
		return nil
	}
	if !c.hasID {
		id, err := b.name([]byte(c.name), false)
		if err != nil {
			return err
		}
		c.id, c.hasID = id, true
	}
	return b.value(c.name, c.id, v, false)
}

// category adds a category to the context.
func (t *table) category(b *builder, c *column, s []byte, typed bool) error {
	switch c.kind {
	case number:
		c.texts++
		if c.told {
			return bad(c.name, "%s is not a number, as most of the column is; setting categories %s makes every value a name", quote(s), c.name)
		}
		b.typesOnly = true
		return nil
	case undecided:
		c.kind = category
	}
	known, ok := c.categories[string(s)]
	if !ok {
		_, known.numeric = parseNumber(s)
		if !b.typesOnly {
			name := append(append([]byte(c.name), '='), s...)
			id, err := b.name(name, true)
			if err != nil {
				return err
			}
			known.id = id
			if c.categories == nil {
				c.categories = map[string]categoryID{}
			}
			c.categories[string(s)] = known
		}
	}
	if known.numeric && !typed {
		c.numbers++
	} else {
		c.texts++
	}
	if b.typesOnly {
		return nil
	}
	return b.value(c.name, known.id, 1, false)
}

// time takes seconds, milliseconds, microseconds or nanoseconds since 1970.
func (t *table) time(b *builder, c *column, v float64) error {
	scale := 1e9
	switch a := math.Abs(v); {
	case a >= 1e17:
		scale = 1
	case a >= 1e14:
		scale = 1e3
	case a >= 1e11:
		scale = 1e6
	}
	if !(math.Abs(v*scale) < 9.2e18) {
		return bad(c.name, "%v is no time since 1970", v)
	}
	whole, part := math.Modf(v)
	b.row.time, b.row.hasTime = int64(whole)*int64(scale)+int64(math.Round(part*scale)), true
	return nil
}

// parseTime reads RFC 3339, also with a blank for the T and without a zone: UTC.
func parseTime(s []byte) (int64, bool) {
	text := unsafe.String(unsafe.SliceData(s), len(s))
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return unixNano(t)
		}
	}
	return 0, false
}

// quote shows a cell in an error.
func quote(s []byte) string {
	if len(s) > 40 {
		return strconv.Quote(string(s[:40])) + "…"
	}
	return strconv.Quote(string(s))
}

package logs

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

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
	roleUnrewarded
	roleAmong   // hash of the catalogue that the decision was among
	roleOffered // ids of the actions that the row offers
	roleActions // the actions that the row offers, with their features
	roleField   // of rows that are no log's, see Rows
	roleOutcome // another number that the decision led to, see Outcome
	roleDensity // of a number, see Numbers
	roleFamily  // of the density

	// of lists, see [Lists]
	roleSlots
	roleSlotPropensities
	roleSlotRewards
	roleFirstClick
	roleSlate // the list that a row is a slot of
	roleSlot  // its slot, from 1
)

var roles = map[string]role{
	"decision_id": roleID, "timestamp": roleTime, "group": roleGroup, "context": roleContexts, "action": roleAction,
	"reward": roleReward, "cost": roleCost, "propensity": rolePropensity, "propensities": rolePropensities,
	"weight": roleWeight, "policy": rolePolicy, "unrewarded": roleUnrewarded, "catalogue_hash": roleAmong,
	"offered": roleOffered, "actions": roleActions, "slots": roleSlots, "slot_propensities": roleSlotPropensities,
	"slot_rewards": roleSlotRewards, "first_click": roleFirstClick, "slate_id": roleSlate, "slot": roleSlot,
	"density": roleDensity, "propensity_density": roleDensity, "density_family": roleFamily,
}

var obdRoles = map[string]role{
	"timestamp": roleTime, "item_id": roleAction, "position": roleContext, "click": roleReward,
	"propensity_score": rolePropensity, "action_prob": rolePropensity,
}

// roleOf is the role of a column by its name.
func roleOf(name, preset string) role {
	prefixed := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case preset == "dsjson":
		return dsRoles[name]
	case preset == "obd" && (prefixed("user_feature_") || prefixed("user-item_affinity_") ||
		prefixed("user_item_affinity_")):
		return roleContext
	case preset == "obd":
		return obdRoles[name]
	case prefixed("x_"):
		return roleContext
	case prefixed("p_"):
		return roleEach
	case IsOutcome(name):
		return roleOutcome
	}
	if stem := strings.TrimRight(name, "0123456789"); stem != name {
		return numberedRoles[stem]
	}
	return roles[name]
}

// numberedRoles are those of columns slot_1, slot_2, … and what goes with them, by their names without the number.
var numberedRoles = map[string]role{"slot_": roleSlots, "slot_propensity_": roleSlotPropensities,
	"slot_reward_": roleSlotRewards}

// column is a column of a table.
//
// A column of the context is numeric if at least nine in ten of its values are
// numbers; the others are then errors. If not, every value v of it is a
// category: the name "column=v" with the value 1. A pass takes the kind of the first
// value that it sees, and finds out in the end: then the file is read again. Words for
// no value, such as NA, are none in a column of numbers, and categories as others are.
type column struct {
	name string
	role role
	slot int  // of the action, for roleEach; from 0, that the column is of, in a list; −1: none
	kind kind // of the values of a context
	told bool // the kind is known from the start

	as         string // what values are called: the name, in a catalogue without z_
	id         uint32
	hasID      bool
	categories map[string]categoryID
	numbers    int
	texts      int
	missing    int
	blank      bool   // a word for no value came before any value
	code       string // the first number that begins with 0, as 01067

	field // for roleField
}

type categoryID struct {
	id      uint32
	numeric bool
}

// table reads rows of named cells. It is what csv, jsonl and parquet share.
type table struct {
	*lines
	preset  string
	columns []*column
	index   map[string]int
	rows    int        // that were asked for
	inner   *decoder   // of cells that are JSON
	wide    wide       // of the columns, those that are read ahead
	blocks  *rowsAhead // nil: lines are read one by one
}

func newTable(l *lines, b *builder) *table {
	b.table = &table{lines: l, preset: b.o.Preset, index: map[string]int{}, inner: newDecoder()}
	b.table.wide.alone = !b.joined
	return b.table
}

// column returns a column of the file by its name.
func (t *table) column(b *builder, name []byte) (*column, error) {
	if i, ok := t.index[string(name)]; ok {
		return t.columns[i], nil
	}
	c, err := b.column(name, t.preset)
	if err != nil {
		return nil, err
	}
	t.index[c.name] = len(t.columns)
	t.columns = append(t.columns, c)
	return c, nil
}

// column returns a column of all files by its name, making it at first.
func (b *builder) column(name []byte, preset string) (*column, error) {
	if c, ok := b.byName[string(name)]; ok {
		return c, nil
	}
	if len(b.columns) == maxNames {
		return nil, b.fatal("more than %d columns", maxNames)
	}
	as, renamed := b.renamed[string(name)]
	c := &column{name: string(name), slot: -1, kind: b.memory.kinds[string(name)]}
	switch {
	case renamed:
		c.as, c.role = as, roleOf(as, "")
	case b.taken[c.name]:
		c.as = c.name
	default:
		c.as, c.role = c.name, roleOf(c.name, preset)
	}
	switch {
	case b.fields:
		c.role = roleField
	case b.numbering.of == nil && (c.role == roleDensity || c.role == roleFamily): // of another kind of log
		c.role = roleIgnored
	case b.o.NoRewards && (c.role == roleReward || c.role == roleCost || c.role == roleOutcome):
		c.role = roleIgnored
	case b.describes && renamed:
		c.role = roleAction
	case b.describes:
		c.role, c.as = roleInCatalogue(c.name), strings.TrimPrefix(c.name, "z_")
	case b.o.formula.reads(c.as) && (renamed || !b.taken[c.name]):
		c.role, c.as = roleOutcome, b.o.formula.outcome(c.as)
	case b.o.formula != nil && (c.role == roleReward || c.role == roleCost):
		c.role = roleIgnored
	}
	if c.told = c.kind != undecided; preset == "obd" && !renamed && (c.name == "position" || strings.HasPrefix(c.name,
		"user_feature_")) {
		c.kind, c.told = category, true
	}
	if c.role == roleEach && b.n == 0 {
		c.slot = len(b.propsOf)
		b.propsOf = append(b.propsOf, strings.TrimPrefix(c.as, "p_"))
	}
	if c.role == roleOutcome {
		c.slot = b.outcomeSlot(c.as)
	}
	b.byName[c.name] = c
	b.columns = append(b.columns, c)
	return c, nil
}

// settle ends a pass: it notes what is to be said of the columns. errAgain: some must be read as another kind.
func (b *builder) settle() error {
	again := false
	for _, c := range b.columns {
		if c.role != roleContext || c.told {
			continue
		}
		want := number
		if c.texts > 0 && c.numbers < 9*c.texts {
			want = category
		}
		again = again || c.kind != want && c.kind != undecided || want == number && c.texts > 0 ||
			c.kind == category && c.blank
		if c.kind != undecided {
			b.memory.kinds[c.name] = want
		}
	}
	if again || b.typesOnly {
		return errAgain
	}
	var ignored []string
	contexts := false
	for _, c := range b.columns {
		contexts = contexts || c.role == roleContext || c.role == roleContexts
		if n := c.numbers + c.texts; c.role == roleContext && c.kind == category && c.texts > 0 && 2*c.numbers > n &&
			!slices.Contains(b.o.categories(), c.name) && !slices.Contains(b.o.categories(), c.as) {
			b.Doubts = append(b.Doubts, fmt.Sprintf("column %s: %.3g %% of its values are numbers and the others are "+
				"not, as %s: it is read as %d categories, not as a number", c.name, 100*float64(c.numbers)/float64(n),
				c.word(), len(c.categories)))
		}
		switch {
		case c.role >= roleSlots && b.slotNumbers.len() == 0, c.role == roleIgnored && c.name != "",
			c.role == roleOutcome && b.outcomes[c.slot].Text != "":
			ignored = append(ignored, c.name)
		case c.role == roleContext && c.kind == undecided:
			b.note(c.name, 0, "the column has no values")
		case c.role == roleContext && c.missing > 0:
			b.note(c.name, c.missing, "no value, or a word for none such as NA: it is read as missing")
		}
		if c.kind == number && c.code != "" {
			b.note(c.name, 0, "numbers that begin with 0, as %q, may be codes, and are read as numbers: setting categories %s "+
				"reads them as names", c.code, c.name)
		}
		if n := len(c.categories); c.role == roleContext && n > 1000 {
			b.note(c.name, 0, "%d distinct values, each a feature of its own: an identifier is no context", n)
		}
	}
	b.disguises()
	b.zeros()
	if len(ignored) > 0 {
		text := "columns that are not read: " + fewNames(ignored) + b.unreadDensities()
		for _, name := range ignored {
			if near := nearest(name); near != "" && near != name {
				text += fmt.Sprintf("; did you mean %s by %s?", near, withBlanks(name))
				break
			}
		}
		b.press("%s", text)
		if !contexts && !b.describes && b.n > 0 {
			b.Bare = "no column is read as context, and there are columns that are not read: " + fewNames(ignored)
		}
	}
	return nil
}

// withBlanks is a column's name, quoted if blanks at its ends would not be seen.
func withBlanks(name string) string {
	if strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return name
}

// fewNames lists the first twenty names, and of each the first letters.
func fewNames(names []string) string {
	shown := make([]string, 0, 21)
	for _, name := range names[:min(len(names), 20)] {
		if r := []rune(name); len(r) > 60 {
			name = string(r[:60]) + "…"
		}
		shown = append(shown, name)
	}
	if len(names) > 20 {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// word is a value of a category that is no number, the first by the alphabet.
func (c *column) word() string {
	for _, s := range slices.Sorted(maps.Keys(c.categories)) {
		if !c.categories[s].numeric {
			return quote([]byte(s))
		}
	}
	return "some"
}

// disguises doubts columns, and fields of contexts and of actions, whose names are numbers in other writing, or times.
func (b *builder) disguises() {
	values := b.fieldsOfNames()
	for _, name := range b.o.categories() { // as was said
		delete(values, name)
		if c := b.byName[name]; c != nil {
			delete(values, c.as)
		}
	}
	for _, column := range slices.Sorted(maps.Keys(values)) {
		if what, as := disguised(values[column]); what != "" {
			b.Doubts = append(b.Doubts, fmt.Sprintf("column %s: its values are %s, as %s, and are read as names", column, what,
				quote([]byte(as))))
		}
	}
}

// fieldsOfNames returns the columns, and fields of contexts and of actions, that have names alone, each with the first
// thousand of them.
func (b *builder) fieldsOfNames() map[string][]string {
	values := map[string][]string{}
	for _, g := range []*bag{&b.contexts, &b.items} {
		for _, name := range g.names {
			column, value, is := strings.Cut(name, "=")
			if _, numbers := g.vocabulary.places[column]; is && !numbers && len(values[column]) < 1000 {
				values[column] = append(values[column], value)
			}
		}
	}
	return values
}

// zeros doubts groups that differ by leading zeros, which some programs drop, or by capitals.
func (b *builder) zeros() {
	odd, of := "", ""
	for name := range b.groups.places {
		bare := BareGroup(name)
		if bare == name || odd != "" && odd < name {
			continue
		}
		if _, is := b.groups.places[bare]; is {
			odd, of = name, bare
		}
	}
	if all := slices.Sorted(maps.Keys(b.groups.places)); odd == "" && len(all) <= 1000 {
		of, odd, _ = spelling.Alike(all)
	}
	if odd != "" {
		b.Doubts = append(b.Doubts, fmt.Sprintf("column group: %s and %s are two groups: one may be meant, whose rows depend "+
			"on one another", quote([]byte(odd)), quote([]byte(of))))
	}
}

// disguised says what the names of a category are, if at least nine in ten are numbers in other writing, or times: a
// policy knows nothing of the order of names, nor of new ones. A few names may be meant, and numbers of a telephone or
// an account are names: they all have as many digits, or groups of other than thousands.
func disguised(names []string) (what, as string) {
	if len(names) <= fewNumbers {
		return "", ""
	}
	numbers, plain, times, least, most := 0, 0, 0, math.MaxInt, 0
	for _, s := range names {
		_, isNumber := parseNumber([]byte(s))
		_, us := parseTime([]byte(s), "us")
		_, eu := parseTime([]byte(s), "eu")
		switch {
		case us || eu:
			times++
			as = cmp.Or(as, s)
		case isNumber:
			plain++
			fallthrough
		case dressed.MatchString(s):
			if !isNumber {
				as = cmp.Or(as, s)
			}
			digits := len(digit.FindAllString(s, -1))
			numbers, least, most = numbers+1, min(least, digits), max(most, digits)
		}
	}
	switch n := len(names); {
	case 10*numbers >= 9*n && plain < numbers && (least < most || most < manyDigits):
		return "numbers with commas, blanks, percent or currency signs", as
	case 10*times >= 9*n:
		return "days or times", as
	}
	return "", ""
}

const (
	fewNumbers = 12 // so many may be meant as names
	manyDigits = 7  // so many, in all names, are those of a number that only names

	dress = ",'’%$€£¥ \u00a0\u202f" // what numbers in other writing have besides digits
)

// dressed are numbers in other writing: with a currency, groups of thousands, a comma before decimals, or per cent.
var (
	dressed = regexp.MustCompile(`^[-+]?[$€£¥]? ?-?` +
		`(\d+|[1-9]\d{0,2}([,'’\s\x{a0}\x{202f}]\d{2,3})*[,'’\s\x{a0}\x{202f}]\d{3})` +
		`([.,]\d+)?[\s\x{a0}\x{202f}]?[%$€£¥]?$`)
	digit = regexp.MustCompile(`\d`)
)

// meant asks whether a name is a misspelling of one of others; "": of none.
func meant(name string, names []string) string {
	if near := spelling.Nearest(name, names, 2); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// nearest returns the column of the schema that a name may be a misspelling of, "" if there
// is none.
func nearest(name string) string {
	return spelling.Nearest(strings.ToLower(name), slices.Sorted(maps.Keys(roles)), 2)
}

// check says which columns are missing or contradict each other, once all are known.
func (t *table) check(b *builder) error {
	if b.fields {
		return nil
	}
	b.listed = b.listed || b.propsOf != nil && numbered(b.propsOf)
	has, contexts := map[role]string{}, map[string]string{}
	var names []string
	if err := t.numbered(); err != nil {
		return err
	}
	for _, c := range t.columns {
		names = append(names, withBlanks(c.name))
		if other := has[c.role]; other != "" && c.role != roleContext && c.role != roleEach && c.role != roleIgnored &&
			c.role != roleOutcome && c.slot < 0 {
			return fmt.Errorf("%s: columns %s and %s are the same", t.path, other, c.name)
		}
		if c.role == roleContext || c.role == roleOutcome {
			if other, twice := contexts[c.as]; twice {
				return fmt.Errorf("%s: columns %s and %s are the same", t.path, other, c.name)
			}
			contexts[c.as] = c.name
		}
		has[c.role] = c.name
	}
	for _, pair := range [][2]role{{roleReward, roleCost}, {rolePropensities, roleEach}, {roleContexts, roleContext},
		{roleOffered, roleActions}, {roleOffered, roleEach}, {roleActions, roleEach}} {
		if one, other := has[pair[0]], has[pair[1]]; one != "" && other != "" {
			hint := ""
			if pair[1] == roleCost || pair[1] == roleEach {
				hint = fmt.Sprintf("; a context called %s is read by setting columns x_%s=%s", other, other, other)
			}
			return fmt.Errorf("%s: there are columns %s and %s: exactly one of them may be there%s", t.path, one, other, hint)
		}
	}
	if has[roleSlots] != "" {
		has[roleAction], has[roleReward] = has[roleSlots], cmp.Or(has[roleReward], has[roleSlotRewards],
			has[roleFirstClick])
	}
	action, reward, wanted := "action", "reward or cost", ""
	if t.preset == "obd" {
		action, reward = "item_id", "click"
	}
	switch {
	case has[roleAction] == "":
		wanted = action
	case b.describes:
		return nil
	case b.o.formula != nil:
		return b.o.formula.absentFrom(t, names)
	case has[roleReward] == "" && has[roleCost] == "" && !b.o.NoRewards:
		wanted = reward
	case has[roleDensity] == "" && b.numbering.of != nil:
		wanted = "density"
	default:
		return nil
	}
	if err := b.absent(t.path, t); err != nil {
		return err
	}
	text := fmt.Sprintf("%s: no column %s; there are %s", t.path, wanted, fewNames(names))
	for i, c := range t.columns {
		if near := nearest(c.name); near != "" && c.role == roleIgnored && strings.Contains(wanted, near) {
			return fmt.Errorf("%s: did you mean %s by %s?", text, near, names[i])
		}
	}
	if b.describes {
		return fmt.Errorf("%s: name it action, or as setting columns names it in the log, as action=NAME", text)
	}
	if t.index["policy_hash"] > 0 && t.index["crc32c"] > 0 {
		return fmt.Errorf("%s: this is what opl serve logged: opl join adds its rewards", text)
	}
	if t.preset == "" && t.index["item_id"] > 0 && t.index["click"] > 0 {
		text += ": setting preset obd reads the Open Bandit Dataset"
	}
	return fmt.Errorf("%s: setting columns reads another as it, such as %s=NAME", text, strings.Fields(wanted)[0])
}

// parseNumber reads a decimal number, or one of the words for what is not finite.
func parseNumber(s []byte) (float64, bool) {
	if len(s) == 0 || len(s) > 400 || strings.IndexByte("0123456789+-.nNiI", s[0]) < 0 {
		return 0, false
	}
	// numbers of Go, and none here
	if bytes.IndexByte(s, 'x') >= 0 || bytes.IndexByte(s, 'X') >= 0 || bytes.IndexByte(s, '_') >= 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(s), len(s)), 64)
	if err != nil && !math.IsInf(v, 0) { // out of range is a number, and refused as one
		return 0, false
	}
	return v, true
}

// numberIn is parseNumber of a cell, or the error that it is none.
func numberIn(column string, s []byte) (float64, error) {
	v, ok := parseNumber(s)
	if !ok && bytes.ContainsAny(s, dress) && bytes.ContainsAny(s, "0123456789") {
		percent := ""
		if column == "propensity" && s[len(s)-1] == '%' {
			percent = "; percentages without it are read by setting propensity-form percent"
		}
		return 0, bad(column, "%s is not a number: numbers have points, and no commas, blanks or signs such as %%%s",
			quote(s), percent)
	}
	if !ok {
		return 0, bad(column, "%s is not a number", quote(s))
	}
	return v, nil
}

// textual reports that the values of the column are texts, whatever they look like.
func (c *column) textual() bool {
	switch c.role {
	case roleID, roleGroup, roleAction, rolePolicy, roleAmong, roleSlate, roleFamily, roleSlots:
		return true
	}
	return c.role == roleContext && c.kind == category
}

// cell takes a value. Its form is as in JSON: '0' the number v, which s, if not nil, is as
// it was written; '"' the text s; 't' true or false, in s; 0 the text s, or the number that
// it reads like.
func (t *table) cell(b *builder, c *column, form jsontext.Kind, s []byte, v float64) error {
	if form == '0' && v != v && b.optionalNumber(c) { // Parquet
		return nil
	}
	if form == '0' && s == nil && c.role != roleIgnored && c.role != roleField && c.role != roleOutcome {
		if v-v != 0 && !(v != v && c.role == roleContext) {
			return bad(c.name, "%v is not finite", v)
		}
		if c.textual() && math.Abs(v) < 1<<53 && v == math.Trunc(v) {
			s = strconv.AppendInt(nil, int64(v), 10)
		} else if c.textual() {
			s = strconv.AppendFloat(nil, v, 'g', -1, 64)
		}
	}
	r := &b.row
	switch c.role {
	case roleField:
		if form == 0 {
			s = bytes.TrimSpace(s)
		}
		c.field = field{row: b.at, form: form, text: append(c.text[:0], s...), numbers: c.field.numbers[:0]}
		if form == '0' {
			c.field.numbers = append(c.field.numbers, v)
		}
	case roleID:
		r.id, r.hasID = append(r.id[:0], s...), true
	case roleGroup:
		r.group, r.hasGroup = append(r.group[:0], s...), true
	case roleAmong:
		if b.Among == "" {
			b.Among = string(s)
		}
		if string(s) != b.Among {
			return bad(c.name, "%s, that of rows before is %s: rows of one log are among one catalogue: join the "+
				"decisions of one by setting catalogue", quote(s), quote([]byte(b.Among)))
		}
	case roleSlate:
		b.shown.slate, b.shown.rows = append(b.shown.slate[:0], s...), true
	case rolePolicy:
		r.policy = append(r.policy[:0], s...)
	case roleAction:
		if len(s) == 0 {
			return bad(c.name, "empty")
		}
		r.action, r.hasAction, r.form = append(r.action[:0], s...), true, form
	case roleTime:
		if form != '0' {
			var ok bool
			if v, ok = parseNumber(s); !ok {
				if r.time, r.hasTime = parseTime(s, b.o.Dates); !r.hasTime {
					return bad(c.name, "%s is no time: want RFC 3339 or seconds since 1970; setting dates us "+
						"reads 12/31/2026, eu 31/12/2026 and 31.12.2026", quote(s))
				}
				return nil
			}
		}
		if r.time, r.hasTime = sinceEpoch(v); !r.hasTime {
			return bad(c.name, "%v is no time since 1970", v)
		}
	case roleContext:
		if c.lacks(form, s, v) {
			c.missing++
			return nil
		}
		typed := form != 0 && form != '0'
		if form == 0 && c.kind != category {
			if x, ok := parseNumber(s); ok {
				form, v = '0', x
				b.typesOnly = b.typesOnly || x-x != 0 && !c.told // of a category it is a name, such as 1e553
				if c.code == "" && zeroFirst(s) {
					c.code = string(s)
				}
			}
		}
		return t.context(b, c, s, v, form == '0', typed)
	case roleContexts, rolePropensities, roleOffered, roleActions, roleSlots, roleSlotPropensities, roleSlotRewards:
		return t.several(b, c, form, s, v)
	case roleFamily:
		r.family = append(r.family[:0], s...)
	case roleReward, roleCost, rolePropensity, roleDensity, roleEach, roleWeight, roleUnrewarded, roleFirstClick, roleSlot:
		return t.number(b, c, form, s, v)
	case roleOutcome:
		b.outcome(c, form, s, v)
	}
	return nil
}

// zeroFirst reports digits of which the first is a needless 0, as those of codes may be.
func zeroFirst(s []byte) bool { return len(s) > 1 && s[0] == '0' && s[1]-'0' < 10 }

// several takes a cell of several values, or of a slot's.
func (t *table) several(b *builder, c *column, form jsontext.Kind, s []byte, v float64) error {
	if c.slot >= 0 {
		return t.ofSlot(b, c, form, s, v)
	}
	s = bytes.TrimSpace(s)
	isJSON, d := len(s) > 0 && (s[0] == '[' || s[0] == '{'), t.inner
	switch {
	case form == '0':
		return bad(c.name, "%v is not a list", v)
	case isJSON && c.role == roleContexts:
		return d.whole(c.name, s, func() error { return d.context(b, c.name) })
	case isJSON && c.role == rolePropensities:
		return d.whole(c.name, s, func() error { return d.propensities(b, c.name) })
	case isJSON && c.role >= roleSlots:
		return d.whole(c.name, s, func() error { return d.slots(b, c) })
	case isJSON:
		return d.whole(c.name, s, func() error { return d.offers(b, c) })
	case c.role == roleContexts:
		return sparse(b, c.name, s)
	case b.o.Estimate && form == 0 && len(s) == 0:
		return nil
	}
	return bad(c.name, "%s is not a list", quote(s))
}

// mapped is what the options say that a reward is worth.
func (o *Options) mapped(form jsontext.Kind, s []byte, v float64) (worth float64, ok bool) {
	if len(o.RewardMap) == 0 {
		return 0, false
	}
	if form == '0' && s == nil {
		s = strconv.AppendFloat(nil, v, 'g', -1, 64)
	}
	if worth, ok = o.RewardMap[string(s)]; ok || form == 't' {
		return worth, ok
	}
	number, ok := parseNumber(s)
	if !ok {
		return 0, false
	}
	first := ""
	for name := range o.RewardMap { // 1.0 is 1
		if of, is := parseNumber([]byte(name)); is && of == number && (first == "" || name < first) {
			first = name
		}
	}
	worth, ok = o.RewardMap[first]
	return worth, ok && first != ""
}

// lacks reports a value of a context that is none.
func (c *column) lacks(form jsontext.Kind, s []byte, v float64) bool {
	if form == '0' || form == 't' || len(s) == 0 {
		return v != v || form != '0' && len(s) == 0
	}
	lacks := c.kind != category && isMissing(s)
	c.blank = c.blank || lacks && c.kind == undecided
	return lacks
}

// isMissing reports a word for no value.
func isMissing(s []byte) bool {
	if len(s) > 8 {
		return false
	}
	switch string(bytes.ToLower(bytes.TrimSpace(s))) {
	case "", "na", "n/a", "#n/a", "<na>", "nan", "null", "none":
		return true
	}
	return false
}

// boolean is what a word of CSV means as a reward.
func boolean(s []byte) (v float64, ok bool) {
	switch string(s) {
	case "true", "True", "TRUE":
		return 1, true
	case "false", "False", "FALSE":
		return 0, true
	}
	return 0, false
}

// number takes a cell that must be a number; as a reward, true is 1 and false 0, also written True or TRUE in CSV.
func (t *table) number(b *builder, c *column, form jsontext.Kind, s []byte, v float64) error {
	isReward := c.role == roleReward || c.role == roleSlotRewards
	if isReward {
		if is, ok := b.o.mapped(form, s, v); ok {
			form, v = '0', is
		}
	}
	switch {
	case form == 0 && len(s) == 0 && b.o.Estimate && (c.role == rolePropensity || c.role == roleEach):
		return nil
	case form == 0 && len(s) == 0 && b.optionalNumber(c):
		return nil
	case form == 0 && len(s) == 0 && c.role == rolePropensity:
		return bad(c.name, "empty: setting estimate-propensity estimates it, and nothing is certified then")
	case form == 0 && len(s) == 0 && isReward:
		return bad(c.name, "empty: leave out rows whose rewards are still to come, as the newest; if none came, say what "+
			"that is worth, as by setting reward-map =0; or set such rows aside by setting skip-bad")
	case form == 0 && len(s) == 0:
		return bad(c.name, "empty: fill it in, or set such rows aside by setting skip-bad")
	case form == 0 || form == 't' && isReward:
		var err error
		if is, ok := boolean(s); ok && isReward {
			v = is
		} else if v, err = numberIn(c.name, s); err != nil && isReward && !bytes.ContainsAny(s, "0123456789") {
			return bad(c.name, "%s is not a number: setting reward-map says what words are worth, as yes=1,no=0",
				quote(s))
		} else if err != nil {
			return err
		}
	case form != '0':
		return bad(c.name, "%s is a text, not a number", quote(s))
	}
	r := &b.row
	switch {
	case v-v != 0:
		return bad(c.name, "%v is not finite", v)
	case c.role == roleReward:
		return b.reward(c.name, v, false)
	case c.role == roleCost:
		return b.reward(c.name, -v, true)
	case c.role == rolePropensity:
		r.p, r.hasP = v, true
	case c.role == roleDensity:
		r.density, r.hasDensity = v, true
	case c.role == roleWeight:
		r.weight, r.hasWeight = v, true
	case c.role == roleSlot:
		b.shown.slot = v
	case c.role == roleSlotPropensities:
		b.shown.ps = setAt(b.shown.ps, c.slot, v, math.NaN())
	case c.role == roleSlotRewards:
		b.shown.rewards = setAt(b.shown.rewards, c.slot, v, math.NaN())
	case c.role == roleFirstClick:
		b.shown.click, b.shown.column[roleFirstClick-roleSlots] = v, c.name
	case c.role == roleUnrewarded:
		if !(v >= 0 && v == math.Trunc(v) && v < 1<<40) {
			return bad(c.name, "%v is no number of decisions", v)
		}
		r.unrewarded = int(v)
	case c.slot < 0 || c.slot >= len(b.propsOf):
		return bad(c.name, "given, while the rows before have none")
	default:
		b.propensity(c.slot, v)
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
		v, err := numberIn(column, entry[colon+1:])
		if err == nil {
			err = b.named(column, entry[:colon], false, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// context adds a value of a column to the context: the number v or the category s, as the
// column is of numbers or categories, or becomes by its first value. A text is typed where
// the file says that it is one, and no number.
func (t *table) context(b *builder, c *column, s []byte, v float64, isNumber, typed bool) error {
	switch {
	case c.kind == undecided && isNumber:
		c.kind = number
	case c.kind == undecided:
		c.kind = category
	}
	if c.kind == number && !isNumber {
		c.texts++
		if c.told {
			return bad(c.name, "%s is not a number, as most of the column is: leave cells without a value empty; or "+
				"setting categories %s makes every value a name", quote(s), c.name)
		}
		b.typesOnly = true
		return nil
	}
	if c.kind == number {
		if c.numbers++; b.typesOnly {
			return nil
		}
		if !c.hasID {
			id, err := b.name([]byte(c.as), false)
			if err != nil {
				return err
			}
			c.id, c.hasID = id, true
		}
		return b.value(c.name, c.id, v)
	}
	known, ok := c.categories[string(s)]
	if !ok {
		_, known.numeric = parseNumber(s)
		if !b.typesOnly {
			name, err := categoryName(c.name, []byte(c.as), s)
			if err != nil {
				return err
			}
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
	return b.value(c.name, known.id, 1)
}

// sinceEpoch is a time of that many seconds, milliseconds, microseconds or nanoseconds since 1970.
func sinceEpoch(v float64) (nanos int64, ok bool) {
	scale := 1e9
	switch a := math.Abs(v); {
	case a >= 1e17:
		scale = 1
	case a >= 1e14:
		scale = 1e3
	case a >= 1e11:
		scale = 1e6
	}
	whole, part := math.Modf(v)
	return int64(whole)*int64(scale) + int64(math.Round(part*scale)), math.Abs(v*scale) < 9.2e18
}

// dateLayouts are days, by the setting that they are read by; clocks the times that may follow.
var (
	dateLayouts = map[string][]string{"us": {"1/2/2006"}, "eu": {"2/1/2006", "2.1.2006"}}
	clocks      = []string{"", " 15:04", " 15:04:05", " 3:04 PM", " 3:04:05 PM", ", 3:04:05 PM"}
	// zones and precisions as databases write them
	isoClocks = []string{"15:04:05Z07", "15:04:05 UTC", "15:04:05 Z07:00", "15:04:05 Z0700", "15:04:05Z0700", "15:04",
		"15:04Z07:00"}
)

// parseTime reads RFC 3339, also with a blank for the T, with zones as +00 and UTC, to the minute, and without a zone,
// which is UTC; a day alone; and dates as a setting has them.
func parseTime(s []byte, dates string) (int64, bool) {
	var buf [40]byte
	text := append(buf[:0], s...)
	switch n, day := len(s), len(time.DateOnly); {
	case n == day:
		text = append(text, "T00:00:00Z"...)
	case n > day:
		if text[day] == ' ' { // or several
			text = append(append(text[:day], 'T'), bytes.TrimLeft(s[day:], " ")...)
		}
		if n = len(text); text[n-1] != 'Z' && text[n-6] != '+' && text[n-6] != '-' {
			text = append(text, 'Z')
		}
	}
	if t, err := time.Parse(time.RFC3339, unsafe.String(unsafe.SliceData(text), len(text))); err == nil {
		return unixNano(t)
	}
	if at := len(time.DateOnly); len(s) > at && (s[at] == ' ' || s[at] == 'T') {
		for _, clock := range isoClocks {
			if t, err := time.Parse(time.DateOnly+string(s[at])+clock, string(s)); err == nil {
				return unixNano(t)
			}
		}
	}
	for _, day := range dateLayouts[dates] {
		for _, clock := range clocks {
			if t, err := time.Parse(day+clock, string(s)); err == nil {
				return unixNano(t)
			}
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

// unixNano is t in nanoseconds since 1970, if it is within what they can say.
func unixNano(t time.Time) (int64, bool) {
	if y := t.UTC().Year(); y < 1678 || y > 2261 {
		return 0, false
	}
	return t.UnixNano(), true
}

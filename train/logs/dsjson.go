package logs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	distinct "opl/train/internal/keys"
)

// dsjson reads the decision service's JSON, which Vowpal Wabbit and Azure Personalizer
// log: an object in each line. Read are
//
//	_label_cost, _label_probability    cost and propensity of the action taken
//	a, p                               action numbers from 1, and their probabilities; the first was taken
//	_label_Action, _labelIndex         the action taken, from 1 and from 0; must agree with a
//	c                                  the context, flattened: names of nested objects joined by "."
//	pdrop                              the row's weight is 1/(1 − pdrop), 1 without it
//	EventId, Timestamp                 decision_id and timestamp
//
// Within c, names that begin with "_" are left out. _multi are the actions. As long as they are those of the first row
// in every row, whatever their order, they are called by _tag, or by their features where not every one has a tag of
// its own, so that another log may have them in another order; without _multi, or features, they are numbers from 1.
// Once they are not, rows offer sets of actions with features: their ids are _tag where every action of the log
// has one that differs from the others' of its row, and else they are called by their place
// in _multi. _a and _p may stand for a and p. Lines without a label (of rewards that came
// late, and those with _skipLearn) are counted and left out. Decisions that take several
// actions, slates and conditional contextual bandits (c._slots, _outcomes), are lists; their actions count from 0.
type dsjson struct {
	*jsonl
	multi []uint64 // hashes of the first row's actions
	names []string // and what they are called; nil: by their numbers
	known bool     // they are
	place []int    // this row's actions among them
	texts [][]byte // of the first row's actions, while it is read

	// of a list: what its actions' _slot_id are, −1: none; and by slot what it may show, its name and what came of it
	slotOf  []int
	among   [][]int
	slotIDs []string
	results []slotOutcome
}

var dsRoles = map[string]role{"_label_cost": roleCost, "_label_probability": rolePropensity, "EventId": roleID,
	"Timestamp": roleTime}

func newDSJSON(l *lines, b *builder) (reader, error) {
	b.base, b.lightly = 1, true
	r := &dsjson{jsonl: &jsonl{table: newTable(l, b), decoder: newDecoder()}}
	r.preset, r.decoder.hide = "dsjson", true
	r.multi, r.names, r.known = b.memory.multi, b.memory.names, b.memory.multi != nil
	return r, nil
}

// dsLine holds what a line says about its decision.
type dsLine struct {
	actions                 []int // a
	labelAction, labelIndex int
	skip, labelled, context bool
}

func (r *dsjson) next(b *builder) error {
	if err := r.lines.next(); err != nil {
		return err
	}
	r.place, r.results = r.place[:0], r.results[:0]
	line := dsLine{labelIndex: -1}
	if err := r.object(func(name []byte) error { return r.field(b, &line, name) }); err != nil {
		return err
	}
	lists := len(b.shown.described) > 0 || len(r.results) > 0
	if !line.labelled && !line.context || line.skip || lists && len(r.results) == 0 {
		return errNoDecision
	}
	if lists {
		return r.list(b)
	}
	if err := r.taken(&line); err != nil {
		return err
	}
	row, taken := &b.row, line.actions[0]
	sets, k := b.offers.column != "", len(r.place)
	if sets {
		k = len(b.offers.options)
	}
	if k > 0 && taken > k {
		return bad("a", "%d is none of the %d actions", taken, k)
	}
	if k == 0 && len(row.props) > 0 {
		k = len(line.actions)
	}
	if err := r.order(row, line.actions, k); err != nil {
		return err
	}
	row.hasAction = true
	if sets {
		row.action = append(row.action[:0], b.offers.name(taken-1)...)
		return nil
	}
	if len(r.place) > 0 && r.names != nil {
		if b.unlisted() {
			b.propsOf, b.added, b.listed = slices.Clone(r.names), 0, false
			b.extend()
		}
		row.listed = false
		row.action = append(row.action[:0], r.names[r.number(taken-1)-1]...)
		return nil
	}
	b.actionsMin = max(b.actionsMin, k)
	row.action = strconv.AppendInt(row.action[:0], int64(r.number(taken-1)), 10)
	return nil
}

// field reads a field of a line.
func (r *dsjson) field(b *builder, line *dsLine, name []byte) (err error) {
	d, row, whole := r.decoder, &b.row, r.whole
	switch column := string(name); column {
	case "_label_Action":
		line.labelAction, err = whole(column)
	case "_labelIndex":
		line.labelIndex, err = whole(column)
	case "a", "_a":
		return d.list(column, func(int) error {
			a, err := whole(column)
			if err == nil && a < 1 {
				err = bad(column, "%d is not an action: they are counted from 1", a)
			}
			line.actions = append(line.actions, a)
			return err
		})
	case "p", "_p":
		return d.list(column, func(int) error {
			p, err := d.number(column)
			row.props = append(row.props, p)
			return err
		})
	case "pdrop":
		v, err := d.number(column)
		if err == nil && !(v >= 0 && v < 1) {
			err = bad(column, "%v is outside [0, 1)", v)
		}
		row.weight, row.hasWeight = 1/(1-v), true
		return err
	case "_skipLearn":
		v, err := d.ReadValue()
		line.skip = err == nil && v.Kind() == 't'
		return err
	case "c":
		line.context = true
		return r.context(b)
	case "_outcomes":
		return r.outcomes()
	default:
		if dsRoles[column] == roleIgnored {
			return d.SkipValue()
		}
		line.labelled = line.labelled || column == "_label_cost"
		c, err := r.column(b, name)
		if err != nil {
			return err
		}
		return r.value(b, c)
	}
	return err
}

// whole reads the number of an action, or of a slot.
func (r *dsjson) whole(column string) (int, error) {
	v, err := r.decoder.number(column)
	if err == nil && (v != float64(int(v)) || v < 0 || v > maxNames) {
		err = bad(column, "%v is not an action", v)
	}
	return int(v), err
}

// taken checks which action was taken, which is then the first of the line's.
func (r *dsjson) taken(line *dsLine) error {
	switch {
	case len(line.actions) > 0:
	case line.labelAction > 0:
		line.actions = []int{line.labelAction}
	case line.labelIndex >= 0:
		line.actions = []int{line.labelIndex + 1}
	default:
		return bad("a", "missing: which action was taken?")
	}
	taken := line.actions[0]
	if i, twice := distinct.Twice(line.actions); twice {
		return bad("a", "action %d twice", line.actions[i])
	}
	switch {
	case line.labelAction > 0 && line.labelAction != taken:
		return bad("_label_Action", "%d, but the first of a is %d", line.labelAction, taken)
	case line.labelIndex >= 0 && line.labelIndex+1 != taken:
		return bad("_labelIndex", "%d, but the first of a is %d, counted from 1", line.labelIndex, taken)
	}
	return nil
}

// order brings the probabilities of a row into the order of its k actions.
func (r *dsjson) order(row *row, actions []int, k int) error {
	if len(row.props) == 0 {
		return nil
	}
	if len(row.props) != len(actions) || len(actions) != k {
		return bad("p", "%d probabilities for %d of %d actions", len(row.props), len(actions), k)
	}
	sorted := make([]float64, k)
	for i, a := range actions {
		if a > k {
			return bad("a", "%d is none of the %d actions", a, k)
		}
		sorted[r.number(a-1)-1] = row.props[i]
	}
	row.props = append(row.props[:0], sorted...)
	row.hasProps, row.listed = true, true
	return nil
}

// number returns the number that the first row gave to this row's action i, from 1.
func (r *dsjson) number(i int) int {
	if i < len(r.place) {
		i = r.place[i]
	}
	return i + 1
}

// context reads c.
func (r *dsjson) context(b *builder) error {
	d := r.decoder
	return d.object("c", func(name []byte) error {
		switch {
		case string(name) == "_multi":
			return r.actions(b)
		case string(name) == "_slots" && !b.memory.lists:
			b.memory.lists = true
			return errAgain
		case string(name) == "_slots":
			return r.slots(b)
		case len(name) > 0 && name[0] == '_':
			return d.SkipValue()
		}
		return d.flatten(b, "c", append([]byte(nil), name...), 1)
	})
}

// actions reads _multi.
func (r *dsjson) actions(b *builder) error {
	const column = "c._multi"
	d := r.decoder
	if b.memory.varied || b.memory.lists {
		return r.set(b, column)
	}
	if !r.known {
		r.multi, r.texts = r.multi[:0], r.texts[:0]
	}
	moved := false // from where the first row has it
	err := d.list(column, func(i int) error {
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		v = v.Clone()
		if err := v.Canonicalize(); err != nil {
			return err
		}
		h := xxhash.Sum64(v)
		if !r.known {
			r.multi, r.texts = append(r.multi, h), append(r.texts, v)
		}
		if i >= len(r.multi) || r.multi[i] != h || moved && slices.Contains(r.place, i) {
			moved = true
			i = -1
			for at, had := range r.multi {
				if had == h && !slices.Contains(r.place, at) {
					i = at
					break
				}
			}
		}
		r.place = append(r.place, i)
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(r.place) == 0:
		return bad(column, "no actions")
	case len(r.place) != len(r.multi) || slices.Contains(r.place, -1):
		b.memory.varied = true
		return errAgain
	}
	if !r.known {
		r.names = actionNames(r.texts)
	}
	r.known, b.memory.multi, b.memory.names = true, r.multi, r.names
	return nil
}

// mostNamed is how many bytes an action that is called by its features is called by: longer names end in a hash.
const mostNamed = 100

// actionNames calls actions, canonical JSON, by their tags if each has one of its own, and else by their features, or
// a hash of them where names are long or two alike. Of equal actions the second is called by what they are and #2. nil:
// no action has a feature.
func actionNames(texts [][]byte) (names []string) {
	tags, told := make([]string, len(texts)), false
	for i, text := range texts {
		var of struct {
			Tag string `json:"_tag"`
		}
		if json.Unmarshal(text, &of) == nil {
			tags[i] = integer(of.Tag)
		}
		told = told || string(text) != "{}"
	}
	if _, twice := distinct.Twice(tags); !twice && !slices.Contains(tags, "") {
		return tags
	}
	if !told {
		return nil
	}
	names = make([]string, len(texts))
	same, of := map[string]int{}, map[string]string{} // by text; and a text by name, "": several have it
	for i, text := range texts {
		names[i] = described(text)
		if had, ok := of[names[i]]; !ok {
			of[names[i]] = string(text)
		} else if had != string(text) {
			of[names[i]] = ""
		}
	}
	for i, text := range texts {
		name := names[i]
		if len(name) > mostNamed || of[name] == "" || strings.ContainsAny(name, "#~") {
			end := fmt.Sprintf("~%08x", uint32(xxhash.Sum64(text)))
			name = strings.ToValidUTF8(name[:min(len(name), mostNamed-len(end))], "") + end
		}
		if same[string(text)]++; same[string(text)] > 1 {
			name += "#" + strconv.Itoa(same[string(text)])
		}
		names[i] = name
	}
	return names
}

// described flattens canonical JSON to the names and values in it.
func described(text []byte) string {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return string(text)
	}
	var all []string
	var add func(path string, v any)
	add = func(path string, v any) {
		if of, is := v.(map[string]any); is && len(of) > 0 {
			for _, name := range slices.Sorted(maps.Keys(of)) {
				add(strings.TrimPrefix(path+"."+name, "."), of[name])
			}
			return
		}
		value, is := v.(string)
		if !is {
			of, _ := json.Marshal(v) // of what JSON gave
			value = string(of)
		}
		all = append(all, strings.TrimPrefix(path+"="+value, "="))
	}
	add("", v)
	return strings.Join(all, ",")
}

// set reads _multi as what the row offers.
func (r *dsjson) set(b *builder, column string) error {
	d := r.decoder
	if err := b.beginOffers(column); err != nil {
		return err
	}
	seen := map[string]bool{}
	r.slotOf = r.slotOf[:0]
	return d.list(column, func(i int) error {
		d.slot = -1
		_, tag, err := d.offer(b, column, "_tag")
		r.slotOf = append(r.slotOf, d.slot)
		switch {
		case err != nil:
			return err
		case b.memory.untagged && b.memory.lists:
			return b.optionID(0, strconv.AppendInt(nil, int64(i+1), 10))
		case b.memory.untagged:
			return b.optionID(0, nil)
		case len(tag) == 0 || seen[string(tag)]:
			b.memory.untagged = true
			return errAgain
		}
		seen[string(tag)] = true
		return b.optionID(0, tag)
	})
}

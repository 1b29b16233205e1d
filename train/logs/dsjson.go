package logs

import (
	"strconv"

	"github.com/cespare/xxhash/v2"
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
// Within c, names that begin with "_" are left out. _multi, the features of the actions,
// must be those of the first row in every row, whatever their order: its entries are
// actions 1 to K of the first row, and tell nothing more, since policies here have a
// fixed list of actions. Lines without a label (of rewards that came late, and those
// with _skipLearn) are counted and left out. Slates (_slots, _outcomes) are an error.
type dsjson struct {
	*lines
	decoder *decoder
	multi   []uint64 // hashes of the first row's actions
	order   []uint64 // and of this row's
	seen    map[uint64]int
	dropped int
}

func newDSJSON(l *lines, _ *Options) (reader, error) {
	r := &dsjson{lines: l, decoder: newDecoder()}
	r.decoder.hide = true
	return r, nil
}

func (r *dsjson) settle(b *builder) bool {
	if r.dropped > 0 {
		b.note(Note{Kind: "dropped", Rows: r.dropped, Text: "lines without a label, or with _skipLearn, were left out"})
	}
	return false
}

func (r *dsjson) next(b *builder) error {
	b.base, b.lightly = 1, true
	if err := r.lines.next(); err != nil {
		return err
	}
	err := r.read(b)
	if _, fatal := err.(fatalError); fatal || err == errNoDecision {
		return err
	}
	return syntax("", err)
}

func (r *dsjson) read(b *builder) error {
	d, row := r.decoder, &b.row
	d.begin(r.text)
	var actions []int
	var labelAction, labelIndex = 0, -1
	var skip, labelled, context bool
	r.order = r.order[:0]
	whole := func(column string) (int, error) {
		v, err := d.number(column)
		if err == nil && (v != float64(int(v)) || v < 0 || v > maxNames) {
			err = bad(column, "%v is not an action", v)
		}
		return int(v), err
	}
	err := d.object("", func(name []byte) (err error) {
		switch column := string(name); column {
		case "_label_cost":
			labelled = true
			v, err := d.number(column)
			if err != nil {
				return err
			}
			return b.cost(column, v)
		case "_label_probability":
			row.p, err = d.number(column)
			row.hasP = true
		case "_label_Action":
			labelAction, err = whole(column)
		case "_labelIndex":
			labelIndex, err = whole(column)
		case "a":
			return d.list(column, func(int) error {
				a, err := whole(column)
				if err == nil && a < 1 {
					err = bad(column, "%d is not an action: they are counted from 1", a)
				}
				actions = append(actions, a)
				return err
			})
		case "p":
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
			skip = err == nil && v.Kind() == 't'
			return err
		case "EventId", "Timestamp":
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			if v.Kind() != '"' {
				return bad(column, "%s is not a text", quote(v))
			}
			s, err := d.unquoted(v)
			if err != nil {
				return err
			}
			if column == "EventId" {
				row.id, row.hasID = append(row.id[:0], s...), true
				return nil
			}
			at, ok := parseTime(s)
			if !ok {
				return bad(column, "%s is no time", quote(s))
			}
			row.time, row.hasTime = at, true
		case "c":
			context = true
			return r.context(b)
		case "_outcomes":
			return bad(column, "slates are not supported: a decision takes one action")
		default:
			return d.SkipValue()
		}
		return err
	})
	if err == nil {
		err = d.end()
	}
	switch {
	case err != nil:
		return err
	case !labelled && !context || skip:
		r.dropped++
		return errNoDecision
	}

	// The action that was taken, and the propensities in the order of the actions.
	k := len(r.order)
	switch {
	case len(actions) == 0 && labelAction == 0 && labelIndex < 0:
		return bad("a", "missing: which action was taken?")
	case len(actions) > 0:
	case labelAction > 0:
		actions = []int{labelAction}
	default:
		actions = []int{labelIndex + 1}
	}
	taken := actions[0]
	if labelAction > 0 && labelAction != taken {
		return bad("_label_Action", "%d, but the first of a is %d", labelAction, taken)
	}
	if labelIndex >= 0 && labelIndex+1 != taken {
		return bad("_labelIndex", "%d, but the first of a is %d, counted from 1", labelIndex, taken)
	}
	if k == 0 {
		k = len(actions)
		if len(row.props) == 0 {
			k = 0
		}
	}
	if len(row.props) > 0 {
		if len(row.props) != len(actions) || len(actions) != k {
			return bad("p", "%d probabilities for %d of %d actions", len(row.props), len(actions), k)
		}
		sorted := make([]float64, k)
		for i, a := range actions {
			if a > k {
				return bad("a", "%d is none of the %d actions", a, k)
			}
			j := r.number(a-1) - 1
			if sorted[j] != 0 {
				return bad("a", "action %d twice", a)
			}
			sorted[j] = row.props[i]
		}
		row.props = append(row.props[:0], sorted...)
		if err := b.list("p"); err != nil {
			return err
		}
	}
	if len(r.order) > 0 && taken > len(r.order) {
		return bad("a", "%d is none of the %d actions", taken, len(r.order))
	}
	b.actionsMin = max(b.actionsMin, k)
	row.action, row.hasAction = strconv.AppendInt(row.action[:0], int64(r.number(taken-1)), 10), true
	return nil
}

// number is that in the first row of this row's action i, from 1.
func (r *dsjson) number(i int) int {
	if i >= len(r.order) || r.order[i] == r.multi[i] {
		return i + 1
	}
	return r.seen[r.order[i]] + 1
}

// context reads c.
func (r *dsjson) context(b *builder) error {
	d := r.decoder
	return d.object("c", func(name []byte) error {
		switch {
		case string(name) == "_multi":
			return r.actions()
		case string(name) == "_slots":
			return bad("c._slots", "slates are not supported: a decision takes one action")
		case len(name) > 0 && name[0] == '_':
			return d.SkipValue()
		}
		return d.flatten(b, "c", append([]byte(nil), name...), 1)
	})
}

// actions reads _multi.
func (r *dsjson) actions() error {
	const column = "c._multi"
	d := r.decoder
	err := d.list(column, func(int) error {
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		v = v.Clone()
		if err := v.Canonicalize(); err != nil {
			return err
		}
		r.order = append(r.order, xxhash.Sum64(v))
		return nil
	})
	if err != nil {
		return err
	}
	if len(r.order) == 0 {
		return bad(column, "no actions")
	}
	if r.multi == nil {
		r.multi, r.seen = append(r.multi, r.order...), map[uint64]int{}
		for i, h := range r.multi {
			r.seen[h] = i
		}
	}
	other := func() error {
		return bad(column, "other actions than in the first row: logs whose actions change from row to row are not supported")
	}
	if len(r.order) != len(r.multi) {
		return other()
	}
	for i, h := range r.order {
		if _, ok := r.seen[h]; h != r.multi[i] && !ok {
			return other()
		}
	}
	return nil
}

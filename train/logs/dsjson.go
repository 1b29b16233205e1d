package logs

import (
	"slices"
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
	*jsonl
	multi  []uint64 // hashes of the first row's actions
	known  bool     // they are
	place  []int    // this row's actions among them
	sorted []int    // its a
}

// duplicateOf finds a number that comes twice among sorted ones.
func duplicateOf(sorted []int) (int, bool) {
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return i, true
		}
	}
	return 0, false
}

var dsRoles = map[string]role{"_label_cost": roleCost, "_label_probability": rolePropensity, "EventId": roleID, "Timestamp": roleTime}

func newDSJSON(l *lines, b *builder) (reader, error) {
	b.base, b.lightly = 1, true
	r := &dsjson{jsonl: &jsonl{newTable(l, b), newDecoder()}}
	r.preset, r.decoder.hide = "dsjson", true
	return r, nil
}

func (r *dsjson) next(b *builder) error {
	if err := r.lines.next(); err != nil {
		return err
	}
	d, row := r.decoder, &b.row
	var actions []int
	var labelAction, labelIndex = 0, -1
	var skip, labelled, context bool
	r.place = r.place[:0]
	whole := func(column string) (int, error) {
		v, err := d.number(column)
		if err == nil && (v != float64(int(v)) || v < 0 || v > maxNames) {
			err = bad(column, "%v is not an action", v)
		}
		return int(v), err
	}
	err := r.object(func(name []byte) (err error) {
		switch column := string(name); column {
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
		case "c":
			context = true
			return r.context(b)
		case "_outcomes":
			return bad(column, "slates are not supported: a decision takes one action")
		default:
			if dsRoles[column] == roleIgnored {
				return d.SkipValue()
			}
			labelled = labelled || column == "_label_cost"
			c, err := r.column(b, name)
			if err != nil {
				return err
			}
			return r.value(b, c)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !labelled && !context || skip:
		return errNoDecision
	}

	// The action that was taken, and the propensities in the order of the actions.
	switch {
	case len(actions) > 0:
	case labelAction > 0:
		actions = []int{labelAction}
	case labelIndex >= 0:
		actions = []int{labelIndex + 1}
	default:
		return bad("a", "missing: which action was taken?")
	}
	taken := actions[0]
	r.sorted = append(r.sorted[:0], actions...)
	slices.Sort(r.sorted)
	if i, twice := duplicateOf(r.sorted); twice {
		return bad("a", "action %d twice", r.sorted[i])
	}
	switch {
	case labelAction > 0 && labelAction != taken:
		return bad("_label_Action", "%d, but the first of a is %d", labelAction, taken)
	case labelIndex >= 0 && labelIndex+1 != taken:
		return bad("_labelIndex", "%d, but the first of a is %d, counted from 1", labelIndex, taken)
	case len(r.place) > 0 && taken > len(r.place):
		return bad("a", "%d is none of the %d actions", taken, len(r.place))
	}
	k := len(r.place)
	if k == 0 && len(row.props) > 0 {
		k = len(actions)
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
			sorted[r.number(a-1)-1] = row.props[i]
		}
		row.props = append(row.props[:0], sorted...)
		row.hasProps, row.listed = true, true
	}
	b.actionsMin = max(b.actionsMin, k)
	row.action, row.hasAction = strconv.AppendInt(row.action[:0], int64(r.number(taken-1)), 10), true
	return nil
}

// number is that in the first row of this row's action i, from 1.
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
	if !r.known {
		r.multi = r.multi[:0]
	}
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
			r.multi = append(r.multi, h)
		}
		if i >= len(r.multi) || r.multi[i] != h {
			i = slices.Index(r.multi, h)
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
		return bad(column, "other actions than in the first row: logs whose actions change from row to row are not supported")
	}
	r.known = true
	return nil
}

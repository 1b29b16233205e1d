package logs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Outcome is another number that decisions led to, beside the reward: a column reward_NAME, better when larger, or
// cost_NAME, better when smaller. It is no part of a log's Hash, nor of what tells rows apart: it may come late.
type Outcome struct {
	Column   string    // with its prefix, such as cost_latency
	Values   []float64 // by row, in units of its own; NaN: missing; nil: missing in all rows
	Range    Units     // what values can be; zero: not said
	AtRandom bool      // rows that lack it are left out: it is missing at random, given the context
	text     string    // where the column has a text, and so is no outcome; "": nowhere
}

// Name returns the name of the column without reward_ or cost_.
func (o Outcome) Name() string { return o.Column[strings.IndexByte(o.Column, '_')+1:] }

// IsCost reports that less is better.
func (o Outcome) IsCost() bool { return strings.HasPrefix(o.Column, "cost_") }

// IsText reports that the column has a text, and so is no outcome.
func (o Outcome) IsText() bool { return o.text != "" }

// IsOutcome reports the name of a column of an outcome.
func IsOutcome(name string) bool {
	for _, prefix := range []string{"reward_", "cost_"} {
		if len(name) > len(prefix) && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// outcome holds an outcome while it is read, and describes it in a cache.
type outcome struct {
	Column string `json:"column"`
	Text   string `json:"text,omitempty"` // see Outcome.text
	values stored[float64]
}

// outcomeSlot is the place of a column among the outcomes, making it at first.
func (b *builder) outcomeSlot(column string) int {
	i := slices.IndexFunc(b.outcomes, func(o *outcome) bool { return o.Column == column })
	if i < 0 {
		o := &outcome{Column: column}
		o.values.open(b.acts.dir)
		i, b.outcomes = len(b.outcomes), append(b.outcomes, o)
	}
	return i
}

// outcome takes a cell, as of [table.cell]. Empty, null, NaN, and words such as NA are missing. A text makes the column
// none of an outcome, and no row bad: nobody may have meant it as one.
func (b *builder) outcome(c *column, form jsontext.Kind, s []byte, v float64) {
	r := &b.row
	switch {
	case (form == 0 || form == '"') && isMissing(s):
		return
	case form != '0':
		is, ok := boolean(s)
		if v = is; !ok && form == 0 {
			v, ok = parseNumber(s)
		}
		if o := b.outcomes[c.slot]; !ok || form == '"' {
			if o.Text == "" {
				o.Text = fmt.Sprintf("%s has %s", b.where(b.at), quote(s))
			}
			return
		}
	}
	r.outcomes = setAt(r.outcomes, c.slot, v, math.NaN())
}

// appendOutcomes appends the outcomes of the row.
func (b *builder) appendOutcomes() {
	for i, o := range b.outcomes {
		v := math.NaN()
		if i < len(b.row.outcomes) {
			v = b.row.outcomes[i]
		}
		o.values.late(b.n, math.NaN(), v == v, v)
	}
}

// declare sets ranges, and which outcomes are missing at random, by their names.
func (l *Log) declare(ranges map[string]Units, atRandom []string) error {
	l.Outcomes = slices.Clone(l.Outcomes)
	for name, u := range ranges {
		o, err := l.outcome(name)
		switch {
		case err != nil:
			return fmt.Errorf("setting range %s: %w", name, err)
		case !u.valid():
			return u.refused(name)
		}
		o.Range = u
	}
	for _, name := range atRandom {
		o, err := l.outcome(name)
		if err != nil {
			return fmt.Errorf("setting missing-at-random %s: %w", name, err)
		}
		o.AtRandom = true
	}
	return nil
}

// valid reports whether a range has more than one number.
func (u Units) valid() bool { return u.Low < u.High && !math.IsInf(u.High-u.Low, 0) }

func (u Units) refused(name string) error {
	return fmt.Errorf("setting range %s=%v:%v: want two numbers, the lower one first", name, u.Low, u.High)
}

// outcome finds an outcome by its name.
func (l *Log) outcome(name string) (found *Outcome, err error) {
	var names []string
	for i := range l.Outcomes {
		o := &l.Outcomes[i]
		if names = append(names, o.Name()); o.Name() != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: there are columns %s and %s: rename one of them", l.name(), found.Column,
				o.Column)
		}
		found = o
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("%s: no column reward_%s or cost_%s%s", l.name(), name, name,
			meant(Outcome{Column: name}.Name(), names))
	case found.text != "":
		return nil, fmt.Errorf("column %s is not of numbers: %s", found.Column, found.text)
	}
	return found, nil
}

// Beside presents a log with an outcome in place of the reward.
type Beside struct {
	*Log          // whose Cost is −1 where the outcome is best, and 0 where it is worst, or missing
	Of    Outcome // whose Range is known
	Units Units   // of rewards: those of the outcome, or of a cost its negative
	// Assumed says that the range was not given, and is taken for 0 to 1 since all values are 0 or 1.
	Assumed bool
	Missing []bool // rows without a value; nil: none is
	Lacking int    // how many they are
}

// Beside returns the log with the cost of an outcome in place of that of the reward. Errors: no such outcome, no
// range where values are others than 0 and 1, values outside of the range.
func (l *Log) Beside(name string) (*Beside, error) {
	o, err := l.outcome(name)
	if err != nil {
		return nil, err
	}
	out := *l
	b := &Beside{Log: &out, Of: *o}
	out.Cost = make([]float64, l.Len())
	if b.Of.Range == (Units{}) {
		other := slices.IndexFunc(o.Values, func(v float64) bool { return v != 0 && v != 1 && v == v })
		if other >= 0 {
			return nil, fmt.Errorf("%s: column %s is %v: say what it can be by setting range %s=LOW:HIGH",
				l.where(other), o.Column, o.Values[other], name)
		}
		b.Assumed, b.Of.Range = true, Units{0, 1}
	}
	u := b.Of.Range
	b.Units = u
	if o.IsCost() {
		b.Units = Units{0 - u.High, 0 - u.Low}
	}
	out.RewardMin, out.RewardMax = b.Units.Low, b.Units.High
	for i := range out.Cost {
		switch v := at(o.Values, i, math.NaN()); {
		case v != v:
			if b.Missing == nil {
				b.Missing = make([]bool, l.Len())
			}
			b.Missing[i] = true
			b.Lacking++
			continue
		case !(v >= u.Low && v <= u.High):
			return nil, fmt.Errorf("%s: column %s is %v, outside of its range from %v to %v", l.where(i), o.Column, v,
				u.Low, u.High)
		case o.IsCost():
			out.Cost[i] = (v-u.Low)/u.Span() - 1
		default:
			out.Cost[i] = 0 - (v-u.Low)/u.Span()
		}
	}
	return b, nil
}

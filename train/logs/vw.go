package logs

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
)

// vw reads Vowpal Wabbit's text for contextual bandits, a decision in each line:
//
//	[labels] ['tag]|namespace[:weight] name[:value] ... |namespace ...
//
// A label is action:cost:probability, the action from 1; exactly one has a cost, others
// (bare action numbers) say which actions there are. A tag is the decision_id. A
// feature is namespace^name, or its name where the namespace has none; features that
// come twice are added up, as VW does.
//
// Or a decision is several lines, ended by an empty one, where actions have features:
//
//	shared ['tag]|features of the context
//	|features of the first action
//	a:cost:probability |features of the second, which was taken
//
// The line shared may be missing. Actions are called by their place in the set, from 1,
// whatever the number a. A file is of this kind if its first line is shared or has no label,
// or if the one after it has none. Lists are such examples, too, see [vw.list].
type vw struct {
	*lines
	name    []byte
	decided bool
	multi   bool // decisions are of several lines
	ends    []int
}

func newVW(l *lines, b *builder) (reader, error) {
	b.base, b.sums, b.mayLack = 1, true, true
	return &vw{lines: l}, nil
}

func (r *vw) next(b *builder) error {
	if !r.decided {
		if err := r.decide(); err != nil {
			return err
		}
	}
	if r.multi {
		return r.ended(b, ' ', r.example(b))
	}
	if err := r.lines.next(); err != nil {
		return err
	}
	label, spaces, err := r.parts(r.text)
	if err == nil {
		err = r.label(b, r.tag(b, label))
	}
	if err == nil {
		err = r.spaces(b, spaces)
	}
	return r.ended(b, ' ', err)
}

// decide finds out which kind the file is by its first two lines, which are read again.
func (r *vw) decide() error {
	if err := r.lines.next(); err != nil {
		return err
	}
	r.decided = true
	r.back = bytes.Clone(r.text)
	ahead, _ := r.r.Peek(1 << 10) // of a label longer than that there is one
	second, _, _ := bytes.Cut(ahead, []byte("\n"))
	for _, line := range [][]byte{r.back, second} {
		label, _, found := bytes.Cut(line, []byte("|"))
		_, fields := tagged(label)
		r.multi = r.multi || found && (len(fields) == 0 || marks(fields[0]))
	}
	return nil
}

// marks reports a word that begins a line of a decision of several lines.
func marks(word []byte) bool {
	return slices.Contains([]string{"shared", "ccb", "slates"}, string(word))
}

// example reads a decision of several lines.
func (r *vw) example(b *builder) error {
	var text []byte
	var wrong error
	for r.ends = r.ends[:0]; ; {
		line, err := r.line()
		var bad *rowError
		switch {
		case errors.As(err, &bad):
			wrong, line = err, line[:min(len(line), 1000)]
		case err == io.EOF && (len(text) > 0 || wrong != nil):
		case err != nil:
			return err
		}
		blank := len(bytes.TrimSpace(line)) == 0
		if blank && len(text) == 0 && err == nil {
			continue
		} else if blank {
			break
		}
		if len(text) > maxRow {
			continue
		}
		text = append(text, line...)
		r.ends = append(r.ends, len(text))
	}
	if r.text = text; wrong == nil && len(text) > maxRow {
		wrong = bad("", "an example is longer than %d bytes: an empty line ends one", maxRow)
	}
	if wrong = cmp.Or(wrong, checkText(text), b.beginOffers("label")); wrong != nil {
		return wrong
	}
	lo, actions := 0, 0
	for i, end := range r.ends {
		label, spaces, err := r.parts(text[lo:end])
		if err != nil {
			return err
		}
		lo = end
		fields := r.tag(b, label)
		if len(fields) > 0 && marks(fields[0]) {
			if word := string(fields[0]); word != "shared" {
				return r.list(b, word)
			}
			if i > 0 {
				return bad("label", "line %d of the example is shared: it must be the first, and an empty line "+
					"ends an example", i+1)
			}
			if err := r.spaces(b, spaces); err != nil {
				return err
			}
			continue
		}
		actions++
		b.option()
		if err := r.spaces(b, spaces); err != nil {
			return err
		}
		if err := b.optionID(0, nil); err != nil {
			return err
		}
		for _, f := range fields {
			if bytes.IndexByte(f, ':') < 0 {
				continue // an action without a cost
			}
			if err := r.cost(b, f, strconv.AppendInt(nil, int64(actions), 10)); err != nil {
				return err
			}
		}
	}
	switch {
	case actions == 0:
		return bad("label", "no action is offered: the line shared is followed by one of each")
	case !b.row.hasAction:
		return bad("label", "none of the %d actions has a cost: want action:cost:probability on the line of that "+
			"which was taken; setting skip-bad leaves out examples that only ask for a prediction", actions)
	}
	return nil
}

// parts divides a line at the first bar.
func (r *vw) parts(line []byte) (label, spaces []byte, err error) {
	label, spaces, found := bytes.Cut(line, []byte("|"))
	if !found {
		return nil, nil, bad("", "no | between the label and the features")
	}
	return label, spaces, nil
}

// tagged divides what is in front of the features into labels and tag; nil: there is none.
func tagged(text []byte) (tag []byte, fields [][]byte) {
	fields = bytes.Fields(text)
	if n := len(fields); n > 0 {
		last := fields[n-1]
		tag, quoted := bytes.CutPrefix(last, []byte("'"))
		if quoted || text[len(text)-1] > ' ' && bytes.IndexByte(last, ':') < 0 && !marks(last) {
			return tag, fields[:n-1]
		}
	}
	return nil, fields
}

// tag takes the tag, the first of several lines, and returns the labels.
func (r *vw) tag(b *builder, text []byte) [][]byte {
	tag, labels := tagged(text)
	if tag != nil && !b.row.hasID {
		b.row.id, b.row.hasID = append(b.row.id[:0], tag...), true
	}
	return labels
}

// label reads the labels of a decision in a line.
func (r *vw) label(b *builder, fields [][]byte) error {
	for _, label := range fields {
		number, _, costed := bytes.Cut(label, []byte(":"))
		if marks(label) {
			return bad("label", "a line %s among lines of a decision each: the file begins with one of these", label)
		}
		a, err := strconv.ParseUint(string(number), 10, 24)
		if err != nil || a < 1 {
			return bad("label", "%s is no action: actions are numbers from 1, a label is action:cost:probability",
				quote(number))
		}
		b.actionsMin = max(b.actionsMin, int(a))
		if !costed {
			continue
		}
		if err := r.cost(b, label, strconv.AppendUint(nil, a, 10)); err != nil {
			return err
		}
	}
	if !b.row.hasAction {
		return bad("label", "no action has a cost: want action:cost:probability")
	}
	return nil
}

// cost reads the label of the action that was taken.
func (r *vw) cost(b *builder, label, action []byte) error {
	parts, row := bytes.Split(label, []byte(":")), &b.row
	switch {
	case len(parts) != 3:
		return bad("label", "%s is not action:cost:probability", quote(label))
	case row.hasAction:
		return bad("label", "two actions have a cost: exactly one was taken")
	}
	cost, err := numberIn("cost", parts[1])
	if err == nil {
		row.p, err = numberIn("probability", parts[2])
	}
	if err == nil {
		err = b.reward("label", -cost, true)
	}
	if err != nil {
		return err
	}
	row.hasP, row.hasAction = true, true
	row.action = append(row.action[:0], action...)
	return nil
}

// spaces reads the namespaces of a line.
func (r *vw) spaces(b *builder, text []byte) error {
	for _, space := range bytes.Split(text, []byte("|")) {
		if err := r.features(b, space); err != nil {
			return err
		}
	}
	return nil
}

// features reads a namespace.
func (r *vw) features(b *builder, text []byte) error {
	fields := bytes.Fields(text)
	prefix, scale := r.name[:0], 1.0
	if len(fields) > 0 && text[0] > ' ' {
		space, weight, weighted := bytes.Cut(fields[0], []byte(":"))
		fields = fields[1:]
		if weighted {
			var err error
			if scale, err = numberIn("features", weight); err != nil {
				return err
			}
		}
		if prefix = append(prefix, space...); len(space) > 0 {
			prefix = append(prefix, '^')
		}
	}
	for _, f := range fields {
		name, v, category := f, 1.0, true
		if colon := bytes.LastIndexByte(f, ':'); colon >= 0 {
			var ok bool
			if v, ok = parseNumber(f[colon+1:]); !ok {
				return bad("features", "the value of %s is not a number", quote(f))
			}
			name, category = f[:colon], false
		}
		r.name = append(prefix, name...)
		if err := b.named("features", r.name, category, v*scale); err != nil {
			return err
		}
	}
	return nil
}

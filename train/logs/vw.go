package logs

import (
	"bytes"
	"strconv"
)

// vw reads Vowpal Wabbit's text for contextual bandits, a decision in each line:
//
//	[labels] ['tag]|namespace[:weight] name[:value] ... |namespace ...
//
// A label is action:cost:probability, the action from 1; exactly one has a cost, others
// (bare action numbers) say which actions there are. A tag is the decision_id. A
// feature is namespace^name, or its name where the namespace has none; features that
// come twice are added up, as VW does. Lines of several actions each ("shared |…", then
// one line an action) are not supported, since policies here have a fixed list of
// actions.
type vw struct {
	*lines
	name []byte
}

func newVW(l *lines, b *builder) (reader, error) {
	b.base, b.sums = 1, true
	return &vw{lines: l}, nil
}

func (r *vw) next(b *builder) error {
	if err := r.lines.next(); err != nil {
		return err
	}
	bar := bytes.IndexByte(r.text, '|')
	if bar < 0 {
		return bad("", "no | between the label and the features")
	}
	if err := r.label(b, r.text[:bar]); err != nil {
		return err
	}
	for _, space := range bytes.Split(r.text[bar+1:], []byte("|")) {
		if err := r.features(b, space); err != nil {
			return err
		}
	}
	return nil
}

// label reads what is in front of the features.
func (r *vw) label(b *builder, text []byte) error {
	row := &b.row
	fields := bytes.Fields(text)
	if n := len(fields); n > 0 {
		last := fields[n-1]
		tag, quoted := bytes.CutPrefix(last, []byte("'"))
		if quoted || text[len(text)-1] > ' ' && bytes.IndexByte(last, ':') < 0 {
			row.id, row.hasID = append(row.id[:0], tag...), true
			fields = fields[:n-1]
		}
	}
	for _, label := range fields {
		parts := bytes.Split(label, []byte(":"))
		if string(parts[0]) == "shared" {
			return bad("label", "lines of several actions each (shared |…) are not supported: the list of actions must be fixed, a decision a line")
		}
		a, err := strconv.ParseUint(string(parts[0]), 10, 24)
		if err != nil || a < 1 {
			return bad("label", "%s is no action: actions are numbers from 1, a label is action:cost:probability", quote(parts[0]))
		}
		b.actionsMin = max(b.actionsMin, int(a))
		switch {
		case len(parts) == 1:
			continue
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
		row.action = strconv.AppendUint(row.action[:0], a, 10)
	}
	if !row.hasAction {
		return bad("label", "no action has a cost: want action:cost:probability")
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

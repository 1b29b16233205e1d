package server

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/policyfile"
)

// choice is a decision as its answer and its line in the log tell it.
type choice struct {
	place        int       // of the action among those that the decision is among; −1: of the whole catalogue
	action       []byte    // its name, as JSON
	propensity   float64   // of the action
	number       *float64  // that the action plays; nil: actions are names
	density      float64   // of it; 0: it is an atom
	propensities []float64 // of all that the decision is among; nil: of the whole catalogue
	list         *shown    // in place of the action; nil: the decision is one action
	names        []byte    // JSON list of the policy's actions; nil: they have features
	named        bool      // those offered are called by their ids
	top          []ranked
	catalogue    string // hash of the one that was served; empty: it had no part
	hash         string // of the policy
}

// ranked is one of the most probable actions.
type ranked struct {
	Action     string  `json:"action_name"`
	Propensity float64 `json:"propensity"`
}

// choice describes the decision for the action at a place of the propensities pi. It orders the top by the scores,
// where it is asked for.
func (l *loaded) choice(k *work, action int, pi, scores []float64) choice {
	p, set := l.policy, k.req.set
	if !p.HasItems() {
		return choice{place: action, action: l.quoted[action], propensity: pi[action], propensities: pi, names: l.names,
			hash: p.Hash()}
	}
	name := p.Name
	c := choice{place: -1, propensity: pi[action], hash: p.Hash()}
	if set != nil {
		name, c.place, c.propensities = set.Name, action, pi
	}
	c.named = set != nil && k.req.setText[1] == 'o' // "offered"
	if catalogue := p.Catalogue(); catalogue != nil && (set == nil || c.named) {
		c.catalogue = catalogue.Hash
	}
	k.name = appendQuoted(k.name[:0], name(action))
	c.action = k.name
	if k.req.top > 0 {
		k.top = policyfile.Top(slices.Grow(k.top[:0], k.req.top)[:k.req.top], pi, scores)
		for _, a := range k.top {
			c.top = append(c.top, ranked{name(a), pi[a]})
		}
	}
	return c
}

// kind returns what the decision is among, where actions have features.
func (c *choice) kind() string {
	if c.list != nil {
		one := *c
		one.list = nil
		return lists + one.kind()
	}
	switch {
	case c.place < 0:
		return all
	case c.named:
		return offered
	}
	return described
}

// line appends the members of a line of the log.
func (c *choice) line(b []byte, q *request) []byte {
	if len(q.setText) > 0 {
		b = append(append(b, ','), q.setText...)
	}
	if c.list != nil {
		return c.appendRest(c.list.members(b), q)
	}
	b = append(append(b, `,"action":`...), c.action...)
	if b = c.appendChances(b, true); c.names != nil {
		b = append(append(b, `,"actions":`...), c.names...)
	}
	return c.appendRest(b, q)
}

// answer appends the answer. It has the propensities of all actions where these have no features: a catalogue may be
// large, and who offers a set asks for its top.
func (c *choice) answer(b []byte, q *request) []byte {
	b = append(append(b, `{"decision_id":`...), q.id...)
	if c.list != nil {
		b = append(append(c.appendRest(c.list.members(b), q), `,"policy_hash":"`...), c.hash...)
		return append(b, "\"}\n"...)
	}
	if c.place >= 0 {
		b = strconv.AppendInt(append(b, `,"action":`...), int64(c.place), 10)
	}
	b = append(append(b, `,"action_name":`...), c.action...)
	b = c.appendRest(c.appendChances(b, c.names != nil), q)
	b = append(append(b, `,"policy_hash":"`...), c.hash...)
	return append(b, "\"}\n"...)
}

// appendChances appends the propensity of the action and, if all, of those that the decision is among.
func (c *choice) appendChances(b []byte, all bool) []byte {
	if c.number != nil {
		b = appendFloat(append(b, `,"number":`...), *c.number)
	}
	if c.density > 0 {
		b = appendFloat(append(b, `,"density":`...), c.density)
	}
	b = appendFloat(append(b, `,"propensity":`...), c.propensity)
	if !all || c.propensities == nil {
		return b
	}
	return appendList(append(b, `,"propensities":`...), c.propensities, appendFloat)
}

// appendList appends a list in JSON.
func appendList[T any](b []byte, list []T, item func(b []byte, v T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, v)
	}
	return append(b, ']')
}

// appendQuoted appends a string in JSON. It was read as a string, so that it can be written as one.
func appendQuoted(b []byte, text string) []byte {
	b, _ = jsontext.AppendQuote(b, text)
	return b
}

// appendRest appends what line and answer both end with.
func (c *choice) appendRest(b []byte, q *request) []byte {
	if len(c.top) > 0 {
		b = appendList(append(b, `,"top":`...), c.top, func(b []byte, r ranked) []byte {
			b = appendQuoted(append(b, `{"action_name":`...), r.Action)
			return append(appendFloat(append(b, `,"propensity":`...), r.Propensity), '}')
		})
	}
	if q.unknown > 0 {
		b = strconv.AppendInt(append(b, `,"unknown":`...), int64(q.unknown), 10)
	}
	if c.catalogue != "" {
		b = append(append(append(b, `,"catalogue":"`...), c.catalogue...), '"')
	}
	return b
}

// set returns what a line says was offered, as the request wrote it.
func (d *logged) set() []byte {
	switch {
	case d.Offered != nil:
		return append([]byte(`"offered":`), d.Offered...)
	case d.Actions != nil && d.Actions[0] == '[' && len(d.Actions) > 1 && d.Actions[1] == '{':
		return append([]byte(`"actions":`), d.Actions...)
	}
	return nil
}

// choice returns the decision of a line whose actions have features. It is not ok if the line has none.
func (d *logged) choice() (c choice, ok bool) {
	if d.Slots != nil && len(d.shown.Propensities) == len(d.Slots) {
		c = choice{place: -1, list: &d.shown, catalogue: d.Catalogue, hash: d.Hash, named: d.Offered != nil}
		if d.Offered != nil || d.Actions != nil {
			c.place = 0
		}
		return c, c.place == 0 || d.Catalogue != ""
	}
	c = choice{place: -1, propensity: d.Propensity, top: d.Top, catalogue: d.Catalogue, hash: d.Hash}
	c.action = appendQuoted(nil, d.Action)
	var ids []string
	switch {
	case d.Offered != nil:
		ok, c.named = json.Unmarshal(d.Offered, &ids) == nil, true
	case d.Actions != nil:
		var of []struct {
			ID string `json:"id"`
		}
		ok = json.Unmarshal(d.Actions, &of) == nil
		for _, a := range of {
			ids = append(ids, a.ID)
		}
	default:
		return c, d.Catalogue != "" && d.Action != "" && d.Propensity > 0
	}
	c.place = slices.Index(ids, d.Action)
	return c, ok && c.place >= 0 && d.Propensity > 0
}

// logged returns the decision of a line that a server of these actions wrote. It is not ok for lines of others.
func (l *loaded) logged(d *logged) (c choice, ok bool) {
	if l.policy.HasItems() {
		return d.choice()
	}
	actions := l.policy.Actions()
	names, err := d.names()
	at := slices.Index(actions, d.Action)
	if err != nil || at < 0 || !slices.Equal(names, actions) || len(d.Propensities) != len(actions) {
		return c, false
	}
	return choice{place: at, action: l.quoted[at], propensity: d.Propensities[at], propensities: d.Propensities,
		names: l.names, hash: d.Hash, number: d.Number, density: d.Density}, true
}

package server

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/policyfile"
)

// choice is a decision of a policy whose actions have features, as answers and the log tell it.
type choice struct {
	place        int // among those offered; −1: of the whole catalogue
	action       string
	propensity   float64
	propensities []float64 // of those offered
	top          []ranked
	named        bool   // those offered are called by their ids
	catalogue    string // hash of the one that was served; empty: it had no part
	hash         string // of the policy
}

// ranked is one of the most probable actions.
type ranked struct {
	Action     string  `json:"action_name"`
	Propensity float64 `json:"propensity"`
}

// choice is the decision for an action by its place, from the propensities and, where the top is asked
// for, the scores.
func (l *loaded) choice(k *work, action int, pi, scores []float64) choice {
	p, set := l.policy, k.req.set
	name := p.Name
	c := choice{place: -1, propensity: pi[action], hash: p.Hash()}
	if set != nil {
		name, c.place, c.propensities = set.Name, action, pi
	}
	c.named = set != nil && k.req.setText[1] == 'o' // "offered"
	if catalogue := p.Catalogue(); catalogue != nil && (set == nil || c.named) {
		c.catalogue = catalogue.Hash
	}
	c.action = name(action)
	if k.req.top > 0 {
		k.top = policyfile.Top(slices.Grow(k.top[:0], k.req.top)[:k.req.top], pi, scores)
		for _, a := range k.top {
			c.top = append(c.top, ranked{name(a), pi[a]})
		}
	}
	return c
}

// kind says what the decision is among.
func (c *choice) kind() string {
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
	b, _ = jsontext.AppendQuote(append(b, `,"action":`...), c.action) // the name was read as a string
	b = appendFloat(append(b, `,"propensity":`...), c.propensity)
	for i, v := range c.propensities {
		if i == 0 {
			b = append(b, `,"propensities":[`...)
		} else {
			b = append(b, ',')
		}
		if b = appendFloat(b, v); i == len(c.propensities)-1 {
			b = append(b, ']')
		}
	}
	return c.both(b, q)
}

// answer appends the answer.
func (c *choice) answer(b []byte, q *request) []byte {
	b = append(append(b, `{"decision_id":`...), q.id...)
	if c.place >= 0 {
		b = strconv.AppendInt(append(b, `,"action":`...), int64(c.place), 10)
	}
	b, _ = jsontext.AppendQuote(append(b, `,"action_name":`...), c.action)
	b = appendFloat(append(b, `,"propensity":`...), c.propensity)
	b = append(append(c.both(b, q), `,"policy_hash":"`...), c.hash...)
	return append(b, "\"}\n"...)
}

// both appends what line and answer have both.
func (c *choice) both(b []byte, q *request) []byte {
	for i, r := range c.top {
		if i == 0 {
			b = append(b, `,"top":[`...)
		} else {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(append(b, `{"action_name":`...), r.Action)
		if b = append(appendFloat(append(b, `,"propensity":`...), r.Propensity), '}'); i == len(c.top)-1 {
			b = append(b, ']')
		}
	}
	b = q.appendUnknown(b)
	if c.catalogue != "" {
		b = append(append(append(b, `,"catalogue":"`...), c.catalogue...), '"')
	}
	return b
}

// set is what a line says was offered, as it is written.
func (d *logged) set() []byte {
	switch {
	case d.Offered != nil:
		return append([]byte(`"offered":`), d.Offered...)
	case d.Actions != nil && d.Actions[0] == '[' && len(d.Actions) > 1 && d.Actions[1] == '{':
		return append([]byte(`"actions":`), d.Actions...)
	}
	return nil
}

// choice is the decision of a line of a policy whose actions have features; not ok: it is none.
func (d *logged) choice() (c choice, ok bool) {
	c = choice{place: -1, action: d.Action, propensity: d.Propensity, top: d.Top, catalogue: d.Catalogue, hash: d.Hash}
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

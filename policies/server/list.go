package server

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/policyfile"
	"opl/policies/propensity"
)

// MaxSlots is the most slots of a list.
const MaxSlots = 50

// lists stands before what a log is among whose decisions are lists.
const lists = "lists of "

// shown is a list as answers and the log tell it: actions by name, and the propensity of each given those above.
type shown struct {
	Slots        []string  `json:"slots"`
	Propensities []float64 `json:"slot_propensities"`
}

// list draws the slots of a list one after the other: each by the policy's propensities among what the slots above
// left, in the context with the slot as a category slot=l, as a log of lists is learned from.
func (s *Server) list(k *work, p *policyfile.Policy, pi []float64) error {
	q := &k.req
	name := p.Name
	if q.set != nil {
		name = q.set.Name
	}
	if q.slots > len(pi) {
		return fmt.Errorf("slots: %d, of %d actions", q.slots, len(pi))
	}
	k.places, k.shown.Slots, k.shown.Propensities = k.places[:0], k.shown.Slots[:0], k.shown.Propensities[:0]
	values := slices.Clone(q.values)
	for l := range q.slots {
		for slot, v := range map[int]float64{l: 0, l + 1: 1} {
			if at := p.Inputs().Feature("slot=" + strconv.Itoa(slot)); at >= 0 && at < len(values) {
				values[at] = v
			}
		}
		if err := p.PropensitiesAfter(pi, values, q.set, k.places); err != nil {
			return fmt.Errorf("context: %w", err)
		}
		a := propensity.Draw(pi, s.rand)
		k.places = append(k.places, a)
		k.shown.Slots, k.shown.Propensities = append(k.shown.Slots, name(a)), append(k.shown.Propensities, pi[a])
	}
	return nil
}

// members appends the list as members of an object.
func (c *shown) members(b []byte) []byte {
	b = append(b, `,"slots":[`...)
	for i, name := range c.Slots {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, name) // it was read as a string
	}
	b = append(b, `],"slot_propensities":[`...)
	for i, v := range c.Propensities {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(b, v)
	}
	return append(b, ']')
}

package server

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/policyfile"
	"opl/policies/propensity"
)

// maxSlots is the most slots of a list.
const maxSlots = 50

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
	take := func(a int, chance float64) {
		k.places = append(k.places, a)
		k.shown.Slots, k.shown.Propensities = append(k.shown.Slots, name(a)), append(k.shown.Propensities, chance)
	}
	if f := p.File(); len(f.Components) == 1 && f.Components[0].Kind == policyfile.Softmax && !readsSlot(p, q.slots) {
		return s.plackettLuce(k, p, pi, take)
	}
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
		take(a, pi[a])
	}
	return nil
}

// readsSlot reports a policy that knows one of the first slots.
func readsSlot(p *policyfile.Policy, slots int) bool {
	for l := range slots {
		if p.Inputs().Feature("slot="+strconv.Itoa(l+1)) >= 0 {
			return true
		}
	}
	return false
}

// plackettLuce draws the slots of a softmax policy that reads no slot, from its probabilities in the first slot alone:
// those among what is left are the same divided by their sum, mixed with the floor.
func (s *Server) plackettLuce(k *work, p *policyfile.Policy, pi []float64, take func(a int, chance float64)) error {
	if err := p.PropensitiesOn(pi, nil, k.req.values, k.req.set); err != nil {
		return fmt.Errorf("context: %w", err)
	}
	floor, sum := p.File().Floor, 0.
	for a, v := range pi {
		pi[a] = max(0, v-floor/float64(len(pi))) / (1 - floor)
		sum += pi[a]
	}
	r := s.rand
	for l := range k.req.slots {
		left := float64(len(pi) - l)
		a := r.IntN(len(pi))
		if r.Float64() < floor || !(sum > 0) {
			for slices.Contains(k.places, a) {
				a = r.IntN(len(pi))
			}
		} else {
			a = propensity.Draw(pi, r)
		}
		chance := 1 / left
		if sum > 0 {
			chance = (1-floor)*pi[a]/sum + floor/left
		}
		take(a, chance)
		pi[a], sum = 0, 0
		for _, v := range pi {
			sum += v
		}
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

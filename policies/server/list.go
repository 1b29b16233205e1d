package server

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

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
func (s *Server) list(k *work, p *policyfile.Policy, pi, scores []float64) error {
	q := &k.req
	name := p.Name
	if q.set != nil {
		name = q.set.Name
	}
	if q.slots > len(pi) {
		return fmt.Errorf("slots: %d, of %d actions", q.slots, len(pi))
	}
	for _, member := range []string{`{"slot":`, `,"slot":`, `{"slot=`, `,"slot=`} { // of an object that is flat
		if bytes.Contains(q.context, []byte(member)) {
			return errors.New("context.slot: the slots of a list say where it is: leave it out of the context")
		}
	}
	k.places, k.shown.Slots, k.shown.Propensities = k.places[:0], k.shown.Slots[:0], k.shown.Propensities[:0]
	take := func(a int, chance float64) {
		k.places = append(k.places, a)
		k.shown.Slots, k.shown.Propensities = append(k.shown.Slots, name(a)), append(k.shown.Propensities, chance)
	}
	values := slices.Clone(q.values)
	enter := func(l int) (reads bool) { // slot l, and reports whether the policy knows it or the one before
		for slot, v := range map[int]float64{l: 0, l + 1: 1} {
			if at := p.Inputs().Feature("slot=" + strconv.Itoa(slot)); at >= 0 && at < len(values) {
				values[at], reads = v, true
			}
		}
		return reads
	}
	f := p.File()
	if len(f.Components) == 1 && f.Components[0].Kind == policyfile.Softmax {
		return s.plackettLuce(k, p, pi, scores, values, enter, take)
	}
	if f.Numbers == nil && !slices.ContainsFunc(f.Components, func(c policyfile.Component) bool {
		return c.Kind != policyfile.ArgMax
	}) {
		return s.largest(k, p, len(pi), values, enter, take)
	}
	for l := range q.slots {
		enter(l)
		if err := p.PropensitiesAfter(pi, values, q.set, k.places); err != nil {
			return fmt.Errorf("context: %w", err)
		}
		a := propensity.Draw(pi, s.rand)
		take(a, pi[a])
	}
	return nil
}

// plackettLuce draws the slots of a softmax policy. It scores the actions once. It scores them again for a slot that
// the policy reads, and when the actions left have less than half of the weight in sums: otherwise the weight left,
// which it gets by subtraction, would lose its digits.
func (s *Server) plackettLuce(k *work, p *policyfile.Policy, sums, scores, values []float64, enter func(l int) bool,
	take func(a int, chance float64)) error {
	floor, r, top, left := p.File().Floor, s.rand, 0., 0.
	for l := range k.req.slots {
		if enter(l) || l == 0 || left < sums[len(sums)-1]/2 {
			if err := p.Scores(scores, values, k.req.set); err != nil {
				return fmt.Errorf("context: %w", err)
			}
			for _, a := range k.places {
				scores[a] = math.Inf(-1)
			}
			if top = propensity.Cumulate(sums, scores); top-top != 0 {
				return fmt.Errorf("context: the scores of some actions are not finite")
			}
			left = sums[len(sums)-1]
		}
		a := -1
		for even := r.Float64() < floor; a < 0 || slices.Contains(k.places, a); {
			if a = r.IntN(len(sums)); !even {
				u := r.Float64() * sums[len(sums)-1]
				a = sort.Search(len(sums)-1, func(a int) bool { return sums[a] > u })
			}
		}
		weight := math.Exp(scores[a] - top)
		take(a, (1-floor)*weight/left+floor/float64(len(sums)-l))
		left -= weight
	}
	return nil
}

// largest draws the slots of a mixture of argmax policies. It scores the n actions once, and again for a slot that the
// policy reads.
func (s *Server) largest(k *work, p *policyfile.Policy, n int, values []float64, enter func(l int) bool,
	take func(a int, chance float64)) (err error) {
	f, r, top := p.File(), s.rand, [][]int(nil)
	left := func(c int) int { // what component c plays
		return top[c][slices.IndexFunc(top[c], func(a int) bool { return !slices.Contains(k.places, a) })]
	}
	for l := range k.req.slots {
		if enter(l) || l == 0 {
			if top, err = p.Largest(values, k.req.set, k.req.slots); err != nil {
				return fmt.Errorf("context: %w", err)
			}
		}
		a, chance, even := -1, 0., r.Float64() < f.Floor
		for u, c := r.Float64(), 0; !even && c < len(top) && u >= 0; c++ {
			a = left(c)
			u -= f.Components[c].Weight
		}
		for even && (a < 0 || slices.Contains(k.places, a)) {
			a = r.IntN(n)
		}
		for c := range top {
			switch {
			case left(c) != a:
			case len(top) == 1:
				chance = 1
			default:
				chance += f.Components[c].Weight
			}
		}
		take(a, (1-f.Floor)*chance+f.Floor/float64(n-l))
	}
	return nil
}

// members appends the list as members of an object.
func (c *shown) members(b []byte) []byte {
	b = appendList(append(b, `,"slots":`...), c.Slots, appendQuoted)
	return appendList(append(b, `,"slot_propensities":`...), c.Propensities, appendFloat)
}

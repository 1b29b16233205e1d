package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"opl/policies/policyfile"
)

// Mix is the policy that plays b with probability share, else a, drawn anew for each decision:
//
//	π(x) = (1 − s) π_a(x) + s π_b(x),  ε = (1 − s) ε_a + s ε_b
//
// as a file of its own, whose components have the weights w (1 − s)(1 − ε_a)/(1 − ε) and
// w s (1 − ε_b)/(1 − ε). Its propensities are marginal ones, so that its log is one to learn from like
// any other. Nothing is guaranteed of it. 0 < share < 1; actions, rewards and columns must be the same. Where
// actions have features so must be the catalogues, of the files or, if these differ, those that the policies
// were given (policyfile.Policy.WithCatalogue).
func Mix(a, b *policyfile.Policy, share float64) (*policyfile.File, error) {
	f, g := a.File(), b.File()
	actions, catalogue, theirs := f.Actions, f.Catalogue, g.Catalogue
	if hashOf(catalogue) != hashOf(theirs) {
		actions, catalogue, theirs = a.Actions(), a.Catalogue(), b.Catalogue()
	}
	switch {
	case !(share > 0 && share < 1):
		return nil, fmt.Errorf("a share of %v: want a number in (0, 1)", share)
	case a.Hash() == b.Hash():
		return nil, errors.New("both policies are the same")
	case a.HasItems() != b.HasItems():
		return nil, errors.New("actions have features in one of the policies, and not in the other")
	case hashOf(catalogue) != hashOf(theirs):
		return nil, fmt.Errorf("the policies have other catalogues, %.12q and %.12q: give both one", hashOf(catalogue),
			hashOf(theirs))
	case !a.HasItems() && !slices.Equal(f.Actions, g.Actions):
		return nil, fmt.Errorf("the policies are among other actions, %q and %q", f.Actions, g.Actions)
	case f.RewardMin != g.RewardMin || f.RewardMax != g.RewardMax || !maps.Equal(f.Columns, g.Columns):
		return nil, errors.New("the policies are of other rewards or columns")
	}
	m := &policyfile.File{Actions: actions, Catalogue: catalogue, RewardMin: f.RewardMin, RewardMax: f.RewardMax,
		Columns: f.Columns, Created: g.Created,
		Floor: (1-share)*f.Floor + share*g.Floor}
	for _, of := range []struct {
		*policyfile.File
		share float64
	}{{f, 1 - share}, {g, share}} {
		for _, c := range of.Components {
			c.Weight *= of.share * (1 - of.Floor) / (1 - m.Floor)
			m.Components = append(m.Components, c)
		}
	}
	m.History = mixedHistory(a, b)
	if !m.History.Known { // hashes of different seeds would be taken for one another's
		for i := range m.Components {
			m.Components[i].Taught, m.Components[i].Chosen = nil, nil
		}
	}
	return m, nil
}

// hashOf is a catalogue's hash; "" is none's.
func hashOf(c *policyfile.Catalogue) string {
	if c == nil {
		return ""
	}
	return c.Hash
}

// mixedHistory says which rows had a part in either policy, if both tell rows apart alike. Both are ancestors of
// what is learned from their log, in any case.
func mixedHistory(a, b *policyfile.Policy) policyfile.History {
	x, y := a.File().History, b.File().History
	h := policyfile.History{Known: x.Known && y.Known && x.How == y.How && x.Seed == y.Seed}
	if h.Known {
		h.How, h.Seed, h.Repeats = x.How, x.Seed, x.Repeats+y.Repeats
		h.Fingerprints = slices.Concat(x.Fingerprints, y.Fingerprints)
		h.Groups = slices.Compact(slices.Sorted(slices.Values(slices.Concat(x.Groups, y.Groups))))
	}
	h.Until = max(x.Until, y.Until)
	if h.From = min(x.From, y.From); h.From == 0 { // one is not known
		h.From, h.Until = 0, 0
	}
	for _, p := range []*policyfile.Policy{a, b} {
		h.Descend(p.Ancestor())
		h.Descend(p.File().History.Ancestors...)
	}
	return h
}

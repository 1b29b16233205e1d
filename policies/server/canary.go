package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"opl/policies/policyfile"
)

// Mix makes the file of the policy that a canary release serves: for each decision it plays b with probability share,
// else a.
//
//	π(x) = (1 − s) π_a(x) + s π_b(x),  ε = (1 − s) ε_a + s ε_b
//
// The file has the components of both, with the weights w (1 − s)(1 − ε_a)/(1 − ε) and w s (1 − ε_b)/(1 − ε), how
// rewards were made, and the limits of both: of the same outcome those of b. Mix does not compare how the two policies'
// rewards were made; opl serve does, by provenance.RewardOf.
// Its propensities are those of the mixture, so you can learn from its log as from any other. It has no
// certificate.
//
// It is an error if share is not in (0, 1), if both policies are one, or if they differ in actions, the range of rewards
// or catalogue, or read a column of one name from different columns of a log. One of them may not read it. Files with
// different catalogues mix if both policies were given the same one by policyfile.Policy.WithCatalogue.
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
	case (f.Numbers == nil) != (g.Numbers == nil):
		return nil, errors.New("actions are numbers in one of the policies, and names in the other")
	case f.RewardMin != g.RewardMin || f.RewardMax != g.RewardMax:
		return nil, fmt.Errorf("the policies are of rewards from %v to %v and from %v to %v", f.RewardMin, f.RewardMax,
			g.RewardMin, g.RewardMax)
	}
	columns := maps.Clone(f.Columns)
	for name, own := range g.Columns { // one of the policies may not read it
		if before, both := columns[name]; both && before != own {
			return nil, fmt.Errorf("the policies read %q from other columns, %q and %q", name, before, own)
		}
		if columns == nil {
			columns = map[string]string{}
		}
		columns[name] = own
	}
	if f.Numbers != nil && max(1, f.Numbers.Window) != max(1, g.Numbers.Window) {
		return nil, fmt.Errorf("the policies play %d and %d bins of numbers at a time: a file has one window",
			max(1, f.Numbers.Window), max(1, g.Numbers.Window))
	}
	m := &policyfile.File{Actions: actions, Numbers: f.Numbers, Catalogue: catalogue, RewardMin: f.RewardMin,
		RewardMax: f.RewardMax, Columns: columns, Created: g.Created,
		Floor: (1-share)*f.Floor + share*g.Floor, Training: mixedTraining(f, g)}
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

// mixedTraining keeps how rewards were made, and the limits of both policies: of the same outcome those of b.
func mixedTraining(a, b *policyfile.File) json.RawMessage {
	type limit struct {
		Name   string `json:"name"`
		Budget bool   `json:"budget"`
		By     string `json:"by"`
	}
	type training struct {
		Formula json.RawMessage   `json:"formula,omitempty"`
		Limits  []json.RawMessage `json:"limits,omitempty"`
	}
	var mixed training
	seen := map[limit]bool{}
	for _, f := range []*policyfile.File{b, a} {
		var t training
		if json.Unmarshal(f.Training, &t) != nil { // of another program
			continue
		}
		if mixed.Formula == nil {
			mixed.Formula = t.Formula
		}
		for _, raw := range t.Limits {
			var l limit
			if json.Unmarshal(raw, &l) == nil && !seen[l] {
				seen[l], mixed.Limits = true, append(mixed.Limits, raw)
			}
		}
	}
	if mixed.Formula == nil && mixed.Limits == nil {
		return nil
	}
	text, err := json.Marshal(mixed)
	if err != nil { // both parts were read from JSON
		return nil
	}
	return text
}

// hashOf returns the hash of a catalogue, or "" for nil.
func hashOf(c *policyfile.Catalogue) string {
	if c == nil {
		return ""
	}
	return c.Hash
}

// mixedHistory joins the records of which rows taught the policies, if both files tell rows apart in the same way. Both
// policies become ancestors of what is learned from their log, in any case.
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

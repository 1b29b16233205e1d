package logs

import (
	"fmt"

	"opl/policies/features"
)

// Choices are the actions of a log whose rows do not all offer the same ones, or whose
// actions have features. An option is an action in a row that offers it.
type Choices struct {
	// Row i offers the options First[i] to First[i] + Count[i] − 1. Both nil: every row
	// offers all K actions in the order of Log.Actions, and option a is action a.
	First []int64
	Count []int32
	At    []int32 // by row: the place of the logged action among its options

	Actions []int32 // of each option, its number among Log.Actions; no two of a row are alike

	// Z are the vectors z(a) of what options are described by, that of option j at
	// Items[j]; nil Items: at the number of its action. Z nil: they are not encoded, see
	// EncodeItems.
	Z     Contexts
	Items []int32

	items *items           // that the vectors are of; nil: they have no names
	joint []features.Layer // see Jointly; nil: scores are φ(x)ᵀθᵀz(a)
}

// Jointly returns the log with scores h(x, a)ᵀθ, θ [m], of what layers make of φ(x) and, behind it, z(a). Contexts and
// items must be encoded. Layers of another width are an error.
func (l *Log) Jointly(layers []features.Layer) (*Log, error) {
	if l.Choices == nil || l.Choices.Z == nil || l.X == nil {
		return nil, errUnnamed
	}
	in := l.Dim() + l.Choices.Z.Dim()
	for i := range layers {
		if err := layers[i].Check(in); err != nil {
			return nil, fmt.Errorf("layer %d of contexts and actions: %w", i, err)
		}
		in = layers[i].Out()
	}
	out, c := *l, *l.Choices
	out.Choices, c.joint = &c, append([]features.Layer{}, layers...)
	return &out, nil
}

// Sets reports that rows offer sets of actions of their own, and not all K.
func (l *Log) Sets() bool { return l.Choices != nil && l.Choices.First != nil }

// Options returns how many actions row i offers, K unless the log has sets. π(·|x_i) and
// π₀(·|x_i) have this many numbers, in the order in which the row offers the actions.
func (l *Log) Options(i int) int {
	if l.Sets() {
		return int(l.Choices.Count[i])
	}
	return l.K()
}

// MostOptions returns the largest number of actions that a row offers.
func (l *Log) MostOptions() int {
	if !l.Sets() {
		return l.K()
	}
	most := 0
	for i := range l.Len() {
		most = max(most, l.Options(i))
	}
	return most
}

// Option returns the j-th action that row i offers, by its number among Actions, and the
// place of its vector in Choices.Z.
func (l *Log) Option(i, j int) (action int32, item int) {
	if !l.Sets() {
		return int32(j), j
	}
	at := l.Choices.First[i] + int64(j)
	if action = l.Choices.Actions[at]; l.Choices.Items != nil {
		return action, int(l.Choices.Items[at])
	}
	return action, int(action)
}

// Chosen returns the place of the logged action among those that row i offers: the action
// itself unless the log has sets.
func (l *Log) Chosen(i int) int {
	if l.Sets() {
		return int(l.Choices.At[i])
	}
	return int(l.Action[i])
}

// Pi0 is π₀(·|x_i) of the actions that row i offers; nil: not known. It is shared with
// the log.
func (l *Log) Pi0(i int) []float64 {
	if l.Propensities == nil {
		return nil
	}
	lo, k := int64(i)*int64(l.K()), l.Options(i)
	if l.Sets() {
		lo = l.Choices.First[i]
	}
	return l.Propensities[lo : lo+int64(k) : lo+int64(k)]
}

// offered returns the names of the actions that row i offers.
func (l *Log) offered(i int) []string {
	names := make([]string, l.Options(i))
	for j := range names {
		a, _ := l.Option(i, j)
		names[j] = l.Actions[a]
	}
	return names
}

// among returns the choices with each of the k actions at its place among so many.
func (c *Choices) among(to []int32, k, wide int) (*Choices, error) {
	if c.First == nil {
		return nil, fmt.Errorf("its rows offer all %d actions of a catalogue, and not those of another of %d", k, wide)
	}
	s := *c
	move := func(column []int32) []int32 {
		moved := make([]int32, len(column))
		for i, a := range column {
			if moved[i] = a; a >= 0 {
				moved[i] = to[a]
			}
		}
		return moved
	}
	if s.Actions = move(c.Actions); c.Items == nil && (c.Z != nil || c.items != nil) {
		s.Items = c.Actions // the vectors stay those of the actions as they were numbered
	}
	if c.items != nil {
		acts := c.items.acts
		if acts == nil { // a catalogue's
			for a := range c.items.n {
				acts = append(acts, int32(a))
			}
		}
		s.items = &items{named: c.items.named, acts: move(acts), byPlace: c.items.byPlace, catalogue: c.items.catalogue}
	}
	return &s, nil
}

// check reports columns of lengths that do not agree.
func (c *Choices) check(n, k int) error {
	switch {
	case c.First == nil && (c.Count != nil || c.At != nil || c.Actions != nil || c.Items != nil):
		return fmt.Errorf("choices: options without First")
	case c.First == nil && c.Z != nil && c.Z.Len() != k:
		return fmt.Errorf("choices: %d vectors for %d actions", c.Z.Len(), k)
	case c.First != nil && (len(c.First) != n || len(c.Count) != n || len(c.At) != n):
		return fmt.Errorf("choices: %d, %d and %d of First, Count and At for %d rows", len(c.First), len(c.Count),
			len(c.At), n)
	case c.Items != nil && len(c.Items) != len(c.Actions):
		return fmt.Errorf("choices: %d items for %d options", len(c.Items), len(c.Actions))
	}
	return nil
}

// checkRow reports what is wrong with row i's options: none, one twice or outside of its
// range, a logged action that is not the one at its place. seen has the row that had an action last, from 1.
func (l *Log) checkRow(i int, seen []int) error {
	c := l.Choices
	first, count := c.First[i], int64(c.Count[i])
	switch {
	case count < 1:
		return fmt.Errorf("no action is offered")
	case first < 0 || first+count > int64(len(c.Actions)):
		return fmt.Errorf("its options %d to %d are outside of the %d", first, first+count-1, len(c.Actions))
	case c.At[i] < 0 || int64(c.At[i]) >= count || c.Actions[first+int64(c.At[i])] != l.Action[i]:
		return fmt.Errorf("action %s was not offered", l.Actions[l.Action[i]])
	}
	for j := range int(count) {
		a, item := l.Option(i, j)
		switch {
		case a < 0 || int(a) >= len(seen):
			return fmt.Errorf("offered action %d is outside 0 to %d", a, len(seen)-1)
		case seen[a] == i+1:
			return fmt.Errorf("action %s is offered twice", l.Actions[a])
		case c.Z != nil && (item < 0 || item >= c.Z.Len()):
			return fmt.Errorf("the vector %d of action %s is none of the %d", item, l.Actions[a], c.Z.Len())
		}
		seen[a] = i + 1
	}
	return nil
}

// sound reports whether the items have the lengths that they must have, and every number that is an index is within its
// range, in columns that check finds right.
func (c *Choices) sound(k int) bool {
	t := c.items
	if !t.sound() || t.catalogue && (t.n != k || t.acts != nil || c.Items != nil) || !t.catalogue &&
		(len(t.acts) != t.n || len(c.Items) != len(c.Actions) || c.First == nil) ||
		!within(t.acts, -1, k) || !within(c.Items, 0, t.n) || !within(c.Actions, 0, k) {
		return false
	}
	for i, first := range c.First {
		if count := int64(c.Count[i]); first < 0 || count < 1 || first > int64(len(c.Actions))-count || c.At[i] < 0 ||
			int64(c.At[i]) >= count {
			return false
		}
	}
	return true
}

package features

import (
	"fmt"
	"slices"
)

// Items turn what is known of an action into the vector z(a) of Dim numbers that a score
// s(x, a) = h(x)ᵀ W z(a) is of: its named values by an encoder, and then a 1 at its place
// among the actions that have a row of their own. An encoder with an intercept gives h(x)ᵀ W
// a column that all actions share. Make one by NewItems; its fields must not change then.
type Items struct {
	Encoder *Encoder `json:"encoder"` // of an action's named values
	Own     []string `json:"own"`     // names of the actions with a row of their own

	own map[string]int32
}

// NewItems returns items ready for use; no encoder, and a name twice, are errors.
func NewItems(e *Encoder, own []string) (*Items, error) {
	if e == nil {
		return nil, fmt.Errorf("features: actions need an encoder")
	}
	it := &Items{Encoder: e, Own: slices.Clone(own), own: make(map[string]int32, len(own))}
	for j, name := range own {
		if _, twice := it.own[name]; twice {
			return nil, fmt.Errorf("features: action %q has two rows of its own", name)
		}
		it.own[name] = int32(j)
	}
	return it, nil
}

// Dim is the number of features of an action.
func (it *Items) Dim() int { return it.Encoder.Dim() + len(it.Own) }

// Place is where z(a) has the 1 of an action with a row of its own, or −1.
func (it *Items) Place(action string) int {
	if j, ok := it.own[action]; ok {
		return it.Encoder.Dim() + int(j)
	}
	return -1
}

// Encode writes z(a) [Dim] of an action and its named values to dst, and returns how many
// of these the encoder does not know. It does not allocate. Errors are those of
// [Encoder.Encode].
func (it *Items) Encode(dst []float64, action string, values []Value) (unknown int, err error) {
	n := it.Encoder.Dim()
	if unknown, err = it.Encoder.Encode(dst[:n], values); err != nil {
		return unknown, err
	}
	clear(dst[n:it.Dim()])
	if j := it.Place(action); j >= 0 {
		dst[j] = 1
	}
	return unknown, nil
}

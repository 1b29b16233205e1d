package features

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Offer is an action that a decision may take.
type Offer struct {
	Action   string  // its id; "": it has none, nor has any other, and it is called by its place
	Features []Value // named values; nil: those of the catalogue, if there is one
}

// Items turn what is known of an action into the vector z(a) of Dim numbers that a score
// s(x, a) = h(x)ᵀ W z(a) is of: its named values by an encoder, and then a 1 at its place
// among the actions that have a row of their own. An encoder with an intercept gives h(x)ᵀ W
// a column that all actions share. z(a) is rounded to numbers of 32 bits, so that who holds it
// in these has the same policy. Make one by NewItems; its fields must not change then.
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
	if e.Impute {
		return nil, fmt.Errorf("features: an action lacks no value, so that its encoder imputes none")
	}
	it := &Items{Encoder: e, Own: slices.Clone(own), own: make(map[string]int32, len(own))}
	for j, name := range own {
		if name == "" {
			return nil, fmt.Errorf("features: the action of row %d of its own has no name", j)
		}
		if _, twice := it.own[name]; twice {
			return nil, fmt.Errorf("features: action %q has two rows of its own", name)
		}
		it.own[name] = int32(j)
	}
	return it, nil
}

// Dim returns the number of features of an action.
func (it *Items) Dim() int { return it.Encoder.Dim() + len(it.Own) }

// Place returns where z(a) has the 1 of an action with a row of its own, or −1.
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
	if unknown, err = it.Encoder.Encode(dst[:n], values); err == nil {
		err = it.finish(dst, action)
	}
	return unknown, err
}

// Finish turns raw values in the order of the encoder's names, in the first places of dst [Dim],
// into z(a) of an action in place.
func (it *Items) Finish(dst []float64, action string) error {
	if err := it.Encoder.Finish(dst[:it.Encoder.Dim()]); err != nil {
		return err
	}
	return it.finish(dst, action)
}

func (it *Items) finish(dst []float64, action string) error {
	n := it.Encoder.Dim()
	for j, v := range dst[:n] {
		if dst[j] = float64(float32(v)); dst[j]-dst[j] != 0 {
			return fmt.Errorf("features: %s of action %q is %v, too large for 32 bits", it.Encoder.Names[j], action, v)
		}
	}
	clear(dst[n:it.Dim()])
	if j := it.Place(action); j >= 0 {
		dst[j] = 1
	}
	return nil
}

// UnmarshalJSON reads items and checks them as NewItems does. A field that it does not know,
// one that is missing, and null are errors.
func (it *Items) UnmarshalJSON(b []byte) error {
	var p struct {
		Encoder *Encoder   `json:"encoder"`
		Own     *[]*string `json:"own"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return err
	}
	if p.Encoder == nil || p.Own == nil {
		return fmt.Errorf("features: items have encoder and own, none of them null")
	}
	own, whole := values(*p.Own)
	if !whole {
		return fmt.Errorf("features: null among the actions with a row of their own")
	}
	made, err := NewItems(p.Encoder, own)
	if err == nil {
		*it = *made
	}
	return err
}

// MarshalJSON implements json.Marshaler.
func (it *Items) MarshalJSON() ([]byte, error) {
	type plain Items
	p := plain(*it)
	if p.Own == nil {
		p.Own = []string{}
	}
	return json.Marshal(&p)
}

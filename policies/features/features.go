// Package features turns contexts as they are logged, named values, into the
// vectors φ(x) that policies read. It needs no Gorgonia: serving uses it.
package features

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Value is one named value of a context. The category v of a column c is the
// value 1 of the name "c=v". A name that is absent has the value 0.
type Value struct {
	Name   string
	Number float64
}

// Encoder is the map from named values v to φ(x) of Dim features:
//
//	u_j = (v_j − Center_j)·Scale_j,   u = (u, 1) with Intercept,   φ(x) = u/‖u‖₂ with Unit
//
// A zero vector stays zero. Names that the encoder does not have are left out.
// Make one by New; its fields must not change then.
type Encoder struct {
	Names     []string  `json:"names"`            // of the features, without the intercept
	Scale     []float64 `json:"scale"`            // one for each name
	Center    []float64 `json:"center,omitempty"` // one for each name, or none: zero
	Intercept bool      `json:"intercept"`        // the last feature is 1 before normalization
	Unit      bool      `json:"unit"`

	index map[string]int32
}

// New returns e ready for use, or what is wrong with it: numbers of names, scales
// and centres that differ, a name twice or empty, values that are not finite.
func New(e Encoder) (*Encoder, error) {
	switch {
	case len(e.Names) == 0 && !e.Intercept:
		return nil, fmt.Errorf("features: no names and no intercept")
	case len(e.Scale) != len(e.Names) || e.Center != nil && len(e.Center) != len(e.Names):
		return nil, fmt.Errorf("features: %d names, %d scales, %d centres", len(e.Names), len(e.Scale), len(e.Center))
	}
	e.index = make(map[string]int32, len(e.Names))
	for j, name := range e.Names {
		if name == "" {
			return nil, fmt.Errorf("features: name %d is empty", j)
		}
		if _, twice := e.index[name]; twice {
			return nil, fmt.Errorf("features: name %q twice", name)
		}
		e.index[name] = int32(j)
		if s := e.Scale[j]; s-s != 0 || e.Center != nil && e.Center[j]-e.Center[j] != 0 {
			return nil, fmt.Errorf("features: scale or centre of %q is not finite", name)
		}
	}
	return &e, nil
}

// UnmarshalJSON reads an encoder and checks it as New does. A field that it does
// not know, a missing or null name, scale or centre are errors.
func (e *Encoder) UnmarshalJSON(b []byte) error {
	var p struct {
		Names     []*string  `json:"names"`
		Scale     []*float64 `json:"scale"`
		Center    []*float64 `json:"center"`
		Intercept *bool      `json:"intercept"`
		Unit      *bool      `json:"unit"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return err
	}
	var r Encoder
	var whole [3]bool
	r.Names, whole[0] = values(p.Names)
	r.Scale, whole[1] = values(p.Scale)
	r.Center, whole[2] = values(p.Center)
	if whole != [3]bool{true, true, true} || p.Intercept == nil || p.Unit == nil {
		return fmt.Errorf("features: an encoder has names, scale, intercept and unit, none of them null")
	}
	r.Intercept, r.Unit = *p.Intercept, *p.Unit
	made, err := New(r)
	if err == nil {
		*e = *made
	}
	return err
}

// values are what the pointers point to; whole says that none is nil.
func values[T any](from []*T) (to []T, whole bool) {
	for _, v := range from {
		if v == nil {
			return nil, false
		}
		to = append(to, *v)
	}
	return to, true
}

// Dim is the number of features, d.
func (e *Encoder) Dim() int {
	if e.Intercept {
		return len(e.Names) + 1
	}
	return len(e.Names)
}

// Feature returns the place of a name among the features, or −1.
func (e *Encoder) Feature(name string) int {
	if j, ok := e.index[name]; ok {
		return int(j)
	}
	return -1
}

// FeatureOf is Feature for a name in bytes. It does not allocate.
func (e *Encoder) FeatureOf(name []byte) int {
	if j, ok := e.index[string(name)]; ok {
		return int(j)
	}
	return -1
}

// Encode writes φ(x) [Dim] of the named values to dst, and returns how many of
// them the encoder does not know. It does not allocate. A value that is not
// finite, or that comes twice, is an error.
func (e *Encoder) Encode(dst []float64, x []Value) (unknown int, err error) {
	dst = dst[:e.Dim()]
	n := len(e.Names)
	for j := range dst[:n] {
		dst[j] = math.NaN() // not seen yet
	}
	for _, v := range x {
		j, ok := e.index[v.Name]
		switch {
		case !ok:
			unknown++
			continue
		case v.Number-v.Number != 0:
			return unknown, fmt.Errorf("features: %s is %v", v.Name, v.Number)
		case dst[j] == dst[j]:
			return unknown, fmt.Errorf("features: %s comes twice", v.Name)
		}
		dst[j] = v.Number
	}
	for j, v := range dst[:n] {
		if v != v {
			dst[j] = 0
		}
	}
	return unknown, e.Finish(dst)
}

// Finish turns raw values in the order of Names, in the first places of dst [Dim],
// into φ(x) in place.
func (e *Encoder) Finish(dst []float64) error {
	n := len(e.Names)
	raw, scale := dst[:n], e.Scale[:n]
	for j, c := range e.Center {
		raw[j] -= c
	}
	for j, v := range raw {
		v *= scale[j]
		if raw[j] = v; v-v != 0 {
			return fmt.Errorf("features: %s is %v", e.Names[j], v)
		}
	}
	if e.Intercept {
		dst[n] = 1
	}
	if !e.Unit {
		return nil
	}
	sum := squares(dst)
	if !(sum > 1e-190*float64(len(dst)) && sum < 1e190) {
		var most float64
		for _, v := range dst {
			most = max(most, math.Abs(v))
		}
		if most == 0 {
			return nil
		}
		// Where squares could overflow or vanish, the largest is taken out first.
		if most > 1e100 || most < 1e-100 {
			for j := range dst {
				dst[j] /= most
			}
			sum = squares(dst)
		}
	}
	inverse := 1 / math.Sqrt(sum)
	for j := range dst {
		dst[j] *= inverse
	}
	return nil
}

// squares is the sum of squares, in order.
func squares(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}

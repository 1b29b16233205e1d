// Package features turns contexts as they are logged, named values, into the vectors φ(x) that
// policies read. It needs no Gorgonia: serving uses it. Use it to encode contexts as a policy file
// says, where neither policyfile nor server does it for you.
package features

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"gonum.org/v1/gonum/floats"
)

// Value is one named value of a context. The category v of a column c is the
// value 1 of the name "c=v". A name that is absent has the value 0.
type Value struct {
	Name   string  // as in the log, without x_
	Number float64 // 1 for a category, whose name is name=category
}

// Encoder is the map from named values v to φ(x) of Dim features:
//
//	b_j = v_j, or asinh(v_j/Width_j) where Width_j is not 0
//	u_j = (b_j − Center_j)·Scale_j,   φ(x) = u/‖u‖₂ with Unit
//
// After the features of Names come those of Missing, then with Intercept a 1. A context that lacks a name
// has v_j = 0; with Impute it has u_j = 0, and the name's feature in Missing is 1, which is else 0.
// A zero vector stays zero. The encoder leaves out names that it does not have.
// Make one by New; its fields must not change then.
type Encoder struct {
	Names     []string  `json:"names"`             // of the features
	Scale     []float64 `json:"scale"`             // one for each name
	Center    []float64 `json:"center,omitempty"`  // one for each name, or none: zero
	Width     []float64 `json:"width,omitempty"`   // ≥ 0, one for each name, or none: zero
	Impute    bool      `json:"impute,omitempty"`  // a name that is absent has u_j = 0
	Missing   []string  `json:"missing,omitempty"` // with Impute: names with a feature that says that they are absent
	Intercept bool      `json:"intercept"`         // the last feature is 1 before normalization
	Unit      bool      `json:"unit"`              // scale φ(x) to length 1

	index   map[string]int32
	numbers map[numeral]int32 // categories whose names are numbers, or truth values
	missing []int32           // places of Missing among Names
	raw     bool              // see Vocabulary
}

// numeral is a category of a column whose name is a number, or a truth value, ±∞: 2 and 2.0 are one, and true and True,
// as clients write them in many ways.
type numeral struct {
	column string
	value  float64
}

// New returns e ready for use, or what is wrong with it: numbers of names, scales, centres
// and widths that differ, a name twice or empty, values that are not finite, a name in Missing
// that is not in Names.
func New(e Encoder) (*Encoder, error) {
	differ := func(of []float64) bool { return of != nil && len(of) != len(e.Names) }
	switch {
	case len(e.Names) == 0 && !e.Intercept:
		return nil, fmt.Errorf("features: no names and no intercept")
	case len(e.Scale) != len(e.Names) || differ(e.Center) || differ(e.Width):
		return nil, fmt.Errorf("features: %d names, %d scales, %d centres, %d widths",
			len(e.Names), len(e.Scale), len(e.Center), len(e.Width))
	}
	e.index, e.numbers = make(map[string]int32, len(e.Names)), map[numeral]int32{}
	for j, name := range e.Names {
		if name == "" {
			return nil, fmt.Errorf("features: name %d is empty", j)
		}
		if _, twice := e.index[name]; twice {
			return nil, fmt.Errorf("features: name %q twice", name)
		}
		e.index[name] = int32(j)
		of, is := numeralOf(name)
		if _, twice := e.numbers[of]; is && !twice {
			e.numbers[of] = int32(j)
		}
		if s := e.Scale[j]; s-s != 0 || e.Center != nil && e.Center[j]-e.Center[j] != 0 {
			return nil, fmt.Errorf("features: scale or centre of %q is not finite", name)
		}
		if e.Width != nil && !(e.Width[j] >= 0 && e.Width[j] <= math.MaxFloat64) {
			return nil, fmt.Errorf("features: the width of %q is %v: want a finite number of at least 0", name,
				e.Width[j])
		}
	}
	e.missing = nil
	for _, name := range e.Missing {
		j := int32(e.Feature(name))
		if j < 0 || slices.Contains(e.missing, j) || !e.Impute {
			return nil, fmt.Errorf("features: missing has %q, which is no name of the encoder, comes twice, or comes "+
				"without impute", name)
		}
		e.missing = append(e.missing, j)
	}
	return &e, nil
}

// Vocabulary collects the names that encoders know, in the order of the first. It leaves values as they
// are; if one of the encoders imputes, a name that a context lacks is NaN. Its Encode and Clear make the
// vectors that Finish of the encoders takes.
func Vocabulary(of []*Encoder) (*Encoder, error) {
	var e Encoder
	seen, numbers := map[string]bool{}, map[numeral]string{}
	for _, from := range of {
		for _, name := range from.Names {
			if of, is := numeralOf(name); is {
				other, again := numbers[of]
				if again && !slices.Contains(from.Names, other) {
					continue // two encoders spell one number in two ways
				}
				numbers[of] = cmp.Or(other, name)
			}
			if !seen[name] {
				seen[name] = true
				e.Names, e.Scale = append(e.Names, name), append(e.Scale, 1)
			}
		}
		e.Impute = e.Impute || from.Impute
	}
	e.raw, e.Intercept = true, len(e.Names) == 0 // an encoder has some feature
	return New(e)
}

// UnmarshalJSON reads an encoder and checks it as New does. A field that it does
// not know, a missing or null name, scale or centre are errors.
func (e *Encoder) UnmarshalJSON(b []byte) error {
	var p struct {
		Names     []*string  `json:"names"`
		Scale     []*float64 `json:"scale"`
		Center    []*float64 `json:"center"`
		Width     []*float64 `json:"width"`
		Impute    bool       `json:"impute"`
		Missing   []*string  `json:"missing"`
		Intercept *bool      `json:"intercept"`
		Unit      *bool      `json:"unit"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return err
	}
	var r Encoder
	var whole [5]bool
	r.Names, whole[0] = values(p.Names)
	r.Scale, whole[1] = values(p.Scale)
	r.Center, whole[2] = values(p.Center)
	r.Width, whole[3] = values(p.Width)
	r.Missing, whole[4] = values(p.Missing)
	if whole != [5]bool{true, true, true, true, true} || p.Intercept == nil || p.Unit == nil {
		return fmt.Errorf("features: an encoder has names, scale, intercept and unit, none of them null")
	}
	r.Intercept, r.Unit, r.Impute = *p.Intercept, *p.Unit, p.Impute
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

// Dim returns the number of features, d.
func (e *Encoder) Dim() int {
	d := len(e.Names) + len(e.Missing)
	if e.Intercept {
		d++
	}
	return d
}

// Feature returns the place of a name among the features, or −1. A category that is none by its text is that of the
// same number or truth value: of 2 and 2.0 an encoder that knows one knows both, and of true, True and TRUE.
func (e *Encoder) Feature(name string) int {
	if j, ok := e.index[name]; ok {
		return int(j)
	}
	if len(e.numbers) == 0 {
		return -1
	}
	of, is := numeralOf(name)
	if j, ok := e.numbers[of]; is && ok {
		return int(j)
	}
	return -1
}

// Knows counts the names that are features.
func (e *Encoder) Knows(names []string) (n int) {
	for _, name := range names {
		if e.Feature(name) >= 0 {
			n++
		}
	}
	return n
}

// FeatureOf does what Feature does, for a name in bytes. It allocates for an unknown name alone, and only where
// categories are numbers or truth values.
func (e *Encoder) FeatureOf(name []byte) int {
	if j, ok := e.index[string(name)]; ok {
		return int(j)
	} else if len(e.numbers) == 0 {
		return -1
	}
	return e.Feature(string(name))
}

// Categories lists the places of the features of each category that has at least two.
func (e *Encoder) Categories() [][]int32 {
	var groups [][]int32
	place := map[string]int{} // of a column among the groups
	for j, name := range e.Names {
		at := strings.IndexByte(name[min(1, len(name)):], '=') // of "column=value"
		if at < 0 {
			continue
		}
		g, ok := place[name[:at+1]]
		if !ok {
			g, groups = len(groups), append(groups, nil)
			place[name[:at+1]] = g
		}
		groups[g] = append(groups[g], int32(j))
	}
	return slices.DeleteFunc(groups, func(group []int32) bool { return len(group) < 2 })
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
		j := e.Feature(v.Name)
		switch {
		case j < 0:
			unknown++
			continue
		case v.Number-v.Number != 0:
			return unknown, fmt.Errorf("features: %s is %v", v.Name, v.Number)
		case dst[j] == dst[j]:
			return unknown, fmt.Errorf("features: %s comes twice", v.Name)
		}
		dst[j] = v.Number
	}
	if !e.Impute {
		for j, v := range dst[:n] {
			if v != v {
				dst[j] = 0
			}
		}
	}
	return unknown, e.Finish(dst)
}

// Clear writes the raw values of a context that has no name, as Finish takes them, to dst: 0, or NaN with
// Impute.
func (e *Encoder) Clear(dst []float64) {
	none := 0.0
	if e.Impute {
		none = math.NaN()
	}
	for j := range dst {
		dst[j] = none
	}
}

// Finish turns raw values in the order of Names, in the first places of dst [Dim],
// into φ(x) in place. A value that is missing is NaN with Impute, else 0.
func (e *Encoder) Finish(dst []float64) error {
	if e.raw {
		return nil
	}
	n := len(e.Names)
	raw, scale := dst[:n], e.Scale[:n]
	for m, j := range e.missing {
		dst[n+m] = 0
		if raw[j] != raw[j] {
			dst[n+m] = 1
		}
	}
	for j, w := range e.Width {
		if w != 0 {
			raw[j] = math.Asinh(raw[j] / w)
		}
	}
	for j, c := range e.Center {
		raw[j] -= c
	}
	for j, v := range raw {
		if v *= scale[j]; v != v && e.Impute {
			v = 0
		}
		if raw[j] = v; v-v != 0 {
			return fmt.Errorf("features: %s is %v", e.Names[j], v)
		}
	}
	if e.Intercept {
		dst[len(dst)-1] = 1
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
	floats.Scale(inverse, dst)
	return nil
}

// squares is the sum of squares, in order.
func squares(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// numeralOf reads the name of a category, "column=value", whose value is a number or a truth value.
func numeralOf(name string) (of numeral, is bool) {
	column, value, _ := strings.Cut(name, "=")
	if truth, is := Truth(value); is {
		return numeral{column, math.Inf(map[bool]int{false: -1, true: 1}[truth])}, column != ""
	}
	v, is := Numeral(value)
	return numeral{column, v}, is && column != ""
}

// Truth returns the truth value that the name of a category is: true, True or TRUE, and so of false.
func Truth(name string) (v, ok bool) {
	switch name {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// Numeral returns the number that the name of a category is, as JSON writes numbers: 2 and 2.0 name the same category.
// Of 2⁵³ and more, of which different integers are one float64, only the text is a name.
func Numeral(name string) (v float64, ok bool) {
	raw := jsontext.Value(name)
	if !raw.IsValid() || raw.Kind() != '0' {
		return 0, false
	}
	v, err := strconv.ParseFloat(name, 64)
	return v, err == nil && math.Abs(v) < 1<<53
}

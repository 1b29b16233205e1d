package logs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"opl/policies/features"
)

// Scaling says how an encoder is fitted.
type Scaling struct {
	// Kind is what becomes of a value v:
	//
	//	max       v/max|v|: zeros stay, all is in [−1, 1]. The default, ""
	//	standard  (v − mean)/sd where every row has the name, v/max|v| where not
	//	none      v
	//
	// Categories stay 0 and 1 whatever the kind.
	Kind      string
	Intercept bool // a feature that is 1 in every row
	Unit      bool // ‖φ(x)‖₂ = 1
}

var errUnnamed = errors.New("log: its contexts are vectors without names, which no encoder can read: make the log by Open or Collect")

// FitEncoder makes an encoder whose vocabulary and scalings are those of the given
// rows alone; nil: of all rows.
func (l *Log) FitEncoder(rows []int, how Scaling) (*features.Encoder, error) {
	if l.store == nil {
		return nil, errUnnamed
	}
	how.Kind = cmp.Or(how.Kind, "max")
	if !slices.Contains([]string{"max", "none", "standard"}, how.Kind) {
		return nil, fmt.Errorf("log: no scaling %q: it is max, standard or none", how.Kind)
	}
	n := l.Len()
	if rows != nil {
		n = len(rows)
	}
	seen := make([]int, len(l.names))
	most, mean, m2 := make([]float64, len(l.names)), make([]float64, len(l.names)), make([]float64, len(l.names))
	room := make([]float64, max(0, l.width))
	for i := range n {
		r := i
		if rows != nil {
			r = rows[i]
		}
		ids, values := l.context(l.Context(r), room)
		for j, id := range ids {
			v := values[j]
			seen[id]++
			most[id] = max(most[id], math.Abs(v))
			delta := v - mean[id]
			mean[id] += delta / float64(seen[id])
			m2[id] += delta * (v - mean[id])
		}
	}
	e := features.Encoder{Intercept: how.Intercept, Unit: how.Unit}
	for id, name := range l.names {
		if seen[id] == 0 {
			continue
		}
		scale, center := 1.0, 0.0
		switch {
		case how.Kind == "none" || l.category[id] != 0 || most[id] == 0:
		case how.Kind == "standard" && seen[id] == n:
			center = mean[id]
			if sd := math.Sqrt(m2[id] / float64(n)); sd > 1e-12*most[id] {
				scale = 1 / sd
			}
		default:
			scale = 1 / most[id]
		}
		if scale-scale != 0 { // of numbers below 1e-308
			scale = 1
		}
		e.Names, e.Scale = append(e.Names, name), append(e.Scale, scale)
		if how.Kind == "standard" {
			e.Center = append(e.Center, center)
		}
	}
	return features.New(e)
}

// Known counts the names in the log's contexts that are features of an encoder made
// elsewhere. That none is, of some, is an error: to the encoder all contexts are alike.
func (l *Log) Known(e *features.Encoder) (n int, err error) {
	if l.store == nil {
		return 0, errUnnamed
	}
	for _, name := range l.names {
		if e.Feature(name) >= 0 {
			n++
		}
	}
	if n == 0 && len(l.names) > 0 && len(e.Names) > 0 {
		return 0, fmt.Errorf("%s: none of the names in its contexts (%s) is one of the policy's (%s): it was learned from other columns", l.name(), some(l.names), some(e.Names))
	}
	return n, nil
}

// some lists names in an error.
func some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// Encode returns the log as learning reads it. Contexts are encoded as they are asked
// for, in float64, from the cache: they take no memory, and the log must stay open. A
// propensity 0 of an action that was not logged becomes Floor. Errors: contexts without
// names, no propensities at all, weights that differ from row to row.
func (l *Log) Encode(e *features.Encoder) (*Log, error) {
	if l.store == nil {
		return nil, errUnnamed
	}
	if err := l.teaches(); err != nil {
		return nil, err
	}
	x := &encoded{log: l, encoder: e, feature: make([]int32, len(l.names))}
	for id, name := range l.names {
		x.feature[id] = int32(e.Feature(name))
	}
	out := *l
	out.X = x
	if slices.Contains(out.Propensities, 0) {
		all, err := l.scratch(len(out.Propensities))
		if err != nil {
			return nil, err
		}
		for i, p := range out.Propensities {
			all[i] = max(p, Floor)
		}
		out.Propensities = all
	}
	return &out, nil
}

// encoded is the contexts of a log by an encoder.
type encoded struct {
	log     *Log
	encoder *features.Encoder
	feature []int32 // of each name; −1: none
}

var _ Contexts = (*encoded)(nil)

func (x *encoded) Len() int { return x.log.store.n }
func (x *encoded) Dim() int { return x.encoder.Dim() }

// Row64 writes what Encoder.Encode would. A value that overflows, which no row that the
// encoder was fitted on does, becomes NaN: Log.Check finds it.
func (x *encoded) Row64(i int, dst []float64) {
	dst = dst[:x.encoder.Dim()]
	clear(dst)
	var room [256]float64
	ids, values := x.log.context(i, room[:])
	for j, id := range ids {
		if f := x.feature[id]; f >= 0 {
			dst[f] = values[j]
		}
	}
	if x.encoder.Finish(dst) != nil {
		for j := range dst {
			dst[j] = math.NaN()
		}
	}
}

// Row32 is Row64, rounded.
func (x *encoded) Row32(i int, dst []float32) {
	var room [256]float64
	for j, v := range x.wide(i, room[:]) {
		dst[j] = float32(v)
	}
}

// Norm is ‖φ(x_i)‖₂.
func (x *encoded) Norm(i int) float64 {
	var room [256]float64
	var s float64
	for _, v := range x.wide(i, room[:]) {
		s += v * v
	}
	return math.Sqrt(s)
}

// wide is φ(x_i), in room if that is long enough.
func (x *encoded) wide(i int, room []float64) []float64 {
	d := x.Dim()
	if d > len(room) {
		room = make([]float64, d)
	}
	x.Row64(i, room[:d])
	return room[:d]
}

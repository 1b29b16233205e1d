package logs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"opl/policies/features"
)

// Scaling says how an encoder is fitted.
type Scaling struct {
	// Kind is what becomes of a value v:
	//
	//	robust    (b − mean b)/sd b, b = v, or asinh(v/width) where v is skewed or has heavy tails; see [robust]
	//	max       v/max|v|: zeros stay, all is in [−1, 1]. The default, ""
	//	standard  (v − mean)/sd where every row has the name, v/max|v| where not
	//	none      v
	//
	// Categories stay 0 and 1 whatever the kind. With robust a number that a context lacks counts as the
	// mean, and has a feature that says so if rows lack it; a category of fewer than 3 rows is left out.
	Kind      string
	Intercept bool // a feature that is 1 in every row
	Unit      bool // ‖φ(x)‖₂ = 1
}

var errUnnamed = errors.New("log: its contexts are vectors without names, which no encoder can read: make the log " +
	"by Open or Collect")

// FitEncoder makes an encoder whose vocabulary and scalings are those of the given
// rows alone; nil: of all rows.
func (l *Log) FitEncoder(rows []int, how Scaling) (*features.Encoder, error) {
	if l.store == nil {
		return nil, errUnnamed
	}
	var at []int
	if rows != nil || l.Rows != nil {
		at = make([]int, 0, len(rows))
		forRows(rows, l.Len(), func(_, row int) { at = append(at, l.Context(row)) })
	}
	return l.fit(at, how, l.context)
}

// fit makes an encoder of some of the rows, which read reads; nil: all.
func (v *named) fit(rows []int, how Scaling, read rowReader) (*features.Encoder, error) {
	n := v.n
	if rows != nil {
		n = len(rows)
	}
	how.Kind = cmp.Or(how.Kind, "max")
	if !slices.Contains([]string{"robust", "max", "none", "standard"}, how.Kind) {
		return nil, fmt.Errorf("log: no scaling %q: it is robust, max, standard or none", how.Kind)
	}
	if how.Kind == "robust" {
		return v.robust(rows, n, how, read)
	}
	seen := make([]int, len(v.names))
	most, mean, m2 := make([]float64, len(v.names)), make([]float64, len(v.names)), make([]float64, len(v.names))
	forRows(rows, v.n, func(_, row int) {
		ids, values := read(row)
		for j, id := range ids {
			u := values[j]
			seen[id]++
			most[id] = max(most[id], math.Abs(u))
			delta := u - mean[id]
			mean[id] += delta / float64(seen[id])
			m2[id] += delta * (u - mean[id])
		}
	})
	e := features.Encoder{Intercept: how.Intercept, Unit: how.Unit}
	for id, name := range v.names {
		if seen[id] == 0 {
			continue
		}
		scale, center := 1.0, 0.0
		switch {
		case how.Kind == "none" || v.category[id] != 0 || most[id] == 0:
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
	if n = e.Knows(l.names); n == 0 && len(l.names) > 0 && len(e.Names) > 0 {
		return 0, fmt.Errorf("%s: none of the names in its contexts (%s) is one of the policy's (%s): it was "+
			"learned from other columns", l.name(), some(l.names), some(e.Names))
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
// propensity 0 of an action that was not logged becomes LeastPropensity. Errors: contexts without
// names, no propensities at all, of rows or lists, weights that differ from row to row.
func (l *Log) Encode(e *features.Encoder) (*Log, error) {
	if l.store == nil {
		return nil, errUnnamed
	}
	if err := l.teaches(!l.Lists.Jointly()); err != nil {
		return nil, err
	}
	out := *l
	out.X = newEncoded(&l.named, e, l.context)
	if slices.Contains(out.Propensities, 0) {
		all := l.Scratch(len(out.Propensities))
		for i, p := range out.Propensities {
			all[i] = max(p, LeastPropensity)
		}
		out.Propensities = all
	}
	return &out, nil
}

// Encoded is the log by the encoder that FitEncoder makes.
func (l *Log) Encoded(rows []int, how Scaling) (*Log, *features.Encoder, error) {
	e, err := l.FitEncoder(rows, how)
	if err != nil {
		return nil, nil, err
	}
	out, err := l.Encode(e)
	return out, e, err
}

// encoded is contexts whose named values an encoder turns into vectors.
type encoded struct {
	rows    *named
	read    rowReader
	encoder *features.Encoder
	feature []int32     // of each name; −1: none
	finite  atomic.Bool // all features of all rows are, as was found
}

func newEncoded(rows *named, e *features.Encoder, read rowReader) *encoded {
	x := &encoded{rows: rows, read: read, encoder: e, feature: make([]int32, len(rows.names))}
	for id, name := range rows.names {
		x.feature[id] = int32(e.Feature(name))
	}
	return x
}

var _ Contexts = (*encoded)(nil)

func (x *encoded) Len() int { return x.rows.n }
func (x *encoded) Dim() int { return x.encoder.Dim() }

// Finite reports that all features of all rows were found to be finite.
func (x *encoded) Finite() bool { return x.finite.Load() }

// Row64 writes what Encoder.Encode would. A value that overflows, which no row that the
// encoder was fitted on does, becomes NaN: Log.Check finds it.
func (x *encoded) Row64(i int, dst []float64) {
	dst = dst[:x.encoder.Dim()]
	x.encoder.Clear(dst[:len(x.encoder.Names)])
	ids, values := x.read(i)
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
	var buf [256]float64
	for j, v := range x.wide(i, buf[:]) {
		dst[j] = float32(v)
	}
}

// Norm is ‖φ(x_i)‖₂.
func (x *encoded) Norm(i int) float64 {
	var buf [256]float64
	var s float64
	for _, v := range x.wide(i, buf[:]) {
		s += v * v
	}
	return math.Sqrt(s)
}

// wide returns φ(x_i), in buf if that is long enough.
func (x *encoded) wide(i int, buf []float64) []float64 {
	d := x.Dim()
	if d > len(buf) {
		buf = make([]float64, d)
	}
	x.Row64(i, buf[:d])
	return buf[:d]
}

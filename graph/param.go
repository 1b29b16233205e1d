package graph

import (
	"fmt"
	"sync/atomic"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// Param is what is learned: a named tensor that lives outside any graph, so
// that programs for training, for evaluation and for a last partial batch share
// it. Its element type must be that of the graphs that it enters.
type Param struct {
	Name  string        // in errors and checks
	Value *tensor.Dense // updated in place by the trainer

	scalar bool
}

// NewParam returns a parameter of the shape (none: a scalar) with a copy of the
// values, row by row. It panics if their number is not the product of shape.
func NewParam(name string, dt tensor.Dtype, values []float64, shape ...int) *Param {
	p := &Param{Name: name, scalar: len(shape) == 0}
	if p.scalar {
		shape = []int{1}
	}
	p.Value = newValue(dt, shape).(*tensor.Dense)
	p.Set(values)
	return p
}

// Len returns the number of elements.
func (p *Param) Len() int { return p.Value.Shape().TotalSize() }

// Float64s returns a copy of the values.
func (p *Param) Float64s() []float64 { return floats(p.Value) }

// Set overwrites the values. It panics if their number is not p.Len().
func (p *Param) Set(values []float64) {
	if err := put(p.Value, values); err != nil {
		panic(fmt.Sprintf("graph: parameter %q: %v", p.Name, err))
	}
}

// newValue returns a zero tensor, or scalar for an empty shape.
func newValue(dt tensor.Dtype, shape []int) gorgonia.Value {
	switch {
	case len(shape) > 0:
		return tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	case dt == tensor.Float32:
		return gorgonia.NewF32(0)
	default:
		return gorgonia.NewF64(0)
	}
}

// put copies values into v.
func put(v gorgonia.Value, values []float64) error {
	if n := v.Shape().TotalSize(); n != len(values) {
		return fmt.Errorf("%d values for shape %s", len(values), shapeString(v.Shape()))
	}
	if v.Dtype() == tensor.Float32 {
		simd.Narrow32(elems[float32](v), values)
		return nil
	}
	copy(elems[float64](v), values)
	return nil
}

// floats copies v out.
func floats(v gorgonia.Value) []float64 {
	if v.Dtype() == tensor.Float64 {
		return append([]float64{}, elems[float64](v)...)
	}
	src := elems[float32](v)
	dst := make([]float64, len(src))
	for i, x := range src {
		dst[i] = float64(x)
	}
	return dst
}

// nonFinite returns the index of the first element that is NaN or infinite, −1 if
// there is none.
func nonFinite(v gorgonia.Value, threads int) int {
	if v.Dtype() == tensor.Float64 {
		return firstNonFinite(elems[float64](v), threads)
	}
	return firstNonFinite(elems[float32](v), threads)
}

func firstNonFinite[T float](x []T, threads int) int {
	if len(x) >= splitElements && threads > 1 {
		var found atomic.Bool
		workers.Do(threads, threads, func(_, part int) {
			if simd.NonFinite(x[len(x)*part/threads:len(x)*(part+1)/threads]) >= 0 {
				found.Store(true)
			}
		})
		if !found.Load() {
			return -1
		}
	}
	return simd.NonFinite(x)
}

// at returns element i of v.
func at(v gorgonia.Value, i int) float64 {
	if v.Dtype() == tensor.Float64 {
		return elems[float64](v)[i]
	}
	return float64(elems[float32](v)[i])
}

// As returns a copy of the parameter in another element type.
func (p *Param) As(dt tensor.Dtype) *Param {
	q := &Param{Name: p.Name, scalar: p.scalar, Value: newValue(dt, p.Value.Shape()).(*tensor.Dense)}
	q.Set(p.Float64s())
	return q
}

package graph

import (
	"encoding/binary"
	"fmt"
	"hash"
	"unsafe"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

type float interface{ float32 | float64 }

// op is the Gorgonia operation behind every method of Expr: it knows its
// shapes, computes on plain slices, and builds its own symbolic derivative.
//
// It carries a number of its own, so that no two nodes of a graph share a hash
// and Gorgonia never takes two of them for one. Its output goes into a buffer taken
// from the program's pool and given back when the last operation that reads it
// has run.
type op struct {
	g    *Graph
	id   uint32
	name string
	in   []tensor.Shape
	out  tensor.Shape
	run  run
	diff diff // nil: constant for differentiation
	wrt  []bool

	// Of the program that g was compiled into.
	pool      *pool
	producers []*op // of the inputs, nil where not an op
	readers   int   // operations of the program that read the output
	pinned    bool  // the output is read from outside too
	left      int   // readers that have not run yet
	buffer    gorgonia.Value
	args64    [][]float64
	args32    [][]float32
}

// run computes dst from src, both row-major.
type run struct {
	f64 func(dst []float64, src [][]float64) error
	f32 func(dst []float32, src [][]float32) error
}

// both makes a run of one generic function's two instances.
func both(f64 func([]float64, [][]float64), f32 func([]float32, [][]float32)) run {
	return run{
		func(dst []float64, src [][]float64) error { f64(dst, src); return nil },
		func(dst []float32, src [][]float32) error { f32(dst, src); return nil },
	}
}

// diff returns the derivative of the cost in each input, given that in the
// output. need tells which are asked for; the others may be left empty.
type diff func(in []Expr, out, grad Expr, need []bool) []Expr

// apply adds an operation to the graph. All inputs are differentiable; use
// except for those that are not.
func apply(name string, out tensor.Shape, r run, d diff, in ...Expr) Expr {
	if bad, ok := first(in...); ok {
		return bad
	}
	g := in[0].g
	o := op{g: g, name: name, out: out, run: r, diff: d}
	nodes := make([]*gorgonia.Node, len(in))
	for i, x := range in {
		o.in = append(o.in, x.n.Shape())
		o.wrt = append(o.wrt, d != nil)
		nodes[i] = x.n
	}
	for {
		g.ops++
		numbered := o
		numbered.id = g.ops
		n, err := gorgonia.ApplyOp(&numbered, nodes...)
		if err != nil {
			return Fail("graph: %s: %w", name, err)
		}
		if g.claim(n) {
			return Expr{g: g, n: n}
		}
	}
}

// except marks input i of the operation that made x as one that no derivative
// flows to.
func (x Expr) except(i int) Expr {
	if x.err == nil {
		x.n.Op().(*op).wrt[i] = false
	}
	return x
}

func valueType(dt tensor.Dtype, s tensor.Shape) hm.Type {
	if len(s) == 0 {
		return dt
	}
	return gorgonia.TensorType{Dims: len(s), Of: dt}
}

// Arity, Type and the rest up to Do implement gorgonia.Op.
func (o *op) Arity() int { return len(o.in) }

func (o *op) Type() hm.Type {
	ts := make([]hm.Type, 0, len(o.in)+1)
	for _, s := range o.in {
		ts = append(ts, valueType(o.g.dt, s))
	}
	return hm.NewFnType(append(ts, valueType(o.g.dt, o.out))...)
}

func (o *op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.out, nil }
func (o *op) ReturnsPtr() bool                                      { return true }
func (o *op) CallsExtern() bool                                     { return false }
func (o *op) OverwritesInput() int                                  { return -1 }
func (o *op) Hashcode() uint32                                      { return o.id }
func (o *op) String() string                                        { return fmt.Sprintf("%s#%d", o.name, o.id) }
func (o *op) WriteHash(h hash.Hash) {
	h.Write([]byte("opl"))
	_ = binary.Write(h, binary.LittleEndian, o.id)
}

// DiffWRT implements gorgonia.SDOp.
func (o *op) DiffWRT(int) []bool { return o.wrt }

// SymDiff implements gorgonia.SDOp.
func (o *op) SymDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	return o.symDiff(inputs, output, grad, o.wrt)
}

func (o *op) symDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node, need []bool) (gorgonia.Nodes, error) {
	in := make([]Expr, len(inputs))
	for i, n := range inputs {
		in[i] = Expr{g: o.g, n: n}
	}
	dx := o.diff(in, Expr{g: o.g, n: output}, Expr{g: o.g, n: grad}, need)
	nodes := make(gorgonia.Nodes, len(dx))
	for i, x := range dx {
		if x.err != nil {
			return nil, fmt.Errorf("derivative of %s: %w", o.name, x.err)
		}
		nodes[i] = x.n
	}
	return nodes, nil
}

// Do implements gorgonia.Op.
func (o *op) Do(inputs ...gorgonia.Value) (v gorgonia.Value, err error) {
	// The tape machine runs operations on a goroutine of its own, where a panic
	// would end the process.
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("graph: %s: %v", o.name, r)
		}
	}()
	if o.buffer == nil {
		o.buffer = o.pool.get(o.g.dt, o.out)
	}
	o.left = o.readers
	if o.g.dt == tensor.Float64 {
		o.args64 = o.args64[:0]
		for _, in := range inputs {
			o.args64 = append(o.args64, elems[float64](in))
		}
		err = o.run.f64(elems[float64](o.buffer), o.args64)
	} else {
		o.args32 = o.args32[:0]
		for _, in := range inputs {
			o.args32 = append(o.args32, elems[float32](in))
		}
		err = o.run.f32(elems[float32](o.buffer), o.args32)
	}
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", o.name, err)
	}
	v = o.buffer
	for _, p := range o.producers {
		if p != nil {
			p.release()
		}
	}
	return v, nil
}

// release is called when one reader of o's output has run.
func (o *op) release() {
	if o.left--; o.left == 0 && !o.pinned {
		o.pool.put(o.buffer)
		o.buffer = nil
	}
}

// pool keeps the buffers of one shape in a program that hold no live value.
type pool []gorgonia.Value

func (p *pool) get(dt tensor.Dtype, s tensor.Shape) gorgonia.Value {
	last := len(*p) - 1
	if last < 0 {
		return newValue(dt, s)
	}
	v := (*p)[last]
	*p = (*p)[:last]
	return v
}

func (p *pool) put(v gorgonia.Value) { *p = append(*p, v) }

// elems returns the elements of v, row by row, without copying (but for a view
// that Gorgonia's own operations made); T must be its element type.
func elems[T float](v gorgonia.Value) []T {
	switch v := v.(type) {
	case *tensor.Dense:
		if v.RequiresIterator() {
			v = v.Materialize().(*tensor.Dense)
		}
		if v.Dtype() == tensor.Float64 {
			s := v.Float64s()
			return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
		}
		s := v.Float32s()
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
	case *gorgonia.F64:
		return unsafe.Slice((*T)(unsafe.Pointer(v)), 1)
	case *gorgonia.F32:
		return unsafe.Slice((*T)(unsafe.Pointer(v)), 1)
	}
	panic(fmt.Sprintf("graph: value of type %T", v))
}

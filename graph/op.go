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
// and Gorgonia never takes two of them for one. A program runs it by its plan, see
// [Graph.Compile].
type op struct {
	g    *Graph
	id   uint32
	name string
	in   []tensor.Shape
	out  tensor.Shape
	run  run
	diff diff // nil: constant for differentiation
	wrt  []bool
}

// run computes dst from src, both row-major, and says how a program may treat
// the operation. first is the number of the first row at hand, of those of the
// operand or the result that has more of them: 0, unless the operation is repeating,
// grouping or byRows. What is wrong with a row is a panic with a rowError.
type run struct {
	f64 func(dst []float64, src [][]float64, first int)
	f32 func(dst []float32, src [][]float32, first int)

	spread spread // how the operation can be taken through a few rows at a time

	// vector, if not nil, computes a float32 result by vector kernels, on several
	// threads where that pays; false: it cannot, use f32.
	vector func(dst []float32, src [][]float32, threads int) bool

	// sparse, if not nil, is an input, operand number sparseAt, whose zeros vector does not read where it is sparse.
	sparse   *compressed
	sparseAt int
	narrow   bool // vector reads its rows where they lie, too

	// per is how many multiplications there are to an element of the result, at
	// least, where it is more than a few.
	per int

	// conv is the convolution that the operation is, nil if it is none.
	conv *convolution

	// name, unless empty, stands for the function and all its parameters: of
	// operations of one name on the same operands, one is enough.
	name   string
	cheap  bool // as fast to compute again as to keep
	copies bool // the result is the operand
	slow   bool // worth to be remembered by [Program.Rows]
}

// of1 makes a run of functions of one operand.
func of1(f64 func(dst, x []float64), f32 func(dst, x []float32)) run {
	return run{
		f64: func(dst []float64, src [][]float64, _ int) { f64(dst, src[0]) },
		f32: func(dst []float32, src [][]float32, _ int) { f32(dst, src[0]) },
	}
}

// of2 makes a run of functions of two operands.
func of2(f64 func(dst, x, y []float64), f32 func(dst, x, y []float32)) run {
	return run{
		f64: func(dst []float64, src [][]float64, _ int) { f64(dst, src[0], src[1]) },
		f32: func(dst []float32, src [][]float32, _ int) { f32(dst, src[0], src[1]) },
	}
}

// by sets how the operation can be taken through rows.
func (r run) by(s spread) run {
	r.spread = s
	return r
}

// times says how many multiplications an element takes.
func (r run) times(n int) run {
	r.per = n
	return r
}

// as names the operation with its parameters.
func (r run) as(name string, parameters ...any) run {
	r.name = name + fmt.Sprint(parameters...)
	return r
}

// simple names an operation that is cheap.
func (r run) simple(name string, parameters ...any) run {
	r.cheap = true
	return r.as(name, parameters...)
}

// runOf returns the function of an element type.
func runOf[T float](r run) func(dst []T, src [][]T, first int) {
	if f, ok := any(r.f64).(func([]T, [][]T, int)); ok {
		return f
	}
	return any(r.f32).(func([]T, [][]T, int))
}

// rowError says what is wrong with a row of an operand.
type rowError string

func (e rowError) Error() string { return string(e) }

// failed makes an error of what an operation panicked with.
func failed(o fmt.Stringer, r any) error {
	if e, ok := r.(rowError); ok {
		return fmt.Errorf("graph: %s: %w", o.(*op).name, e)
	}
	return fmt.Errorf("graph: %v: %v", o, r)
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
	defer func() {
		if r := recover(); r != nil {
			err = failed(o, r)
		}
	}()
	v = newValue(o.g.dt, o.out)
	if o.g.dt == tensor.Float64 {
		do[float64](o, v, inputs)
	} else {
		do[float32](o, v, inputs)
	}
	return v, nil
}

func do[T float](o *op, v gorgonia.Value, inputs []gorgonia.Value) {
	src := make([][]T, len(inputs))
	for i, in := range inputs {
		src[i] = elems[T](in)
	}
	runOf[T](o.run)(elems[T](v), src, 0)
}

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

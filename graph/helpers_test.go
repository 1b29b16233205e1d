package graph_test

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph"
)

// formula builds a cost on a graph of its own.
type formula func(g *graph.Graph) graph.Expr

// compile builds a float64 program, without running it.
func compile(t testing.TB, f formula, opts ...graph.Option) *graph.Program {
	t.Helper()
	g := graph.New(tensor.Float64)
	p, err := g.Compile(f(g), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run compiles and runs once.
func run(t testing.TB, f formula, opts ...graph.Option) *graph.Program {
	t.Helper()
	p := compile(t, f, opts...)
	mustRun(t, p)
	return p
}

func mustRun(t testing.TB, p *graph.Program) {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
}

func param(name string, values []float64, shape ...int) *graph.Param {
	return graph.NewParam(name, tensor.Float64, values, shape...)
}

// grad copies the gradient of the last run in a parameter out.
func grad(p *graph.Program, q *graph.Param) []float64 {
	switch d := p.Grad(q).Data().(type) {
	case []float64:
		return append([]float64{}, d...)
	case []float32:
		out := make([]float64, len(d))
		for i, v := range d {
			out[i] = float64(v)
		}
		return out
	}
	return nil
}

// near says whether two slices agree within tol of their size, at least 1.
func near(got, want []float64, tol float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol*math.Max(1, math.Abs(want[i]))) && got[i] != want[i] {
			return false
		}
	}
	return true
}

func wantNear(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if !near(got, want, tol) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// wantError checks that an error mentions all the parts.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, s := range parts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}

// checkGradient compares a program's gradient with central differences.
func checkGradient(t testing.TB, p *graph.Program, tol float64) {
	t.Helper()
	r, err := graph.GradCheck(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !(r.Error <= tol) {
		t.Errorf("gradient: %v", r)
	}
}

// plain logs what Gorgonia without this package makes of the same task: it is
// why the shield exists. It never fails, so that Gorgonia may be repaired.
func plain(t testing.TB, want []float64, f func(g *G.ExprGraph) G.Nodes) {
	t.Helper()
	got, err := func() (got []float64, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v", r)
			}
		}()
		g := G.NewGraph()
		nodes := f(g)
		into := make([]G.Value, len(nodes))
		for i, n := range nodes {
			G.Read(n, &into[i])
		}
		m := G.NewTapeMachine(g)
		defer m.Close()
		if err := m.RunAll(); err != nil {
			return nil, err
		}
		for _, v := range into {
			switch d := v.Data().(type) {
			case float64:
				got = append(got, d)
			case []float64:
				got = append(got, d...)
			}
		}
		return got, nil
	}()
	if err == nil && near(got, want, 1e-9) {
		t.Logf("plain Gorgonia is right here by now: %v", got)
		return
	}
	t.Logf("plain Gorgonia gives %v, error %v; right is %v", got, err, want)
}

// vec and mat are inputs of plain Gorgonia, with values.
func vec(g *G.ExprGraph, name string, xs ...float64) *G.Node {
	return G.NewVector(g, tensor.Float64, G.WithName(name), G.WithShape(len(xs)),
		G.WithValue(tensor.New(tensor.WithShape(len(xs)), tensor.WithBacking(xs))))
}

func mat(g *G.ExprGraph, name string, r, c int, xs ...float64) *G.Node {
	return G.NewMatrix(g, tensor.Float64, G.WithName(name), G.WithShape(r, c),
		G.WithValue(tensor.New(tensor.WithShape(r, c), tensor.WithBacking(xs))))
}

// cube is a user's own operation on a vector: x³, with derivative times·x².
type cube struct {
	times     int // 3 is right
	runs      *int
	symDiffs  *int
	panicking bool // in InferShape
}

func (c cube) Arity() int { return 1 }
func (c cube) Type() hm.Type {
	v := G.TensorType{Dims: 1, Of: hm.TypeVariable('a')}
	return hm.NewFnType(v, v)
}
func (c cube) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	if c.panicking {
		panic("cube: own bug")
	}
	return in[0].(tensor.Shape).Clone(), nil
}
func (c cube) Do(in ...G.Value) (G.Value, error) {
	if c.runs != nil {
		*c.runs++
	}
	y := in[0].(*tensor.Dense).Clone().(*tensor.Dense)
	for i, x := range y.Float64s() {
		y.Float64s()[i] = x * x * x
	}
	return y, nil
}
func (c cube) ReturnsPtr() bool      { return true }
func (c cube) CallsExtern() bool     { return false }
func (c cube) OverwritesInput() int  { return -1 }
func (c cube) WriteHash(h hash.Hash) { fmt.Fprintf(h, "cube%d", c.times) }
func (c cube) Hashcode() uint32 {
	h := fnv.New32a()
	c.WriteHash(h)
	return h.Sum32()
}
func (c cube) String() string { return "cube" }

// everyOther is an operation that gives a view: every other entry of a vector.
type everyOther struct{ cube }

func (everyOther) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	return tensor.Shape{in[0].(tensor.Shape)[0] / 2}, nil
}
func (everyOther) Do(in ...G.Value) (G.Value, error) {
	v, err := in[0].(*tensor.Dense).Slice(G.S(0, in[0].Shape()[0], 2))
	if err != nil {
		return nil, err
	}
	return v.(*tensor.Dense), nil
}

// slopedCube is cube as a gorgonia.SDOp.
type slopedCube struct{ cube }

func (c slopedCube) DiffWRT(n int) []bool { return slices.Repeat([]bool{true}, n) }
func (c slopedCube) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	if c.symDiffs != nil {
		*c.symDiffs++
	}
	square, err := G.Square(in[0])
	if err != nil {
		return nil, err
	}
	slope := square
	for range c.times - 1 {
		if slope, err = G.Add(slope, square); err != nil {
			return nil, err
		}
	}
	dx, err := G.HadamardProd(grad, slope)
	return G.Nodes{dx}, err
}

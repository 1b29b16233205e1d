package graph_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph"
)

// lineBefore is the place of the line before its caller's, as errors print it.
func lineBefore() string {
	_, _, line, _ := runtime.Caller(1)
	return fmt.Sprintf("graph/expr_test.go:%d: ", line-1)
}

func TestErrors_NameTheLineThatBuiltTheExpression(t *testing.T) {
	g := graph.New(tensor.Float64)
	x, y := g.Input("x", 2, 3), g.Input("y", 3)

	bad := x.Add(y)
	at := lineBefore()
	wantError(t, bad.Err(), at)
	// The first error wins, whatever is done with it.
	later := y.Mul(bad.Exp().Sum()).Named("later").Add(x.Gather(x))
	if later.Err() != bad.Err() {
		t.Errorf("later error %v, want the first, %v", later.Err(), bad.Err())
	}
	_, err := g.Compile(later)
	if err != bad.Err() {
		t.Errorf("Compile gives %v, want the first error", err)
	}
	if bad.Shape() != nil || bad.Graph() != nil || bad.String() != "(failed)" {
		t.Errorf("a failed expression is %v of shape %v", bad, bad.Shape())
	}
	if n, err := bad.Node(); n != nil || err == nil {
		t.Errorf("Node of a failed expression: %v, %v", n, err)
	}
}

func TestFail_NamesTheCallersLine(t *testing.T) {
	cause := errors.New("cause")
	x := graph.Fail("π₀ is missing: %w", cause)
	wantError(t, x.Err(), lineBefore(), "π₀ is missing: cause")
	if !errors.Is(x.Err(), cause) {
		t.Error("the cause is lost")
	}
	if got := x.Exp().Mean().Err(); got != x.Err() {
		t.Errorf("%v is not the first error", got)
	}
}

// Every error of building is one of the Expr, located in this file.
func TestBuild_ReportsEveryMisuse(t *testing.T) {
	other := graph.New(tensor.Float64)
	for what, c := range map[string]struct {
		f    func(g *graph.Graph, m, v, s graph.Expr) graph.Expr // [2×3], [3], ()
		want []string
	}{
		"empty":         {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return graph.Expr{}.Exp() }, []string{"empty"}},
		"empty operand": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Add(graph.Expr{}) }, []string{"empty"}},
		"empty named":   {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return graph.Expr{}.Named("x") }, []string{"empty"}},
		"other graph": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr {
			return s.Add(other.Input("z"))
		}, []string{"different graphs"}},
		"add":                 {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Add(v) }, []string{"add", "m[2×3]", "v[3]", "Across"}},
		"sub":                 {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.Sub(m) }, []string{"sub", "shapes differ"}},
		"operation's name":    {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Exp().Mul(v.Log()) }, []string{"exp[2×3]", "log[3]"}},
		"matmul inner":        {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.MatMul(m) }, []string{"3 and 2 differ"}},
		"matmulT inner":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.MatMulT(m.Reshape(3, 2)) }, []string{"3 and 2 differ"}},
		"matmul vector":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.MatMul(v) }, []string{"MatMul wants a matrix, not v[3]"}},
		"matmul scalar":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return s.MatMul(m) }, []string{"a matrix, not s()"}},
		"softmax vector":      {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.Softmax() }, []string{"Softmax wants a matrix"}},
		"log-softmax":         {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return s.LogSoftmax() }, []string{"LogSoftmax wants a matrix"}},
		"sum axis":            {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.SumOver(2) }, []string{"axis 2"}},
		"mean axis":           {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.MeanOver(-1) }, []string{"axis -1"}},
		"sum of vector":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.SumOver(0) }, []string{"SumOver wants a matrix"}},
		"across matrix":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Across(2) }, []string{"Across wants a vector"}},
		"across 0":            {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.Across(0) }, []string{"0 columns"}},
		"down scalar":         {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return s.Down(2) }, []string{"Down wants a vector"}},
		"down −1":             {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.Down(-1) }, []string{"-1 rows"}},
		"repeat 0":            {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.RepeatRows(0) }, []string{"RepeatRows", "0 times"}},
		"repeat scalar":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return s.RepeatRows(2) }, []string{"a vector or a matrix"}},
		"groups":              {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.SumGroups(2) }, []string{"SumGroups of 2 rows in v[3]"}},
		"groups 0":            {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.MeanGroups(0) }, []string{"SumGroups of 0"}},
		"reshape":             {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Reshape(4) }, []string{"Reshape of m[2×3] to [4]"}},
		"reshape negative":    {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Reshape(-2, -3) }, []string{"Reshape"}},
		"reshape to three":    {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Reshape(1, 2, 3) }, []string{"Reshape"}},
		"best of matrix":      {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Best() }, []string{"Best wants a vector"}},
		"gather vector":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return v.Gather(v) }, []string{"Gather wants a matrix"}},
		"gather by matrix":    {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Gather(m) }, []string{"Gather index wants a vector"}},
		"gather rows":         {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.Gather(v) }, []string{"one index a row"}},
		"quadrature nodes":    {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.GaussianQuadrature(1) }, []string{"1 nodes"}},
		"quadrature negative": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.GaussianQuadrature(-3) }, []string{"-3 nodes"}},
		"monte carlo rows":    {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.GaussianMonteCarlo(m.Reshape(3, 2)) }, []string{"numbers of rows differ"}},
		"monte carlo noise":   {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return m.GaussianMonteCarlo(v) }, []string{"noise wants a matrix"}},
		"input of three":      {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return g.Input("z", 1, 2, 3) }, []string{`"z" has 3 dimensions`}},
		"input of none":       {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return g.Input("z", 2, 0) }, []string{`"z" has shape [2×0]`}},
		"constant":            {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return g.Const("z", []float64{1, 2}, 3) }, []string{`"z": 2 values for shape [3]`}},
		"named twice":         {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { m.Named("t"); return v.Named("t") }, []string{`two terms are named "t"`}},
		"parameter type": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr {
			return g.Param(graph.NewParam("p", tensor.Float32, []float64{1}))
		}, []string{`"p" is float32 in a graph of float64`}},
		"apply nothing": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return graph.Apply(nil) }, []string{"without operands"}},
		"apply nil": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr {
			return graph.Apply(func(...*G.Node) (*G.Node, error) { return nil, nil }, m)
		}, []string{"no node"}},
		"apply error": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr {
			return graph.Apply(func(...*G.Node) (*G.Node, error) { return nil, errors.New("own error") }, m)
		}, []string{"own error"}},
		"apply type": {func(g *graph.Graph, m, v, s graph.Expr) graph.Expr { return graph.ApplyOp(cube{}, m) }, []string{"has 1 dimensions"}},
	} {
		t.Run(what, func(t *testing.T) {
			g := graph.New(tensor.Float64)
			x := c.f(g, g.Input("m", 2, 3), g.Input("v", 3), g.Input("s"))
			wantError(t, x.Err(), append([]string{"graph/expr_test.go:"}, c.want...)...)
			if _, err := g.Compile(x); err == nil {
				t.Error("Compile accepts it")
			}
		})
	}
}

func TestExpr_KnowsItsShapeAndText(t *testing.T) {
	g := graph.New(tensor.Float32)
	m, v, s := g.Input("m", 4, 3), g.Input("v", 3), g.Input("s")
	for _, c := range []struct {
		x    graph.Expr
		want []int
		text string
	}{
		{m, []int{4, 3}, "m[4×3]"}, {v, []int{3}, "v[3]"}, {s, []int{}, "s()"},
		{m.Add(s), []int{4, 3}, "add[4×3]"}, {s.Sub(v), []int{3}, "sub[3]"},
		{m.SumOver(0), []int{3}, "sum over rows[3]"}, {m.MeanOver(1), []int{4}, "scale[4]"},
		{v.Across(2), []int{3, 2}, "across[3×2]"}, {v.Down(2), []int{2, 3}, "down[2×3]"},
		{m.RepeatRows(2), []int{8, 3}, "repeat rows[8×3]"}, {m.SumGroups(2), []int{2, 3}, "sum groups[2×3]"},
		{m.RepeatRows(1), []int{4, 3}, "m[4×3]"}, {m.SumGroups(1), []int{4, 3}, "m[4×3]"},
		{m.MatMulT(m), []int{4, 4}, "matmul[4×4]"},
		{v.Best(), []int{}, "best()"}, {v.Sum().Reshape(1, 1), []int{1, 1}, "reshape[1×1]"}, {v.Sum().Reshape(1).Reshape(), []int{}, "reshape()"},
	} {
		if !reflect.DeepEqual(c.x.Shape(), c.want) || c.x.String() != c.text {
			t.Errorf("%v of shape %v, want %s of %v", c.x, c.x.Shape(), c.text, c.want)
		}
	}
	if m.Graph() != g || g.Dtype() != tensor.Float32 {
		t.Error("graph or element type")
	}
	m.Shape()[0] = 99
	if m.Shape()[0] != 4 {
		t.Error("Shape gives away the node's own")
	}
}

func TestDependsOn_FollowsOperands(t *testing.T) {
	g := graph.New(tensor.Float64)
	x, y := g.Input("x", 2), g.Input("y", 2)
	z := x.Exp().Sum()
	for i, c := range []struct{ got, want bool }{
		{z.DependsOn(x), true}, {z.DependsOn(y), false}, {z.DependsOn(y, x), true}, {z.DependsOn(), false},
		{z.DependsOn(z), true}, {x.DependsOn(z), false}, {graph.Expr{}.DependsOn(x), false}, {z.DependsOn(graph.Expr{}), false},
	} {
		if c.got != c.want {
			t.Errorf("case %d: %v", i, c.got)
		}
	}
}

// A panic of Gorgonia's is an error; one in a function of the user's is his.
func TestApply_TurnsGorgoniasPanicsIntoErrors(t *testing.T) {
	g := graph.New(tensor.Float64)
	x := g.Input("x", 2)
	theirs := graph.Apply(func(ns ...*G.Node) (*G.Node, error) {
		return G.Must(G.Mul(ns[0], mat(G.NewGraph(), "m", 1, 1, 1))), nil
	}, x)
	wantError(t, theirs.Err(), "graph/expr_test.go:", "panic in Gorgonia")

	for what, f := range map[string]func() graph.Expr{
		"own bug": func() graph.Expr {
			return graph.Apply(func(...*G.Node) (*G.Node, error) { panic("own bug") }, x)
		},
		"runtime error": func() graph.Expr {
			return graph.Apply(func(ns ...*G.Node) (*G.Node, error) { return ns[len(ns)], nil }, x)
		},
		"cube: own bug": func() graph.Expr { return graph.ApplyOp(cube{panicking: true}, x) },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				r := fmt.Sprint(recover())
				if !strings.Contains(r, what) {
					t.Errorf("recovered %v, want the panic %q", r, what)
				}
			}()
			t.Errorf("no panic but %v", f().Err())
		})
	}
}

// An operation of the user's own is differentiated by its SymDiff, between
// operations of this package.
func TestApplyOp_DifferentiatesAnOwnOperation(t *testing.T) {
	runs := 0
	q := param("x", []float64{-1, .5, 2}, 3)
	p := run(t, func(g *graph.Graph) graph.Expr {
		return graph.ApplyOp(slopedCube{cube{times: 3, runs: &runs}}, g.Param(q).Scale(2)).Named("y").Square().Sum()
	})
	wantNear(t, "value", p.Read("y"), []float64{-8, 1, 64}, 0)
	wantNear(t, "gradient", grad(p, q), []float64{6 * 64 * -1, 6 * 64 * 1. / 32, 6 * 64 * 32}, 0)
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
	checkGradient(t, p, 1e-7)

	// Without SymDiff it has values, but no gradient: an error, never a silent 0.
	plainCube := func(g *graph.Graph) graph.Expr { return graph.ApplyOp(cube{}, g.Param(q)) }
	if got := run(t, func(g *graph.Graph) graph.Expr { return plainCube(g).Sum() }, graph.WithoutGradients()).Cost(); got != 7.125 {
		t.Errorf("cost %v", got)
	}
	g := graph.New(tensor.Float64)
	_, err := g.Compile(plainCube(g).Sum())
	wantError(t, err, "cube", "no symbolic derivative")
	p = run(t, func(g *graph.Graph) graph.Expr { return plainCube(g).StopGradient().Mul(g.Param(q)).Sum() })
	wantNear(t, "gradient of the rest", grad(p, q), []float64{-1, .125, 8}, 0)
}

// faulty is a user's operation whose derivative fails in some way.
type faulty struct {
	slopedCube
	how string
}

func (f faulty) DiffWRT(n int) []bool {
	if f.how == "short" {
		return nil
	}
	return f.slopedCube.DiffWRT(n)
}

func (f faulty) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	switch f.how {
	case "error":
		return nil, errors.New("own error")
	case "none":
		return nil, nil
	case "nil":
		return G.Nodes{nil}, nil
	case "Gorgonia":
		return G.Nodes{G.Must(G.Mul(grad, mat(G.NewGraph(), "m", 1, 1, 1)))}, nil
	}
	panic("own bug")
}

func TestApplyOp_ReportsFaultyDerivatives(t *testing.T) {
	compile := func(how string) error {
		g := graph.New(tensor.Float64)
		x := graph.ApplyOp(faulty{slopedCube{cube{times: 3}}, how}, g.Param(param("x", []float64{1, 2}, 2)))
		_, err := g.Compile(x.Sum())
		return err
	}
	for how, want := range map[string]string{
		"error": "own error", "none": "no derivative in operand 0", "nil": "no derivative in operand 0",
		"Gorgonia": "panic in Gorgonia", "short": "0 entries for 1 operands",
	} {
		t.Run(how, func(t *testing.T) {
			wantError(t, compile(how), "cube", want)
		})
	}
	defer func() {
		if r := recover(); r != "own bug" {
			t.Errorf("recovered %v", r)
		}
	}()
	t.Errorf("no panic but %v", compile("panic"))
}

package graph_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph"
)

// One test for each defect of Gorgonia v0.9.18 that this package shields from,
// in four groups: operations, graphs, running, operations of one's own.

// Operations.

// Gorgonia takes the maximum of a row from element [0,0] of the whole tensor on.
func TestHazard_SoftmaxTakesTheMaximumOfEachRow(t *testing.T) {
	x := []float64{1000, 999, 0, 1, -1000, -1001}
	half := 1 / (1 + math.Exp(-1))
	want := []float64{half, 1 - half, 1 - half, half, half, 1 - half}
	p := run(t, func(g *graph.Graph) graph.Expr {
		q := g.Param(param("x", x, 3, 2))
		return q.Softmax().Named("softmax").Sum().Add(q.LogSoftmax().Named("log").Sum())
	})
	wantNear(t, "softmax", p.Read("softmax"), want, 1e-15)
	for i, v := range p.Read("log") {
		wantNear(t, "log-softmax", []float64{v}, []float64{math.Log(want[i])}, 1e-15)
	}
	checkGradient(t, p, 1e-5) // steps are long at 1000
	plain(t, want, func(g *G.ExprGraph) G.Nodes { return G.Nodes{G.Must(G.SoftMax(mat(g, "x", 3, 2, x...)))} })
}

// The hash of Gorgonia's softmax omits whether it is the logarithm.
func TestHazard_SoftmaxAndLogSoftmaxStayTwoNodes(t *testing.T) {
	x := []float64{0, math.Log(3)}
	want := []float64{.25, .75, math.Log(.25), math.Log(.75)}
	p := run(t, func(g *graph.Graph) graph.Expr {
		q := g.Const("x", x, 1, 2)
		return q.Softmax().Named("softmax").Sum().Add(q.LogSoftmax().Named("log").Sum())
	})
	wantNear(t, "both", append(p.Read("softmax"), p.Read("log")...), want, 1e-15)
	plain(t, want, func(g *G.ExprGraph) G.Nodes {
		x := mat(g, "x", 1, 2, x...)
		return G.Nodes{G.Must(G.SoftMax(x)), G.Must(G.LogSoftMax(x))}
	})
}

// Gorgonia's Log rewrites the softmax that it is applied to, for all its users.
func TestHazard_LogLeavesTheSoftmaxAsItIs(t *testing.T) {
	x := []float64{0, math.Log(3)}
	want := []float64{.25, .75, math.Log(.25), math.Log(.75)}
	p := run(t, func(g *graph.Graph) graph.Expr {
		s := g.Param(param("x", x, 1, 2)).Softmax().Named("softmax")
		return s.Log().Named("log").Mul(s).Sum()
	})
	wantNear(t, "both", append(p.Read("softmax"), p.Read("log")...), want, 1e-15)
	checkGradient(t, p, 1e-8)
	plain(t, want, func(g *G.ExprGraph) G.Nodes {
		s := G.Must(G.SoftMax(mat(g, "x", 1, 2, x...)))
		return G.Nodes{s, G.Must(G.Log(s))}
	})
}

// Gorgonia's Reshape shares memory with its operand, which a later operation
// then overwrites, be it a parameter.
func TestHazard_ReshapeSharesNoMemory(t *testing.T) {
	xs := []float64{1, 2, 3, 4}
	q := param("x", xs, 2, 2)
	p := run(t, func(g *graph.Graph) graph.Expr {
		x := g.Param(q)
		r := x.Reshape(4)
		// Many results of r's shape tempt a machine to reuse its memory.
		y := r.Add(r.Scale(2)).Add(r.Square()).Named("y")
		return y.Sum().Add(x.Exp().Named("exp").Sum()).Add(r.Named("r").Sum())
	})
	wantNear(t, "parameter", q.Float64s(), xs, 0)
	wantNear(t, "reshaped", p.Read("r"), xs, 0)
	wantNear(t, "sum", p.Read("y"), []float64{4, 10, 18, 28}, 0)
	wantNear(t, "exp", p.Read("exp"), []float64{math.E, math.Exp(2), math.Exp(3), math.Exp(4)}, 1e-15)
	checkGradient(t, p, 1e-8)
	plain(t, append([]float64{11, 22, 33, 44}, xs...), func(g *G.ExprGraph) G.Nodes {
		x := mat(g, "x", 2, 2, append([]float64{}, xs...)...)
		y := G.Must(G.Add(G.Must(G.Reshape(x, tensor.Shape{4})), vec(g, "y", 10, 20, 30, 40)))
		return G.Nodes{y, x}
	})
}

// The gradients of Gorgonia's broadcasts go through aliasing reshapes.
func TestHazard_BroadcastsHaveTheirGradients(t *testing.T) {
	p := run(t, func(g *graph.Graph) graph.Expr {
		x := g.Param(param("x", values(6, 1), 3, 2))
		rows := g.Param(param("rows", values(3, 2), 3))
		cols := g.Param(param("cols", values(2, 3), 2))
		one := g.Param(param("one", []float64{1.5}))
		y := x.Add(rows.Across(2)).Mul(cols.Down(3)).Div(one).Sub(rows.Across(2).Mul(one))
		return y.Mul(y.Add(x)).Add(cols.Down(3).Exp()).Mean()
	})
	checkGradient(t, p, 1e-8)
}

// Gorgonia's Sum is wrong along axis 2 of four.
func TestHazard_SumsAreRightAlongEachAxis(t *testing.T) {
	xs := []float64{1, 2, 3, 4, 5, 6}
	for axis, want := range [][]float64{{5, 7, 9}, {6, 15}} {
		p := run(t, func(g *graph.Graph) graph.Expr {
			x := g.Param(param("x", xs, 2, 3))
			x.MeanOver(axis).Named("mean")
			return x.SumOver(axis).Named("sum").Square().Sum()
		})
		wantNear(t, "sum", p.Read("sum"), want, 0)
		n := []float64{2, 3}[axis]
		for i, m := range p.Read("mean") {
			wantNear(t, "mean", []float64{m * n}, want[i:i+1], 1e-15)
		}
		checkGradient(t, p, 1e-8)
	}
	ones, threes := make([]float64, 2*2*3*2), make([]float64, 2*2*2)
	for i := range ones {
		ones[i] = float64(i)
	}
	for i := range threes {
		threes[i] = float64(3*(i%2) + 3*2 + i/2*18)
	}
	plain(t, threes, func(g *G.ExprGraph) G.Nodes {
		x := G.NewTensor(g, tensor.Float64, 4, G.WithName("x"), G.WithShape(2, 2, 3, 2),
			G.WithValue(tensor.New(tensor.WithShape(2, 2, 3, 2), tensor.WithBacking(ones))))
		return G.Nodes{G.Must(G.Sum(x, 2))}
	})
}

// Gorgonia's Pow computes x^y·log x even for a constant exponent: NaN at 0.
func TestHazard_PowIsFiniteAtZero(t *testing.T) {
	xs := []float64{0, 1, 4}
	for _, c := range []struct {
		c           float64
		value, grad []float64
	}{
		{0, []float64{1, 1, 1}, []float64{0, 0, 0}},
		{.5, []float64{0, 1, 2}, []float64{0, .5, .25}},
		{1, xs, []float64{1, 1, 1}},
		{1.5, []float64{0, 1, 8}, []float64{0, 1.5, 3}},
		{2, []float64{0, 1, 16}, []float64{0, 2, 8}},
	} {
		q := param("x", xs, 3)
		p := run(t, func(g *graph.Graph) graph.Expr { return g.Param(q).Pow(c.c).Named("y").Sum() })
		wantNear(t, "value", p.Read("y"), c.value, 1e-15)
		wantNear(t, "gradient", grad(p, q), c.grad, 1e-15)
	}
}

// What stands in for InverseSqrt, Log2, ByIndices and OuterProd, whose gradients
// are wrong or fail.
func TestHazard_SubstitutesHaveTheirGradients(t *testing.T) {
	for name, f := range map[string]func(x graph.Expr) graph.Expr{
		"1/√x": func(x graph.Expr) graph.Expr {
			return x.Graph().Const("1", []float64{1}).Div(x.Square().Plus(1).Sqrt())
		},
		"log₂":     func(x graph.Expr) graph.Expr { return x.Square().Plus(1).Log().Scale(1 / math.Ln2) },
		"by index": func(x graph.Expr) graph.Expr { return x.Square().Gather(x.Graph().Const("i", []float64{1, 1, 0}, 3)) },
		"outer":    func(x graph.Expr) graph.Expr { return x.Reshape(6, 1).MatMul(x.Exp().Reshape(1, 6)) },
	} {
		t.Run(name, func(t *testing.T) {
			checkGradient(t, compile(t, func(g *graph.Graph) graph.Expr {
				return f(g.Param(param("x", values(6, 4), 3, 2))).Square().Sum()
			}), 1e-8)
		})
	}
}

// Gorgonia hashes the bounds of a slice as bytes: [0:2] and [256:258] are one.
func TestHazard_EntriesFarApartAreTwoNodes(t *testing.T) {
	xs := make([]float64, 300)
	for i := range xs {
		xs[i] = float64(i)
	}
	p := run(t, func(g *graph.Graph) graph.Expr {
		x := g.Const("x", xs, 1, 300)
		return x.Gather(g.Const("i", []float64{1}, 1)).Named("1").Sum().Add(
			x.Gather(g.Const("j", []float64{257}, 1)).Named("257").Sum())
	})
	wantNear(t, "gathered", append(p.Read("1"), p.Read("257")...), []float64{1, 257}, 0)
	plain(t, []float64{0, 1, 256, 257}, func(g *G.ExprGraph) G.Nodes {
		x := vec(g, "x", xs...)
		y, z := G.Must(G.Slice(x, G.S(0, 2))), G.Must(G.Slice(x, G.S(256, 258)))
		return G.Nodes{G.Must(G.Neg(G.Must(G.Neg(y)))), G.Must(G.Neg(G.Must(G.Neg(z))))}
	})
}

// MaxBetween and MinBetween of Gorgonia take no scalar.
func TestHazard_AtLeastTakesScalars(t *testing.T) {
	for _, shape := range [][]int{{}, {3}, {3, 2}} {
		p := run(t, func(g *graph.Graph) graph.Expr {
			x := g.Param(param("x", values(size(shape), 5), shape...))
			return x.AtLeast(.25).Square().Sum().Add(x.AtMost(-.25).Square().Sum())
		})
		checkGradient(t, p, 1e-8)
	}
	plain(t, []float64{1, 2}, func(g *G.ExprGraph) G.Nodes {
		return G.Nodes{G.Must(G.MaxBetween(vec(g, "x", 0, 2), G.NewConstant(1.0)))}
	})
}

// The operations that Gorgonia has right are right through Apply as well.
func TestHazard_ApplyKeepsRightOperationsRight(t *testing.T) {
	one := func(f func(*G.Node) (*G.Node, error)) func(...*G.Node) (*G.Node, error) {
		return func(ns ...*G.Node) (*G.Node, error) { return f(ns[0]) }
	}
	two := func(f func(a, b *G.Node) (*G.Node, error)) func(...*G.Node) (*G.Node, error) {
		return func(ns ...*G.Node) (*G.Node, error) { return f(ns[0], ns[1]) }
	}
	for name, f := range map[string]func(...*G.Node) (*G.Node, error){
		"Square": one(G.Square), "Sqrt": one(G.Sqrt), "Exp": one(G.Exp), "Log": one(G.Log), "Log1p": one(G.Log1p),
		"Expm1": one(G.Expm1), "Neg": one(G.Neg), "Tanh": one(G.Tanh), "Sigmoid": one(G.Sigmoid), "Softplus": one(G.Softplus),
		"Add": two(G.Add), "Sub": two(G.Sub), "HadamardProd": two(G.HadamardProd), "HadamardDiv": two(G.HadamardDiv), "Mul": two(G.Mul),
		"Transpose": func(ns ...*G.Node) (*G.Node, error) { return G.Transpose(ns[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			checkGradient(t, compile(t, func(g *graph.Graph) graph.Expr {
				x, y := g.Param(param("x", values(9, 6), 3, 3)), g.Param(param("y", values(9, 7), 3, 3))
				x, y = x.Square().Plus(.1), y.Square().Plus(1) // of this package before
				z := graph.Apply(f, x, y)
				return z.Mul(g.Const("direction", values(9, 8), 3, 3)).Mul(x).Sum() // and after
			}), 1e-8)
		})
	}
}

// Graphs.

// Two inputs of one name, type and shape become one node.
func TestHazard_ANameIsTakenOnce(t *testing.T) {
	declare := map[string]func(g *graph.Graph) graph.Expr{
		"input":     func(g *graph.Graph) graph.Expr { return g.Input("x", 2) },
		"constant":  func(g *graph.Graph) graph.Expr { return g.Const("x", []float64{1, 2}, 2) },
		"noise":     func(g *graph.Graph) graph.Expr { return g.Noise("x", graph.Gaussian, 2) },
		"parameter": func(g *graph.Graph) graph.Expr { return g.Param(param("x", []float64{1, 2}, 2)) },
	}
	for a, first := range declare {
		for _, second := range declare {
			g := graph.New(tensor.Float64)
			x, y := first(g), second(g)
			if x.Err() != nil {
				t.Errorf("%s: %v", a, x.Err())
			}
			wantError(t, y.Err(), "hazards_test.go", `"x" is taken`)
			// The misuse is reported although it does not reach the cost.
			_, err := g.Compile(x.Sum())
			wantError(t, err, `"x" is taken`)
		}
	}
	g := graph.New(tensor.Float64)
	q := param("x", []float64{1, 2}, 2)
	if x, y := g.Param(q), g.Param(q); x != y {
		t.Error("a parameter declared twice is two nodes")
	}
	plain(t, []float64{1, 2, 3, 4}, func(g *G.ExprGraph) G.Nodes {
		x, y := vec(g, "x", 1, 2), vec(g, "x", 3, 4)
		return G.Nodes{G.Must(G.Neg(G.Must(G.Neg(x)))), G.Must(G.Neg(G.Must(G.Neg(y))))}
	})
}

// Large constants print elided, and Gorgonia keys constants by what they print.
func TestHazard_LargeConstantsAreToldApart(t *testing.T) {
	const n = 1000
	a, b := make([]float64, n), make([]float64, n)
	b[n/2] = 1
	p := run(t, func(g *graph.Graph) graph.Expr {
		return g.Const("a", a, n).Sum().Named("a").Add(g.Const("b", b, n).Sum().Named("b"))
	})
	wantNear(t, "sums", append(p.Read("a"), p.Read("b")...), []float64{0, 1}, 0)
	plain(t, []float64{0, 1}, func(g *G.ExprGraph) G.Nodes {
		x := vec(g, "x", make([]float64, n)...)
		var sums G.Nodes
		for _, c := range [][]float64{a, b} {
			k := G.NewConstant(tensor.New(tensor.WithShape(n), tensor.WithBacking(c)))
			sums = append(sums, G.Must(G.Sum(G.Must(G.Add(x, k)))))
		}
		return sums
	})
}

// Gorgonia computes nodes of one 32-bit hash once, whatever they are. The names
// were found by search.
func TestHazard_CollidingHashesAreToldApart(t *testing.T) {
	hash := func(x graph.Expr) uint32 {
		n, err := x.Node()
		if err != nil {
			t.Fatal(err)
		}
		return n.Hashcode()
	}
	t.Run("products", func(t *testing.T) {
		p := run(t, func(g *graph.Graph) graph.Expr {
			x := g.Const("a2555", []float64{1, 2}, 2).Mul(g.Const("b2555", []float64{3, 4}, 2))
			y := g.Const("a112646", []float64{5, 6}, 2).Mul(g.Const("b112646", []float64{7, 8}, 2))
			return x.Named("x").Sum().Add(y.Named("y").Sum())
		})
		want := []float64{3, 8, 35, 48}
		wantNear(t, "products", append(p.Read("x"), p.Read("y")...), want, 0)
		plain(t, want, func(g *G.ExprGraph) G.Nodes {
			x := G.Must(G.HadamardProd(vec(g, "a2555", 1, 2), vec(g, "b2555", 3, 4)))
			y := G.Must(G.HadamardProd(vec(g, "a112646", 5, 6), vec(g, "b112646", 7, 8)))
			t.Logf("hashes %#x and %#x", x.Hashcode(), y.Hashcode())
			return G.Nodes{G.Must(G.Neg(G.Must(G.Neg(x)))), G.Must(G.Neg(G.Must(G.Neg(y))))}
		})
	})
	// Without claiming hashes, exp of one would be taken for exp of the other.
	t.Run("operations", func(t *testing.T) {
		q, r := param("x50542", []float64{1, 2}, 2), param("x81823", []float64{3, 4}, 2)
		p := run(t, func(g *graph.Graph) graph.Expr {
			x, y := g.Param(q).Exp(), g.Param(r).Exp()
			if hash(x) == hash(y) {
				t.Errorf("both hashes are %#x", hash(x))
			}
			return x.Named("x").Sum().Add(y.Named("y").Sum())
		})
		want := []float64{math.E, math.Exp(2), math.Exp(3), math.Exp(4)}
		wantNear(t, "values", append(p.Read("x"), p.Read("y")...), want, 1e-15)
		wantNear(t, "gradients", append(grad(p, q), grad(p, r)...), want, 1e-15)
	})
	t.Run("inputs", func(t *testing.T) {
		for _, names := range [][2]string{
			{"sigma scale 212", "lambda sigma 370"},
			{"lambda sigma 304", "sigma scale 226"},
		} {
			p := compile(t, func(g *graph.Graph) graph.Expr {
				x, y := g.Input(names[0], 2), g.Input(names[1], 2)
				if hash(x) == hash(y) {
					t.Errorf("both hashes are %#x", hash(x))
				}
				return x.Named("x").Sum().Add(y.Named("y").Sum())
			})
			if err := p.Feed(names[0], []float64{1, 2}); err != nil {
				t.Error(err)
			}
			wantError(t, p.Run(), names[1], "not fed")
			if err := p.Feed(names[1], []float64{3, 4}); err != nil {
				t.Error(err)
			}
			mustRun(t, p)
			wantNear(t, "inputs", append(p.Read("x"), p.Read("y")...), []float64{1, 2, 3, 4}, 0)
		}
	})
	// A node that Gorgonia built cannot be renumbered: it is an error, not a
	// wrong number.
	t.Run("apply", func(t *testing.T) {
		g := graph.New(tensor.Float64)
		x := g.Input("x40738", 2).Exp()
		y := graph.Apply(func(ns ...*G.Node) (*G.Node, error) { return G.HadamardProd(ns[0], ns[1]) }, g.Input("a10614", 2), g.Input("b10614", 2))
		if hash(x) != hash(y) {
			t.Fatal("these do not collide any more: search for other names")
		}
		_, err := g.Compile(x.Add(y).Sum())
		wantError(t, err, "hashes collide")
	})
}

// gorgonia.Grad called twice on a graph returns the first cost's gradient.
func TestHazard_EachCostHasItsOwnGradient(t *testing.T) {
	q := param("x", []float64{1, 2}, 2)
	square := run(t, func(g *graph.Graph) graph.Expr { return g.Param(q).Square().Sum() })
	triple := run(t, func(g *graph.Graph) graph.Expr { return g.Param(q).Scale(3).Sum() })
	mustRun(t, square)
	wantNear(t, "gradients", append(grad(square, q), grad(triple, q)...), []float64{2, 4, 3, 3}, 0)

	g := graph.New(tensor.Float64)
	x := g.Param(q)
	if _, err := g.Compile(x.Sum()); err != nil {
		t.Fatal(err)
	}
	_, err := g.Compile(x.Square().Sum())
	wantError(t, err, "already compiled")

	plain(t, []float64{2, 4, 4, 32}, func(g *G.ExprGraph) G.Nodes {
		x := vec(g, "x", 1, 2)
		y := G.Must(G.Square(x))
		first, err := G.Grad(G.Must(G.Sum(y)), x)
		if err != nil {
			panic(err)
		}
		second, err := G.Grad(G.Must(G.Sum(G.Must(G.Square(y)))), x)
		if err != nil {
			panic(err)
		}
		return append(first, second...)
	})
}

// A gradient that nobody asked for is not even built.
func TestHazard_UnusedGradientsAreNotBuilt(t *testing.T) {
	var runs, symDiffs int
	var x graph.Expr
	theta := param("theta", values(6, 1), 2, 3)
	p := run(t, func(g *graph.Graph) graph.Expr {
		x = g.Const("x", values(12, 2), 4, 3)
		unused := graph.ApplyOp(slopedCube{cube{times: 3, runs: &runs}}, g.Const("unused", []float64{1}, 1))
		if unused.Err() != nil {
			t.Fatal(unused.Err())
		}
		constant := graph.ApplyOp(slopedCube{cube{times: 3, symDiffs: &symDiffs}}, g.Const("c", []float64{2, 3, 4, 5}, 4))
		return x.MatMulT(g.Param(theta)).Mul(constant.Across(2)).Sum()
	})
	if runs != 0 {
		t.Error("an operation that the cost does not need ran")
	}
	if symDiffs != 0 {
		t.Error("the derivative in a constant was built")
	}
	if p.Has("unused") || !p.Has("x") || !p.Has("c") {
		t.Error("Has is wrong on what is used")
	}
	n, _ := x.Node()
	products := 0
	for _, m := range n.Graph().AllNodes() {
		if m.Op() != nil && strings.HasPrefix(m.Op().String(), "matmul") {
			products++
		}
	}
	if products != 2 { // z = x·θᵀ and dθ = dzᵀ·x, but no dx = dz·θ
		t.Errorf("%d matrix products, want 2", products)
	}
	checkGradient(t, p, 1e-8)
}

// Gorgonia takes shape (3) for (1,3).
func TestHazard_AVectorIsNoRow(t *testing.T) {
	g := graph.New(tensor.Float64)
	v, row, col, m := g.Input("v", 3), g.Input("row", 1, 3), g.Input("col", 3, 1), g.Input("m", 2, 3)
	for name, x := range map[string]graph.Expr{
		"v+row": v.Add(row), "row·v": row.Mul(v), "v−col": v.Sub(col), "m/v": m.Div(v), "m+row": m.Add(row),
		"matmul": m.MatMul(v), "softmax": v.LogSoftmax(), "sum": v.SumOver(0), "across": row.Across(2), "down": row.Down(2),
		"gather": row.Gather(row), "best": row.Best(), "quadrature": v.GaussianQuadrature(0),
	} {
		t.Run(name, func(t *testing.T) {
			if x.Err() == nil {
				t.Errorf("%s of a vector and a row is accepted", name)
			}
		})
	}
	if s := row.Reshape(3).Add(v); s.Err() != nil {
		t.Error(s.Err())
	}
}

// Running.

// With dual values Adam's Step can zero the constant 1 of the whole process.
func TestHazard_StepsLeaveTheConstantOne(t *testing.T) {
	q := param("x", []float64{1, 2}, 2)
	r := param("y", []float64{1, 2}, 2)
	sum := func(g *graph.Graph) graph.Expr { return g.Param(q).Add(g.Param(r)).Sum() }
	p := compile(t, sum)
	solver := G.NewVanillaSolver(G.WithLearnRate(.5))
	for step := range 3 {
		mustRun(t, p)
		// x and y have the same gradient, which the solver zeroes.
		wantNear(t, "gradients", append(grad(p, q), grad(p, r)...), []float64{1, 1, 1, 1}, 0)
		if err := solver.Step([]G.ValueGrad{pair{q, p}, pair{r, p}}); err != nil {
			t.Fatal(err)
		}
		wantNear(t, "x", q.Float64s(), []float64{1 - .5*float64(step+1), 2 - .5*float64(step+1)}, 0)
	}
	fresh := run(t, sum)
	wantNear(t, "gradient in a new graph", grad(fresh, q), []float64{1, 1}, 0)
}

// pair is a parameter and its gradient, for Gorgonia's solvers.
type pair struct {
	q *graph.Param
	p *graph.Program
}

func (v pair) Value() G.Value         { return v.q.Value }
func (v pair) Grad() (G.Value, error) { return v.p.Grad(v.q), nil }

// With dual values gradients add up over runs, those of evaluation included.
func TestHazard_GradientsDoNotAddUpOverRuns(t *testing.T) {
	q := param("x", values(6, 1), 2, 3)
	cost := func(g *graph.Graph) graph.Expr { return g.Param(q).LogSoftmax().Square().Sum() }
	training, evaluation := compile(t, cost), compile(t, cost, graph.WithoutGradients())
	mustRun(t, training)
	want := grad(training, q)
	for range 3 {
		mustRun(t, evaluation)
		mustRun(t, training)
		wantNear(t, "gradient", grad(training, q), want, 0)
	}
	if evaluation.Cost() != training.Cost() || evaluation.Grad(q) != nil {
		t.Error("evaluation differs from training, or has gradients")
	}
}

// RunAll of Gorgonia without Reset returns the old values silently.
func TestHazard_EachRunComputesAnew(t *testing.T) {
	p := compile(t, func(g *graph.Graph) graph.Expr { return g.Input("x", 2).Square().Sum() })
	for _, x := range []float64{1, 2, 3} {
		if err := p.Feed("x", []float64{x, x}); err != nil {
			t.Fatal(err)
		}
		mustRun(t, p)
		if p.Cost() != 2*x*x {
			t.Errorf("cost %v at %v", p.Cost(), x)
		}
	}
	// After an error as well.
	q := compile(t, func(g *graph.Graph) graph.Expr {
		return g.Input("x", 1, 2).Gather(g.Input("i", 1)).Exp().Sum()
	})
	_ = q.Feed("x", []float64{0, 1})
	for _, i := range []float64{0, 7, 1, -1, 0} {
		_ = q.Feed("i", []float64{i})
		if err := q.Run(); (err != nil) != (i < 0 || i > 1) {
			t.Errorf("index %v: error %v", i, err)
		} else if err == nil && q.Cost() != math.Exp(i) {
			t.Errorf("index %v: cost %v", i, q.Cost())
		}
	}
}

// Later instructions overwrite the value of an intermediate node.
func TestHazard_NamedValuesAreKept(t *testing.T) {
	p := compile(t, func(g *graph.Graph) graph.Expr {
		x := g.Input("x", 3)
		for _, name := range []string{"1", "2", "3", "4", "5"} {
			x = x.Plus(1).Named(name)
		}
		return x.Neg().Exp().Square().Sum()
	})
	_ = p.Feed("x", []float64{0, 10, 20})
	mustRun(t, p)
	kept := map[string][]float64{}
	for i, name := range p.Terms() {
		kept[name] = p.Read(name)
		k := float64(i + 1)
		wantNear(t, name, kept[name], []float64{k, 10 + k, 20 + k}, 0)
	}
	kept["1"][0] = -1 // what Read gave is the reader's own
	if got := p.Read("1")[0]; got != 1 {
		t.Errorf("writing to a copy changed the term to %v", got)
	}
	_ = p.Feed("x", []float64{7, 7, 7})
	mustRun(t, p)
	wantNear(t, "a value read before", kept["5"], []float64{5, 15, 25}, 0)
}

// Let of Gorgonia aliases the tensor, and takes views and other shapes.
func TestHazard_FeedCopiesItsValues(t *testing.T) {
	p := compile(t, func(g *graph.Graph) graph.Expr { return g.Input("x", 1, 3).SumOver(1).Sum() })
	xs := []float64{1, 2, 3}
	if err := p.Feed("x", xs); err != nil {
		t.Fatal(err)
	}
	xs[0] = 100
	mustRun(t, p)
	if p.Cost() != 6 {
		t.Errorf("cost %v: the input is the caller's slice", p.Cost())
	}
	ys := []float64{1, 2, 3}
	q := param("y", ys, 3)
	ys[0] = 100
	wantNear(t, "parameter", q.Float64s(), []float64{1, 2, 3}, 0)
}

// A view that is not contiguous makes products wrong.
func TestHazard_ViewsAreCopiedOrRefused(t *testing.T) {
	view := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6}))
	part, err := view.Slice(nil, G.S(0, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []*tensor.Dense{part.(*tensor.Dense), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 2, 2))} {
		g := graph.New(tensor.Float64)
		x := g.Param(&graph.Param{Name: "view", Value: v})
		wantError(t, x.Err(), `"view"`, "a vector or a matrix of its own memory")
	}
	// Gorgonia's own operations may give one.
	for name, f := range map[string]func(n *G.Node) (*G.Node, error){
		"transpose": func(n *G.Node) (*G.Node, error) { return G.Transpose(n) },
		"slice":     func(n *G.Node) (*G.Node, error) { return G.Slice(n, nil, G.S(0, 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, func(g *graph.Graph) graph.Expr {
				x := g.Const("x", []float64{1, 2, 3, 4, 5, 6}, 2, 3)
				return graph.Apply(func(ns ...*G.Node) (*G.Node, error) { return f(ns[0]) }, x).Plus(0).Named("y").Sum()
			})
			want := map[string][]float64{"transpose": {1, 4, 2, 5, 3, 6}, "slice": {1, 2, 4, 5}}[name]
			wantNear(t, name, p.Read("y"), want, 0)
		})
	}
	// So may one of the user's.
	p := run(t, func(g *graph.Graph) graph.Expr {
		return graph.ApplyOp(everyOther{}, g.Const("x", []float64{1, 2, 3, 4, 5, 6}, 6)).Named("y").Exp().Sum()
	})
	wantNear(t, "view", append(p.Read("y"), p.Cost()), []float64{1, 3, 5, math.E + math.Exp(3) + math.Exp(5)}, 1e-15)
}

// A last partial batch is a second program that shares the parameters.
func TestHazard_ProgramsOfTwoSizesShareParameters(t *testing.T) {
	theta := param("theta", values(6, 1), 2, 3)
	xs := values(5*3, 2)
	batch := func(rows int) *graph.Program {
		return compile(t, func(g *graph.Graph) graph.Expr {
			return g.Input("x", rows, 3).MatMulT(g.Param(theta)).LogSoftmax().Square().Sum()
		})
	}
	five, three, two := batch(5), batch(3), batch(2)
	for range 3 {
		_, _, _ = five.Feed("x", xs), three.Feed("x", xs[:9]), two.Feed("x", xs[9:])
		for _, p := range []*graph.Program{five, three, two} {
			mustRun(t, p)
		}
		wantNear(t, "cost", []float64{three.Cost() + two.Cost()}, []float64{five.Cost()}, 1e-14)
		sum := grad(three, theta)
		for i, d := range grad(two, theta) {
			sum[i] += d
		}
		wantNear(t, "gradient", sum, grad(five, theta), 1e-13)
		// All see the update.
		next := theta.Float64s()
		for i := range next {
			next[i] -= .1 * sum[i]
		}
		theta.Set(next)
	}
}

// Separate graphs in separate goroutines give the same bits, also while they
// share a parameter.
func TestHazard_GoroutinesComputeTheSameBits(t *testing.T) {
	theta := param("theta", values(12, 1), 4, 3)
	work := func() (bits []float64) {
		g := graph.New(tensor.Float64)
		z := g.Noise("x", graph.Gaussian, 8, 3).MatMulT(g.Param(theta))
		p, err := g.Compile(z.GaussianQuadrature(0).Mul(z.LogSoftmax()).Sum())
		if err != nil {
			t.Error(err)
			return nil
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			p.Refill(r)
			if err := p.Run(); err != nil {
				t.Error(err)
			}
			bits = append(append(bits, p.Cost()), grad(p, theta)...)
		}
		return bits
	}
	want := work()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if !reflect.DeepEqual(work(), want) {
				t.Error("other bits in another goroutine")
			}
		})
	}
	wg.Wait()
}

// Gorgonia's random nodes seed from the clock: noise here is an input, filled
// from a seeded source, and stays as it is between runs.
func TestHazard_NoiseIsAnInputFromASeed(t *testing.T) {
	f := func(g *graph.Graph) graph.Expr { return g.Noise("eps", graph.Gaussian, 4).Named("eps").Sum() }
	p, again := compile(t, f), compile(t, f)
	wantError(t, p.Run(), `"eps" was not fed`)
	r, s := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	seen := map[float64]bool{}
	for range 3 {
		p.Refill(r)
		again.Refill(s)
		for range 2 {
			mustRun(t, p)
			mustRun(t, again)
			wantNear(t, "noise", p.Read("eps"), again.Read("eps"), 0)
		}
		seen[p.Cost()] = true
	}
	if len(seen) != 3 {
		t.Error("Refill gave the same noise twice")
	}
}

// Operations of one's own.

// Scalars arrive as *F64 and *F32: every elementwise operation takes all ranks.
func TestHazard_OperationsTakeScalars(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, c := range opCases {
			if c.want == nil || c.name == "Apply" {
				continue
			}
			g := graph.New(dt)
			q := graph.NewParam("x", dt, []float64{.75})
			p, err := g.Compile(c.f(g.Param(q)))
			if err != nil {
				t.Fatal(c.name, err)
			}
			mustRun(t, p)
			wantNear(t, c.name, []float64{p.Cost()}, []float64{c.want(.75)}, 1e-6)
		}
	}
}

// An operation's parameters are part of what it is.
func TestHazard_OperationsDifferByTheirParameters(t *testing.T) {
	p := run(t, func(g *graph.Graph) graph.Expr {
		x := g.Const("x", []float64{4}, 1)
		cost := x.Sum()
		for name, y := range map[string]graph.Expr{
			"8": x.Scale(2), "12": x.Scale(3), "5": x.Plus(1), "6": x.Plus(2), "16": x.Pow(2), "64": x.Pow(3),
			"9": x.AtLeast(9), "10": x.AtLeast(10), "2": x.AtMost(2), "3": x.AtMost(3),
		} {
			cost = cost.Add(y.Named(name).Sum())
		}
		return cost
	})
	for _, name := range p.Terms() {
		if got := p.Read(name)[0]; math.Abs(got-atof(name)) > 1e-12 {
			t.Errorf("%v where %s is right", got, name)
		}
	}
}

// No operation returns its operand or a buffer that is still read: naming every
// value, which keeps each in a buffer of its own, changes no bit.
func TestHazard_NoOperationReturnsASharedBuffer(t *testing.T) {
	for seed := range uint64(60) {
		var got [2][]float64
		for i := range got {
			f := randomFormula{seed: seed, named: i == 1}
			p := compile(t, f.build)
			f.feed(t, p, 1)
			mustRun(t, p)
			got[i] = bits(p)
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("seed %d: other bits where every value has its own buffer", seed)
		}
	}
}

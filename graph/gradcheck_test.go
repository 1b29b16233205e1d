package graph_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
)

// randomFormula is a cost of random operations on matrices [3×4], vectors [3]
// and [4] and scalars, three parameters and two inputs among them.
type randomFormula struct {
	seed  uint64
	named bool // name every value
}

func (f randomFormula) build(g *graph.Graph) graph.Expr {
	r := rand.New(rand.NewPCG(f.seed, 77))
	const a, b = 3, 4
	index := make([]float64, a)
	for i := range index {
		index[i] = float64(r.IntN(b))
	}
	at := g.Const("index", index, a)
	m := []graph.Expr{g.Param(param("m", values(a*b, f.seed), a, b)), g.Input("x", a, b)}
	u := []graph.Expr{g.Param(param("u", values(a, f.seed+1), a)), g.Input("y", a)}
	v := []graph.Expr{g.Const("v", values(b, f.seed+2), b)}
	s := []graph.Expr{g.Param(param("s", values(1, f.seed+3)))}
	pick := func(xs []graph.Expr) graph.Expr { return xs[r.IntN(len(xs))] }
	shapes := []*[]graph.Expr{&m, &u, &v, &s}
	for k := range 14 {
		to := shapes[r.IntN(len(shapes))]
		x := pick(*to)
		var y graph.Expr
		switch r.IntN(4) {
		case 0: // elementwise, kept moderate in size
			y = []func() graph.Expr{
				func() graph.Expr { return x.Sigmoid() },
				func() graph.Expr { return x.Softplus() },
				func() graph.Expr { return x.Sigmoid().Exp() },
				func() graph.Expr { return x.Square().Plus(.5).Log() },
				func() graph.Expr { return x.Square().Log1p().Neg() },
				func() graph.Expr { return x.Sigmoid().Expm1() },
				func() graph.Expr { return x.Square().Plus(.5).Sqrt() },
				func() graph.Expr { return x.Square().Plus(.5).Pow(.7) },
				func() graph.Expr { return x.Abs() },
				func() graph.Expr { return x.AtLeast(.3).AtMost(1.7) },
				func() graph.Expr { return x.Mul(x.Above(.2)) },
				func() graph.Expr { return x.LogNormCDF().Scale(.3) },
				func() graph.Expr { return x.InvMills() },
				func() graph.Expr { return x.Scale(-.7).Plus(.1) },
			}[r.IntN(14)]()
		case 1: // two of one shape, or one and a scalar
			z := pick(*to)
			if r.IntN(3) == 0 {
				z = pick(s)
			}
			if r.IntN(2) == 0 {
				x, z = z, x
			}
			y = []func() graph.Expr{
				func() graph.Expr { return x.Add(z) },
				func() graph.Expr { return x.Sub(z) },
				func() graph.Expr { return x.Sigmoid().Mul(z) },
				func() graph.Expr { return x.Div(z.Square().Plus(1)) },
			}[r.IntN(4)]()
		default: // from one shape to another
			switch to {
			case &m:
				y = []func() graph.Expr{
					func() graph.Expr { return pick(u).Across(b) },
					func() graph.Expr { return pick(v).Down(a) },
					func() graph.Expr { return x.LogSoftmax().Scale(.5) },
					func() graph.Expr { return x.Softmax() },
					func() graph.Expr { return x.GaussianQuadrature(33) },
					func() graph.Expr { return x.MatMulT(pick(m).Sigmoid()).MatMul(pick(m).Softmax()) },
					func() graph.Expr { return x.RepeatRows(2).Sigmoid().MeanGroups(2) },
					func() graph.Expr { return x.Reshape(b, a).Softmax().Reshape(a, b) },
					func() graph.Expr {
						y, draws := pick(m).RepeatRows(2), g.Const(fmt.Sprint("draws", k), values(2*a*b, f.seed+uint64(k)), 2*a, b)
						return x.RepeatRows(2).Sub(y).Sigmoid().Mul(y.Mul(draws)).Add(pick(s)).MeanGroups(2)
					},
				}[r.IntN(9)]()
			case &u:
				y = []func() graph.Expr{
					func() graph.Expr { return pick(m).Gather(at) },
					func() graph.Expr { return pick(m).MeanOver(1) },
					func() graph.Expr { return pick(m).Sigmoid().SumOver(1) },
					func() graph.Expr { return x.RepeatRows(3).Mul(pick(u).Sigmoid().RepeatRows(3)).Abs().MeanGroups(3) },
				}[r.IntN(4)]()
			case &v:
				y = []func() graph.Expr{
					func() graph.Expr { return pick(m).MeanOver(0) },
					func() graph.Expr { return pick(m).Sigmoid().SumOver(0) },
				}[r.IntN(2)]()
			default:
				y = []func() graph.Expr{
					func() graph.Expr { return pick(m).Mean() },
					func() graph.Expr { return pick(u).Sigmoid().Sum() },
					func() graph.Expr { return pick(v).Best() },
					func() graph.Expr { return pick(u).StopGradient().Mul(pick(u)).Mean() },
				}[r.IntN(4)]()
			}
		}
		if f.named {
			y = y.Named(fmt.Sprint(k))
		}
		*to = append(*to, y)
	}
	return m[len(m)-1].Mean().Add(u[len(u)-1].Mean()).Add(v[len(v)-1].Mean()).Add(s[len(s)-1])
}

// feed gives the inputs that the program has values that depend on which.
func (f randomFormula) feed(t testing.TB, p *graph.Program, which uint64) {
	t.Helper()
	for name, n := range map[string]int{"x": 12, "y": 3} {
		if err := p.Feed(name, values(n, f.seed+100*which)); err != nil {
			t.Fatal(err)
		}
	}
}

// bits is the cost and all gradients of the last run.
func bits(p *graph.Program) []float64 {
	out := []float64{p.Cost()}
	for _, q := range p.Params() {
		out = append(out, grad(p, q)...)
	}
	return out
}

func atof(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return x
}

// The gradient of any formula is that of central differences, and a program
// that ran on other inputs before gives the bits of a fresh one.
func TestFormulas_HaveTheGradientsOfDifferences(t *testing.T) {
	formulas := uint64(300)
	if testing.Short() {
		formulas = 50
	}
	worst, dependent := 0., 0
	for seed := range formulas {
		f := randomFormula{seed: seed}
		p := compile(t, f.build)
		f.feed(t, p, 1)
		r, err := graph.GradCheck(p, 4)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !(r.Error < 1e-7) {
			t.Errorf("seed %d: %v", seed, r)
		}
		worst = max(worst, r.Error)
		if r.Symbolic != 0 {
			dependent++
		}

		want := bits(p)
		for which := range uint64(3) {
			f.feed(t, p, (which+2)%4) // 2, 3, 0
			mustRun(t, p)
		}
		f.feed(t, p, 1)
		mustRun(t, p)
		fresh := compile(t, f.build)
		f.feed(t, fresh, 1)
		mustRun(t, fresh)
		if got := bits(p); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(got, bits(fresh)) {
			t.Errorf("seed %d: a program that ran before gives other bits", seed)
		}
	}
	t.Logf("%d formulas, worst error %.1e", formulas, worst)
	if dependent < int(formulas)/2 {
		t.Errorf("only %d formulas have a gradient", dependent)
	}
}

// GradCheck finds a wrong derivative and says where.
func TestGradCheck_FindsAWrongDerivative(t *testing.T) {
	for times, wrong := range map[int]bool{3: false, 2: true, 4: true} {
		p := compile(t, func(g *graph.Graph) graph.Expr {
			good := g.Param(param("good", []float64{1, 2, 3}, 3))
			bad := g.Param(param("bad", []float64{.5, 0, .1, 3, 1, -2}, 2, 3))
			y := graph.ApplyOp(slopedCube{cube{times: times}}, bad.Reshape(6))
			return y.Sum().Add(good.Exp().Sum())
		})
		r, err := graph.GradCheck(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !wrong {
			if r.Error > 1e-9 || r.Checked != 9 {
				t.Errorf("right derivative: %v", r)
			}
			continue
		}
		if r.Param != "bad" || !reflect.DeepEqual(r.Index, []int{1, 0}) || r.Error < .1 {
			t.Errorf("derivative %d·x²: %v", times, r)
		}
		wantNear(t, "both", []float64{r.Symbolic, r.Numeric}, []float64{float64(times) * 9, 27}, 1e-8)
		wantError(t, fmt.Errorf("%v", r), "bad[1 0]")
	}
}

func TestGradCheck_LeavesNoTrace(t *testing.T) {
	q, r := param("q", values(6, 1), 2, 3), param("r", []float64{.5})
	p := compile(t, func(g *graph.Graph) graph.Expr {
		x := g.Param(q).Mul(g.Noise("eps", graph.Gaussian, 2, 3))
		return x.Mul(x.StopGradient()).Sum().Mul(g.Param(r).StopGradient().Exp()).Add(g.Param(r))
	})
	p.Refill(rand.New(rand.NewPCG(1, 1)))
	mustRun(t, p)
	before, at := bits(p), append(q.Float64s(), r.Float64s()...)
	// A stopped gradient is constant for the differences as well.
	checkGradient(t, p, 1e-8)
	if !reflect.DeepEqual(append(q.Float64s(), r.Float64s()...), at) {
		t.Error("the parameters changed")
	}
	if !reflect.DeepEqual(bits(p), before) {
		t.Error("the program's values are not those at the parameters")
	}
	// Stopped values are free again afterwards.
	r.Set([]float64{1.5})
	mustRun(t, p)
	if p.Cost() == before[0] {
		t.Error("stop-gradients are still frozen")
	}

	// Restored where a difference fails as well.
	q = param("q", []float64{0}, 1)
	p = compile(t, func(g *graph.Graph) graph.Expr { return g.Param(q).Plus(1e-6).Log().Sum() })
	_, err := graph.GradCheck(p, 0)
	wantError(t, err, "q[0]", "NaN")
	if q.Float64s()[0] != 0 {
		t.Error("an error left the parameter moved")
	}
}

func TestGradCheck_ChecksAtMostTheEntriesAskedFor(t *testing.T) {
	p := compile(t, func(g *graph.Graph) graph.Expr {
		return g.Param(param("q", values(10, 1), 10)).Exp().Sum().Add(g.Param(param("one", []float64{1})).Exp())
	})
	for entries, want := range map[int]int{0: 11, 1: 2, 3: 4, 4: 5, 10: 11, 99: 11} {
		r, err := graph.GradCheck(p, entries)
		if err != nil {
			t.Fatal(err)
		}
		if r.Checked > want || r.Checked < want-1 {
			t.Errorf("%d entries each: %d checked, want at most %d", entries, r.Checked, want)
		}
	}
}

func TestGradCheck_RefusesWhatItCannotCheck(t *testing.T) {
	g := graph.New(tensor.Float32)
	p, err := g.Compile(g.Param(graph.NewParam("x", tensor.Float32, []float64{1})).Exp())
	if err != nil {
		t.Fatal(err)
	}
	_, err = graph.GradCheck(p, 0)
	wantError(t, err, "float64")

	p = compile(t, func(g *graph.Graph) graph.Expr { return g.Param(param("x", []float64{1})).Exp() }, graph.WithoutGradients())
	_, err = graph.GradCheck(p, 0)
	wantError(t, err, "without gradients")

	p = compile(t, func(g *graph.Graph) graph.Expr { return g.Param(param("x", []float64{1})).Mul(g.Input("fed")) })
	_, err = graph.GradCheck(p, 0)
	wantError(t, err, `"fed" was not fed`)
}

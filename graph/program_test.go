package graph_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
)

func TestFeed_AsksForEveryInputOfItsShape(t *testing.T) {
	p := compile(t, func(g *graph.Graph) graph.Expr {
		g.Input("unused", 7)
		return g.Input("x", 2).Mul(g.Input("y", 2)).Sum().Mul(g.Input("s"))
	})
	wantError(t, p.Run(), `input "x" was not fed`)
	wantError(t, p.Feed("x", []float64{1}), `input "x"`, "1 values for shape [2]")
	wantError(t, p.Run(), `input "x" was not fed`)
	wantError(t, p.Feed("z", []float64{1}), `no input is named "z"`)
	wantError(t, p.Feed("s", nil), `input "s"`, "0 values for shape ()")
	for _, err := range []error{p.Feed("x", []float64{1, 2}), p.Feed("y", []float64{3, 4}), p.Feed("unused", make([]float64, 7))} {
		if err != nil {
			t.Error(err)
		}
	}
	wantError(t, p.Run(), `input "s" was not fed`)
	graph.Buffer[float64](p, "s")[0] = 2
	mustRun(t, p)
	if p.Cost() != 22 {
		t.Errorf("cost %v, want 22", p.Cost())
	}
	// A feed that fails changes nothing.
	wantError(t, p.Feed("x", []float64{9, 9, 9}), "3 values")
	mustRun(t, p)
	if p.Cost() != 22 {
		t.Errorf("cost %v after a failed feed", p.Cost())
	}
	for name, want := range map[string]bool{"x": true, "y": true, "s": true, "unused": false, "z": false} {
		t.Run(name, func(t *testing.T) {
			if p.Has(name) != want {
				t.Errorf("Has(%q) is %v", name, !want)
			}
		})
	}
}

func TestBuffer_IsTheInputOfItsTypeAlone(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		g := graph.New(dt)
		g.Input("unused", 2)
		p, err := g.Compile(g.Input("x", 2, 3).Sum())
		if err != nil {
			t.Fatal(err)
		}
		b64, b32 := graph.Buffer[float64](p, "x"), graph.Buffer[float32](p, "x")
		if dt == tensor.Float64 && (len(b64) != 6 || b32 != nil) || dt == tensor.Float32 && (len(b32) != 6 || b64 != nil) {
			t.Errorf("%v: %d of float64, %d of float32", dt, len(b64), len(b32))
		}
		for _, name := range []string{"unused", "nothing"} {
			if graph.Buffer[float64](p, name) != nil || graph.Buffer[float32](p, name) != nil {
				t.Errorf("a buffer of %q", name)
			}
		}
		for i := range 6 {
			if b64 != nil {
				b64[i] = 1
			} else {
				b32[i] = 1
			}
		}
		mustRun(t, p)
		if p.Cost() != 6 {
			t.Errorf("%v: cost %v", dt, p.Cost())
		}
	}
}

func TestCompile_RefusesWhatIsNoScalar(t *testing.T) {
	other := graph.New(tensor.Float64)
	for what, c := range map[string]struct {
		f    formula
		want string
	}{
		"vector":  {func(g *graph.Graph) graph.Expr { return g.Input("x", 2) }, "x[2] is no scalar"},
		"one":     {func(g *graph.Graph) graph.Expr { return g.Input("x", 1).Exp() }, "exp[1] is no scalar"},
		"matrix":  {func(g *graph.Graph) graph.Expr { return g.Input("x", 1, 1) }, "x[1×1] is no scalar"},
		"empty":   {func(g *graph.Graph) graph.Expr { return graph.Expr{} }, "empty expression"},
		"other":   {func(g *graph.Graph) graph.Expr { return other.Input("x") }, "another graph"},
		"misused": {func(g *graph.Graph) graph.Expr { g.Input("a", 0); return g.Input("x") }, `"a" has shape`},
		"two": {func(g *graph.Graph) graph.Expr {
			x := g.Input("x")
			if _, err := g.Compile(x); err != nil {
				t.Error(err)
			}
			return x.Exp()
		}, "already compiled"},
	} {
		t.Run(what, func(t *testing.T) {
			g := graph.New(tensor.Float64)
			_, err := g.Compile(c.f(g))
			wantError(t, err, c.want)
		})
	}
	g := graph.New(tensor.Int)
	_, err := g.Compile(g.Param(graph.NewParam("x", tensor.Float64, []float64{1})))
	wantError(t, err, "int")
}

func TestRun_LocatesANonFiniteValue(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for what, c := range map[string]struct {
		x    []float64
		f    func(x graph.Expr) graph.Expr
		want graph.NonFiniteError
		text string
	}{
		"term": {[]float64{1, 0, 1}, func(x graph.Expr) graph.Expr { return x.Log().Named("log x").Sum() },
			graph.NonFiniteError{What: "term", Name: "log x", Index: 1, Value: -inf}, `term "log x" is -Inf`},
		"first term": {[]float64{-1, 0, 1}, func(x graph.Expr) graph.Expr {
			x.Named("fine")
			return x.Log().Named("first").Sum().Named("second")
		}, graph.NonFiniteError{What: "term", Name: "first", Index: 0, Value: nan}, `term "first" is NaN`},
		"cost": {[]float64{1, 0, 1}, func(x graph.Expr) graph.Expr { x.Named("x"); return x.Log().Sum() },
			graph.NonFiniteError{What: "cost", Value: -inf}, "the cost is -Inf"},
	} {
		t.Run(what, func(t *testing.T) {
			p := compile(t, func(g *graph.Graph) graph.Expr { return c.f(g.Param(param("theta", c.x, 3))) })
			err := p.Run()
			var e *graph.NonFiniteError
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			wantError(t, err, c.text)
			if e.What != c.want.What || e.Name != c.want.Name || e.Index != c.want.Index || !same(e.Value, c.want.Value) {
				t.Errorf("%+v, want %+v", *e, c.want)
			}
		})
	}

	// A finite cost with an infinite gradient: log at the least of numbers.
	q := param("theta", []float64{1, 0x1p-1070, 2}, 1, 3)
	f := func(g *graph.Graph) graph.Expr {
		return g.Param(param("other", []float64{1})).Add(g.Param(q).Log().Sum())
	}
	err := compile(t, f).Run()
	var e *graph.NonFiniteError
	if !errors.As(err, &e) || e.What != "gradient" || e.Name != "theta" || e.Index != 1 || !same(e.Value, inf) {
		t.Errorf("error %v", err)
	}
	wantError(t, err, "gradient in theta is +Inf at element 1")
	run(t, f, graph.WithoutGradients())

	// So have large parameters, whose shares of each thread are looked at: the first is named.
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, at := range [][]int{{0}, {99999}, {70000, 30000, 30001}, nil} {
			values := make([]float64, 100000)
			for i := range values {
				values[i] = 1
			}
			for _, i := range at {
				values[i] = map[tensor.Dtype]float64{tensor.Float32: 0x1p-140, tensor.Float64: 0x1p-1070}[dt]
			}
			g := graph.New(dt)
			p, err := g.Compile(g.Param(graph.NewParam("many", dt, values, len(values))).Log().Sum(), graph.Threads(3))
			if err != nil {
				t.Fatal(err)
			}
			var e *graph.NonFiniteError
			if err := p.Run(); at == nil && err != nil || at != nil && (!errors.As(err, &e) || e.Name != "many" || e.Index != slices.Min(at)) {
				t.Errorf("%v, infinite at %v: error %v", dt, at, err)
			}
		}
	}

	// It recovers when the values do.
	p := compile(t, func(g *graph.Graph) graph.Expr { return g.Param(q).Mul(g.Input("x", 1, 3)).Sum() })
	for _, x := range []float64{nan, 1, inf, 2} {
		_ = p.Feed("x", []float64{x, x, x})
		if err := p.Run(); (err == nil) != (x == 1 || x == 2) {
			t.Errorf("x = %v: error %v", x, err)
		}
	}
	wantNear(t, "gradient", grad(p, q), []float64{2, 2, 2}, 0)
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestProgram_HasResultsOnceItRan(t *testing.T) {
	q, idle, scalar := param("q", []float64{1, 2}, 2), param("idle", []float64{3}, 1, 1), param("scalar", []float64{5})
	build := func(g *graph.Graph) graph.Expr {
		g.Param(idle).Named("idle")
		x := g.Param(q)
		x.Named("x").Named("x again")
		return x.Square().Sum().Mul(g.Param(scalar)).Named("cost")
	}
	p := compile(t, build)
	if !math.IsNaN(p.Cost()) || p.Read("cost") != nil || p.Grad(q) != nil || p.Grad(idle) != nil {
		t.Error("results before the first run")
	}
	mustRun(t, p)
	wantNear(t, "cost", append(p.Read("cost"), p.Cost()), []float64{25, 25}, 0)
	wantNear(t, "terms", append(p.Read("x"), p.Read("x again")...), []float64{1, 2, 1, 2}, 0)
	wantNear(t, "gradients", append(grad(p, q), append(grad(p, scalar), grad(p, idle)...)...), []float64{10, 20, 5, 0}, 0)
	if !p.Grad(idle).Shape().Eq(idle.Value.Shape()) || !p.Grad(scalar).Shape().Eq(scalar.Value.Shape()) {
		t.Error("gradients differ in shape from their parameters")
	}
	if !reflect.DeepEqual(p.Terms(), []string{"idle", "x", "x again", "cost"}) || p.Read("none") != nil {
		t.Errorf("terms %q", p.Terms())
	}
	if !reflect.DeepEqual(p.Params(), []*graph.Param{idle, q, scalar}) || p.Grad(param("q", []float64{1, 2}, 2)) != nil {
		t.Error("parameters")
	}

	without := run(t, build, graph.WithoutGradients())
	if without.Grad(q) != nil || without.Grad(idle) != nil || without.Cost() != 25 {
		t.Error("WithoutGradients has gradients, or another cost")
	}

	// Whoever changes a gradient in place, as solvers do, changes nothing else.
	for _, r := range []*graph.Param{q, idle, scalar} {
		p.Grad(r).Memset(7.)
	}
	wantNear(t, "terms", append(p.Read("x"), p.Read("cost")...), []float64{1, 2, 25}, 0)
	mustRun(t, p)
	wantNear(t, "gradients", append(grad(p, q), append(grad(p, scalar), grad(p, idle)...)...), []float64{10, 20, 5, 0}, 0)
}

// The cost may be an input, a parameter or a constant itself.
func TestCompile_TakesABareInputAsCost(t *testing.T) {
	q := param("q", []float64{3})
	p := run(t, func(g *graph.Graph) graph.Expr { return g.Param(q) })
	wantNear(t, "parameter", append(grad(p, q), p.Cost()), []float64{1, 3}, 0)
	p = run(t, func(g *graph.Graph) graph.Expr { g.Param(q); return g.Const("c", []float64{4}) })
	wantNear(t, "constant", append(grad(p, q), p.Cost()), []float64{0, 4}, 0)
	p = compile(t, func(g *graph.Graph) graph.Expr { return g.Input("x") })
	_ = p.Feed("x", []float64{5})
	mustRun(t, p)
	wantNear(t, "input", []float64{p.Cost()}, []float64{5}, 0)
	// The same operand twice.
	for _, f := range []func(x graph.Expr) graph.Expr{
		func(x graph.Expr) graph.Expr { return x.Sub(x).Add(x) }, func(x graph.Expr) graph.Expr { return x.Div(x).Mul(x) },
	} {
		p = run(t, func(g *graph.Graph) graph.Expr { return f(g.Param(q)) })
		wantNear(t, "twice", append(grad(p, q), p.Cost()), []float64{1, 3}, 1e-15)
	}
}

func TestParam_IsCopiedByAs(t *testing.T) {
	q := graph.NewParam("q", tensor.Float32, []float64{.1, .2}, 2)
	if q.Len() != 2 || q.Float64s()[0] != float64(float32(.1)) {
		t.Errorf("%d values %v", q.Len(), q.Float64s())
	}
	r := q.As(tensor.Float64)
	r.Set([]float64{5, 6})
	if r.Name != "q" || r.Value.Dtype() != tensor.Float64 || q.Float64s()[0] == 5 {
		t.Error("As gives no copy")
	}
	if s := param("s", []float64{1}).As(tensor.Float32); s.Value.Dtype() != tensor.Float32 {
		t.Error("As of a scalar")
	} else {
		g := graph.New(tensor.Float32)
		if x := g.Param(s); len(x.Shape()) != 0 {
			t.Errorf("a scalar parameter has shape %v after As", x.Shape())
		}
	}
	for what, f := range map[string]func(){
		"Set": func() { q.Set([]float64{1}) }, "NewParam": func() { param("p", []float64{1, 2}, 3) },
	} {
		t.Run(what, func(t *testing.T) {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of a wrong length does not panic", what)
					}
				}()
				f()
			}()
		})
	}
}

// Equal seeds give equal noise, rounded in float32, whatever else was fed.
func TestRefill_GivesEqualNoiseForEqualSeeds(t *testing.T) {
	noise := func(dt tensor.Dtype, unused bool) []float64 {
		g := graph.New(dt)
		if unused {
			g.Noise("unused", graph.Gaussian, 5)
		}
		counter := func(_ *rand.Rand, dst []float64) {
			for i := range dst {
				dst[i] = float64(i)
			}
		}
		c := g.Noise("eps", graph.Gaussian, 3, 2).Named("eps").Sum().
			Add(g.Noise("count", counter, 3).Named("count").Sum()).Add(g.Noise("one", graph.Gaussian).Named("one"))
		p, err := g.Compile(c)
		if err != nil {
			t.Fatal(err)
		}
		p.Refill(rand.New(rand.NewPCG(3, 4)))
		mustRun(t, p)
		wantNear(t, "own filler", p.Read("count"), []float64{0, 1, 2}, 0)
		return append(p.Read("eps"), p.Read("one")...)
	}
	want := noise(tensor.Float64, false)
	wantNear(t, "noise", noise(tensor.Float64, true), want, 0)
	wantNear(t, "float32 noise", noise(tensor.Float32, false), want, 1e-7)
	r := rand.New(rand.NewPCG(3, 4))
	for _, x := range want {
		if y := r.NormFloat64(); x != y {
			t.Errorf("noise %v, want %v", x, y)
		}
	}
	// Noise can be fed by name.
	p := compile(t, func(g *graph.Graph) graph.Expr { return g.Noise("eps", graph.Gaussian) })
	if err := p.Feed("eps", []float64{.5}); err != nil {
		t.Fatal(err)
	}
	mustRun(t, p)
	if p.Cost() != .5 {
		t.Errorf("cost %v", p.Cost())
	}
}

// Gather by an index outside the row is an error of the run, not a panic.
func TestGather_RefusesAnIndexOutsideItsRow(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		g := graph.New(dt)
		q := graph.NewParam("x", dt, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
		p, err := g.Compile(g.Param(q).Gather(g.Input("index", 2)).Sum())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []float64{3, -1, .5, 1e300, math.NaN(), math.Inf(-1)} {
			_ = p.Feed("index", []float64{0, i})
			wantError(t, p.Run(), "gather", "row 1", "whole number from 0 to 2")
		}
		_ = p.Feed("index", []float64{2, 0})
		mustRun(t, p)
		wantNear(t, "gradient", append(grad(p, q), p.Cost()), []float64{0, 0, 1, 1, 0, 0, 7}, 0)
	}
}

// The memory of a program does not grow with its runs.
func TestRun_KeepsMemoryFlat(t *testing.T) {
	f := randomFormula{seed: 11}
	p := compile(t, f.build)
	f.feed(t, p, 1)
	mustRun(t, p)
	mustRun(t, p) // results keep the buffers that they took from the pool in the first
	buffers, allocs := p.Buffers(), testing.AllocsPerRun(20, func() { mustRun(t, p) })
	for i := range uint64(1000) {
		if i%100 == 0 {
			f.feed(t, p, i)
		}
		mustRun(t, p)
	}
	if got := p.Buffers(); got != buffers {
		t.Errorf("%d buffers after 1000 runs, %d after one", got, buffers)
	}
	if got := testing.AllocsPerRun(20, func() { mustRun(t, p) }); got > allocs+1 {
		t.Errorf("%v allocations a run after 1000 runs, %v before", got, allocs)
	}
	// Nor do runs that fail leave buffers behind.
	p = compile(t, func(g *graph.Graph) graph.Expr {
		x := g.Param(param("x", values(6, 1), 2, 3))
		return x.Exp().Square().Gather(g.Input("i", 2)).Exp().Sum().Add(x.Square().Softplus().Sum())
	})
	_ = p.Feed("i", []float64{0, 1})
	mustRun(t, p)
	want, buffers := bits(p), p.Buffers()
	for i := range 200 {
		_ = p.Feed("i", []float64{0, float64(i%2*9 + 1)})
		if err := p.Run(); (err == nil) != (i%2 == 0) {
			t.Fatal(err)
		}
		if i%2 == 0 && !reflect.DeepEqual(bits(p), want) {
			t.Fatal("other bits after a failed run")
		}
	}
	if got := p.Buffers(); got > buffers+8 {
		t.Errorf("%d buffers after runs that failed, %d before", got, buffers)
	}
}

// What is computed before rows are repeated is what would be after.
func TestRepeatedRows_EqualWhatIsComputedAfterRepeating(t *testing.T) {
	xs := values(6, 1)
	long := make([]float64, 0, 18) // xs [3×2] with each row three times
	for i := range 3 {
		for range 3 {
			long = append(long, xs[2*i:2*i+2]...)
		}
	}
	for _, c := range opCases {
		if c.want == nil {
			continue
		}
		for name, f := range map[string]func(x graph.Expr) graph.Expr{
			c.name:          c.f,
			c.name + " mul": func(x graph.Expr) graph.Expr { return c.f(x).Mul(x.Neg()) },
			c.name + " sum": func(x graph.Expr) graph.Expr { return x.Sigmoid().Add(c.f(x)).Sub(x) },
		} {
			direction := values(18, 2)
			y, dx := evaluate(t, tensor.Float64, long, []int{9, 2}, f, direction...)
			got, sum := evaluate(t, tensor.Float64, xs, []int{3, 2}, func(x graph.Expr) graph.Expr { return f(x.RepeatRows(3)) }, direction...)
			want := make([]float64, 6)
			for i, d := range dx {
				want[i/6*2+i%2] += d
			}
			wantNear(t, name, got, y, 1e-15)
			wantNear(t, name+": gradient", sum, want, 1e-13)
		}
	}
}

package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
)

// someItems are n vectors of p numbers: q dense columns, and sparse ones among and behind them.
func someItems(r *rand.Rand, n, p, q int, scale float64) (flat []float64, z *graph.Items) {
	flat = make([]float64, n*p)
	for a := range n {
		for j := range p {
			if j%2 == 0 && j < 2*q || j >= 2*q && j < q || r.IntN(12) == 0 {
				flat[a*p+j] = scale * r.NormFloat64()
			}
		}
	}
	return flat, graph.NewItems(n, p, func(a int, dst []float64) { copy(dst, flat[a*p:(a+1)*p]) })
}

// plainLogProb is log π of an item and its gradient in u, by the definition.
func plainLogProb(flat, u []float64, a int) (logp float64, grad []float64) {
	p := len(u)
	s, top := make([]float64, len(flat)/p), math.Inf(-1)
	for b := range s {
		for j := range u {
			s[b] += u[j] * flat[b*p+j]
		}
		top = max(top, s[b])
	}
	var total float64
	for _, v := range s {
		total += math.Exp(v - top)
	}
	grad = slices.Clone(flat[a*p : (a+1)*p])
	for b, v := range s {
		for j := range grad {
			grad[j] -= math.Exp(v-top) / total * flat[b*p+j]
		}
	}
	return s[a] - top - math.Log(total), grad
}

// The fused log-probability and its gradient are those of the definition, by vector kernels and without
// them, for catalogues around the sizes of blocks and batches around those of parts; threads change no bit.
func TestItemLogProb_EqualsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 2))
	for _, c := range []struct{ n, p, q, rows int }{
		{1, 3, 3, 2}, {2, 1, 1, 1}, {5, 4, 2, 3}, {191, 7, 2, 17}, {192, 40, 3, 5}, {193, 9, 4, 33},
		{389, 16, 8, 64}, {700, 33, 17, 129}, {50, 6, 0, 4},
	} {
		flat, z := someItems(r, c.n, c.p, c.q, 1)
		u, action, direction := make([]float64, c.rows*c.p), make([]float64, c.rows), make([]float64, c.rows)
		for i := range action {
			action[i], direction[i] = float64(r.IntN(c.n)), r.NormFloat64()
		}
		for i := range u {
			u[i] = 3 * r.NormFloat64() * math.Sqrt(float64(1+i/c.p%3)) // some far apart
		}
		for _, kind := range []struct {
			dt      tensor.Dtype
			vector  bool
			threads int
			tol     float64
		}{{tensor.Float64, true, 1, 1e-12}, {tensor.Float64, true, 3, 1e-12}, {tensor.Float32, true, 1, 4e-6}, {tensor.Float32, true, 3, 4e-6}, {tensor.Float32, false, 2, 4e-6}} {
			t.Run(fmt.Sprint(c, kind), func(t *testing.T) {
				defer simd.Use(simd.Use(kind.vector))
				g := graph.New(kind.dt)
				q := graph.NewParam("u", kind.dt, u, c.rows, c.p)
				lp := g.Param(q).ItemLogProb(z, g.Const("a", action, c.rows)).Named("lp")
				p, err := g.Compile(lp.Mul(g.Const("direction", direction, c.rows)).Sum(), graph.Threads(kind.threads))
				if err != nil {
					t.Fatal(err)
				}
				mustRun(t, p)
				got, gradient := p.Read("lp"), grad(p, q)
				mustRun(t, p)
				if !slices.Equal(got, p.Read("lp")) || !slices.Equal(gradient, grad(p, q)) {
					t.Error("a second run gives other numbers")
				}
				for i, a := range action {
					want, d := plainLogProb(flat, u[i*c.p:(i+1)*c.p], int(a))
					if e := math.Abs(got[i] - want); e > kind.tol*(10+math.Abs(want)) || got[i] > 0 {
						t.Errorf("row %d: log π = %v, want %v", i, got[i], want)
					}
					for j, v := range d {
						if e := math.Abs(gradient[i*c.p+j] - direction[i]*v); e > kind.tol*10 {
							t.Errorf("row %d: gradient %d = %v, want %v", i, j, gradient[i*c.p+j], direction[i]*v)
						}
					}
				}
				one := bitsOf(t, kind.dt, 1, u, action, direction, z)
				if many := bitsOf(t, kind.dt, 2+runtime.GOMAXPROCS(0), u, action, direction, z); !slices.Equal(one, many) {
					t.Error("threads change the result")
				}
			})
		}
	}
}

// bitsOf is log π and gradient on some threads.
func bitsOf(t *testing.T, dt tensor.Dtype, threads int, u, action, direction []float64, z *graph.Items) []float64 {
	t.Helper()
	g := graph.New(dt)
	q := graph.NewParam("u", dt, u, len(action), z.Dim())
	lp := g.Param(q).ItemLogProb(z, g.Const("a", action, len(action))).Named("lp")
	p, err := g.Compile(lp.Mul(g.Const("direction", direction, len(action))).Sum(), graph.Threads(threads))
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, p)
	return append(p.Read("lp"), grad(p, q)...)
}

// Without a gradient the value is the same, bit by bit.
func TestItemLogProb_IsTheSameWithoutAGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 3))
	_, z := someItems(r, 500, 8, 3, 1)
	u := values(40*8, 5)
	var got [2][]float64
	for k := range got {
		g := graph.New(tensor.Float32)
		lp := g.Param(graph.NewParam("u", tensor.Float32, u, 40, 8)).ItemLogProb(z, g.Const("a", make([]float64, 40), 40)).Named("lp")
		p, err := g.Compile(lp.Sum(), [][]graph.Option{nil, {graph.WithoutGradients()}}[k]...)
		if err != nil {
			t.Fatal(err)
		}
		mustRun(t, p)
		got[k] = p.Read("lp")
	}
	if !slices.Equal(got[0], got[1]) {
		t.Error("log π hangs on whether its gradient is asked for")
	}
}

// Scores of ±1e4, ties, maxima that rise by every block or fall, catalogues of one and rows of zeros have right
// values and gradients.
func TestItemLogProb_IsRightAtExtremeScores(t *testing.T) {
	const n = 1000
	for name, score := range map[string]func(a int) float64{
		"equal": func(int) float64 { return 3 }, "zero": func(int) float64 { return 0 },
		"rises": func(a int) float64 { return -1e4 + 20*float64(a) }, "falls": func(a int) float64 { return 1e4 - 20*float64(a) },
		"last alone": func(a int) float64 { return []float64{-1e4, 1e4}[a/(n-1)] }, "first alone": func(a int) float64 { return []float64{1e4, -1e4}[min(1, a)] },
		"creeps": func(a int) float64 { return .08 * float64(a) },
	} {
		flat := make([]float64, 2*n)
		for a := range n {
			flat[2*a], flat[2*a+1] = score(a)/100, 1
		}
		z := graph.NewItems(n, 2, func(a int, dst []float64) { copy(dst, flat[2*a:]) })
		for _, dt := range dtypes {
			for _, vector := range []bool{true, false} {
				t.Run(fmt.Sprint(name, dt, vector), func(t *testing.T) {
					defer simd.Use(simd.Use(vector))
					rows := []float64{100, 0, 100, 7, 0, 0}
					action := []float64{0, n - 1, 500}
					got, gradient := evaluate(t, dt, rows, []int{3, 2}, func(x graph.Expr) graph.Expr { return x.ItemLogProb(z, x.Graph().Const("a", action, 3)) })
					for i, a := range action {
						want, d := plainLogProb(flat, rows[2*i:2*i+2], int(a))
						tol := map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-6}[dt]
						if math.Abs(got[i]-want) > tol*(1+math.Abs(want)) {
							t.Errorf("row %d: %v, want %v", i, got[i], want)
						}
						for j := range d {
							if math.Abs(gradient[2*i+j]-d[j]) > 4*tol*(1+math.Abs(flat[2*(n-1)])+math.Abs(flat[0])) {
								t.Errorf("row %d: gradient %v, want %v", i, gradient[2*i:2*i+2], d)
							}
						}
					}
				})
			}
		}
	}
}

// Scores of sets are the products, −Inf where no item is; their softmax and log-softmax, with masked places, have
// the right gradients, sets of one none.
func TestItemScores_MaskPlacesWithoutAnItem(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 4))
	flat, z := someItems(r, 9, 5, 2, 1)
	at := []float64{3, 8, 0, -1, 4, -1, -1, -1, 2, 1, 0, 8, -1, -1, 7, 5}
	u := values(4*5, 8)
	for _, dt := range dtypes {
		p, gradient := evaluate(t, dt, u, []int{4, 5}, func(x graph.Expr) graph.Expr {
			return x.ItemScores(z, x.Graph().Const("at", at, 4, 4)).Softmax()
		}, values(16, 9)...)
		if p[4] != 1 || p[3] != 0 {
			t.Errorf("π = %v", p)
		}
		for _, v := range gradient[5:10] {
			if v != 0 {
				t.Errorf("a set of one has the gradient %v", gradient[5:10])
			}
		}
		all, _ := evaluate(t, dt, u, []int{4, 5}, func(x graph.Expr) graph.Expr { return x.ItemScores(z, graph.Expr{}) })
		for i := range 4 {
			for a := range 9 {
				var want float64
				for j := range 5 {
					want += u[i*5+j] * flat[a*5+j]
				}
				if math.Abs(all[i*9+a]-want) > 1e-6 {
					t.Errorf("score %v, want %v", all[i*9+a], want)
				}
			}
		}
	}
	for name, f := range map[string]formula{
		"softmax": func(g *graph.Graph) graph.Expr {
			return g.Param(param("u", u, 4, 5)).ItemScores(z, g.Const("at", at, 4, 4)).Softmax().Mul(g.Const("d", values(16, 9), 4, 4)).Sum()
		},
		"log-softmax": func(g *graph.Graph) graph.Expr {
			return g.Param(param("u", u, 4, 5)).ItemScores(z, g.Const("at", at, 4, 4)).LogSoftmax().Gather(g.Const("a", []float64{2, 0, 3, 2}, 4)).Sum()
		},
		"all": func(g *graph.Graph) graph.Expr {
			return g.Param(param("u", u, 4, 5)).ItemScores(z, graph.Expr{}).Square().Mul(g.Const("d", values(36, 9), 4, 9)).Sum()
		},
		"fused": func(g *graph.Graph) graph.Expr {
			return g.Param(param("u", u, 4, 5)).ItemLogProb(z, g.Const("a", []float64{2, 0, 8, 2}, 4)).Exp().Sqrt().Sum()
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := graph.GradCheck(compile(t, f), 0)
			if err != nil || report.Error > 1e-8 {
				t.Errorf("%v %v", report, err)
			}
		})
	}
}

// What does not fit is refused, when it is built or when it runs.
func TestItems_RefuseWhatDoesNotFit(t *testing.T) {
	_, z := someItems(rand.New(rand.NewPCG(1, 1)), 3, 2, 1, 1)
	for want, f := range map[string]formula{
		"3 items of 2 features": func(g *graph.Graph) graph.Expr { return g.Input("u", 2, 3).ItemScores(z, graph.Expr{}).Sum() },
		"features 2":            func(g *graph.Graph) graph.Expr { return g.Input("u", 2, 3).ItemLogProb(z, g.Input("a", 2)).Sum() },
		"rows differ":           func(g *graph.Graph) graph.Expr { return g.Input("u", 2, 2).ItemScores(z, g.Input("at", 3, 1)).Sum() },
		"one action a row":      func(g *graph.Graph) graph.Expr { return g.Input("u", 2, 2).ItemLogProb(z, g.Input("a", 3)).Sum() },
	} {
		t.Run(want, func(t *testing.T) {
			g := graph.New(tensor.Float64)
			if _, err := g.Compile(f(g)); err == nil || !strings.Contains(err.Error(), strings.Fields(want)[0]) || !strings.Contains(err.Error(), "Item") {
				t.Errorf("%q: %v", want, err)
			}
		})
	}
	for _, bad := range []float64{-2, .5, 3, math.NaN()} {
		for _, dt := range dtypes {
			g := graph.New(dt)
			u := g.Const("u", []float64{1, 2}, 1, 2)
			p, err := g.Compile(u.ItemScores(z, g.Const("at", []float64{bad}, 1, 1)).Sum())
			if err == nil {
				err = p.Run()
			}
			if err == nil || !strings.Contains(err.Error(), "row 0: item") {
				t.Errorf("item %v: %v", bad, err)
			}
			g = graph.New(dt)
			u = g.Const("u", []float64{1, 2}, 1, 2)
			if p, err = g.Compile(u.ItemLogProb(z, g.Const("a", []float64{bad}, 1)).Sum()); err == nil {
				err = p.Run()
			}
			if err == nil || !strings.Contains(err.Error(), "row 0: index") {
				t.Errorf("action %v: %v", bad, err)
			}
		}
	}
}

// BenchmarkItemLogProb is a step's share of an epoch of 10⁵ rows and 10⁵ items of 64 features; beside it are
// the two plain products of as many multiplications.
func BenchmarkItemLogProb(b *testing.B) {
	const n, p, rows = 100_000, 64, 128
	r := rand.New(rand.NewPCG(1, 1))
	flat := make([]float64, n*p)
	for i := range flat {
		flat[i] = r.NormFloat64() / 8
	}
	z := graph.NewItems(n, p, func(a int, dst []float64) { copy(dst, flat[a*p:(a+1)*p]) })
	u, action := values(rows*p, 2), make([]float64, rows)
	for i := range action {
		action[i] = float64(r.IntN(n))
	}
	for _, threads := range []int{1, 2} {
		build := func(f func(g *graph.Graph, u graph.Expr) graph.Expr) *graph.Program {
			g := graph.New(tensor.Float32)
			prog, err := g.Compile(f(g, g.Param(graph.NewParam("u", tensor.Float32, u, rows, p))), graph.Threads(threads))
			if err != nil {
				b.Fatal(err)
			}
			mustRun(b, prog)
			return prog
		}
		rate := func(b *testing.B) { b.ReportMetric(4*rows*n*p*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s") }
		b.Run(fmt.Sprintf("fused, threads=%d", threads), func(b *testing.B) {
			prog := build(func(g *graph.Graph, u graph.Expr) graph.Expr {
				return u.ItemLogProb(z, g.Const("a", action, rows)).Sum()
			})
			for b.Loop() {
				mustRun(b, prog)
			}
			rate(b)
		})
		b.Run(fmt.Sprintf("products, threads=%d", threads), func(b *testing.B) {
			prog := build(func(g *graph.Graph, u graph.Expr) graph.Expr {
				z := g.Param(graph.NewParam("z", tensor.Float32, flat, n, p)).StopGradient()
				return u.MatMulT(z).MatMul(z).Sum().Add(u.Sum().Scale(0))
			})
			for b.Loop() {
				mustRun(b, prog)
			}
			rate(b)
		})
	}
}

package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
)

// wide is a formula like those of objectives with noise, over more rows than are
// taken at a time: rows of examples and of their draws, sums over both, values
// that are needed in two steps, and the same value written twice.
type wide struct {
	b, s, k, d int
	dt         tensor.Dtype
	named      bool    // every value that is large
	share      float64 // of the inputs that is not 0
}

func (w wide) compile(t testing.TB, opts ...graph.Option) *graph.Program {
	t.Helper()
	g := graph.New(w.dt)
	r := rand.New(rand.NewPCG(3, 5))
	numbers := func(n int, share float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			if r.Float64() < share {
				x[i] = r.NormFloat64()
			}
		}
		return x
	}
	n := 0
	name := func(x graph.Expr) graph.Expr {
		if w.named {
			n++
			return x.Named(fmt.Sprint("value ", n))
		}
		return x
	}
	mu := g.Param(graph.NewParam("mu", w.dt, numbers(w.k*w.d, 1), w.k, w.d))
	rho := g.Param(graph.NewParam("rho", w.dt, []float64{-.5}))
	x := g.Const("x", numbers(w.b*w.d, w.share), w.b, w.d)
	h := g.Const("h", numbers(w.b*w.k, 1), w.b, w.k).Abs().Plus(.1)
	eps := g.Const("eps", numbers(w.b*w.s*w.k, 1), w.b*w.s, w.k)
	c := g.Const("c", numbers(w.b, 1), w.b)
	action := make([]float64, w.b)
	for i := range action {
		action[i] = float64(r.IntN(w.k))
	}
	a := g.Const("a", action, w.b).RepeatRows(w.s)

	scale := rho.Exp().Mul(c.Abs()).RepeatRows(w.s)
	z := name(x.MatMulT(mu).RepeatRows(w.s).Add(eps.Mul(scale.Across(w.k))))
	pi := name(z.Softmax())
	ratio := func() graph.Expr { return name(pi.Div(h.RepeatRows(w.s))) }
	v := ratio().Mul(ratio()).SumOver(1).Add(ratio().Gather(a).Mul(c.RepeatRows(w.s)).Square()).Mean().Named("v")
	b := ratio().Mul(h.AtLeast(.5).Sub(h).Abs().RepeatRows(w.s)).SumOver(1).Mean().Named("b")
	mean := name(pi.MeanGroups(w.s)).Square().SumOver(0).Sum()
	dist := mu.Sub(g.Const("mu0", numbers(w.k*w.d, 1), w.k, w.d)).Square().Sum()
	l := v.Sqrt().StopGradient()
	p, err := g.Compile(v.Div(l).Add(l.Mul(v)).Add(b).Add(mean).Add(dist.Scale(1e-3)), opts...)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, p)
	mustRun(t, p) // a second run finds memory in use
	return p
}

func (w wide) results(t testing.TB, opts ...graph.Option) []float64 {
	p := w.compile(t, opts...)
	out := append([]float64{p.Cost()}, append(p.Read("v"), p.Read("b")...)...)
	for _, q := range p.Params() {
		out = append(out, p.Gradient(q)...)
	}
	return out
}

var widths = []wide{
	{b: 5, s: 3, k: 4, d: 6, share: .9}, {b: 128, s: 32, k: 10, d: 9, share: .2}, {b: 128, s: 32, k: 10, d: 9, share: .9},
	{b: 7, s: 5, k: 700, d: 33, share: .2}, {b: 6, s: 16, k: 6000, d: 3, share: 1}, {b: 64, s: 1, k: 130, d: 100, share: .1},
	{b: 64, s: 1, k: 600, d: 100, share: .1}, // a sparse product by panels
}

// The gradients are right where rows are taken through steps in tiles.
func TestPlan_HasTheGradientsOfDifferences(t *testing.T) {
	for _, w := range widths {
		w.dt = tensor.Float64
		r, err := graph.GradCheck(w.compile(t), 12)
		if err != nil || r.Error > 1e-7 {
			t.Errorf("%+v: %v, error %v", w, r, err)
		}
	}
}

// Neither the number of threads nor what is kept in memory changes a bit.
func TestPlan_IsTheSameForAnyNumberOfThreads(t *testing.T) {
	for _, w := range widths {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			w.dt, w.named = dt, false
			want := w.results(t)
			for _, threads := range []int{2, 3, 16, 100} {
				if got := w.results(t, graph.Threads(threads)); !reflect.DeepEqual(got, want) {
					t.Errorf("%+v: other bits on %d threads", w, threads)
				}
			}
			w.named = true
			if got := w.results(t); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: other bits where every value is kept", w)
			}
		}
	}
}

// Float32 with vector kernels and without agree with float64.
func TestVectorKernels_AgreeWithFloat64(t *testing.T) {
	was := simd.Use(true)
	defer simd.Use(was)
	for _, w := range widths {
		w.dt = tensor.Float64
		want := w.results(t)
		largest := 0.0
		for _, v := range want[3:] {
			largest = max(largest, math.Abs(v))
		}
		w.dt = tensor.Float32
		for _, on := range []bool{true, false} {
			simd.Use(on)
			for i, got := range w.results(t, graph.Threads(2)) {
				scale := math.Abs(want[i])
				if i >= 3 {
					scale = largest
				}
				if math.Abs(got-want[i]) > 2e-5*scale {
					t.Fatalf("%+v, vector kernels %v: result %d is %v, in float64 %v", w, on, i, got, want[i])
				}
			}
		}
	}
}

// Products of every kind, with dense and with sparse inputs, that change between
// runs.
func TestProducts_FollowInputsThatChangeBetweenRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, k := range []int{3, 10, 33, 70} {
		const rows, d = 20, 90
		g := graph.New(tensor.Float32)
		mu := graph.NewParam("mu", tensor.Float32, make([]float64, k*d), k, d)
		nu := graph.NewParam("nu", tensor.Float32, make([]float64, d*k), d, k)
		x := g.Input("x", rows, d)
		cost := x.MatMulT(g.Param(mu)).Mul(x.MatMul(g.Param(nu))).Mean()
		p, err := g.Compile(cost)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range []float64{.1, 1, 0, .3, .5} {
			xs := make([]float64, rows*d)
			for i := range xs {
				if r.Float64() < share {
					xs[i] = float64(float32(r.NormFloat64()))
				}
			}
			mus, nus := values(k*d, 1), values(k*d, 2)
			mu.Set(mus)
			nu.Set(nus)
			mus, nus = mu.Float64s(), nu.Float64s()
			if err := p.Feed("x", xs); err != nil {
				t.Fatal(err)
			}
			mustRun(t, p)
			want, dmu, dnu := 0.0, make([]float64, k*d), make([]float64, k*d)
			for i := range rows {
				for a := range k {
					var u, v float64
					for j := range d {
						u += xs[i*d+j] * mus[a*d+j]
						v += xs[i*d+j] * nus[j*k+a]
					}
					want += u * v / (rows * float64(k))
					for j := range d {
						dmu[a*d+j] += v * xs[i*d+j] / (rows * float64(k))
						dnu[j*k+a] += u * xs[i*d+j] / (rows * float64(k))
					}
				}
			}
			name := fmt.Sprintf("K = %d, share %v", k, share)
			wantNear(t, name, []float64{p.Cost()}, []float64{want}, 1e-5)
			wantNear(t, name+": gradient of mu", p.Gradient(mu), dmu, 1e-5)
			wantNear(t, name+": gradient of nu", p.Gradient(nu), dnu, 1e-5)
		}
	}
}

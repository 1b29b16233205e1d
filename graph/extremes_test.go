package graph_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
)

var dtypes = []tensor.Dtype{tensor.Float64, tensor.Float32}

// evaluate gives value and gradient of Σ direction·f(x).
func evaluate(t testing.TB, dt tensor.Dtype, xs []float64, shape []int, f func(x graph.Expr) graph.Expr, direction ...float64) (value, gradient []float64) {
	t.Helper()
	g := graph.New(dt)
	q := graph.NewParam("x", dt, xs, shape...)
	y := f(g.Param(q)).Named("y")
	if y.Err() != nil {
		t.Fatal(y.Err())
	}
	if len(direction) == 0 {
		for range size(y.Shape()) {
			direction = append(direction, 1)
		}
	}
	p, err := g.Compile(y.Mul(g.Const("direction", direction, y.Shape()...)).Sum())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Errorf("%v at %v: %v", dt, xs, err)
	}
	return p.Read("y"), grad(p, q)
}

// Scores of ±1e4, alone, tied and mixed, have right values and gradients.
func TestSoftmax_IsRightAtExtremeScores(t *testing.T) {
	x := []float64{
		1e4, -1e4, 0,
		-1e4, -1e4, -1e4,
		1e4, 1e4, -1e4,
		0, -1e4, 1,
		1e4, 1e4 - 1, 0,
	}
	e := 1 / (1 + math.E)
	pi := []float64{1, 0, 0, 1. / 3, 1. / 3, 1. / 3, .5, .5, 0, e, 0, 1 - e, 1 - e, e, 0}
	logPi := []float64{
		0, -2e4, -1e4,
		-math.Log(3), -math.Log(3), -math.Log(3),
		-math.Ln2, -math.Ln2, -2e4 - math.Ln2,
		math.Log(e), -1e4 + math.Log(e), math.Log(1 - e),
		math.Log(1 - e), math.Log(e), -1e4 + math.Log(1-e),
	}
	direction := values(len(x), 3)
	for _, dt := range dtypes {
		tol := map[tensor.Dtype]float64{tensor.Float64: 1e-11, tensor.Float32: 1e-6}[dt]
		shape := []int{5, 3}

		value, dx := evaluate(t, dt, x, shape, graph.Expr.Softmax, direction...)
		want := make([]float64, len(x))
		for i := range x {
			var mean float64
			for j := i / 3 * 3; j < i/3*3+3; j++ {
				mean += pi[j] * direction[j]
			}
			want[i] = pi[i] * (direction[i] - mean)
		}
		wantNear(t, "softmax", value, pi, tol)
		wantNear(t, "its gradient", dx, want, tol)

		value, dx = evaluate(t, dt, x, shape, graph.Expr.LogSoftmax, direction...)
		for i := range x {
			var sum float64
			for j := i / 3 * 3; j < i/3*3+3; j++ {
				sum += direction[j]
			}
			want[i] = direction[i] - pi[i]*sum
		}
		wantNear(t, "log-softmax", value, logPi, tol)
		wantNear(t, "its gradient", dx, want, tol)
	}
}

func TestElementwise_IsRightAtExtremes(t *testing.T) {
	logPhi := func(x float64) float64 { // x ≪ 0
		return -x*x/2 - math.Log(-x) - math.Log(2*math.Pi)/2 + math.Log1p(-1/(x*x)+3/(x*x*x*x)-15/math.Pow(x, 6))
	}
	mills := func(x float64) float64 { // x ≪ 0
		v := 1 / (x * x)
		return -x * (1 + v*(1-v*(2-v*(10-v*(74-v*706)))))
	}
	slope := func(x float64) float64 {
		v := 1 / (x * x)
		return -1 + v*(1-v*(6-v*(50-v*518)))
	}
	type value struct{ x, y, dy float64 }
	for name, c := range map[string]struct {
		f  func(x graph.Expr) graph.Expr
		at []value
	}{
		"LogNormCDF": {graph.Expr.LogNormCDF, []value{
			{-40, logPhi(-40), mills(-40)}, {-1e4, logPhi(-1e4), mills(-1e4)}, {-1e8, logPhi(-1e8), mills(-1e8)},
			{0, -math.Ln2, math.Sqrt(2 / math.Pi)}, {40, 0, 0}, {1e4, 0, 0},
		}},
		"InvMills": {graph.Expr.InvMills, []value{
			{-40, mills(-40), slope(-40)}, {-99, mills(-99), slope(-99)}, {-101, mills(-101), slope(-101)}, {-1e4, mills(-1e4), slope(-1e4)}, {-1e8, 1e8, -1}, {40, 0, 0}, {1e4, 0, 0},
		}},
		"Sqrt":     {graph.Expr.Sqrt, []value{{0, 0, 0}, {1e-30, 1e-15, 5e14}, {1e30, 1e15, 5e-16}}},
		"Abs":      {graph.Expr.Abs, []value{{0, 0, 0}, {math.Copysign(0, -1), 0, 0}, {-1e30, 1e30, -1}, {1e30, 1e30, 1}}},
		"Pow 0.5":  {func(x graph.Expr) graph.Expr { return x.Pow(.5) }, []value{{0, 0, 0}, {1e30, 1e15, 5e-16}}},
		"Pow 0":    {func(x graph.Expr) graph.Expr { return x.Pow(0) }, []value{{0, 1, 0}, {5, 1, 0}}},
		"Pow 1":    {func(x graph.Expr) graph.Expr { return x.Pow(1) }, []value{{0, 0, 1}, {5, 5, 1}}},
		"Pow 2":    {func(x graph.Expr) graph.Expr { return x.Pow(2) }, []value{{0, 0, 0}, {3, 9, 6}}},
		"AtLeast":  {func(x graph.Expr) graph.Expr { return x.AtLeast(2) }, []value{{2, 2, 0}, {3, 3, 1}, {1, 2, 0}, {-1e30, 2, 0}, {1e30, 1e30, 1}}},
		"AtMost":   {func(x graph.Expr) graph.Expr { return x.AtMost(2) }, []value{{2, 2, 0}, {1, 1, 1}, {3, 2, 0}, {-1e30, -1e30, 1}, {1e30, 2, 0}}},
		"AtMost 0": {func(x graph.Expr) graph.Expr { return x.AtMost(0) }, []value{{0, 0, 0}}},
		"ReLU":     {graph.Expr.ReLU, []value{{0, 0, 0}, {math.Copysign(0, -1), 0, 0}, {1e30, 1e30, 1}, {-1e30, 0, 0}}},
		"Tanh":     {graph.Expr.Tanh, []value{{0, 0, 1}, {1e30, 1, 0}, {-1e30, -1, 0}, {1e-20, 1e-20, 1}}},
		"Cos":      {graph.Expr.Cos, []value{{0, 1, 0}}},
		"Above":    {func(x graph.Expr) graph.Expr { return x.Above(2) }, []value{{2, 0, 0}, {2.5, 1, 0}}},
		"Softplus": {graph.Expr.Softplus, []value{{-1e4, 0, 0}, {1e4, 1e4, 1}, {0, math.Ln2, .5}}},
		"Sigmoid":  {graph.Expr.Sigmoid, []value{{-1e4, 0, 0}, {1e4, 1, 0}, {0, .5, .25}}},
		"Expm1":    {graph.Expr.Expm1, []value{{0, 0, 1}, {1e-20, 1e-20, 1}, {-1e4, -1, 0}}},
		"Log1p":    {graph.Expr.Log1p, []value{{0, 0, 1}, {1e-20, 1e-20, 1}, {1e30, math.Log(1e30), 1e-30}}},
		"Exp":      {graph.Expr.Exp, []value{{-1e4, 0, 0}, {0, 1, 1}}},
		"Square":   {graph.Expr.Square, []value{{0, 0, 0}, {1e15, 1e30, 2e15}}},
	} {
		for _, dt := range dtypes {
			t.Run(fmt.Sprint(name, " ", dt), func(t *testing.T) {
				tol := map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-6}[dt]
				xs, ys, dys := []float64{}, []float64{}, []float64{}
				for _, v := range c.at {
					xs, ys, dys = append(xs, v.x), append(ys, v.y), append(dys, v.dy)
				}
				got, dx := evaluate(t, dt, xs, []int{len(xs)}, c.f)
				for i, v := range c.at {
					if math.Abs(got[i]-ys[i]) > tol*math.Abs(ys[i]) {
						t.Errorf("value at %v is %v, want %v", v.x, got[i], ys[i])
					}
					if math.Abs(dx[i]-dys[i]) > 1e3*tol*math.Abs(dys[i]) {
						t.Errorf("derivative at %v is %v, want %v", v.x, dx[i], dys[i])
					}
				}
			})
		}
	}
}

// Best is the first of the smallest entries, for value and derivative.
func TestBest_TakesTheFirstOfTies(t *testing.T) {
	for _, c := range []struct {
		x, dx []float64
		y     float64
	}{
		{[]float64{3, 1, 2, 1, 1}, []float64{0, 1, 0, 0, 0}, 1},
		{[]float64{2, 2}, []float64{1, 0}, 2},
		{[]float64{5}, []float64{1}, 5},
		{[]float64{-1e30, 1e30}, []float64{1, 0}, -1e30},
	} {
		for _, dt := range dtypes {
			y, dx := evaluate(t, dt, c.x, []int{len(c.x)}, graph.Expr.Best)
			wantNear(t, "best", append(y, dx...), append([]float64{c.y}, c.dx...), 1e-7)
		}
	}
	// Of NaN it is NaN, wherever it stands: a bad grid point is no good one.
	for _, x := range [][]float64{{math.NaN(), 1}, {1, math.NaN()}, {1, math.NaN(), 0}} {
		p := compile(t, func(g *graph.Graph) graph.Expr { return g.Const("x", x, len(x)).Best() })
		if err := p.Run(); err == nil || !math.IsNaN(p.Cost()) {
			t.Errorf("Best of %v is %v, error %v", x, p.Cost(), err)
		}
	}
}

// gaussianCases are scores that compete, tie, or leave one action alone.
var gaussianCases = []struct{ r, k int }{{4, 2}, {3, 5}, {2, 10}}

func scores(r, k int) (z, index []float64) {
	z = values(r*k, uint64(k))
	for j := range k { // a tie in the first row, a lone leader in the last
		z[j] = .5
		z[(r-1)*k+j] *= 4
	}
	for i := range r {
		index = append(index, float64((3*i+1)%k))
	}
	return z, index
}

// The operation GaussianQuadrature is the quadrature composed of others,
//
//	π_a = h Σ_j exp(log φ(u_a) + Σ_{k≠a} log Φ(u_k)),   u_k = t_j − z_k
func TestGaussianQuadrature_EqualsComposedOperations(t *testing.T) {
	const nodes, low, h = 65, -6., 14. / 64
	for _, c := range gaussianCases {
		z, index := scores(c.r, c.k)
		m := make([]float64, c.r) // the largest score of a row
		for i := range m {
			m[i] = math.Inf(-1)
			for _, v := range z[i*c.k : (i+1)*c.k] {
				m[i] = math.Max(m[i], v)
			}
		}
		shape := []int{c.r, c.k}
		direction := values(c.r, 7)
		one, oneGrad := evaluate(t, tensor.Float64, z, shape, func(z graph.Expr) graph.Expr {
			return z.GaussianQuadrature(nodes).Gather(z.Graph().Const("a", index, c.r))
		}, direction...)
		all, allGrad := evaluate(t, tensor.Float64, z, shape, func(z graph.Expr) graph.Expr {
			a, m := z.Graph().Const("a", index, c.r), z.Graph().Const("m", m, c.r) // [r], [r]
			var pi graph.Expr
			for j := range nodes {
				u := m.Plus(low + float64(j)*h).Across(c.k).Sub(z)                           // [r×k]
				logPhi := u.LogNormCDF()                                                     // [r×k]
				logDensity := u.Gather(a).Square().Scale(-.5).Plus(-math.Log(2*math.Pi) / 2) // [r]
				p := logDensity.Add(logPhi.SumOver(1)).Sub(logPhi.Gather(a)).Exp().Scale(h)  // [r]
				if j == 0 {
					pi = p
				} else {
					pi = pi.Add(p)
				}
			}
			return pi
		}, direction...)
		wantNear(t, fmt.Sprintf("%d×%d: value", c.r, c.k), one, all, 1e-12)
		// A row of ties is 1/K exactly, where the composition is the quadrature.
		wantNear(t, fmt.Sprintf("%d×%d: gradient", c.r, c.k), oneGrad, allGrad, 1e-12)
	}
}

// The operation GaussianMonteCarlo is the estimate composed of others,
//
//	π_a = 1/S Σ_s exp(Σ_k log Φ(ε_s + z_a − z_k) − log Φ(ε_s))
func TestGaussianMonteCarlo_EqualsComposedOperations(t *testing.T) {
	const draws = 6
	for _, c := range gaussianCases {
		z, index := scores(c.r, c.k)
		eps := values(c.r*draws, 5)
		shape := []int{c.r, c.k}
		direction := values(c.r, 7)
		one, oneGrad := evaluate(t, tensor.Float64, z, shape, func(z graph.Expr) graph.Expr {
			return z.GaussianMonteCarlo(z.Graph().Const("eps", eps, c.r, draws)).Gather(z.Graph().Const("a", index, c.r))
		}, direction...)
		all, allGrad := evaluate(t, tensor.Float64, z, shape, func(z graph.Expr) graph.Expr {
			a := z.Graph().Const("a", index, c.r)                     // [r]
			lead := z.Gather(a).Across(c.k).Sub(z).RepeatRows(draws)  // [r·S×k]
			e := z.Graph().Const("eps", eps, c.r*draws)               // [r·S]
			logPhi := lead.Add(e.Across(c.k)).LogNormCDF().SumOver(1) // [r·S]
			return logPhi.Sub(e.LogNormCDF()).Exp().MeanGroups(draws) // [r]
		}, direction...)
		wantNear(t, fmt.Sprintf("%d×%d: value", c.r, c.k), one, all, 1e-12)
		wantNear(t, fmt.Sprintf("%d×%d: gradient", c.r, c.k), oneGrad, allGrad, 1e-12)
	}
}

// Scores of ±1e4 leave a Gaussian policy finite, with its ties even.
func TestGaussian_StaysFiniteAtExtremeScores(t *testing.T) {
	z := []float64{1e4, -1e4, 0, -1e4, -1e4, -1e4, 1e4, 1e4, -1e4}
	want := []float64{1, 0, 0, 1. / 3, 1. / 3, 1. / 3, .5, .5, 0}
	direction := values(9, 1)
	for _, dt := range dtypes {
		for _, nodes := range []int{0, 33, 65, 257} {
			pi, dz := evaluate(t, dt, z, []int{3, 3}, func(z graph.Expr) graph.Expr { return z.GaussianQuadrature(nodes) }, direction...)
			wantNear(t, fmt.Sprint("quadrature ", nodes), pi, want, 1e-6)
			// Nothing moves a lone leader; ties have a slope.
			wantNear(t, "gradient of a lone leader", dz[:3], []float64{0, 0, 0}, 1e-6)
			if dz[3] == 0 || math.Abs(dz[6]+dz[7]) > 1e-6 || math.Abs(dz[8]) > 1e-12 {
				t.Errorf("gradient of ties is %v", dz[3:])
			}
		}
		pi, dz := evaluate(t, dt, z, []int{3, 3}, func(z graph.Expr) graph.Expr {
			return z.GaussianMonteCarlo(z.Graph().Const("eps", []float64{0, 40, -40, 1, 0, 2}, 3, 2))
		}, direction...)
		half := func(x float64) float64 { return .5 * math.Erfc(-x/math.Sqrt2) }
		a, b := (0+half(1)*half(1))/2, (.5+half(2))/2
		wantNear(t, "Monte Carlo", pi, []float64{1, 0, 0, a, a, a, b, b, 0}, 1e-6)
		wantNear(t, "its gradient", dz[:3], []float64{0, 0, 0}, 1e-12)
	}
}

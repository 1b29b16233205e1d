package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel"
)

// opCases runs every operation through one routine: values on a small example
// where they are known, gradient against central differences.
var opCases = []struct {
	name  string
	shape []int
	f     func(x graph.Expr) graph.Expr
	want  func(x float64) float64 // elementwise operations alone
}{
	{"Exp", []int{3, 2}, graph.Expr.Exp, math.Exp},
	{"Log", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Square().Plus(.1).Log() }, func(x float64) float64 { return math.Log(x*x + .1) }},
	{"Log1p", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Square().Log1p() }, func(x float64) float64 { return math.Log1p(x * x) }},
	{"Expm1", []int{3, 2}, graph.Expr.Expm1, math.Expm1},
	{"Sqrt", []int{4}, func(x graph.Expr) graph.Expr { return x.Square().Plus(.1).Sqrt() }, func(x float64) float64 { return math.Sqrt(x*x + .1) }},
	{"Abs", []int{4}, graph.Expr.Abs, math.Abs},
	{"Square", []int{4}, graph.Expr.Square, func(x float64) float64 { return x * x }},
	{"Scale", []int{4}, func(x graph.Expr) graph.Expr { return x.Scale(-3).Plus(2) }, func(x float64) float64 { return 2 - 3*x }},
	{"AtLeast", []int{3, 3}, func(x graph.Expr) graph.Expr { return x.AtLeast(.05) }, func(x float64) float64 { return math.Max(x, .05) }},
	{"AtMost", []int{3, 3}, func(x graph.Expr) graph.Expr { return x.AtMost(.05) }, func(x float64) float64 { return math.Min(x, .05) }},
	{"Above", []int{3, 3}, func(x graph.Expr) graph.Expr { return x.Mul(x.Above(.05)) }, func(x float64) float64 {
		if x > .05 {
			return x
		}
		return 0
	}},
	{"Softplus", []int{4}, graph.Expr.Softplus, func(x float64) float64 { return math.Log(1 + math.Exp(x)) }},
	{"Sigmoid", []int{4}, graph.Expr.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"Pow", []int{4}, func(x graph.Expr) graph.Expr { return x.Square().Pow(.3) }, func(x float64) float64 { return math.Pow(x*x, .3) }},
	{"ReLU", []int{3, 3}, graph.Expr.ReLU, func(x float64) float64 { return math.Max(x, 0) }},
	{"Tanh", []int{3, 2}, graph.Expr.Tanh, math.Tanh},
	{"Cos", []int{3, 2}, graph.Expr.Cos, math.Cos},
	{"Sin", []int{3, 2}, graph.Expr.Sin, math.Sin},
	{"AddRow", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Exp().AddRow(x.MeanOver(0)) }, nil},
	{"LogNormCDF", []int{4}, graph.Expr.LogNormCDF, func(x float64) float64 { return math.Log(.5 * math.Erfc(-x/math.Sqrt2)) }},
	{"InvMills", []int{4}, graph.Expr.InvMills, nil},
	{"Add", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Add(x.Exp()).Add(x.Mean()) }, nil},
	{"Sub", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Mean().Sub(x).Sub(x.Exp()) }, nil},
	{"Mul", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Mul(x.Exp()).Mul(x.Sum()) }, nil},
	{"Div", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Div(x.Exp()).Div(x.Square().Mean()) }, nil},
	{"Neg", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Neg() }, func(x float64) float64 { return -x }},
	{"SumOver0", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Exp().SumOver(0) }, nil},
	{"SumOver1", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Exp().SumOver(1) }, nil},
	{"MeanOver0", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Exp().MeanOver(0) }, nil},
	{"MeanOver1", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.Exp().MeanOver(1) }, nil},
	{"Across", []int{3}, func(x graph.Expr) graph.Expr { return x.Across(4).Exp() }, nil},
	{"Down", []int{3}, func(x graph.Expr) graph.Expr { return x.Down(4).Exp() }, nil},
	{"RepeatRows", []int{3, 2}, func(x graph.Expr) graph.Expr { return x.RepeatRows(3).Exp() }, nil},
	{"RepeatRows vector", []int{3}, func(x graph.Expr) graph.Expr { return x.RepeatRows(3).Exp() }, nil},
	{"SumGroups", []int{6, 2}, func(x graph.Expr) graph.Expr { return x.SumGroups(3).Exp() }, nil},
	{"MeanGroups vector", []int{6}, func(x graph.Expr) graph.Expr { return x.MeanGroups(2).Exp() }, nil},
	{"Reshape", []int{3, 4}, func(x graph.Expr) graph.Expr { return x.Reshape(2, 6).LogSoftmax() }, nil},
	{"Best", []int{5}, func(x graph.Expr) graph.Expr { return x.Square().Best() }, nil},
	{"LogSoftmax", []int{3, 4}, graph.Expr.LogSoftmax, nil},
	{"Softmax", []int{3, 4}, graph.Expr.Softmax, nil},
	{"Gather", []int{3, 4}, func(x graph.Expr) graph.Expr {
		return x.Exp().Gather(x.Graph().Const("index", []float64{3, 0, 2}, 3))
	}, nil},
	{"MatMul", []int{3, 4}, func(x graph.Expr) graph.Expr { return x.MatMul(x.Reshape(4, 3)) }, nil},
	{"MatMulT", []int{3, 4}, func(x graph.Expr) graph.Expr { return x.MatMulT(x.Exp()) }, nil},
	{"Conv", []int{2, 12}, func(x graph.Expr) graph.Expr {
		return x.Conv(x.Exp().Reshape(6, 4), kernel.Convolution{Height: 4, Width: 3, Channels: 1, Size: 2})
	}, nil},
	{"Conv with a border", []int{3, 24}, func(x graph.Expr) graph.Expr {
		return x.Conv(x.Reshape(4, 18), kernel.Convolution{Height: 3, Width: 4, Channels: 2, Size: 3, Pad: 2})
	}, nil},
	{"Conv of single pixels", []int{2, 6}, func(x graph.Expr) graph.Expr {
		return x.Conv(x.Reshape(4, 3), kernel.Convolution{Height: 1, Width: 2, Channels: 3, Size: 1})
	}, nil},
	{"Conv images", []int{2, 12}, func(x graph.Expr) graph.Expr {
		return graph.ConvImages(x, x.Reshape(3, 8).Exp(), kernel.Convolution{Height: 3, Width: 3, Channels: 2, Size: 2})
	}, nil},
	{"Conv kernels", []int{2, 12}, func(x graph.Expr) graph.Expr {
		return graph.ConvKernels(x.Exp(), x.Reshape(2, 12), kernel.Convolution{Height: 2, Width: 3, Channels: 2, Size: 2, Pad: 1})
	}, nil},
	{"MaxPool", []int{2, 30}, func(x graph.Expr) graph.Expr {
		return x.MaxPool(kernel.Pooling{Height: 5, Width: 3, Channels: 2, Size: 2}).Exp()
	}, nil},
	{"MaxPool of nine", []int{2, 12}, func(x graph.Expr) graph.Expr {
		return x.MaxPool(kernel.Pooling{Height: 3, Width: 4, Channels: 1, Size: 3}).Exp()
	}, nil},
	{"Unpool", []int{2, 12}, func(x graph.Expr) graph.Expr {
		return graph.Unpool(x, x.Reshape(8, 3).Sigmoid().Reshape(2, 12).SumOver(0).Exp().Down(2).MaxPool(kernel.Pooling{Height: 3, Width: 2, Channels: 2, Size: 2}), kernel.Pooling{Height: 3, Width: 2, Channels: 2, Size: 2})
	}, nil},
	{"Pick", []int{2, 12}, func(x graph.Expr) graph.Expr {
		return graph.Pick(x, x.Exp(), kernel.Pooling{Height: 2, Width: 3, Channels: 2, Size: 2})
	}, nil},
	{"StopGradient", []int{3, 4}, func(x graph.Expr) graph.Expr { return x.Mul(x.StopGradient()) }, nil},
	{"GaussianQuadrature", []int{3, 4}, func(x graph.Expr) graph.Expr { return x.GaussianQuadrature(65) }, nil},
	{"GaussianMonteCarlo", []int{3, 4}, func(x graph.Expr) graph.Expr {
		return x.GaussianMonteCarlo(x.Graph().Const("eps", []float64{.3, -.5, 1.2, -2, .1, .7}, 3, 2))
	}, nil},
	{"Apply", []int{3, 4}, func(x graph.Expr) graph.Expr {
		return graph.Apply(func(n ...*gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Tanh(n[0]) }, x)
	}, math.Tanh},
}

func size(shape []int) int { return tensor.Shape(shape).TotalSize() }

// values are spread over both signs, none at a kink of the cases above.
func values(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = r.NormFloat64() + .01
	}
	return xs
}

func TestOperations_HaveTheValuesAndGradientsOfTheirFormulas(t *testing.T) {
	for _, c := range opCases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(3) {
				xs := values(size(c.shape), seed)
				g := graph.New(tensor.Float64)
				x := g.Param(graph.NewParam("x", tensor.Float64, xs, c.shape...))
				y := c.f(x).Named("y")
				// A random direction makes every entry of y count.
				var cost graph.Expr
				if y.Err() == nil {
					cost = y.Mul(g.Const("direction", values(size(y.Shape()), seed+9), y.Shape()...)).Sum()
				}
				p, err := g.Compile(cost)
				if err != nil {
					t.Fatal(y.Err(), err)
				}
				r, err := graph.GradCheck(p, 0)
				if err != nil {
					t.Fatal(err)
				}
				if r.Error > 1e-8 || r.Checked != len(xs) {
					t.Errorf("seed %d: %v", seed, r)
				}
				if c.want == nil {
					continue
				}
				for i, got := range p.Read("y") {
					if want := c.want(xs[i]); math.Abs(got-want) > 1e-14*math.Max(1, math.Abs(want)) {
						t.Errorf("f(%v) = %v, want %v", xs[i], got, want)
					}
				}
			}
		})
	}
}

// In float32 every operation gives the float64 value rounded.
func TestOperations_InFloat32RoundFloat64(t *testing.T) {
	for _, c := range opCases {
		t.Run(c.name, func(t *testing.T) {
			var got, grad [2][]float64
			for i, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
				g := graph.New(dt)
				xs := values(size(c.shape), 1)
				x := g.Param(graph.NewParam("x", dt, xs, c.shape...))
				y := c.f(x).Named("y")
				p, err := g.Compile(y.Mul(g.Const("direction", values(size(y.Shape()), 9), y.Shape()...)).Sum())
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				got[i] = p.Read("y")
				for k := range xs {
					switch d := p.Grad(p.Params()[0]).Data().(type) {
					case []float64:
						grad[i] = append(grad[i], d[k])
					case []float32:
						grad[i] = append(grad[i], float64(d[k]))
					}
				}
			}
			for i, pair := range [][2][]float64{got, grad} {
				for k := range pair[0] {
					if d := math.Abs(pair[0][k] - pair[1][k]); d > 2e-5*math.Max(1, math.Abs(pair[0][k])) {
						t.Errorf("%s %d: %v in float64, %v in float32", []string{"value", "gradient"}[i], k, pair[0][k], pair[1][k])
					}
				}
			}
		})
	}
}

func ExampleGradCheck() {
	g := graph.New(tensor.Float64)
	theta := g.Param(graph.NewParam("theta", tensor.Float64, []float64{.1, .2, .3, .4, .5, .6}, 2, 3))
	x := g.Input("x", 4, 3)
	p, err := g.Compile(x.MatMulT(theta).LogSoftmax().Mean())
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = p.Feed("x", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	r, err := graph.GradCheck(p, 0)
	fmt.Println(r.Error < 1e-8, r.Checked, err)
	// Output: true 6 <nil>
}

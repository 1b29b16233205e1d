package objectives_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel"
	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
)

// gated is a representation of one's own that is no chain of layers: x·W ⊙ σ(x·V).
func gated(m int) objectives.Representation {
	return func(p objectives.Problem, x graph.Expr) graph.Expr {
		d := x.Shape()[1]
		w := p.Learned("values", objectives.Spread(1), m, d)
		v := p.Learned("gates", objectives.Spread(1), m, d)
		return x.MatMulT(w).Mul(x.MatMulT(v).Sigmoid())
	}
}

// Every objective that a point policy can have learns every representation by its gradient.
func TestGradients_PassThroughEveryRepresentation(t *testing.T) {
	for name, h := range map[string]objectives.Representation{
		"relu": objectives.MLP("relu", 0, 4, 3), "tanh": objectives.MLP("tanh", .3, 4), "linear": objectives.MLP("", 0, 2),
		"fourier": objectives.Fourier(1, 5), "own": gated(3),
		"conv":   objectives.Conv(objectives.ConvNet{Kernels: []objectives.Kernels{{Number: 2, Size: 3}}, Pad: true, Widths: []int{3}}),
		"pixels": objectives.Conv(objectives.ConvNet{Height: 1, Width: 2, Channels: 2, Kernels: []objectives.Kernels{{Number: 2, Size: 1}, {Number: 3, Size: 1}}}),
	} {
		t.Run(name, func(t *testing.T) {
			for what, o := range map[string]objectives.Objective{
				"heuristic": objectives.Heuristic(objectives.Penalties{Distance: .1, Variance: .1, Bias: .1}), "likelihood": objectives.Likelihood(.1),
				"logistic": objectives.Logistic(.1), "variance": objectives.SampleVariance(.1), "implicit": objectives.Implicit(.1), "risk": objectives.Risk(),
			} {
				for seed := range uint64(3) {
					rep, err := objectives.GradCheckThrough(h, o, objectives.Clip(.2), policies.Softmax{}, seed)
					if err != nil || !(rep.Error < 1e-6) {
						t.Errorf("%s through %s: %v, %v", what, name, rep, err)
					}
				}
			}
		})
	}
}

// A posterior may not learn layers on its own rows.
func TestPosteriors_RefuseLayers(t *testing.T) {
	for _, pol := range []policies.Policy{policies.Gaussian{}, policies.SoftmaxPosterior{Samples: 2}, policies.MixedLogit{Samples: 2}} {
		_, err := objectives.GradCheckThrough(objectives.MLP("relu", 0, 3), objectives.Theorem1(objectives.LambdaStar), objectives.Clip(.2), pol, 1)
		var unfit *objectives.UnfitError
		if !errors.As(err, &unfit) || !strings.Contains(unfit.Reason, "learned on other rows") {
			t.Errorf("%s: %v", pol.Name(), err)
		}
	}
}

// The layers of a chain are its graph, in numbers; dropout is none of it.
func TestRepresentation_EqualsItsFeatureLayers(t *testing.T) {
	const d, b = 5, 7
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, b*d)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	for name, h := range map[string]objectives.Representation{
		"relu": objectives.MLP("relu", .5, 4, 3), "tanh": objectives.MLP("tanh", 0, 6), "fourier": objectives.Fourier(.5, 8), "linear": objectives.MLP("", 0, 2),
	} {
		t.Run(name, func(t *testing.T) {
			for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
				ps := &objectives.Params{Dtype: dt, Seed: 3}
				m, err := ps.Width(h, d)
				if err != nil {
					t.Fatal(err)
				}
				layers, err := ps.FeatureLayers(h, d)
				if err != nil {
					t.Fatal(err)
				}
				forward, err := ps.Forward(h, d, b)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]float64, b*m)
				if err := forward(got, x); err != nil {
					t.Fatal(err)
				}
				net := features.NewNet(layers)
				if net.Out(d) != m {
					t.Fatalf("%d features, want %d", net.Out(d), m)
				}
				want, scratch := make([]float64, m), make([]float64, net.Scratch())
				for i := range b {
					net.Apply(want, x[i*d:(i+1)*d], scratch)
					for j, v := range want {
						if math.Abs(got[i*m+j]-v) > 1e-12 {
							t.Fatalf("feature %d of context %d is %v by the graph, %v by the layers", j, i, got[i*m+j], v)
						}
					}
				}
			}
			one, other := &objectives.Params{Dtype: tensor.Float64, Seed: 3}, &objectives.Params{Dtype: tensor.Float64, Seed: 4}
			for _, ps := range []*objectives.Params{one, other} {
				if _, err := ps.Width(h, d); err != nil {
					t.Fatal(err)
				}
			}
			if len(one.Layers) > 0 && slices.Equal(one.Layers[0].Float64s(), other.Layers[0].Float64s()) {
				t.Errorf("%s starts at the same values for every seed", name)
			}
		})
	}
	// A layer beside the chain is none of it.
	ps := &objectives.Params{Dtype: tensor.Float64}
	beside := func(p objectives.Problem, x graph.Expr) graph.Expr {
		h := p.Layer("first", x, 3, "tanh")
		p.Layer("beside", x, 9, "relu")
		return p.Layer("second", h, 2, "")
	}
	if layers, err := ps.FeatureLayers(beside, d); err != nil || len(layers) != 2 || layers[0].Out() != 3 || layers[1].Out() != 2 {
		t.Errorf("%d layers, %v", len(layers), err)
	}
	itself := func(_ objectives.Problem, x graph.Expr) graph.Expr { return x }
	for name, h := range map[string]objectives.Representation{"gated": gated(3), "the context itself": itself} {
		t.Run(name, func(t *testing.T) {
			var unfit *objectives.UnfitError
			if _, err := (&objectives.Params{Dtype: tensor.Float64}).FeatureLayers(h, d); !errors.As(err, &unfit) || !strings.Contains(unfit.Reason, "no chain of layers") {
				t.Errorf("layers of %s: %v", name, err)
			}
		})
	}
}

// A convolutional network is its layers in numbers, in both element types; one of its kernels is its
// formula.
func TestConv_EqualsItsFeatureLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		d, m int
		net  objectives.ConvNet
	}{
		"square":      {64, 5, objectives.ConvNet{Kernels: []objectives.Kernels{{Number: 3, Size: 3}, {Number: 4, Size: 2}}, Widths: []int{7, 5}, Dropout: .5}},
		"border":      {36, 4, objectives.ConvNet{Kernels: []objectives.Kernels{{Number: 3, Size: 3}, {Number: 4, Size: 1}, {Number: 4, Size: 2}}, Pad: true}},
		"three sides": {4 * 6 * 3, 40, objectives.ConvNet{Height: 4, Width: 6, Channels: 3, Kernels: []objectives.Kernels{{Number: 20, Size: 3}}}},
	} {
		const b = 5
		x := make([]float64, b*c.d)
		for i := range x {
			x[i] = max(0, r.NormFloat64())
		}
		h := objectives.Conv(c.net)
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			ps := &objectives.Params{Dtype: dt, Seed: 3}
			if _, err := ps.Width(h, c.d); err != nil {
				t.Fatal(err)
			}
			for _, q := range ps.Layers {
				values := q.Float64s()
				for i := range values {
					values[i] += .1 * r.NormFloat64() // biases, too
				}
				q.Set(values)
			}
			m, err := ps.Width(h, c.d)
			if err != nil {
				t.Fatal(err)
			}
			layers, err := ps.FeatureLayers(h, c.d)
			if err != nil {
				t.Fatal(err)
			}
			forward, err := ps.Forward(h, c.d, b)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float64, b*m)
			if err := forward(got, x); err != nil {
				t.Fatal(err)
			}
			in := c.d
			for i := range layers {
				if err := layers[i].Check(in); err != nil {
					t.Fatal(err)
				}
				in = layers[i].Out()
			}
			net := features.NewNet(layers)
			if in != m || net.Out(c.d) != m || m != c.m {
				t.Fatalf("%s: %d features, want %d, %d", name, m, in, c.m)
			}
			want, scratch := make([]float64, m), make([]float64, net.Scratch())
			for i := range b {
				if n := testing.AllocsPerRun(3, func() { net.Apply(want, x[i*c.d:(i+1)*c.d], scratch) }); n != 0 {
					t.Errorf("%s: %v allocations", name, n)
				}
				for j, v := range want {
					if math.Abs(got[i*m+j]-v) > 1e-12 {
						t.Fatalf("%s: feature %d of context %d is %v by the graph, %v by the layers", name, j, i, got[i*m+j], v)
					}
				}
			}
		}
	}
}

func TestRepresentation_RefusesWrongShapesAndActivations(t *testing.T) {
	own := func(f func(p objectives.Problem, x graph.Expr) graph.Expr) objectives.Representation { return f }
	for want, h := range map[string]objectives.Representation{
		"want [1×m]":           own(func(p objectives.Problem, x graph.Expr) graph.Expr { return x.Sum() }),
		"activation \"swish\"": objectives.MLP("swish", 0, 2),
		"has the shape": own(func(p objectives.Problem, x graph.Expr) graph.Expr {
			p.Learned("a", objectives.Zeros, 2, 3)
			return p.Learned("a", objectives.Zeros, 3, 2)
		}),
		"of shape [0 2]": own(func(p objectives.Problem, x graph.Expr) graph.Expr { return p.Learned("a", objectives.Zeros, 0, 2) }),
		"3 features are no square image of one channel": objectives.Conv(objectives.ConvNet{Kernels: []objectives.Kernels{{Number: 1, Size: 1}}}),
		"3 features are no images of 2×2 pixels":        objectives.Conv(objectives.ConvNet{Height: 2, Width: 2, Channels: 1, Kernels: []objectives.Kernels{{Number: 1, Size: 1}}}),
		"1×3 pixels is smaller than kernels of 2×2":     objectives.Conv(objectives.ConvNet{Height: 1, Width: 3, Channels: 1, Kernels: []objectives.Kernels{{Number: 1, Size: 2}}}),
		"wants rows of 4 numbers": own(func(p objectives.Problem, x graph.Expr) graph.Expr {
			return p.Conv("a", x, features.Image{Convolution: kernel.Convolution{Height: 2, Width: 2, Channels: 1, Size: 1}}, 1, "")
		}),
		"squares of 3×3": own(func(p objectives.Problem, x graph.Expr) graph.Expr {
			return p.Conv("a", x, features.Image{Convolution: kernel.Convolution{Height: 1, Width: 3, Channels: 1, Size: 1}, Pool: 3}, 1, "")
		}),
		"bandwidth -1": objectives.Fourier(-1, 2),
		"dropout of 1": own(func(p objectives.Problem, x graph.Expr) graph.Expr { return p.Dropout("a", x, 1) }),
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := (&objectives.Params{Dtype: tensor.Float64}).Width(h, 3); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

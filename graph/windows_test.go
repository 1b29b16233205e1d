package graph_test

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel"
	"opl/graph/kernel/simd"
)

// A convolution of an input and its pool are one operation in float32: the same bits as of the two, as something learned
// has them, in value, gradient and the gradient's own, for any number of threads, in Go too.
func TestConvPool_EqualsTwoOperationsToTheBit(t *testing.T) {
	was := simd.Use(true)
	defer simd.Use(was)
	if !simd.HasWindows() {
		return
	}
	for _, v := range []struct {
		c       kernel.Convolution
		b, m, s int
	}{
		{kernel.Convolution{Height: 28, Width: 28, Channels: 1, Size: 5}, 19, 16, 2},
		{kernel.Convolution{Height: 7, Width: 6, Channels: 3, Size: 3, Pad: 1}, 3, 32, 3}, // pixels are left over
		{kernel.Convolution{Height: 6, Width: 7, Channels: 8, Size: 2, Pad: 1}, 2, 16, 2},
		{kernel.Convolution{Height: 3, Width: 6, Channels: 1, Size: 1}, 1, 48, 2},
	} {
		h, w := v.c.Out()
		p := kernel.Pooling{Height: h, Width: w, Channels: v.m, Size: v.s}
		if v.m > 32 { // pixels are taken for others
			p.Width, p.Channels = 3*w, v.m/3
		}
		h, w = p.Out()
		in, out := v.b*v.c.In(), h*w*p.Channels
		for _, hostile := range []bool{false, true} {
			xs, ws, gs := values(in, 1), values(v.m*v.c.Patch(), 2), values(v.b*out, 3)
			for i := range xs {
				xs[i] = math.Round(2 * xs[i]) // equals among them
			}
			if hostile {
				xs[in/2], xs[in/3], gs[len(gs)/2], ws[len(ws)/2] = math.Inf(1), math.NaN(), math.Inf(-1), math.Copysign(0, -1)
			}
			ks := values(len(ws), 4)
			run := func(learned bool, threads int, off bool) [][]float64 {
				g := graph.New(tensor.Float32)
				var x graph.Expr
				if learned {
					x = g.Param(graph.NewParam("x", tensor.Float32, xs, v.b, v.c.In()))
				} else {
					x = g.Const("x", xs, v.b, v.c.In())
				}
				kernels, from := graph.NewParam("w", tensor.Float32, ws, v.m, v.c.Patch()), graph.NewParam("g", tensor.Float32, gs, v.b, out)
				y := x.Conv(g.Param(kernels), v.c).MaxPool(p)
				if want := map[bool]string{true: "max pool", false: "conv max pool"}[learned]; y.Operation() != want {
					t.Fatalf("%+v: pooled by %q, want %q", v, y.Operation(), want)
				}
				cost := y.Named("y").Mul(g.Param(from)).Sum()
				var second graph.Expr // a function of the gradient, linear in g
				if learned {
					second = graph.ConvKernels(x, graph.Unpool(x.Conv(g.Param(kernels), v.c), g.Param(from), p), v.c)
				} else {
					second = graph.PooledKernels(x, g.Param(kernels), g.Param(from), v.c, p)
				}
				cost = cost.Add(second.Mul(g.Const("k", ks, v.m, v.c.Patch())).Sum())
				program, err := g.Compile(cost, graph.Threads(threads))
				if err != nil {
					t.Fatal(err)
				}
				if off {
					defer simd.Use(simd.Use(false))
				}
				for range 2 { // memory is in use
					if err := program.Run(); err != nil && !hostile {
						t.Fatal(err)
					}
				}
				return [][]float64{program.Read("y"), program.Gradient(kernels), program.Gradient(from), {program.Cost()}}
			}
			want := run(true, 1, false)
			for _, threads := range []int{1, 2, 5, 16} {
				for i, got := range run(false, threads, false) {
					for k, x := range got {
						if math.Float64bits(x) != math.Float64bits(want[i][k]) && !(x != x && want[i][k] != want[i][k]) {
							t.Fatalf("%+v, %d threads, hostile %v: result %d, number %d is %v, of two operations %v", v, threads, hostile, i, k, x, want[i][k])
						}
					}
				}
			}
			if hostile {
				continue
			}
			for i, got := range run(false, 1, true) {
				largest := max(slices.Max(want[i]), -slices.Min(want[i]))
				for k, x := range got {
					if !(math.Abs(x-want[i][k]) <= 1e-4*largest) {
						t.Fatalf("%+v in Go: result %d, number %d is %v, want %v", v, i, k, x, want[i][k])
					}
				}
			}
		}
	}
}

package graph_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel"
	"opl/graph/kernel/simd"
	"opl/testdata/long"
)

// naiveConv is the formula of Conv for one image, term by term.
func naiveConv(c kernel.Convolution, x, w []float64, m int) (y []float64) {
	h, wide := c.Out()
	for r := range h {
		for s := range wide {
			for o := range m {
				var sum float64
				for u := range c.Size {
					for v := range c.Size {
						for ch := range c.Channels {
							i, j := r+u-c.Pad, s+v-c.Pad
							if i >= 0 && i < c.Height && j >= 0 && j < c.Width {
								sum += w[((o*c.Size+u)*c.Size+v)*c.Channels+ch] * x[(i*c.Width+j)*c.Channels+ch]
							}
						}
					}
				}
				y = append(y, sum)
			}
		}
	}
	return y
}

var convolutions = []struct {
	c    kernel.Convolution
	b, m int
}{
	{kernel.Convolution{Height: 1, Width: 1, Channels: 1, Size: 1}, 1, 1},
	{kernel.Convolution{Height: 5, Width: 5, Channels: 1, Size: 5}, 3, 2}, // one place
	{kernel.Convolution{Height: 3, Width: 9, Channels: 2, Size: 3}, 7, 5}, // one row of places
	{kernel.Convolution{Height: 4, Width: 6, Channels: 1, Size: 3, Pad: 1}, 4, 16},
	{kernel.Convolution{Height: 2, Width: 3, Channels: 3, Size: 3, Pad: 2}, 2, 3},
	{kernel.Convolution{Height: 4, Width: 1, Channels: 17, Size: 1}, 5, 20},
	{kernel.Convolution{Height: 28, Width: 28, Channels: 1, Size: 5}, 37, 16}, // several blocks and shares
	{kernel.Convolution{Height: 12, Width: 12, Channels: 16, Size: 5, Pad: 2}, 33, 32},
	{kernel.Convolution{Height: 5, Width: 8, Channels: 16, Size: 5}, 1, 48},
	{kernel.Convolution{Height: 7, Width: 15, Channels: 8, Size: 2, Pad: 1}, 3, 20}, // gradients in images alone are in place
}

// Values are those of the formula, gradients those of its transposes, in both element types, with
// vector kernels and without; the bits do not depend on the number of threads.
func TestConv_ComputesTheFormulaAndItsTransposes(t *testing.T) {
	long.Test(t)
	was := simd.Use(true)
	defer simd.Use(was)
	for _, v := range convolutions {
		c := v.c
		h, w := c.Out()
		in, out, patch := c.In(), h*w*v.m, c.Patch()
		xs, ws, gs := values(v.b*in, 1), values(v.m*patch, 2), values(v.b*out, 3)
		for i := range xs {
			if i%3 == 0 {
				xs[i] = 0
			}
		}
		var y []float64
		for i := range v.b {
			y = append(y, naiveConv(c, xs[i*in:(i+1)*in], ws, v.m)...)
		}
		// ⟨y, g⟩ is linear in each entry of x and of w.
		dx, dw := make([]float64, len(xs)), make([]float64, len(ws))
		for i := range v.b {
			for r := range h {
				for s := range w {
					for k := range patch {
						u, q, ch := k/c.Channels/c.Size, k/c.Channels%c.Size, k%c.Channels
						a, b := r+u-c.Pad, s+q-c.Pad
						if a < 0 || a >= c.Height || b < 0 || b >= c.Width {
							continue
						}
						at := i*in + (a*c.Width+b)*c.Channels + ch
						for o := range v.m {
							g := gs[i*out+(r*w+s)*v.m+o]
							dx[at] += g * ws[o*patch+k]
							dw[o*patch+k] += g * xs[at]
						}
					}
				}
			}
		}
		for _, dt := range dtypes {
			for _, vector := range []bool{true, false} {
				simd.Use(vector)
				tol := map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-5}[dt]
				var first [][]float64
				for _, threads := range []int{1, 2, 3, 16} {
					g := graph.New(dt)
					x, w := graph.NewParam("x", dt, xs, v.b, in), graph.NewParam("w", dt, ws, v.m, patch)
					p, err := g.Compile(g.Param(x).Conv(g.Param(w), c).Named("y").Mul(g.Const("g", gs, v.b, out)).Sum(), graph.Threads(threads))
					if err != nil {
						t.Fatal(err)
					}
					mustRun(t, p)
					mustRun(t, p) // memory is in use
					got := [][]float64{p.Read("y"), p.Gradient(x), p.Gradient(w)}
					if threads == 1 {
						first = got
						for i, want := range [][]float64{y, dx, dw} {
							largest := max(slices.Max(want), -slices.Min(want))
							for k, v := range got[i] {
								if !(math.Abs(v-want[k]) <= tol*largest) {
									t.Fatalf("%+v, %v, vector kernels %v: %s %d is %v, want %v", c, dt, vector, []string{"value", "gradient in x", "gradient in w"}[i], k, v, want[k])
								}
							}
						}
					} else if !reflect.DeepEqual(got, first) {
						t.Errorf("%+v, %v, vector kernels %v: other bits on %d threads", v, dt, vector, threads)
					}
				}
			}
		}
	}
}

func TestConv_RefusesShapesThatDoNotFit(t *testing.T) {
	g := graph.New(tensor.Float64)
	x, w := g.Input("x", 2, 12), g.Input("w", 3, 4)
	good := kernel.Convolution{Height: 4, Width: 3, Channels: 1, Size: 2}
	if err := x.Conv(w, good).Err(); err != nil {
		t.Fatal(err)
	}
	change := func(f func(*kernel.Convolution)) kernel.Convolution { c := good; f(&c); return c }
	for want, y := range map[string]graph.Expr{
		"want rows of 16 numbers":         x.Conv(w, change(func(c *kernel.Convolution) { c.Width = 4 })),
		"want rows of 12 numbers, 4×3":    x.Conv(x, good),
		"Conv wants a matrix":             x.SumOver(0).Conv(w, good),
		"Conv kernels wants a matrix":     x.Conv(w.Sum(), good),
		"want sides from 1":               x.Conv(w, change(func(c *kernel.Convolution) { c.Height, c.Width = -4, -3 })),
		"a border of 2 pixels":            x.Conv(w, change(func(c *kernel.Convolution) { c.Pad = 2 })),
		"is smaller than kernels of 9×9":  x.Conv(w, change(func(c *kernel.Convolution) { c.Size = 9 })),
		"kernels of 0×0":                  x.Conv(w, change(func(c *kernel.Convolution) { c.Size = 0 })),
		"at most 67108864 can be":         x.Conv(w, kernel.Convolution{Height: 1 << 14, Width: 1 << 14, Channels: 1 << 14, Size: 1 << 13}),
		"MaxPool of x[2×12] over 4×4":     x.MaxPool(kernel.Pooling{Height: 4, Width: 3, Channels: 1, Size: 4}),
		"MaxPool of x[2×12] over 0×0":     x.MaxPool(kernel.Pooling{Height: 4, Width: 3, Channels: 1}),
		"over 2×2 of 4×3 pixels of 2 cha": x.MaxPool(kernel.Pooling{Height: 4, Width: 3, Channels: 2, Size: 2}),
		"MaxPool wants a matrix":          x.Sum().MaxPool(kernel.Pooling{Height: 1, Width: 1, Channels: 1, Size: 1}),
	} {
		t.Run(want, func(t *testing.T) {
			wantError(t, y.Err(), want, "convolution_test.go")
		})
	}
}

// Equal numbers have their derivative at the first; infinities and NaN come out, and what is left
// over at the border has none.
func TestMaxPool_TakesTiesInfinitiesAndNaN(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, dt := range dtypes {
		p := kernel.Pooling{Height: 3, Width: 5, Channels: 1, Size: 2}
		value, dx := evaluate(t, dt, []float64{
			1, 1, -inf, -inf, 9,
			1, 1, -inf, -7, 9,
			9, 9, 9, 9, 9,
		}, []int{1, 15}, func(x graph.Expr) graph.Expr { return x.MaxPool(p) }, 3, 5)
		wantNear(t, "max pool", value, []float64{1, -7}, 0)
		wantNear(t, "its gradient", dx, []float64{3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0}, 0)
	}
	for _, size := range []int{2, 3} {
		for at := range size * size {
			x, y := make([]float64, size*size), make([]float64, 1)
			x[at] = nan
			if kernel.Pool(y, x, kernel.Pooling{Height: size, Width: size, Channels: 1, Size: size}); y[0] == y[0] {
				t.Errorf("NaN at %d of %d×%d becomes %v", at, size, size, y[0])
			}
		}
	}
}

// Squares of any size find the maximum where the fast ones do.
func TestPooling_OfAnySizeFindsTheMaximum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for size := 1; size < 5; size++ {
		p := kernel.Pooling{Height: 2*size + 1, Width: 3 * size, Channels: 3, Size: size}
		x := make([]float64, p.Height*p.Width*p.Channels)
		for i := range x {
			x[i] = float64(r.IntN(4)) // equals among them
		}
		h, w := p.Out()
		y, picked, g, dx := make([]float64, h*w*3), make([]float64, h*w*3), values(h*w*3, 1), make([]float64, len(x))
		for i := range dx {
			dx[i] = 7 // of an earlier image
		}
		kernel.Pool(y, x, p)
		kernel.Pick(picked, x, x, p)
		kernel.Unpool(dx, x, g, p)
		want := make([]float64, len(x))
		for k := range y {
			row, col, c := k/3/w, k/3%w, k%3
			best := -1
			for i := range size * size {
				at := ((row*size+i/size)*p.Width+col*size+i%size)*3 + c
				if best < 0 || x[at] > x[best] {
					best = at
				}
			}
			if want[best] = g[k]; y[k] != x[best] || picked[k] != x[best] {
				t.Errorf("size %d: maximum %v, picked %v, want %v", size, y[k], picked[k], x[best])
			}
		}
		if !reflect.DeepEqual(dx, want) {
			t.Errorf("size %d: unpooled %v, want %v", size, dx, want)
		}
	}
}

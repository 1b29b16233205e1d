package graph

import (
	"gorgonia.org/tensor"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// Conv returns what m kernels w [m×Size·Size·Channels] make of images x [B×Height·Width·Channels],
// [B×height·width·m] for the height and width of [kernel.Convolution.Out]:
//
//	y[i, (r, s, o)] = Σ_{u,v,c} w[o, (u, v, c)]·x[i, (r + u − Pad, s + v − Pad, c)]
//
// with pixels row by row, the channels of a pixel next to each other, and 0 outside of the image. It
// is linear in both; each of its derivatives is one of the three that ⟨y, g⟩ has.
func (x Expr) Conv(w Expr, c kernel.Convolution) Expr {
	if bad, ok := x.rank("Conv", 2); ok {
		return bad
	}
	if bad, ok := w.rank("Conv kernels", 2); ok {
		return bad
	}
	if err := c.Check(); err != nil {
		return Fail("graph: Conv: %w", err)
	}
	if x.n.Shape()[1] != c.In() || w.n.Shape()[1] != c.Patch() {
		return Fail("graph: Conv of %s by %s: want rows of %d numbers, %d×%d pixels of %d channels, by kernels of %d",
			x, w, c.In(), c.Height, c.Width, c.Channels, c.Patch())
	}
	return newConvolution(c, x, w).forward(x, w)
}

// convolution is the three products of patches.
type convolution struct {
	kernel.Convolution
	runs        []kernel.Run
	b, m, sites int // images, kernels, places
}

func newConvolution(c kernel.Convolution, x, w Expr) *convolution {
	h, wide := c.Out()
	return &convolution{Convolution: c, runs: c.Runs(), b: x.n.Shape()[0], m: w.n.Shape()[0], sites: h * wide}
}

func (c *convolution) forward(x, w Expr) Expr {
	return c.apply("conv", tensor.Shape{c.b, c.sites * c.m}, x, w, func(x, w, g Expr, need []bool) []Expr {
		return []Expr{when(need[0], func() Expr {
			return c.images(g, w)
		}), when(need[1], func() Expr { return c.kernels(x, g) })}
	})
}

// images is the derivative of ⟨x ⊛ w, g⟩ in x.
func (c *convolution) images(g, w Expr) Expr {
	return c.apply("conv images", tensor.Shape{c.b, c.In()}, g, w, func(g, w, v Expr, need []bool) []Expr {
		return []Expr{when(need[0], func() Expr {
			return c.forward(v, w)
		}), when(need[1], func() Expr { return c.kernels(v, g) })}
	})
}

// kernels is the derivative of ⟨x ⊛ w, g⟩ in w.
func (c *convolution) kernels(x, g Expr) Expr {
	return c.apply("conv kernels", tensor.Shape{c.m, c.Patch()}, x, g, func(x, g, v Expr, need []bool) []Expr {
		return []Expr{when(need[0], func() Expr {
			return c.images(g, v)
		}), when(need[1], func() Expr { return c.forward(x, v) })}
	})
}

func (c *convolution) apply(name string, out tensor.Shape, x, y Expr, d func(x, y, g Expr, need []bool) []Expr) Expr {
	var scratch [2]any // spaces of float32 and float64
	r := of2(
		func(dst, x, y []float64) { convolve(c, name, dst, x, y, 1, &scratch[1]) },
		func(dst, x, y []float32) { convolve(c, name, dst, x, y, 1, &scratch[0]) }).as(name, c.Convolution)
	if name == "conv" {
		r.conv = c
	}
	space := windows{convolution: c}
	r.vector = func(dst []float32, src [][]float32, threads int) bool {
		if c.fits(name) {
			space.run(name, dst, src, threads)
			return true
		}
		convolve(c, name, dst, src[0], src[1], threads, &scratch[0])
		return true
	}
	return apply(name, out, r, func(in []Expr, _, g Expr, need []bool) []Expr { return d(in[0], in[1], g, need) }, x, y)
}

const (
	// blockElements is how many elements of patches are unfolded at a time: less than the second
	// cache holds.
	blockElements = 1 << 16
	// shares is how many sums over some of the images there are at most, which are added at the end:
	// the same for any number of threads.
	shares = 16
)

// space is what one thread works with.
type space[T float] struct{ patches, grad []T }

// convolve computes one of the three products, a few images at a time.
func convolve[T float](c *convolution, name string, dst, x, y []T, threads int, scratch *any) {
	p, in, out := c.Patch(), c.In(), c.sites*c.m
	block := max(1, blockElements/(c.sites*p))
	blocks := (c.b + block - 1) / block
	spaces, _ := (*scratch).([]space[T])
	for len(spaces) < threads {
		spaces = append(spaces, space[T]{patches: make([]T, block*c.sites*p)})
	}
	*scratch = spaces
	unfold := func(worker, from, to int) []T {
		u := spaces[worker].patches
		for i := from; i < to; i++ {
			kernel.Unfold(u[(i-from)*c.sites*p:(i-from+1)*c.sites*p], x[i*in:(i+1)*in], c.runs)
		}
		return u[:(to-from)*c.sites*p]
	}
	switch name {
	case "conv":
		workers.Do(threads, blocks, func(worker, k int) {
			from, to := k*block, min(c.b, (k+1)*block)
			times(dst[from*out:to*out], unfold(worker, from, to), y, c.m, p, false, true, false)
		})
	case "conv images": // of gradients x by kernels y
		workers.Do(threads, blocks, func(worker, k int) {
			from, to := k*block, min(c.b, (k+1)*block)
			u := spaces[worker].patches[:(to-from)*c.sites*p]
			times(u, x[from*out:to*out], y, c.m, p, false, false, false)
			clear(dst[from*in : to*in])
			for i := from; i < to; i++ {
				kernel.Fold(dst[i*in:(i+1)*in], u[(i-from)*c.sites*p:(i-from+1)*c.sites*p], c.runs)
			}
		})
	default: // kernels, of images x and gradients y
		n := min(shares, blocks)
		if len(spaces[0].grad) == 0 {
			spaces[0].grad = make([]T, n*len(dst))
		}
		sums := spaces[0].grad
		workers.Do(threads, n, func(worker, share int) {
			sum := sums[share*len(dst) : (share+1)*len(dst)]
			for k := blocks * share / n; k < blocks*(share+1)/n; k++ {
				from, to := k*block, min(c.b, (k+1)*block)
				times(sum, y[from*out:to*out], unfold(worker, from, to), (to-from)*c.sites, p, true, false,
					k > blocks*share/n)
			}
		})
		clear(dst)
		simd.AddRows(dst, sums)
	}
}

// MaxPool returns the largest numbers of squares of pixels, see [kernel.Pooling], of images
// x [B×Height·Width·Channels], channel by channel: [B×height·width·Channels]. The derivative flows
// to the first largest alone.
func (x Expr) MaxPool(p kernel.Pooling) Expr {
	if bad, ok := x.rank("MaxPool", 2); ok {
		return bad
	}
	if in := p.Height * p.Width * p.Channels; p.Size < 1 || p.Size > min(p.Height, p.Width) || p.Channels < 1 ||
		x.n.Shape()[1] != in {
		return Fail("graph: MaxPool of %s over %d×%d of %d×%d pixels of %d channels", x, p.Size, p.Size, p.Height,
			p.Width, p.Channels)
	}
	if c, images, kernels := x.convolved(); c != nil {
		return c.pooled(images, kernels, p)
	}
	h, w := p.Out()
	out := tensor.Shape{x.n.Shape()[0], h * w * p.Channels}
	return apply("max pool", out, images2(p, func(dst, x, _ []float64) {
		kernel.Pool(dst, x, p)
	}, func(dst, x, _ []float32) { kernel.Pool(dst, x, p) }).as("max pool", p),
		func(in []Expr, _, g Expr, _ []bool) []Expr { return []Expr{in[0].unpool(g, p)} }, x)
}

// unpool puts what g has for each square at its maximum in x.
func (x Expr) unpool(g Expr, p kernel.Pooling) Expr {
	return apply("unpool", x.n.Shape(), images2(p,
		func(dst, x, g []float64) { kernel.Unpool(dst, x, g, p) },
		func(dst, x, g []float32) { kernel.Unpool(dst, x, g, p) }).as("unpool", p),
		func(in []Expr, _, v Expr, _ []bool) []Expr { return []Expr{{}, in[0].pick(v, p)} }, x, g).except(0)
}

// pick takes what v has at the maximum of each square in x.
func (x Expr) pick(v Expr, p kernel.Pooling) Expr {
	h, w := p.Out()
	return apply("pick", tensor.Shape{x.n.Shape()[0], h * w * p.Channels}, images2(p,
		func(dst, x, v []float64) { kernel.Pick(dst, x, v, p) },
		func(dst, x, v []float32) { kernel.Pick(dst, x, v, p) }).as("pick", p),
		func(in []Expr, _, g Expr, _ []bool) []Expr { return []Expr{{}, in[0].unpool(g, p)} }, x, v).except(0)
}

// images2 is a run of functions of images, one after the other, the second operand of which may lack.
func images2(p kernel.Pooling, f64 func(dst, x, y []float64), f32 func(dst, x, y []float32)) run {
	return run{
		f64: func(dst []float64, src [][]float64, _ int) { eachImage(p, dst, src, f64) },
		f32: func(dst []float32, src [][]float32, _ int) { eachImage(p, dst, src, f32) },
	}.by(byRows)
}

func eachImage[T float](p kernel.Pooling, dst []T, src [][]T, f func(dst, x, y []T)) {
	in := p.Height * p.Width * p.Channels
	n := len(src[0]) / in
	for i := range n {
		row := func(x []T) []T { return x[i*(len(x)/n) : (i+1)*(len(x)/n)] }
		var y []T
		if len(src) > 1 {
			y = row(src[1])
		}
		f(row(dst), row(src[0]), y)
	}
}

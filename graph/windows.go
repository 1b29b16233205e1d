package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// The products of convolutions and pools.
const (
	convPool      = "conv max pool"
	pooledKernels = "conv max pool kernels"
)

// windows are the products of a convolution in float32 that read images in place, see [simd.Windows].
type windows struct {
	*convolution
	pool    *kernel.Pooling // of what kernels make of an image, unless nil
	weights []float32       // [patch×m], or rows of kernels from the last to the first
	sums    []float32       // of kernels' gradients [shares×patch×m]
	spaces  []window
}

// window is what one thread works with: an image with its border, what kernels make of it, and the gradient of that.
type window struct{ padded, y, g []float32 }

// fits reports whether there are vector kernels for a product that are faster than unfolding: a window for
// each of at least four places in a row.
func (c *convolution) fits(name string) bool {
	columns := c.m
	if name == "conv images" {
		columns = c.Size * c.Channels
	}
	_, w := c.Out()
	return simd.HasWindows() && columns%16 == 0 && w >= 4
}

// ready makes a work space for each thread.
func (c *windows) ready(threads int) {
	if len(c.weights) == 0 {
		c.weights = make([]float32, c.m*c.Patch())
	}
	for len(c.spaces) < threads {
		var w window
		if c.Pad > 0 {
			w.padded = make([]float32, (c.Height+2*c.Pad)*(c.Width+2*c.Pad)*c.Channels)
		}
		if c.pool != nil {
			w.y, w.g = make([]float32, c.sites*c.m), make([]float32, c.sites*c.m)
		}
		c.spaces = append(c.spaces, w)
	}
}

// run computes one of the products.
func (c *windows) run(name string, dst []float32, src [][]float32, threads int) {
	if c.b*c.sites*c.m*c.Patch() < splitWork {
		threads = 1
	}
	c.ready(threads)
	switch name {
	case "conv images":
		c.imagesOf(dst, src[0], src[1], threads)
	case "conv kernels":
		c.kernelsOf(dst, src[0], src[1], threads)
	case pooledKernels:
		c.turn(src[1])
		c.kernelsOf(dst, src[0], src[2], threads)
	default:
		c.turn(src[1])
		workers.Do(threads, c.b, func(worker, i int) {
			to, x := image(dst, c.b, i), c.bordered(src[0], worker, i)
			if c.pool == nil {
				c.make(to, x)
				return
			}
			y := c.spaces[worker].y
			c.make(y, x)
			kernel.Pool(to, y, *c.pool)
		})
	}
}

// image is image i of n in x.
func image[T float](x []T, n, i int) []T { return x[i*(len(x)/n) : (i+1)*(len(x)/n)] }

// turn writes kernels so that those numbers of all that multiply one of a patch are next to each other.
func (c *windows) turn(w []float32) {
	patch := c.Patch()
	for o := range c.m {
		for k, v := range w[o*patch : (o+1)*patch] {
			c.weights[k*c.m+o] = v
		}
	}
}

// row is how many numbers a row of an image with its border has.
func (c *windows) row() int { return (c.Width + 2*c.Pad) * c.Channels }

// bordered is image i with its border.
func (c *windows) bordered(x []float32, worker, i int) []float32 {
	x = image(x, c.b, i)
	if c.Pad == 0 {
		return x
	}
	c.border(c.spaces[worker].padded, x, true)
	return c.spaces[worker].padded
}

// border copies an image into padded, within its border, or out of it.
func (c *windows) border(padded, x []float32, into bool) {
	n := c.Width * c.Channels
	for r := range c.Height {
		inner, row := padded[(r+c.Pad)*c.row()+c.Pad*c.Channels:][:n], x[r*n:(r+1)*n]
		if into {
			copy(inner, row)
		} else {
			copy(row, inner)
		}
	}
}

// make writes what kernels make of an image to y.
func (c *windows) make(y, x []float32) {
	h, w := c.Out()
	run := c.Size * c.Channels
	p := simd.Windows{Rows: w, Cols: c.m, CRow: c.m, Runs: c.Size, Len: run, Row: c.Channels, Run: c.row(), Step: 1,
		BRun: run * c.m, BRow: c.m, Tiles: h, ATile: c.row(), CTile: w * c.m}
	p.Multiply(y, x, c.weights, false)
}

// imagesOf adds, row of pixels by row, what rows of gradients make with those rows of kernels that saw it.
func (c *windows) imagesOf(dst, g, weights []float32, threads int) {
	h, w := c.Out()
	run := c.Size * c.Channels
	for o := range c.m {
		for u := range c.Size {
			copy(c.weights[((c.Size-1-u)*c.m+o)*run:][:run], weights[o*c.Patch()+u*run:])
		}
	}
	workers.Do(threads, c.b, func(worker, i int) {
		g, dx := image(g, c.b, i), image(dst, c.b, i)
		if c.Pad > 0 {
			dx = c.spaces[worker].padded
		}
		clear(dx)
		const cols = 32 // of which the weights stay in the first cache
		for j := 0; j < run; j += cols {
			for r := range c.Height + 2*c.Pad {
				from, last := max(0, r-c.Size+1), min(r, h-1)
				p := simd.Windows{Rows: w, Cols: min(cols, run-j), CRow: c.Channels, Runs: last - from + 1, Len: c.m,
					Row: c.m, Run: w * c.m, Step: 1,
					BRun: c.m * run, BRow: run, Tiles: 1}
				p.Multiply(dx[r*c.row()+j:], g[from*w*c.m:], c.weights[(c.Size-1-r+from)*c.m*run+j:], true)
			}
		}
		if c.Pad > 0 {
			c.border(dx, image(dst, c.b, i), false)
		}
	})
}

// kernelsOf adds gradients of a few images to each of several sums.
func (c *windows) kernelsOf(dst, x, g []float32, threads int) {
	h, w := c.Out()
	run, n := c.Size*c.Channels, min(shares, c.b)
	if len(c.sums) == 0 {
		c.sums = make([]float32, n*len(dst))
	}
	p := simd.Windows{Rows: run, Cols: c.m, CRow: c.m, Runs: h, Len: w, Row: 1, Run: c.row(), Step: c.Channels,
		BRun: w * c.m, BRow: c.m, Tiles: c.Size, ATile: c.row(), CTile: run * c.m}
	workers.Do(threads, n, func(worker, share int) {
		sum := image(c.sums, n, share)
		for i := c.b * share / n; i < c.b*(share+1)/n; i++ {
			x, g := c.bordered(x, worker, i), image(g, c.b, i)
			if c.pool != nil {
				s := &c.spaces[worker]
				c.make(s.y, x)
				kernel.Unpool(s.g, s.y, g, *c.pool)
				g = s.g
			}
			p.Multiply(sum, x, g, i > c.b*share/n)
		}
	})
	clear(c.weights)
	simd.AddRows(c.weights, c.sums)
	patch := c.Patch()
	for k := range patch {
		for o, v := range c.weights[k*c.m : (k+1)*c.m] {
			dst[o*patch+k] = v
		}
	}
}

// fewWeights are what a kernel has at most for whose results it takes less time to make them again than to keep them.
const fewWeights = 32

// convolved returns the convolution that x is of an input, which nothing is learned of, by small kernels, if there
// are vector kernels for it.
func (x Expr) convolved() (c *convolution, images, kernels Expr) {
	o, _ := x.n.Op().(*op)
	if o == nil || o.run.conv == nil || x.g.dt != tensor.Float32 || !o.run.conv.fits("conv") ||
		o.run.conv.Patch() > fewWeights {
		return nil, images, kernels
	}
	it := x.g.g.From(x.n.ID())
	for _, y := range []*Expr{&images, &kernels} {
		it.Next()
		*y = Expr{g: x.g, n: it.Node().(*gorgonia.Node)}
	}
	if !slices.ContainsFunc(x.g.inputs, func(in *input) bool { return in.node == images.n }) {
		return nil, images, kernels
	}
	return o.run.conv, images, kernels
}

// pooled is forward(x, w).MaxPool(p) of an input x in float32, of one image at a time: what kernels make
// stays in cache, and is made again for the gradient.
func (c *convolution) pooled(x, w Expr, p kernel.Pooling) Expr {
	h, wide := p.Out()
	return apply(convPool, tensor.Shape{c.b, h * wide * p.Channels}, c.pooling(convPool, p), func(in []Expr, _, g Expr,
		_ []bool) []Expr {
		return []Expr{{}, c.pooledKernels(in[0], in[1], g, p)}
	}, x, w).except(0)
}

// pooledKernels is kernels(x, forward(x, w).unpool(g, p)).
func (c *convolution) pooledKernels(x, w, g Expr, p kernel.Pooling) Expr {
	return apply(pooledKernels, tensor.Shape{c.m, c.Patch()}, c.pooling(pooledKernels, p), func(in []Expr, _, v Expr,
		_ []bool) []Expr {
		return []Expr{{}, {}, c.forward(in[0], in[1]).pick(c.forward(in[0], v), p)}
	}, x, w, g).except(0).except(1)
}

// pooling is a run of images, kernels and, of pooledKernels, gradients.
func (c *convolution) pooling(name string, p kernel.Pooling) run {
	space := windows{convolution: c, pool: &p}
	var scratch any
	var y, g []float32 // of all images, without vector kernels
	return run{
		f32: func(dst []float32, src [][]float32, _ int) {
			if n := c.b * c.sites * c.m; len(y) < n {
				y, g = make([]float32, n), make([]float32, n)
			}
			convolve(c, "conv", y, src[0], src[1], 1, &scratch)
			if len(src) < 3 {
				eachImage(p, dst, [][]float32{y}, func(dst, x, _ []float32) { kernel.Pool(dst, x, p) })
				return
			}
			eachImage(p, g, [][]float32{y, src[2]}, func(dst, x, g []float32) { kernel.Unpool(dst, x, g, p) })
			convolve(c, "conv kernels", dst, src[0], g, 1, &scratch)
		},
		vector: func(dst []float32, src [][]float32, threads int) bool {
			if !c.fits(name) {
				return false
			}
			space.run(name, dst, src, threads)
			return true
		},
	}.as(name, c.Convolution, p)
}

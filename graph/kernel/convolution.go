package kernel

import (
	"fmt"

	"opl/graph/kernel/simd"
)

// Convolution is the shape of a convolution of images with kernels of Size×Size pixels, one pixel
// apart. An image is Height·Width pixels, row by row, of Channels numbers each, next to each other;
// what a kernel sees beyond its border, at most Pad pixels, is 0.
type Convolution struct {
	Height   int `json:"height"`
	Width    int `json:"width"`
	Channels int `json:"channels"`
	Size     int `json:"size"`
	Pad      int `json:"pad,omitempty"`
}

// mostPixels bounds the sides of an image, mostPatches the numbers in all its patches.
const (
	mostPixels  = 1 << 14
	mostPatches = 1 << 26
)

// Check reports sides, channels and sizes out of range: at least 1, kernels no larger than the image
// with its border, which is narrower than they are, and no more than 2²⁶ numbers in all patches.
func (c Convolution) Check() error {
	for _, n := range []int{c.Height, c.Width, c.Channels, c.Size} {
		if n < 1 || n > mostPixels {
			return fmt.Errorf("an image of %d×%d pixels of %d channels and kernels of %d×%d: want sides from 1 to %d", c.Height, c.Width, c.Channels, c.Size, c.Size, mostPixels)
		}
	}
	if c.Pad < 0 || c.Pad >= c.Size {
		return fmt.Errorf("a border of %d pixels around an image for kernels of %d×%d: want from 0 to %d", c.Pad, c.Size, c.Size, c.Size-1)
	}
	h, w := c.Out()
	if h < 1 || w < 1 {
		return fmt.Errorf("an image of %d×%d pixels is smaller than kernels of %d×%d", c.Height, c.Width, c.Size, c.Size)
	}
	if n := float64(h*w) * float64(c.Size*c.Size) * float64(c.Channels); n > mostPatches {
		return fmt.Errorf("an image of %d×%d pixels of %d channels has %.3g numbers in patches of %d×%d, and at most %d can be computed", c.Height, c.Width, c.Channels, n, c.Size, c.Size, mostPatches)
	}
	return nil
}

// In counts the numbers of an image.
func (c Convolution) In() int { return c.Height * c.Width * c.Channels }

// Out counts the places that a kernel takes, as rows and columns of pixels.
func (c Convolution) Out() (height, width int) {
	return c.Height + 2*c.Pad - c.Size + 1, c.Width + 2*c.Pad - c.Size + 1
}

// Patch counts the numbers that a kernel sees at one place: Size·Size pixels of Channels.
func (c Convolution) Patch() int { return c.Size * c.Size * c.Channels }

// Run describes numbers that are neighbours both in an image and in its patches, to copy at once.
type Run struct{ Image, Patches, Len int32 }

// Runs lists all runs, in the order of the patches.
func (c Convolution) Runs() []Run {
	var runs []Run
	h, w := c.Out()
	for i := range h {
		for j := range w {
			for u := range c.Size {
				from, to := max(0, c.Pad-j), min(c.Size, c.Width+c.Pad-j)
				if y := i + u - c.Pad; y >= 0 && y < c.Height && from < to {
					runs = append(runs, Run{
						Image:   int32((y*c.Width + j + from - c.Pad) * c.Channels),
						Patches: int32((((i*w+j)*c.Size+u)*c.Size + from) * c.Channels),
						Len:     int32((to - from) * c.Channels),
					})
				}
			}
		}
	}
	return runs
}

// Unfold writes the patches of an image, one for each place of a kernel, to dst, which must be 0
// where the border is.
func Unfold[T Float](dst, x []T, runs []Run) {
	for _, r := range runs {
		to, from := dst[r.Patches:r.Patches+r.Len], x[r.Image:r.Image+r.Len]
		switch r.Len { // of kernels of one channel
		case 3:
			*(*[3]T)(to) = *(*[3]T)(from)
		case 5:
			*(*[5]T)(to) = *(*[5]T)(from)
		default:
			copy(to, from)
		}
	}
}

// Fold adds each patch to the pixels that Unfold took it from: the transpose of Unfold.
func Fold[T Float](dst, patches []T, runs []Run) {
	for _, r := range runs {
		to, from := dst[r.Image:r.Image+r.Len], patches[r.Patches:r.Patches+r.Len]
		simd.Add(to, to, from)
	}
}

// Pooling is the shape of the maximum over squares of Size×Size pixels that do not overlap; the
// pixels that are left over at the right and at the bottom are not used.
type Pooling struct{ Height, Width, Channels, Size int }

// Out counts the pixels that pooling leaves, as rows and columns.
func (p Pooling) Out() (height, width int) { return p.Height / p.Size, p.Width / p.Size }

// squares calls do with the place of the first number of each square in the image, and of its
// maximum in the result.
func (p Pooling) squares(do func(from, to int)) {
	h, w := p.Out()
	for i := range h {
		for j := range w {
			do((i*p.Width+j)*p.Size*p.Channels, (i*w+j)*p.Channels)
		}
	}
}

// pairs calls do with the place of the first number of two rows in the image and of what is made of them in
// the result, which ends at end: the squares of 2×2 pixels.
func (p Pooling) pairs(do func(from, to, end int)) {
	h, w := p.Out()
	for i := range h {
		do(2*i*p.Width*p.Channels, i*w*p.Channels, (i+1)*w*p.Channels)
	}
}

// Pool writes the maxima of an image x to dst; NaN is the largest.
func Pool[T Float](dst, x []T, p Pooling) {
	if p.Size == 2 {
		p.pairs(func(from, to, end int) { simd.Pool2(dst[to:end], x[from:], p.Width*p.Channels, p.Channels) })
		return
	}
	p.squares(func(from, to int) {
		d := dst[to : to+p.Channels]
		copy(d, x[from:from+p.Channels])
		for k := 1; k < p.Size*p.Size; k++ {
			y := x[from+(k/p.Size*p.Width+k%p.Size)*p.Channels:][:len(d)]
			for c, v := range y {
				d[c] = max(d[c], v)
			}
		}
	})
}

// Unpool writes g to the places of the maxima of x, the first of equals, and 0 elsewhere.
func Unpool[T Float](dst, x, g []T, p Pooling) {
	if p.Size == 2 {
		if p.Height%2+p.Width%2 > 0 {
			clear(dst)
		}
		p.pairs(func(from, to, end int) { simd.Unpool2(dst[from:], x[from:], g[to:end], p.Width*p.Channels, p.Channels) })
		return
	}
	clear(dst)
	places(x, p, func(from, to int) { dst[from] = g[to] })
}

// Pick writes the numbers of g at the places where x has its maxima: the transpose of Unpool.
func Pick[T Float](dst, x, g []T, p Pooling) {
	places(x, p, func(from, to int) { dst[to] = g[from] })
}

// places calls do with the place of each maximum, the first of equals, in the image and in the
// result.
func places[T Float](x []T, p Pooling, do func(from, to int)) {
	p.squares(func(from, to int) {
		for c := range p.Channels {
			best := from + c
			for k := 1; k < p.Size*p.Size; k++ {
				if at := from + c + (k/p.Size*p.Width+k%p.Size)*p.Channels; x[at] > x[best] {
					best = at
				}
			}
			do(best, to+c)
		}
	})
}

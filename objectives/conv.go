package objectives

import (
	"fmt"
	"math"

	"opl/graph"
	"opl/graph/kernel"
	"opl/policies/features"
)

// ConvNet is a convolutional network of contexts that are images, see [Conv].
type ConvNet struct {
	// Height, Width and Channels are of the images; 0: square, of one channel.
	Height, Width, Channels int
	Kernels                 []Kernels // of the convolutions, one after another
	Pad                     bool      // a border of half a kernel: those of odd sizes keep the sides of the image
	Widths                  []int     // of the layers behind them
	Dropout                 float64   // behind each of these, in [0, 1)
}

// Kernels are Number kernels of Size×Size pixels each.
type Kernels struct{ Number, Size int }

// Conv is a network of convolutions ([Problem.Conv]) with relu, each followed by the maximum over squares
// of 2×2 pixels where there are as many, and then of layers of relu, as in [MLP]. Contexts of another length
// than the images' are unfit. LeCun et al. (1998).
func Conv(c ConvNet) Representation {
	return func(p Problem, x graph.Expr) graph.Expr {
		at := kernel.Convolution{Height: c.Height, Width: c.Width, Channels: c.Channels}
		if d := x.Shape()[1]; at == (kernel.Convolution{}) {
			side := int(math.Round(math.Sqrt(float64(d))))
			if side*side != d {
				return p.Unfit("contexts of %d features are no square image of one channel: say "+
					"image=HEIGHTxWIDTHxCHANNELS, and leave out features that are no pixels, such as an intercept", d)
			}
			at = kernel.Convolution{Height: side, Width: side, Channels: 1}
		} else if at.In() != d {
			return p.Unfit("contexts of %d features are no images of %d×%d pixels of %d channels, which are %d "+
				"numbers", d, at.Height, at.Width, at.Channels, at.In())
		}
		for l, k := range c.Kernels {
			if at.Size = k.Size; c.Pad {
				at.Pad = k.Size / 2
			}
			in := features.Image{Convolution: at, Pool: 2}
			if h, w := at.Out(); min(h, w) < 2 {
				in.Pool = 1
			}
			x = p.Conv(fmt.Sprint("convolution ", l+1), x, in, k.Number, features.ReLU)
			at.Channels = k.Number
			at.Height, at.Width = in.Out()
		}
		return MLP(features.ReLU, c.Dropout, c.Widths...)(p, x)
	}
}

package features

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// The activations of a layer.
const (
	Linear = ""     // h
	ReLU   = "relu" // max(0, h)
	Tanh   = "tanh"
	Cos    = "cos" // in radians
)

// Layer is a learned map of features, h = activation(W·x + b), x [in], h [out].
type Layer struct {
	Weights    [][]float64 `json:"weights"`        // W [out][in]
	Bias       []float64   `json:"bias,omitempty"` // b [out]; none: zero
	Activation string      `json:"activation"`     // "", relu, tanh or cos
}

// Out is the number of features that the layer gives.
func (l *Layer) Out() int { return len(l.Weights) }

// Check reports what is wrong with a layer of in features: sizes that do not fit, numbers
// that are not finite, an activation that is not known.
func (l *Layer) Check(in int) error {
	switch {
	case len(l.Weights) == 0:
		return fmt.Errorf("features: a layer without weights")
	case l.Bias != nil && len(l.Bias) != len(l.Weights):
		return fmt.Errorf("features: a layer of %d rows with %d biases", len(l.Weights), len(l.Bias))
	case !slices.Contains([]string{Linear, ReLU, Tanh, Cos}, l.Activation):
		return fmt.Errorf("features: activation %q: want none, %s, %s or %s", l.Activation, ReLU, Tanh, Cos)
	}
	for i, row := range l.Weights {
		if len(row) != in {
			return fmt.Errorf("features: row %d of a layer has %d numbers for %d features", i, len(row), in)
		}
		for _, v := range row {
			if v-v != 0 {
				return fmt.Errorf("features: row %d of a layer has the number %v", i, v)
			}
		}
	}
	for i, v := range l.Bias {
		if v-v != 0 {
			return fmt.Errorf("features: bias %d of a layer is %v", i, v)
		}
	}
	return nil
}

// Net is a chain of layers that is ready to compute. It is safe for many goroutines.
type Net struct {
	layers []Layer
	turned [][]float64 // Wᵀ [in×out] of each
	wide   int
}

// NewNet makes a chain of layers, each of which takes what the one before gives. They must
// have passed Check.
func NewNet(layers []Layer) *Net {
	n := &Net{layers: layers}
	for i := range layers {
		l := &layers[i]
		in, out := len(l.Weights[0]), l.Out()
		turned := make([]float64, in*out)
		for o, row := range l.Weights {
			for j, v := range row {
				turned[j*out+o] = v
			}
		}
		n.turned = append(n.turned, turned)
		n.wide = max(n.wide, out)
	}
	return n
}

// Out is the number of features that the chain gives of in.
func (n *Net) Out(in int) int {
	if len(n.layers) == 0 {
		return in
	}
	return n.layers[len(n.layers)-1].Out()
}

// Room is how many numbers Apply needs beside its result.
func (n *Net) Room() int { return 2 * n.wide }

// Apply writes h(x) to dst [Out], another slice than x, in room of its own. Terms are added in
// the order of x: zeros of x cost nothing.
func (n *Net) Apply(dst, x, room []float64) {
	a, b := room[:n.wide], room[n.wide:2*n.wide]
	for i := range n.layers {
		l := &n.layers[i]
		out := l.Out()
		h := a[:out]
		if i == len(n.layers)-1 {
			h = dst[:out]
		}
		clear(h)
		for j, v := range x {
			if v != 0 {
				floats.AddScaled(h, v, n.turned[i][j*out:(j+1)*out])
			}
		}
		for o := range h {
			if l.Bias != nil {
				h[o] += l.Bias[o]
			}
			h[o] = l.activate(h[o])
		}
		x = h
		a, b = b, a
	}
	if len(n.layers) == 0 {
		copy(dst, x)
	}
}

func (l *Layer) activate(h float64) float64 {
	switch l.Activation {
	case ReLU:
		return math.Max(h, 0)
	case Tanh:
		return math.Tanh(h)
	case Cos:
		return math.Cos(h)
	}
	return h
}

// Dot is xᵀy, for y at least as long as x. Terms are rounded and added in their order: it is
// the same number wherever it is computed.
func Dot(x, y []float64) float64 {
	var s float64
	y = y[:len(x)]
	for j, v := range x {
		s += float64(v * y[j])
	}
	return s
}

package features

import (
	"fmt"
	"math"
)

// The activations of a layer.
const (
	Linear = ""     // h
	ReLU   = "relu" // max(0, h)
)

// Layer is a learned map of features, h = activation(W·x + b), x [in], h [out].
type Layer struct {
	Weights    [][]float64 `json:"weights"`        // W [out][in]
	Bias       []float64   `json:"bias,omitempty"` // b [out]; none: zero
	Activation string      `json:"activation"`     // "" or relu
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
	case l.Activation != Linear && l.Activation != ReLU:
		return fmt.Errorf("features: activation %q: want none or %s", l.Activation, ReLU)
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

// Apply writes h [Out] of x to dst, another slice.
func (l *Layer) Apply(dst, x []float64) {
	for i, row := range l.Weights {
		h := Dot(x, row)
		if l.Bias != nil {
			h += l.Bias[i]
		}
		if l.Activation == ReLU {
			h = math.Max(h, 0)
		}
		dst[i] = h
	}
}

// Dot is xᵀy, for y at least as long as x.
func Dot(x, y []float64) float64 {
	var s float64
	y = y[:len(x)]
	for j, v := range x {
		s += v * y[j]
	}
	return s
}

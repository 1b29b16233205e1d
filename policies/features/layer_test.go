package features

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A net is its layers one after another, to the bit.
func TestNet_AppliesItsLayersOneAfterAnother(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	in := 9
	var layers []Layer
	for _, l := range []struct {
		out        int
		activation string
		bias       bool
	}{{13, ReLU, true}, {4, Tanh, false}, {20, Cos, true}, {3, Linear, true}} {
		layer := Layer{Activation: l.activation}
		for range l.out {
			row := make([]float64, in)
			for j := range row {
				row[j] = r.NormFloat64()
			}
			layer.Weights = append(layer.Weights, row)
			if l.bias {
				layer.Bias = append(layer.Bias, r.NormFloat64())
			}
		}
		if err := layer.Check(in); err != nil {
			t.Fatal(err)
		}
		layers, in = append(layers, layer), l.out
	}
	x := []float64{1, 0, -2, .5, 0, 3, -1, 0, 1e-9}
	for n := range len(layers) + 1 {
		net := NewNet(layers[:n])
		h := x
		for i := range layers[:n] {
			l := &layers[i]
			next := make([]float64, l.Out())
			for o, row := range l.Weights {
				for j, v := range h {
					next[o] += v * row[j]
				}
				if l.Bias != nil {
					next[o] += l.Bias[o]
				}
				next[o] = l.activate(next[o])
			}
			h = next
		}
		got := make([]float64, net.Out(len(x)))
		net.Apply(got, x, make([]float64, net.Scratch()))
		for o, v := range got {
			if v != h[o] {
				t.Errorf("%d layers: feature %d is %v, want %v", n, o, v, h[o])
			}
		}
	}
	scratch, dst := make([]float64, 100), make([]float64, 3)
	net := NewNet(layers)
	if n := testing.AllocsPerRun(100, func() { net.Apply(dst, x, scratch) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	bad := layers[0]
	bad.Activation = "swish"
	if err := bad.Check(9); err == nil || !strings.Contains(err.Error(), "swish") {
		t.Error(err)
	}
}

// Zeros are left out by blocks: what is between them is not.
func TestTimes_LeavesOutNothingButZeros(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		x, w, want, got := make([]float64, n), make([]float64, 4*n), make([]float64, 4), make([]float64, 4)
		for j := range x {
			if r.IntN(6) == 0 {
				x[j] = r.NormFloat64()
			}
			for o := range 4 {
				w[4*j+o] = r.NormFloat64()
				want[o] += float64(x[j] * w[4*j+o])
			}
		}
		if times(got, x, w); !slices.Equal(got, want) {
			t.Errorf("%d inputs: %v, want %v", n, got, want)
		}
	}
}

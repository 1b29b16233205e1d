package logs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/policies/features"
)

// Contexts through layers of each kind are what a policy file makes of them, on any number of threads, held in memory or
// computed when they are asked for.
func TestThrough_GivesWhatAPolicyFileComputes(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 30))
	x := Rows64{Width: 3}
	for range 3 * 300 {
		x.Data = append(x.Data, math.Round(4*r.NormFloat64())/4)
	}
	forest := &features.Forest{In: 3, Base: []float64{.5, -1}, Outputs: []int32{0, 1}, Sizes: []int32{3, 3},
		Feature: []int32{1, -1, -1, -2, -1, -1}, Value: []float64{.25, 1, 2, 0, 3, 4}, Right: []int32{2, 0, 0, 2, 0, 0}, Sets: [][]int32{{0, 2}}}
	pieces := &features.Pieces{In: 3, Features: []int32{0}, Knots: [][]float64{{-1, 0, 1}}}
	layers := []features.Layer{
		{Branches: &features.Branches{In: 3, Chains: [][]features.Layer{{{Trees: forest}}, {{Pieces: pieces}}, nil}}},
		{Products: &features.Products{In: 10, Pairs: [][]int32{{0, 9}}}},
		{Weights: [][]float64{slices.Repeat([]float64{.1}, 11), slices.Repeat([]float64{-.3}, 11)}, Activation: features.Tanh},
	}
	net := features.NewNet(layers)
	want := make([]float64, 2*x.Len())
	for i := range x.Len() {
		net.Apply(want[2*i:2*i+2], x.Data[3*i:3*i+3], make([]float64, net.Scratch()))
	}
	lazy := &through{Contexts: x, net: net, dim: 2}
	for _, threads := range []int{1, 3} {
		held, err := Through(x, layers, threads)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []Contexts{held, lazy} {
			for i := range x.Len() {
				row, row32 := make([]float64, 2), make([]float32, 2)
				h.Row64(i, row)
				h.Row32(i, row32)
				if !slices.Equal(row, want[2*i:2*i+2]) || row32[1] != float32(row[1]) || math.Abs(h.Norm(i)-math.Hypot(row[0], row[1])) > 1e-15 {
					t.Fatalf("row %d: %v, %v, norm %v, want %v", i, row, row32, h.Norm(i), want[2*i:2*i+2])
				}
			}
		}
	}
	if _, err := Through(x, layers[1:], 1); err == nil {
		t.Error("layers of 10 features take 3")
	}
}

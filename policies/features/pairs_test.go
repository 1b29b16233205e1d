package features

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// grow is a tree of some depth at random of features 0 to in − 1, the last two of which are a category's.
func grow(f *Forest, r *rand.Rand, depth int) (size int32) {
	at := len(f.Feature)
	f.Feature, f.Value, f.Right = append(f.Feature, leaf), append(f.Value, r.NormFloat64()), append(f.Right, 0)
	if depth == 0 || r.IntN(6) == 0 {
		return 1
	}
	if f.Feature[at] = int32(r.IntN(f.In - 2)); r.IntN(5) == 0 {
		f.Feature[at], f.Value[at] = -2-int32(r.IntN(len(f.Sets))), 0
	}
	left := grow(f, r, depth-1)
	f.Right[at] = 1 + left
	return 1 + left + grow(f, r, depth-1)
}

// forest is some trees at random for each output.
func forest(r *rand.Rand, in, out, trees, depth int) *Forest {
	f := &Forest{In: in, Base: matrix(r, 1, out)[0], Sets: [][]int32{{int32(in) - 2}, {int32(in) - 2, int32(in) - 1}, {0, 1}}}
	for t := range out * trees {
		f.Outputs, f.Sizes = append(f.Outputs, int32(t/trees)), append(f.Sizes, grow(f, r, depth))
	}
	return f
}

func matrix(r *rand.Rand, rows, columns int) [][]float64 {
	w := make([][]float64, rows)
	for i := range w {
		for range columns {
			w[i] = append(w[i], r.NormFloat64())
		}
	}
	return w
}

// Scores of pairs are those of a pass through the layers, of every kind that learners make and of those that cannot be
// parted, and what is known of x is of use for every z.
func TestPairs_ScoreAsTheLayersDo(t *testing.T) {
	const d, n = 4, 5
	r := rand.New(rand.NewPCG(5, 5))
	knots := [][]float64{{-1, 0, .5, 2}, {-.5, .5}, {-1, 1}}
	clip := Layer{Clip: &Clip{Low: []float64{-1, -1, -2, -1, -1, -1, -1, 0, 0}, High: []float64{1, 1, 1, 2, 1, 1, 1, 1, 1}}}
	stumps := forest(r, d+n, 6, 1, 1)
	pieces := Layer{Branches: &Branches{In: d + n, Chains: [][]Layer{
		{{Pieces: &Pieces{In: d + n, Features: []int32{0, 5, 2}, Knots: knots}}},
		{{Pieces: &Pieces{In: d + n, Keep: []int32{3, 4}, Features: []int32{6}, Knots: knots[:1]}}}}}}
	regression := []Layer{pieces, {Products: &Products{In: 19, Pairs: [][]int32{{0, 4}, {1, 2}, {5, 6}, {9, 12}, {4, 10}, {3, 3}}}},
		{Weights: matrix(r, 1, 25), Bias: []float64{.3}}}
	waves := []Layer{{Branches: &Branches{In: d + n, Chains: [][]Layer{{}, {{Weights: matrix(r, 7, d+n), Bias: matrix(r, 1, 7)[0],
		Activation: Cos}}}}}, {Weights: matrix(r, 1, d+n+7)}}
	trees := []Layer{{Trees: forest(r, d+n, 1, 30, 6)}}
	odds := []Layer{{Activation: Odds, Weights: [][]float64{{0, 0, 0}, {1, 1, 0}, {0, 0, 0}}}}
	sales := []Layer{clip, {Branches: &Branches{In: d + n, Chains: [][]Layer{append(append([]Layer{}, trees...), Layer{Weights: [][]float64{{2}}}),
		{{Weights: [][]float64{{0, 0, 0, 0, 1, 2, 0, 0, 1}}}, {Pieces: &Pieces{In: 1, Keep: []int32{}, Features: []int32{0}, Knots: knots[:1]}},
			{Weights: matrix(r, 2, 3), Bias: []float64{.5, .1}}}}}},
		{Branches: &Branches{In: 3, Chains: [][]Layer{odds, odds}}}, {Weights: matrix(r, 2, 6)}}
	small := Layer{Weights: matrix(r, 40, 40)}
	for i := range small.Weights {
		floats.Scale(1/40., small.Weights[i])
	}
	cases := map[string]struct {
		layers []Layer
		parted bool
	}{
		"nothing":         {[]Layer{}, true},
		"linear":          {[]Layer{{Weights: matrix(r, 3, d+n), Bias: []float64{1, 2, 3}}}, true},
		"clip":            {[]Layer{clip}, true},
		"regression":      {append([]Layer{clip}, regression...), true},
		"waves":           {append([]Layer{clip}, waves...), true},
		"trees":           {trees, true},
		"large trees":     {[]Layer{{Trees: forest(r, d+n, 1, 5, 12)}}, false},
		"trees and sums":  {[]Layer{{Trees: forest(r, d+n, 3, 9, 4)}, {Weights: matrix(r, 2, 3)}}, true},
		"stumps":          {[]Layer{clip, {Trees: stumps}, {Weights: matrix(r, 1, 6)}}, true},
		"mixture":         {[]Layer{clip, {Branches: &Branches{In: d + n, Chains: [][]Layer{regression, waves, trees}}}}, true},
		"sales":           {sales, true},
		"waves of waves":  {append(append([]Layer{}, waves[0]), Layer{Weights: matrix(r, 2, d+n+7), Activation: Cos}), true},
		"sums of sums":    {[]Layer{{Weights: matrix(r, 40, d+n)}, small, small, small}, true},
		"relu":            {[]Layer{{Weights: matrix(r, 3, d+n), Activation: ReLU}}, false},
		"products of all": {[]Layer{{Products: &Products{In: d + n, Pairs: [][]int32{{0, 4}}}}, {Clip: &Clip{Low: make([]float64, 10), High: make([]float64, 10)}}}, true},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		of, in := cases[name], d+n
		for i := range of.layers {
			if err := of.layers[i].Check(in); err != nil {
				t.Fatal(name, err)
			}
			in = of.layers[i].Out()
		}
		theta := matrix(r, 1, in)[0]
		p, net := NewPairs(of.layers, theta, d, n), NewNet(of.layers)
		if (p.whole == nil) != of.parted {
			t.Errorf("%s: parted is %v", name, p.whole == nil)
		}
		halves, scratch := p.Halves(4), make([]float64, p.Scratch())
		for i := range 4 {
			p.Z(halves.At(i), make([]float64, n), scratch)
		}
		if halves.Len() != 4 {
			t.Errorf("%s: %d halves", name, halves.Len())
		}
		x, z := halves.At(1), halves.At(2)
		both, h, room := make([]float64, d+n), make([]float64, in), make([]float64, net.Scratch())
		for range 20 {
			for j := range d {
				both[j] = 1.5 * r.NormFloat64()
			}
			p.X(x, both[:d], scratch)
			for range 20 {
				for j := range n - 2 {
					both[d+j] = 1.5 * r.NormFloat64()
				}
				at := r.IntN(3)
				both[d+n-2], both[d+n-1] = float64(at&1), float64(at>>1)
				p.Z(z, both[d:], scratch)
				net.Apply(h, both, room)
				want := Dot(h, theta)
				if got := p.Score(x, z, scratch); !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
					t.Fatalf("%s: %v, want %v", name, got, want)
				}
				var four [4]float64
				p.Four(&four, x, &[4]Half{halves.At(3), z, halves.At(0), z}, scratch)
				if got := p.Score(x, z, scratch); four[1] != got || four[3] != got || four[0] != p.Score(x, halves.At(3), scratch) {
					t.Fatalf("%s: four at once are %v, want %v", name, four, got)
				}
			}
		}
		if n := testing.AllocsPerRun(10, func() { p.X(x, both[:d], scratch); p.Z(z, both[d:], scratch); p.Score(x, z, scratch) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

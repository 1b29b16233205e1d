package features

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// stump is a tree of one split by feature 1 and one of a set, both of two leaves.
func stump() *Forest {
	return &Forest{In: 3, Base: []float64{.5, -1}, Outputs: []int32{0, 1}, Sizes: []int32{3, 3},
		Feature: []int32{1, -1, -1, -2, -1, -1}, Value: []float64{.25, 1, 2, 0, 3, 4}, Right: []int32{2, 0, 0, 2, 0, 0}, Sets: [][]int32{{0, 2}}}
}

// twice is stump with each tree for both outputs, by turns.
func twice() *Forest {
	f := stump()
	f.Outputs, f.Sizes = []int32{0, 1, 1, 0}, []int32{3, 3, 3, 3}
	f.Feature, f.Value, f.Right = []int32{1, -1, -1, 1, -1, -1, -2, -1, -1, -2, -1, -1},
		[]float64{.25, 1, 2, .25, 1, 2, 0, 3, 4, 0, 3, 4}, []int32{2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0}
	return f
}

func TestForest_WalksATreeOfSeveralOutputsOnce(t *testing.T) {
	if g := twice().stage().(*grown); len(g.sizes) != 2 || len(g.nodes) != 6 {
		t.Errorf("%d trees of %d nodes, want 2 of 6", len(g.sizes), len(g.nodes))
	}
}

// What layers of the other kinds make of features is what their comments say, without allocating.
func TestSpecialLayers_ComputeTheirFormulasWithoutAllocating(t *testing.T) {
	layers := map[string]Layer{
		"trees":    {Trees: stump()},
		"twice":    {Trees: twice()},
		"pieces":   {Pieces: &Pieces{In: 3, Features: []int32{2, 0}, Knots: [][]float64{{0, 1, 3}, {-1, 1}}}},
		"kept":     {Pieces: &Pieces{In: 3, Keep: []int32{1}, Features: []int32{1}, Knots: [][]float64{{0, 1}}}},
		"cut":      {Pieces: &Pieces{In: 3, Keep: []int32{}, Features: []int32{1}, Knots: [][]float64{{0, 1}}}},
		"products": {Products: &Products{In: 3, Pairs: [][]int32{{0, 2}, {1, 1}}}},
		"clip":     {Clip: &Clip{Low: []float64{0, 1, -1}, High: []float64{1, 1, 2}}},
		"odds":     {Activation: Odds, Weights: [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
		"branches": {Branches: &Branches{In: 3, Chains: [][]Layer{nil, {{Trees: stump()}, {Weights: [][]float64{{1, 1}}}}}}},
	}
	for _, c := range []struct {
		name string
		x    []float64
		want []float64
	}{
		{"trees", []float64{0, .25, 0}, []float64{1.5, 3}},
		{"trees", []float64{0, .26, -1}, []float64{2.5, 2}},
		{"twice", []float64{0, .25, 0}, []float64{5.5, 4}},
		{"twice", []float64{0, .26, -1}, []float64{5.5, 4}},
		{"pieces", []float64{.5, 7, 2}, []float64{.5, 7, 2, 1, .5, .75}},
		{"pieces", []float64{-5, 7, -2}, []float64{-5, 7, -2, 0, 0, 0}},
		{"kept", []float64{1, .5, 2}, []float64{.5, .5}},
		{"cut", []float64{1, 1.5, 2}, []float64{1}},
		{"products", []float64{2, 3, 5}, []float64{2, 3, 5, 10, 9}},
		{"clip", []float64{-1, 5, .5}, []float64{0, 1, .5}},
		{"odds", []float64{0, math.Log(2), 0}, []float64{-math.Log(3), 0, -math.Log(3)}},
		{"odds", []float64{1000, 0, 0}, []float64{1000 - math.Log(2), -1000, -1000}},
		{"odds", []float64{-2000, 2000, 2000}, []float64{-4000 - math.Log(2), 0, 0}},
		{"branches", []float64{0, 1, 0}, []float64{0, 1, 0, 5.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := layers[c.name]
			b, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			var read Layer
			if err := json.Unmarshal(b, &read); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			for _, l := range []Layer{l, read} {
				if err := l.Check(3); err != nil || l.Out() != len(c.want) {
					t.Fatalf("%v, %d features", err, l.Out())
				}
				net := NewNet([]Layer{l})
				got, scratch := make([]float64, len(c.want)), make([]float64, net.Scratch())
				if n := testing.AllocsPerRun(10, func() { net.Apply(got, c.x, scratch) }); n != 0 {
					t.Errorf("%v allocations", n)
				}
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s of %v: %v, want %v", c.name, c.x, got, c.want)
				}
			}
		})
	}
}

// Layers that would not end, leave their arrays, grow beyond all bounds or hold what is no number are refused.
func TestSpecialLayers_RefuseWhatIsMalformed(t *testing.T) {
	wide := Layer{Branches: &Branches{In: 3, Chains: [][]Layer{nil, nil, nil, nil}}}
	for in := 12; in < 1<<20; in *= 4 {
		wide = Layer{Branches: &Branches{In: 3, Chains: [][]Layer{{wide, {Branches: &Branches{In: in, Chains: [][]Layer{nil, nil, nil, nil}}}}}}}
	}
	tree := func(change func(f *Forest)) Layer {
		f := stump()
		change(f)
		return Layer{Trees: f}
	}
	deep := &Forest{In: 3, Base: []float64{0}, Outputs: []int32{0}, Sizes: []int32{2*70 + 1}}
	for range 70 { // to the right
		deep.Feature, deep.Value, deep.Right = append(deep.Feature, 0, -1), append(deep.Value, 0, 0), append(deep.Right, 2, 0)
	}
	deep.Feature, deep.Value, deep.Right = append(deep.Feature, -1), append(deep.Value, 0), append(deep.Right, 0)
	for name, c := range map[string]struct {
		l    Layer
		want string
	}{
		"features":      {tree(func(f *Forest) { f.In = 4 }), "of 4 features for 3"},
		"cycle":         {tree(func(f *Forest) { f.Right[0] = -2 }), "right child -2 nodes on"},
		"itself":        {tree(func(f *Forest) { f.Right[0] = 0 }), "right child 0 nodes on"},
		"outside":       {tree(func(f *Forest) { f.Right[0] = 3 }), "right child 3 nodes on"},
		"far outside":   {tree(func(f *Forest) { f.Right[3] = math.MaxInt32 }), "nodes on"},
		"shared child":  {tree(func(f *Forest) { f.Feature[1], f.Right[1] = 0, 1 }), "right child 1 nodes on"},
		"no leaf":       {tree(func(f *Forest) { f.Feature[5], f.Right[5] = 0, 2 }), "right child 2 nodes on"},
		"alone":         {tree(func(f *Forest) { f.Feature[0], f.Right[0] = -1, 0 }), "no parent"},
		"leaf's child":  {tree(func(f *Forest) { f.Right[1] = 1 }), "has a child"},
		"feature":       {tree(func(f *Forest) { f.Feature[0] = 3 }), "feature 3 of 3"},
		"set":           {tree(func(f *Forest) { f.Feature[0] = -3 }), "set 1 of 1"},
		"lowest":        {tree(func(f *Forest) { f.Feature[0] = math.MinInt32 }), "set 2147483646 of 1"},
		"set's value":   {tree(func(f *Forest) { f.Value[3] = 1 }), "a set and the value 1"},
		"set's feature": {tree(func(f *Forest) { f.Sets[0][1] = 3 }), "set 0"},
		"set's order":   {tree(func(f *Forest) { f.Sets[0][0] = 2 }), "ascending"},
		"empty set":     {tree(func(f *Forest) { f.Sets[0] = nil }), "empty"},
		"output":        {tree(func(f *Forest) { f.Outputs[0] = 2 }), "output 2 of 2"},
		"size":          {tree(func(f *Forest) { f.Sizes[1] = 4 }), "4 nodes of 3"},
		"small size":    {tree(func(f *Forest) { f.Sizes[1] = 1 }), "tree 1"},
		"huge size":     {tree(func(f *Forest) { f.Sizes[0] = math.MaxInt32 }), "2147483647 nodes"},
		"no value":      {tree(func(f *Forest) { f.Value[2] = math.NaN() }), "value NaN"},
		"base":          {tree(func(f *Forest) { f.Base[1] = math.Inf(1) }), "+Inf"},
		"no outputs":    {tree(func(f *Forest) { f.Base = nil }), "0 outputs"},
		"values":        {tree(func(f *Forest) { f.Value = f.Value[1:] }), "5 values"},
		"nodes":         {tree(func(f *Forest) { f.Sizes, f.Outputs = f.Sizes[:1], f.Outputs[:1] }), "6 nodes in trees of 3"},
		"deep":          {Layer{Trees: deep}, "deeper than 64"},
		"two kinds":     {Layer{Trees: stump(), Products: &Products{In: 3}}, "two kinds"},
		"and weights":   {Layer{Trees: stump(), Activation: ReLU}, "two kinds"},
		"knots":         {Layer{Pieces: &Pieces{In: 3, Features: []int32{0}, Knots: [][]float64{{1, 1}}}}, "ascending"},
		"one knot":      {Layer{Pieces: &Pieces{In: 3, Features: []int32{0}, Knots: [][]float64{{1}}}}, "1 knots"},
		"wide knots":    {Layer{Pieces: &Pieces{In: 3, Features: []int32{0}, Knots: [][]float64{{-math.MaxFloat64, math.MaxFloat64}}}}, "finite"},
		"no knots":      {Layer{Pieces: &Pieces{In: 3, Features: []int32{0}}}, "knots of 0"},
		"nothing":       {Layer{Pieces: &Pieces{In: 3, Keep: []int32{}}}, "0 features come out"},
		"pieces of":     {Layer{Pieces: &Pieces{In: 3, Keep: []int32{3}}}, "feature 3 of 3"},
		"products of":   {Layer{Products: &Products{In: 3, Pairs: [][]int32{{0, -1}}}}, "feature -1 of 3"},
		"clip of":       {Layer{Clip: &Clip{Low: []float64{0}, High: []float64{1}}}, "clip of 1 and 1 numbers for 3"},
		"clip's ends":   {Layer{Clip: &Clip{Low: []float64{0, 0, 1}, High: []float64{0, 1, .5}}}, "feature 2 from 1 to 0.5"},
		"three":         {Layer{Products: &Products{In: 3, Pairs: [][]int32{{0, 1, 2}}}}, "pair of 3"},
		"in a branch":   {Layer{Branches: &Branches{In: 3, Chains: [][]Layer{{{Trees: deep}, {Trees: stump()}}}}}, "branch 0, layer 0"},
		"no branches":   {Layer{Branches: &Branches{In: 3}}, "0 branches"},
		"wide":          {wide, "come out"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.l.Check(3); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	for _, b := range []string{`{"trees":{"in":1,"base":[null]}}`, `{"trees":{"in":1,"base":[0],"colour":1}}`, `{"trees":{"in":1,"base":[0]},"activation":""}`,
		`{"branches":{"in":1,"chains":[null]}}`, strings.Repeat(`{"branches":{"in":1,"chains":[[`, 30) + strings.Repeat(`]]}}`, 30),
		strings.Repeat(`{"branches":{"in":1,"chains":[[`, 2000) + strings.Repeat(`]]}}`, 2000)} {
		var l Layer
		if err := json.Unmarshal([]byte(b), &l); err == nil {
			t.Errorf("%.80s is read", b)
		}
	}
}

// FuzzLayer: a layer that is read and passes Check computes finite features without panicking, and is written as
// what reads as the same.
func FuzzLayer(f *testing.F) {
	for _, l := range []Layer{{Trees: stump()}, {Pieces: &Pieces{In: 3, Keep: []int32{}, Features: []int32{2, 0}, Knots: [][]float64{{0, 1, 3}, {-1, 1}}}},
		{Branches: &Branches{In: 3, Chains: [][]Layer{nil, {{Trees: stump()}, {Products: &Products{In: 2, Pairs: [][]int32{{0, 1}}}}}}}}, {Weights: [][]float64{{1, 2, 3}}, Activation: Tanh}} {
		b, err := json.Marshal(l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var l, again Layer
		if json.Unmarshal(b, &l) != nil || l.Check(3) != nil {
			return
		}
		net, r := NewNet([]Layer{l}), rand.New(rand.NewPCG(1, 1))
		h, scratch := make([]float64, net.Out(3)), make([]float64, net.Scratch())
		net.Apply(h, []float64{r.NormFloat64(), 0, r.NormFloat64()}, scratch)
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &again); err != nil || again.Check(3) != nil {
			t.Errorf("%s is not read again: %v, %v", b, err, again.Check(3))
		}
	})
}

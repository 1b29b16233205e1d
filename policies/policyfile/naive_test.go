package policyfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/graph/kernel"
	"opl/policies/features"
	"opl/policies/policyfile"
)

// object is JSON as it comes.
type object = map[string]any

func numbers(v any) (xs []float64) {
	if v != nil {
		for _, x := range v.([]any) {
			xs = append(xs, x.(float64))
		}
	}
	return xs
}

// naive is π(·|x) of a policy file by what the package comment says of it, and nothing else.
func naive(file object, x map[string]float64) []float64 {
	k := len(file["actions"].([]any))
	pi := make([]float64, k)
	for a := range pi {
		pi[a] = file["floor"].(float64) / float64(k)
	}
	for _, c := range file["components"].([]any) {
		for a, p := range naiveComponent(c.(object), x, k) {
			pi[a] += (1 - file["floor"].(float64)) * c.(object)["weight"].(float64) * p
		}
	}
	return pi
}

func naiveComponent(c object, x map[string]float64, k int) []float64 {
	phi := naiveFeatures(c["encoder"].(object), x)
	norm := func() float64 {
		var s float64
		for _, v := range phi {
			s += v * v
		}
		return math.Sqrt(s)
	}
	if layers, ok := c["layers"]; ok {
		phi = naiveLayers(layers.([]any), phi)
	}
	s := naiveTimes(c["weights"], phi)
	best, pi := 0, make([]float64, k)
	for a := range s {
		if s[a] > s[best] {
			best = a
		}
	}
	switch c["kind"] {
	case "argmax":
		pi[best] = 1
	case "softmax":
		var sum float64
		for a := range s {
			pi[a] = math.Exp(s[a] - s[best])
			sum += pi[a]
		}
		for a := range s {
			pi[a] /= sum
		}
	case "gaussian":
		nodes, from, to := 65, -6., 8.
		if n, ok := c["nodes"]; ok && n.(float64) > 65 {
			nodes, from, to = int(n.(float64)), -9, 9
		}
		z := make([]float64, k)
		for a := range z {
			if n := norm(); n > 0 {
				z[a] = s[a] / (c["sigma"].(float64) * n)
			}
		}
		step := (to - from) / float64(nodes-1)
		for a := range pi {
			if norm() == 0 {
				pi[a] = 1 / float64(k)
				continue
			}
			for j := range nodes {
				t := z[best] + from + float64(j)*step
				p := step * math.Exp(-(t-z[a])*(t-z[a])/2) / math.Sqrt(2*math.Pi)
				for b := range z {
					if b != a {
						p *= math.Erfc(-(t-z[b])/math.Sqrt2) / 2
					}
				}
				pi[a] += p
			}
		}
	}
	return pi
}

func naiveTimes(rows any, x []float64) (out []float64) {
	for _, row := range rows.([]any) {
		var s float64
		for j, w := range numbers(row) {
			s += w * x[j]
		}
		out = append(out, s)
	}
	return out
}

// naiveLayers is what layers, one after another, make of x.
func naiveLayers(layers []any, x []float64) []float64 {
	for _, of := range layers {
		l := of.(object)
		var h []float64
		if trees, ok := l["trees"]; ok {
			x = naiveTrees(trees.(object), x)
			continue
		} else if pieces, ok := l["pieces"]; ok {
			x = naivePieces(pieces.(object), x)
			continue
		} else if products, ok := l["products"]; ok {
			h = append(h, x...)
			for _, pair := range products.(object)["pairs"].([]any) {
				at := numbers(pair)
				h = append(h, x[int(at[0])]*x[int(at[1])])
			}
			x = h
			continue
		} else if clip, ok := l["clip"]; ok {
			for j, low := range numbers(clip.(object)["low"]) {
				h = append(h, math.Min(numbers(clip.(object)["high"])[j], math.Max(low, x[j])))
			}
			x = h
			continue
		} else if branches, ok := l["branches"]; ok {
			for _, chain := range branches.(object)["chains"].([]any) {
				h = append(h, naiveLayers(chain.([]any), x)...)
			}
			x = h
			continue
		} else if image, ok := l["image"]; ok {
			h = naiveImage(image.(object), l["weights"].([]any), x)
		} else {
			h = naiveTimes(l["weights"], x)
		}
		if bias := numbers(l["bias"]); bias != nil {
			for o := range h {
				h[o] += bias[o%len(bias)]
			}
		}
		for o, v := range h {
			switch l["activation"] {
			case "relu":
				h[o] = max(v, 0)
			case "tanh":
				h[o] = math.Tanh(v)
			case "cos":
				h[o] = math.Cos(v)
			}
		}
		if l["activation"] == "odds" {
			h = naiveOdds(h)
		}
		x = h
	}
	return x
}

func naiveOdds(z []float64) []float64 {
	h := make([]float64, len(z))
	for a := range z {
		var sum float64
		for b := range z {
			if b != a {
				sum += math.Exp(z[b] - z[a])
			}
		}
		h[a] = -math.Log(sum)
	}
	return h
}

// naiveTrees reads a forest by recursion.
func naiveTrees(f object, x []float64) []float64 {
	h, first := numbers(f["base"]), 0
	feature, value, right := numbers(f["feature"]), numbers(f["value"]), numbers(f["right"])
	var leaf func(i int) float64
	leaf = func(i int) float64 {
		left := false
		switch j := int(feature[i]); {
		case j == -1:
			return value[i]
		case j >= 0:
			left = x[j] <= value[i]
		default:
			for _, member := range numbers(f["sets"].([]any)[-2-j]) {
				left = left || x[int(member)] != 0
			}
		}
		if left {
			return leaf(i + 1)
		}
		return leaf(i + int(right[i]))
	}
	sizes := numbers(f["sizes"])
	for t, o := range numbers(f["outputs"]) {
		h[int(o)] += leaf(first)
		first += int(sizes[t])
	}
	return h
}

func naivePieces(p object, x []float64) (h []float64) {
	if keep, ok := p["keep"]; ok {
		for _, j := range numbers(keep) {
			h = append(h, x[int(j)])
		}
	} else {
		h = append(h, x...)
	}
	for i, j := range numbers(p["features"]) {
		knots := numbers(p["knots"].([]any)[i])
		for b, from := range knots[:len(knots)-1] {
			v := (x[int(j)] - from) / (knots[b+1] - from)
			if v < 0 {
				v = 0
			} else if v > 1 {
				v = 1
			}
			h = append(h, v)
		}
	}
	return h
}

// naiveImage is the largest of what each kernel makes of the pixels around those of each square.
func naiveImage(image object, kernels []any, x []float64) (h []float64) {
	of := func(name string, without int) int {
		if v, ok := image[name]; ok {
			return int(v.(float64))
		}
		return without
	}
	height, width, channels, size, pad, pool := of("height", 0), of("width", 0), of("channels", 0), of("size", 0), of("pad", 0), of("pool", 1)
	for r := 0; (r+1)*pool <= height+2*pad-size+1; r++ {
		for s := 0; (s+1)*pool <= width+2*pad-size+1; s++ {
			for _, k := range kernels {
				w, most := numbers(k), math.Inf(-1)
				for i := r * pool; i < (r+1)*pool; i++ {
					for j := s * pool; j < (s+1)*pool; j++ {
						var sum float64
						for at, weight := range w {
							y, z := i+at/channels/size-pad, j+at/channels%size-pad
							if y >= 0 && y < height && z >= 0 && z < width {
								sum += weight * x[(y*width+z)*channels+at%channels]
							}
						}
						most = max(most, sum)
					}
				}
				h = append(h, most)
			}
		}
	}
	return h
}

// convolved puts convolutions with pooling, a border and channels before the layers of a file's components,
// whose features become an image of 6 numbers, or of 7 and the intercept.
func convolved(r *rand.Rand, f *policyfile.File) *policyfile.File {
	for i := range f.Components {
		c := &f.Components[i]
		n := c.Encoder.Dim()
		images := []features.Image{
			{Convolution: kernel.Convolution{Height: 1, Width: n, Channels: 1, Size: 1}},
			{Convolution: kernel.Convolution{Height: 1, Width: n, Channels: 2, Size: 3, Pad: 2}, Pool: 2},
		}
		if n == 6 {
			images[0] = features.Image{Convolution: kernel.Convolution{Height: 2, Width: 3, Channels: 1, Size: 3, Pad: 2}, Pool: 2}
			images[1] = features.Image{Convolution: kernel.Convolution{Height: 2, Width: 2, Channels: 2, Size: 2}}
		}
		var layers []features.Layer
		for l := range images {
			layer := features.Layer{Activation: []string{features.ReLU, features.Tanh}[l], Image: &images[l], Bias: []float64{.1, -.2}}
			for range 2 {
				row := make([]float64, images[l].Patch())
				for j := range row {
					row[j] = r.NormFloat64()
				}
				layer.Weights = append(layer.Weights, row)
			}
			layers = append(layers, layer)
		}
		last := features.Layer{Bias: []float64{1}}
		row := make([]float64, layers[1].Out())
		for j := range row {
			row[j] = r.NormFloat64()
		}
		last.Weights, layers[1].Bias = [][]float64{row}, nil
		c.Layers = append(layers, last)
		for a := range c.Weights {
			c.Weights[a] = c.Weights[a][:1]
		}
	}
	return f
}

// joined makes the scores of every other component of a shop, from the first on, those of contexts and items together.
func joined(r *rand.Rand, f *policyfile.File) *policyfile.File {
	all := f.Components
	for i := range all {
		c := &all[i]
		if i%2 > 0 {
			continue
		}
		one := *c
		one.Joint, one.Weights = true, policyfile.Matrix{nil}
		f.Components = []policyfile.Component{one}
		*c = forested(r, f).Components[0]
		clip := &features.Clip{}
		for range c.Encoder.Dim() + c.Items.Dim() {
			low := r.NormFloat64() - 1
			clip.Low, clip.High = append(clip.Low, low), append(clip.High, low+2*r.Float64())
		}
		c.Layers = append([]features.Layer{{Clip: clip}}, c.Layers...)
	}
	f.Components = all
	return f
}

// forested puts pieces, products and branches, one of them with trees, before the weights of a file's components.
func forested(r *rand.Rand, f *policyfile.File) *policyfile.File {
	for i := range f.Components {
		c := &f.Components[i]
		in := c.Encoder.Dim()
		if c.Joint {
			in += c.Items.Dim()
		}
		pieces := &features.Pieces{In: in, Features: []int32{2, 0}, Knots: [][]float64{{-1, 0, .25}, {-.5, .5}}}
		if i%2 > 0 {
			pieces.Keep = []int32{1, 2, 4}[:3*(i%4)/3]
		}
		layers := []features.Layer{{Pieces: pieces}}
		in = layers[0].Out()
		layers = append(layers, features.Layer{Products: &features.Products{In: in, Pairs: [][]int32{{0, 1}, {2, 2}, {int32(in - 1), 0}}}})
		in += 3
		linear := features.Layer{Activation: features.Tanh}
		for range 2 {
			row := make([]float64, in)
			for j := range row {
				row[j] = r.NormFloat64()
			}
			linear.Weights = append(linear.Weights, row)
		}
		trees := features.Layer{Trees: forest(r, in, 5, 12)}
		branches := features.Layer{Branches: &features.Branches{In: in, Chains: [][]features.Layer{{trees}, nil, {linear, {Trees: forest(r, 2, 1, 3)}}}}}
		if c.Layers = append(layers, branches); i == 0 {
			c.Layers = append(c.Layers, features.Layer{Trees: forest(r, branches.Out(), 3, 5)})
		}
		for a := range c.Weights {
			c.Weights[a] = make([]float64, c.Dim())
			for j := range c.Weights[a] {
				c.Weights[a][j] = r.NormFloat64()
			}
		}
	}
	return f
}

// forest is trees at random, some of a leaf alone, of features of which some split by sets.
func forest(r *rand.Rand, in, out, trees int) *features.Forest {
	f := &features.Forest{In: in, Base: make([]float64, out)}
	for o := range f.Base {
		f.Base[o] = r.NormFloat64()
	}
	var grow func(depth int)
	grow = func(depth int) {
		i := len(f.Feature)
		f.Feature, f.Value, f.Right = append(f.Feature, -1), append(f.Value, r.NormFloat64()), append(f.Right, 0)
		if r.IntN(5) < depth {
			return
		}
		if f.Feature[i] = int32(r.IntN(in)); r.IntN(3) == 0 {
			var set []int32
			for j := range in {
				if r.IntN(3) == 0 || j == in-1 && set == nil {
					set = append(set, int32(j))
				}
			}
			f.Feature[i], f.Value[i], f.Sets = int32(-2-len(f.Sets)), 0, append(f.Sets, set)
		}
		grow(depth + 1)
		f.Right[i] = int32(len(f.Feature) - i)
		grow(depth + 1)
	}
	for range trees {
		first := len(f.Feature)
		grow(0)
		f.Outputs, f.Sizes = append(f.Outputs, int32(r.IntN(out))), append(f.Sizes, int32(len(f.Feature)-first))
	}
	return f
}

// layered is a file of components of these kinds, each with features of its own behind layers
// of these widths.
func layered(t testing.TB, r *rand.Rand, kinds []string, activation string, widths ...int) *policyfile.File {
	t.Helper()
	const k = 4
	f := &policyfile.File{Actions: []string{"a", "b", "c", "d"}, Floor: .07, RewardMax: 1}
	normals := func(n int) []float64 {
		x := make([]float64, n)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		return x
	}
	for i, kind := range kinds {
		e := features.Encoder{Intercept: i%2 == 0, Unit: i < 2}
		for j := range 6 {
			e.Names = append(e.Names, fmt.Sprint("x", 2*i+j)) // some are those of the component before
		}
		e.Scale = normals(6)
		if i > 0 {
			e.Center = normals(6)
			e.Width, e.Impute = []float64{0, .2, 0, 3, 1e-3, 0}, true
			e.Missing = []string{e.Names[4], e.Names[1]}
		}
		c := policyfile.Component{Weight: float64(2*(i+1)) / float64(len(kinds)*(len(kinds)+1)), Kind: kind}
		if kind == policyfile.Gaussian {
			c.Sigma, c.Nodes = .4, 129*(i%2)
		}
		var err error
		if c.Encoder, err = features.New(e); err != nil {
			t.Fatal(err)
		}
		in := c.Encoder.Dim()
		for n, out := range widths {
			l := features.Layer{Activation: activation}
			for range out {
				l.Weights = append(l.Weights, normals(in))
			}
			if n%2 == 0 {
				l.Bias = normals(out)
			}
			c.Layers, in = append(c.Layers, l), out
		}
		for range k {
			c.Weights = append(c.Weights, normals(in))
		}
		f.Components = append(f.Components, c)
	}
	return f
}

// What serves is what the file says, by a program that shares nothing with it, to 1e-12.
func TestPolicy_PlaysWhatAnIndependentProgramReads(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 1))
	kinds := []string{policyfile.ArgMax, policyfile.Softmax, policyfile.Gaussian}
	var worst float64
	for _, of := range [][]string{kinds[:1], kinds[1:2], kinds[2:], {kinds[2], kinds[2]}, kinds, {kinds[0], kinds[1], kinds[1], kinds[2], kinds[0]}} {
		for _, activation := range []string{"", features.ReLU, features.Tanh, features.Cos, features.Odds} {
			for _, widths := range [][]int{nil, {9}, {7, 3}, {1, 12, 5}, {1}, {2}} {
				if activation == features.Odds && (len(widths) == 0 || slices.Contains(widths, 1)) {
					continue // of one output there are none
				}
				f := layered(t, r, of, activation, widths...)
				if len(widths) == 1 && widths[0] == 1 {
					f = convolved(r, f)
				} else if len(widths) == 1 && widths[0] == 2 {
					f = forested(r, f)
				}
				b := saved(t, f)
				var file object
				if err := json.Unmarshal(b, &file); err != nil {
					t.Fatal(err)
				}
				p, err := policyfile.Read(bytes.NewReader(b))
				if err != nil {
					t.Fatal(err)
				}
				got := make([]float64, 4)
				for i := range 20 {
					context := map[string]float64{}
					var values []features.Value
					for j := range 16 { // some are none of the policy's, some of it are not there
						if i == 0 || r.Float64() < .3 {
							continue
						}
						name := fmt.Sprint("x", j)
						context[name] = r.NormFloat64()
						values = append(values, features.Value{Name: name, Number: context[name]})
					}
					if err := p.Propensities(got, values); err != nil {
						t.Fatal(err)
					}
					for a, want := range naive(file, context) {
						worst = max(worst, math.Abs(got[a]-want))
						if !(math.Abs(got[a]-want) <= 1e-12) {
							t.Fatalf("%v, layers %q of %v, context %v: action %d: %v, the file says %v", of, activation, widths, context, a, got[a], want)
						}
					}
				}
			}
		}
	}
	t.Logf("largest difference %v", worst)
}

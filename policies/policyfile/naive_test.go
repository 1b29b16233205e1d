package policyfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

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
	encoder := c["encoder"].(object)
	scale, center := numbers(encoder["scale"]), numbers(encoder["center"])
	var phi []float64
	for j, name := range encoder["names"].([]any) {
		v := x[name.(string)]
		if center != nil {
			v -= center[j]
		}
		phi = append(phi, v*scale[j])
	}
	if encoder["intercept"].(bool) {
		phi = append(phi, 1)
	}
	norm := func() float64 {
		var s float64
		for _, v := range phi {
			s += v * v
		}
		return math.Sqrt(s)
	}
	if n := norm(); encoder["unit"].(bool) && n > 0 {
		for j := range phi {
			phi[j] /= n
		}
	}
	times := func(rows any) (out []float64) {
		for _, row := range rows.([]any) {
			var s float64
			for j, w := range numbers(row) {
				s += w * phi[j]
			}
			out = append(out, s)
		}
		return out
	}
	if layers, ok := c["layers"]; ok {
		for _, l := range layers.([]any) {
			h := times(l.(object)["weights"])
			for o, b := range numbers(l.(object)["bias"]) {
				h[o] += b
			}
			for o, v := range h {
				switch l.(object)["activation"] {
				case "relu":
					h[o] = max(v, 0)
				case "tanh":
					h[o] = math.Tanh(v)
				case "cos":
					h[o] = math.Cos(v)
				}
			}
			phi = h
		}
	}
	s := times(c["weights"])
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
func TestNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 1))
	kinds := []string{policyfile.ArgMax, policyfile.Softmax, policyfile.Gaussian}
	var worst float64
	for _, of := range [][]string{kinds[:1], kinds[1:2], kinds[2:], {kinds[2], kinds[2]}, kinds, {kinds[0], kinds[1], kinds[1], kinds[2], kinds[0]}} {
		for _, activation := range []string{"", features.ReLU, features.Tanh, features.Cos} {
			for _, widths := range [][]int{nil, {9}, {7, 3}, {1, 12, 5}} {
				b := saved(t, layered(t, r, of, activation, widths...))
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

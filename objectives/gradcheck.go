package objectives

import (
	"math"
	"math/rand/v2"
	"strings"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/policies"
)

// GradCheck builds an objective on a small random log (5 examples, 4 actions, 3
// features, 1,000 rows said to be in the log), with the noise frozen, and
// compares its symbolic gradient in every parameter with central differences;
// see [graph.GradCheck]. It is how a new objective, weight or policy is checked.
func GradCheck(o Objective, w Weight, pol policies.Policy, seed uint64) (graph.GradReport, error) {
	return GradCheckThrough(nil, o, w, pol, seed)
}

// GradCheckThrough is GradCheck with a policy that is linear in a representation, in the parameters
// of which the gradient is checked, too.
func GradCheckThrough(h Representation, o Objective, w Weight, pol policies.Policy, seed uint64) (graph.GradReport,
	error) {
	return GradCheckItems(Plain, h, o, w, pol, seed)
}

// Offering is how the actions of [GradCheckItems], which have features, are offered.
type Offering string

// The offerings.
const (
	Plain      Offering = ""            // actions have no features, see [GradCheckThrough]
	Catalogue  Offering = "a catalogue" // all 4 to all rows
	SetsOfOwn  Offering = "sets"        // 1 to 4 of 7 to each row
	ListsOfOwn Offering = "lists"       // of two slots, from sets of 2 to 4
)

// Offerings lists them.
func Offerings() []Offering { return []Offering{Plain, Catalogue, SetsOfOwn, ListsOfOwn} }

// GradCheckItems is GradCheckThrough with actions that have features.
func GradCheckItems(of Offering, h Representation, o Objective, w Weight, pol policies.Policy,
	seed uint64) (graph.GradReport, error) {
	const b, k, d = 5, 4, 4
	r := rand.New(rand.NewPCG(seed, 0))
	normal := func(n int, scale float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = scale * r.NormFloat64()
		}
		return xs
	}
	layers := &Params{Dtype: tensor.Float64, Seed: seed}
	m, err := layers.Width(h, d)
	if err != nil {
		return graph.GradReport{}, err
	}
	s := Setup{N: 1000, Policy: pol, Weight: w, Actions: k, Dim: d, Representation: h, Training: true}
	slots := 1
	if of == ListsOfOwn {
		s.Slots, slots = 2, 2
	}
	if of != Plain {
		n, p := k, 3
		if s.Sets = of != Catalogue; s.Sets {
			n = 7
		}
		z := normal(n*p, 1)
		s.Items = graph.NewItems(n, p, func(a int, dst []float64) { copy(dst, z[a*p:]) })
	}
	s.Prior = policies.Prior{Mean: normal(s.outputs()*m, 1)}
	params := NewParams(tensor.Float64, pol, s.Prior, s.outputs(), m)
	params.Mu.Set(normal(s.outputs()*m, 1))
	s.Params = params
	params.Layers, params.Seed = layers.Layers, seed
	for _, q := range params.Layers { // away from zero, where units of relu that are off have a kink
		values := q.Float64s()
		for i, v := range normal(len(values), .3) {
			values[i] += v
		}
		q.Set(values)
	}
	if params.LogSigma != nil {
		params.LogSigma.Set([]float64{-0.3})
	}
	p, err := New(s, b)
	if err != nil {
		return graph.GradReport{}, err
	}
	prog, err := p.Graph().Compile(o(p))
	if err != nil {
		return graph.GradReport{}, err
	}

	x, norm := normal(b*d, 1), make([]float64, b)
	var action, cost, logged []float64
	all, offered := make([]float64, b*k), make([]float64, b*k)
	for i := range b {
		for _, v := range x[i*d : i*d+d] {
			norm[i] = math.Hypot(norm[i], v)
		}
		n, items := k, make([]int, k)
		if s.Sets {
			n, items = max(slots, 1+(i+3)%k), r.Perm(7)
		}
		var sum float64
		for a := range k {
			if offered[i*k+a] = float64(items[a]); a >= n {
				offered[i*k+a], all[i*k+a] = -1, Beyond
				continue
			}
			all[i*k+a] = math.Exp(r.NormFloat64())
			sum += all[i*k+a]
		}
		for a := range n {
			all[i*k+a] /= sum
		}
		for first := r.IntN(n); len(action) < (i+1)*slots; first = (first + 1) % n {
			action, cost, logged = append(action, float64(first)), append(cost, -r.Float64()), append(logged, all[i*k+first])
		}
	}
	values := map[string][]float64{
		InputContext: x, InputNorm: norm, InputAction: action, InputCost: cost, InputPropensity: logged,
		InputPropensities: all, InputOffered: offered,
	}
	for _, name := range prog.Inputs() {
		if strings.HasPrefix(name, InputOutcome) {
			for range b * slots {
				values[name] = append(values[name], -r.Float64())
			}
		}
		if v, ok := values[name]; ok {
			if err := prog.Feed(name, v); err != nil {
				return graph.GradReport{}, err
			}
		}
	}
	prog.Refill(r)
	return graph.GradCheck(prog, 0)
}

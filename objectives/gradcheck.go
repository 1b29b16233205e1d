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
	return gradCheck(h, o, w, pol, seed, nil)
}

// GradCheckItems is GradCheckThrough with actions that have features: sets of 1 to 4 of 7 items, or else a
// catalogue of 4.
func GradCheckItems(sets bool, h Representation, o Objective, w Weight, pol policies.Policy,
	seed uint64) (graph.GradReport, error) {
	return gradCheck(h, o, w, pol, seed, &sets)
}

func gradCheck(h Representation, o Objective, w Weight, pol policies.Policy, seed uint64,
	sets *bool) (graph.GradReport, error) {
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
	if sets != nil {
		n, p := k, 3
		if s.Sets = *sets; s.Sets {
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
	defer prog.Close()

	x, norm := normal(b*d, 1), make([]float64, b)
	action, cost, logged, all, offered := make([]float64, b), make([]float64, b), make([]float64, b), make([]float64,
		b*k), make([]float64, b*k)
	for i := range b {
		for _, v := range x[i*d : i*d+d] {
			norm[i] = math.Hypot(norm[i], v)
		}
		n, items := k, make([]int, k)
		if s.Sets {
			n, items = 1+(i+3)%k, r.Perm(7)
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
		action[i], cost[i] = float64(r.IntN(n)), -r.Float64()
		logged[i] = all[i*k+int(action[i])]
	}
	values := map[string][]float64{
		InputContext: x, InputNorm: norm, InputAction: action, InputCost: cost, InputPropensity: logged,
		InputPropensities: all, InputOffered: offered,
	}
	for _, name := range prog.Inputs() {
		if strings.HasPrefix(name, InputOutcome) {
			for range b {
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

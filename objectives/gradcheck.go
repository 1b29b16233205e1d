package objectives

import (
	"math"
	"math/rand/v2"

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
func GradCheckThrough(h Representation, o Objective, w Weight, pol policies.Policy, seed uint64) (graph.GradReport, error) {
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
	prior := policies.Prior{Mean: normal(k*m, 1)}
	params := NewParams(tensor.Float64, pol, prior, k, m)
	params.Mu.Set(normal(k*m, 1))
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
	p, err := New(Setup{N: 1000, Policy: pol, Weight: w, Prior: prior, Params: params, Actions: k, Dim: d, Representation: h, Training: true}, b)
	if err != nil {
		return graph.GradReport{}, err
	}
	prog, err := p.Graph().Compile(o(p))
	if err != nil {
		return graph.GradReport{}, err
	}
	defer prog.Close()

	x, norm := normal(b*d, 1), make([]float64, b)
	action, cost, logged, all := make([]float64, b), make([]float64, b), make([]float64, b), make([]float64, b*k)
	for i := range b {
		for _, v := range x[i*d : i*d+d] {
			norm[i] = math.Hypot(norm[i], v)
		}
		var sum float64
		for a := range k {
			all[i*k+a] = math.Exp(r.NormFloat64())
			sum += all[i*k+a]
		}
		for a := range k {
			all[i*k+a] /= sum
		}
		action[i], cost[i] = float64(r.IntN(k)), -r.Float64()
		logged[i] = all[i*k+int(action[i])]
	}
	for name, v := range map[string][]float64{
		InputContext: x, InputNorm: norm, InputAction: action, InputCost: cost, InputPropensity: logged, InputPropensities: all,
	} {
		if prog.Has(name) {
			if err := prog.Feed(name, v); err != nil {
				return graph.GradReport{}, err
			}
		}
	}
	prog.Refill(r)
	return graph.GradCheck(prog, 0)
}

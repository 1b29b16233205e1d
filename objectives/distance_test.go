package objectives_test

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
)

// A penalty of 0 does not read the parameters: there is no distance.
func TestDistance_IsNotReadAtPenaltyZero(t *testing.T) {
	for name, objective := range map[string]func(lambda float64) objectives.Objective{
		"likelihood": objectives.Likelihood, "weighted": objectives.WeightedLikelihood, "l2": objectives.L2, "logistic": objectives.Logistic,
		"heuristic": func(lambda float64) objectives.Objective {
			return objectives.Heuristic(objectives.Penalties{Distance: lambda, Variance: 1, Bias: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, lambda := range []float64{0, .1} {
				prior := policies.Prior{Mean: make([]float64, 6)}
				p, err := objectives.New(objectives.Setup{
					N: 4, Policy: policies.Softmax{}, Weight: objectives.Clip(.1), Prior: prior, Actions: 3, Dim: 2,
					Params: objectives.NewParams(tensor.Float32, policies.Softmax{}, prior, 3, 2),
				}, 4)
				if err != nil {
					t.Fatal(err)
				}
				program, err := p.Graph().Compile(objective(lambda)(p), graph.Threads(1))
				if err != nil {
					t.Fatal(err)
				}
				if slices.Contains(program.Terms(), "distance") != (lambda > 0) {
					t.Errorf("%s, λ = %v: terms %v", name, lambda, program.Terms())
				}
			}
		})
	}
}

package objectives_test

import (
	"fmt"
	"log"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/objectives/weights"
	"opl/policies"
	"opl/train"
)

// Soft is a smooth clip, ŵ = π/√(π₀² + τ²), τ ≥ 0; IPS at τ = 0.
func Soft(tau float64) objectives.Weight {
	return objectives.Weight{Name: "soft", Hyper: tau, H: func(pi0 weights.Value) weights.Value {
		return pi0.Square().Plus(tau * tau).Sqrt()
	}}
}

// Near is the risk with a penalty on the χ² distance from the logging policy,
//
//	R̂ + β·mean_i Σ_a (π(a|x_i) − π₀(a|x_i))²/π₀(a|x_i),   β ≥ 0
func Near(beta float64) objectives.Objective {
	return func(p objectives.Problem) graph.Expr {
		pi, pi0 := p.Pi(), p.Pi0()                           // [R×K]
		distance := pi.Sub(pi0).Square().Div(pi0).SumOver(1) // [R]
		return p.Mean("risk", p.Loss()).Add(p.Mean("distance", distance).Scale(beta))
	}
}

// A weight and an objective of one's own, checked, built, and trained on four
// logged interactions: in the context (1, 0) action 0 earned a reward, in (0, 1)
// action 1 did.
func Example() {
	objective, weight, policy := Near(0.5), Soft(0.2), policies.Softmax{}
	report, err := objectives.GradCheck(objective, weight, policy, 1)
	must(err)
	fmt.Println("gradient is right:", report.Error < 1e-7)

	prior := policies.Prior{Mean: make([]float64, 2*2)}
	params := objectives.NewParams(tensor.Float64, policy, prior, 2, 2)
	problem, err := objectives.New(objectives.Setup{
		N: 4, Policy: policy, Weight: weight, Prior: prior, Params: params, Actions: 2, Dim: 2,
	}, 4)
	must(err)
	problem.Pi().Named("policy")
	program, err := problem.Graph().Compile(objective(problem))
	must(err)
	must(program.Feed(objectives.InputContext, []float64{1, 0, 1, 0, 0, 1, 0, 1}))
	must(program.Feed(objectives.InputAction, []float64{0, 1, 0, 1}))
	must(program.Feed(objectives.InputCost, []float64{-1, 0, 0, -1}))
	must(program.Feed(objectives.InputPropensity, []float64{.6, .4, .6, .4}))
	must(program.Feed(objectives.InputPropensities, []float64{.6, .4, .6, .4, .6, .4, .6, .4}))

	adam := train.Adam{LearningRate: 0.1}
	for range 200 {
		must(program.Run())
		must(train.Step(&adam, program))
	}
	fmt.Printf("risk %.3f, distance %.3f\n", program.Read("risk")[0], program.Read("distance")[0])
	fmt.Printf("policy %.2f\n", program.Read("policy"))
	// Output:
	// gradient is right: true
	// risk -0.686, distance 0.225
	// policy [0.79 0.21 0.79 0.21 0.33 0.67 0.33 0.67]
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

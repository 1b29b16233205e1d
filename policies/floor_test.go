package policies_test

import (
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"opl/policies"
)

// Every propensity of a floored policy is at least ε/K, in graphs as in numbers,
// and they sum to 1.
func TestFloor_KeepsEveryPropensityAboveIt(t *testing.T) {
	const k, epsilon = 4, .2
	pol := policies.Floor{Policy: policies.Gaussian{Nodes: 129}, Epsilon: epsilon}
	scores := []float64{50, -50, 0, 1}
	pi := probs(t, pol, tensor.Float64, scores, k, []float64{1}, .1, nil)
	given, mean := make([]float64, k), make([]float64, k)
	pol.At(given, scores, .1, nil)
	pol.AtMean(mean, scores)
	for _, row := range [][]float64{pi, given, mean} {
		close(t, "propensities", row, []float64{1 - epsilon + epsilon/k, epsilon / k, epsilon / k, epsilon / k}, 1e-12)
	}
	if plain := (policies.Floor{Policy: policies.Softmax{}}); plain.Name() != "softmax" || pol.Name() != "gaussian, floor 0.2" {
		t.Errorf("names %q and %q", plain.Name(), pol.Name())
	}
	// The log of a floored policy has bounded weights.
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		pol.At(given, normals(r, k, 30), .1, nil)
		for _, p := range given {
			if p < epsilon/k {
				t.Fatalf("propensity %v is below the floor", p)
			}
		}
	}
}

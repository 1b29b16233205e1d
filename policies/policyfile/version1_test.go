package policyfile_test

import (
	"math"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/propensity"
)

// A file that an opl of version 1 wrote ("opl train testdata/logs/sound.csv --epochs 2
// --floor 0.05 --reward-max 2") loads, with its history, and plays as its fields say.
func TestLoad_ReadsAFileOfVersion1(t *testing.T) {
	p, err := policyfile.Load("testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	f := p.File()
	c := f.Components[0]
	if f.RewardMin != 0 || f.RewardMax != 2 || !f.History.Known || f.History.Seed != 1 || len(c.Taught) != 297 || len(c.Chosen) != 303 || len(f.RewardModels) != 1 {
		t.Errorf("rewards to %v, history %v, %d taught, %d chosen, %d reward models", f.RewardMax, f.History.Known, len(c.Taught), len(c.Chosen), len(f.RewardModels))
	}
	x := []features.Value{{Name: c.Encoder.Names[0], Number: 0.7}}
	phi, scores := make([]float64, c.Dim()), make([]float64, len(f.Actions))
	if _, err := c.Encoder.Encode(phi, x); err != nil {
		t.Fatal(err)
	}
	var square float64
	for j, v := range phi {
		square += v * v
		for a := range scores {
			scores[a] += v * c.Weights[a][j]
		}
	}
	want, got := make([]float64, len(scores)), make([]float64, len(scores))
	propensity.Floor{Family: propensity.Gaussian{}, Epsilon: 0.05}.At(want, scores, c.Sigma*math.Sqrt(square), nil)
	if err := p.Propensities(got, x); err != nil {
		t.Fatal(err)
	}
	near(t, got, want)
	// What is written of it is of today's version, and plays alike.
	again := policy(t, f)
	if err := again.Propensities(got, x); err != nil || again.Hash() == p.Hash() {
		t.Errorf("%v, hash %s again", err, p.Hash())
	}
	near(t, got, want)
}

// A mixture of policies with encoders of their own, one with layers, plays what its
// formula says; names that one component lacks are its zeros.
func TestMixture_PlaysItsFormulaWithEncodersOfItsOwn(t *testing.T) {
	encoder := func(names ...string) *features.Encoder {
		scale := make([]float64, len(names))
		for i := range scale {
			scale[i] = float64(i + 1)
		}
		e, err := features.New(features.Encoder{Names: names, Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	f := &policyfile.File{Actions: []string{"l", "r"}, Floor: .1, RewardMax: 1, Components: []policyfile.Component{
		{Weight: .75, Kind: policyfile.Softmax, Encoder: encoder("x", "y"), Weights: policyfile.Matrix{{1, 0}, {0, 1}}},
		{Weight: .25, Kind: policyfile.Softmax, Encoder: encoder("y", "z"), Weights: policyfile.Matrix{{1, 2, 3}, {0, 0, 0}},
			Layers: []features.Layer{
				{Weights: [][]float64{{1, 0}, {0, -1}}, Bias: []float64{0, .5}, Activation: features.ReLU},
				{Weights: [][]float64{{1, 1}, {2, 0}, {0, 1}}, Activation: features.Linear}}},
	}}
	p := policy(t, f)
	softmax := func(l, r float64) float64 { return 1 / (1 + math.Exp(r-l)) }
	for _, v := range [][3]float64{{.3, -.2, .9}, {0, 0, 0}, {-1, 2, .1}} {
		x, y, z := v[0], v[1], v[2]
		h := [2]float64{math.Max(0, y), math.Max(0, -2*z+.5)}
		mixed := .75*softmax(x, 2*y) + .25*softmax(h[0]+h[1]+2*2*h[0]+3*h[1], 0)
		got := make([]float64, 2)
		if err := p.Propensities(got, []features.Value{{Name: "z", Number: z}, {Name: "x", Number: x}, {Name: "y", Number: y}, {Name: "unknown", Number: 3}}); err != nil {
			t.Fatal(err)
		}
		near(t, got, []float64{.9*mixed + .05, .9*(1-mixed) + .05})
		if err := p.PropensitiesOf(got, []float64{x, y, z}); err != nil {
			t.Fatal(err)
		}
		near(t, got, []float64{.9*mixed + .05, .9*(1-mixed) + .05})
	}
}

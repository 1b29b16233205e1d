package train_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/certify"
	"opl/train/provenance"
)

// Who takes the best of several scales of the prior pays for the choice.
func TestScales_ChosenAmongManyPayForTheChoice(t *testing.T) {
	log := labelled(600, 3, true)
	judge := provenance.New(log)
	c := train.Config{Objective: objectives.LogSmoothing(), Policy: policies.Gaussian{}, Prior: policies.Prior{Mean: make([]float64, 9)}, Epochs: 2, Seed: 1}
	for _, scales := range [][]float64{{1}, {.3, 1, 3}} {
		s := train.Search{Log: log, Rows: make([]int, log.Len()), Judge: judge, Options: certify.Options{Delta: .05}}
		for i := range s.Rows {
			s.Rows[i] = i
		}
		best, _, _, err := s.FitScales(context.Background(), c, scales, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Certificate.Statement()
		if got.Priors != len(scales) || math.Abs(got.KL-s.Best.KL()-math.Log(float64(len(scales)))) > 1e-9 || s.Best.Prior.Scale != scales[best] {
			t.Errorf("of %d scales: %d priors, a divergence of %v beside %v, scale %v", len(scales), got.Priors, got.KL, s.Best.KL(), s.Best.Prior.Scale)
		}
		if len(scales) == 1 {
			continue
		}
		for i, scale := range scales { // each alone, paid alike
			one := train.Search{Log: log, Rows: slices.Clone(s.Rows), Judge: judge, Options: certify.Options{Delta: .05}}
			if _, _, _, err := one.FitScales(context.Background(), c, []float64{scale}, nil); err != nil {
				t.Fatal(err)
			}
			if alone := one.Certificate.Statement().Reward(); i == best && !(got.Reward() < alone) {
				t.Errorf("chosen, %v is guaranteed, and alone %v", got.Reward(), alone)
			}
		}
	}
}

package train_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/objectives"
	"opl/train"
	"opl/train/logs"
	"opl/train/ope"
)

// Layers predict rewards that hang on the product of two features, and no row is predicted by what its reward taught.
func TestModel_ThroughLayersPredictsProductsAcrossFolds(t *testing.T) {
	const n = 3000
	r := rand.New(rand.NewPCG(1, 1))
	l := &logs.Log{Actions: logs.Numbered(2), X: logs.Rows64{Width: 3, Data: make([]float64, 3*n)}}
	truth := make([]float64, n) // of action 1; that of 0 is 1 less it
	for i := range n {
		x := l.X.(logs.Rows64).Data[3*i:][:3]
		x[0], x[1], x[2] = float64(2*r.IntN(2)-1), float64(2*r.IntN(2)-1), 1
		truth[i] = .5 + .4*x[0]*x[1]
		a := int32(r.IntN(2))
		p, c := truth[i], 0.
		if a == 0 {
			p = 1 - p
		}
		if r.Float64() < p {
			c = -1
		}
		l.Action, l.Cost, l.Propensity = append(l.Action, a), append(l.Cost, c), append(l.Propensity, .5)
	}
	learn := func(m ope.RewardModel) []float64 {
		t.Helper()
		predict, err := m.Learn(l, ope.ModelOptions{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		all := make([]float64, 2*n)
		for i := range n {
			predict(all[2*i:2*i+2], i)
		}
		return all
	}
	off := func(all []float64) (mse float64) {
		for i, p := range truth {
			mse += ((all[2*i+1]-p)*(all[2*i+1]-p) + (all[2*i]-1+p)*(all[2*i]-1+p)) / (2 * n)
		}
		return mse
	}
	layered := train.LayeredModel(context.Background(), "mlp=16", objectives.MLP("relu", 0, 16))
	before := learn(layered)
	if deep, flat := off(before), off(learn(ope.RewardModels()[1])); deep > .01 || flat < .1 {
		t.Errorf("mean squared errors: %v through layers, %v without", deep, flat)
	}
	fold, err := ope.Folds(l, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range fold {
		if f == 2 {
			l.Cost[i] = -1 - l.Cost[i]
		}
	}
	changed := [2]int{}
	for i, v := range learn(layered) {
		if v != before[i] {
			if fold[i/2] == 2 {
				changed[1]++
			} else {
				changed[0]++
			}
		}
	}
	if changed[1] > 0 || changed[0] == 0 {
		t.Errorf("other rewards in a fold change %d predictions in it, and %d elsewhere", changed[1], changed[0])
	}
	if _, err := layered.Learn(l, ope.ModelOptions{Weight: make([]float64, n)}); err == nil || !strings.Contains(err.Error(), "weights of rows") {
		t.Error(err)
	}
}

package ope_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/train/logs"
	"opl/train/ope"
)

// regression is a log of one action that is taken and one that is not, with d features, weights and pairs of rows.
func regression(n, d int) (*logs.Log, logs.Rows64) {
	r := rand.New(rand.NewPCG(6, 4))
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	l := &logs.Log{Actions: logs.Numbered(2), X: x, Action: make([]int32, n), Cost: make([]float64, n), Propensity: make([]float64, n), Weight: make([]float64, n), Group: make([]int32, n)}
	for i := range n {
		l.Cost[i], l.Propensity[i], l.Weight[i], l.Group[i] = -r.Float64(), 0.5, 0.5+r.Float64(), int32(i/2)
	}
	return l, x
}

// Logistic is at the minimum of its loss over the rows of other folds, of which the prediction of the action
// without rows tells the mean.
func TestLogistic_MinimizesItsLossOnOtherFolds(t *testing.T) {
	const n, d, folds, penalty = 200, 4, 3, 0.7
	l, x := regression(n, d)
	m, err := ope.Logistic(l, ope.ModelOptions{Folds: folds, Penalty: penalty, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	predicted := make([][2]float64, n)
	fold := map[float64][]int{}
	for i := range predicted {
		m(predicted[i][:], i)
		at := predicted[i][1]
		for mean := range fold {
			if math.Abs(mean-at) < 1e-12 {
				at = mean
			}
		}
		fold[at] = append(fold[at], i)
	}
	if len(fold) != folds {
		t.Fatalf("%d means", len(fold))
	}
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	for mean, mine := range fold {
		in := map[int]bool{}
		left, right := make([][]float64, d), make([]float64, d) // θ from the predictions of the fold
		for c := range d {
			left[c] = make([]float64, d)
		}
		for _, i := range mine {
			in[i] = true
			for c := range d {
				right[c] += x.Data[i*d+c] * (logit(predicted[i][0]) - logit(mean))
				for e := range d {
					left[c][e] += x.Data[i*d+c] * x.Data[i*d+e]
				}
			}
		}
		theta := eliminate(left, right)
		gradient, sum, total := make([]float64, d), 0.0, 0.0
		for i := range n {
			if in[i] {
				if !in[i/2*2] || !in[i/2*2+1] {
					t.Fatal("a group is in two folds")
				}
				continue
			}
			score := logit(mean)
			for c := range d {
				score += theta[c] * x.Data[i*d+c]
			}
			for c := range d {
				gradient[c] += l.Weight[i] * (1/(1+math.Exp(-score)) + l.Cost[i]) * x.Data[i*d+c]
			}
			sum -= l.Weight[i] * l.Cost[i]
			total += l.Weight[i]
		}
		near(t, "mean", mean, sum/total)
		for c := range d {
			if g := gradient[c] + penalty*theta[c]; math.Abs(g) > 1e-6 || math.Abs(theta[c]) < 1e-3 {
				t.Errorf("gradient %v at θ = %v", g, theta)
			}
		}
	}
}

// Weights of rows in a regression are those of the log, scaled to the same sum; rewards that are all alike
// are predicted.
func TestModels_WeightRowsAsTheLogDoes(t *testing.T) {
	for _, m := range ope.RewardModels() {
		l, _ := regression(60, 3)
		more, product := make([]float64, 60), make([]float64, 60)
		var sum, total float64
		for i := range more {
			more[i] = float64(i % 5)
			product[i] = more[i] * l.Weight[i]
			sum, total = sum+product[i], total+l.Weight[i]
		}
		predict := func(o ope.ModelOptions) []float64 {
			t.Helper()
			model, err := m.Learn(l, o)
			if err != nil {
				t.Fatal(m.Name, err)
			}
			out := make([]float64, 120)
			for i := range 60 {
				model(out[2*i:2*i+2], i)
			}
			return out
		}
		plain, by := predict(ope.ModelOptions{}), predict(ope.ModelOptions{Weight: more})
		for i := range product {
			product[i] *= total / sum
		}
		l.Weight = product
		own := predict(ope.ModelOptions{})
		for i := range own {
			if math.Abs(own[i]-by[i]) > 1e-7 || own[i] == plain[i] {
				t.Fatalf("%s: %v by weights, %v by the log's, %v without", m.Name, by[i], own[i], plain[i])
			}
		}
		for _, c := range []float64{0, -1} {
			for i := range l.Cost {
				l.Cost[i] = c
			}
			for _, p := range predict(ope.ModelOptions{}) {
				if math.Abs(p+c) > 1e-6 {
					t.Errorf("%s: rewards of %v are predicted by %v", m.Name, -c, p)
				}
			}
		}
		for want, w := range map[string][]float64{"2 weights": {1, 2}, "all rows have weight 0": make([]float64, 60), "row 1 has the weight -1": append([]float64{-1}, more[1:]...),
			"row 1 has the weight NaN": append([]float64{math.NaN()}, more[1:]...)} {
			if _, err := m.Learn(l, ope.ModelOptions{Weight: w}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", m.Name, err, want)
			}
		}
	}
}

// An estimator whose model is learned with weights that are all 0, as of mrdr where propensities are 1, has the
// model of all.
func TestModel_OfWeightsAllZeroLearnsFromAllRows(t *testing.T) {
	l, _ := regression(60, 3)
	for i := range l.Propensity {
		l.Propensity[i] = 1
	}
	p := evaluate(t, l, []ope.Target{ope.Uniform()}, ope.Options{Learn: learner(l), Estimators: only("dr", "mrdr")}).Policies[0]
	near(t, "mrdr", p.Estimates[1].Value, p.Estimates[0].Value)
	// One that asks for weights that are none is told so.
	bad := ope.DR()
	bad.Name, bad.Teach = "bad", func(_, _ float64) float64 { return -1 }
	if _, err := ope.Evaluate(l, []ope.Target{ope.Uniform()}, ope.Options{Learn: learner(l), Estimators: []ope.Estimator{bad}}); err == nil || !strings.Contains(err.Error(), "estimator bad: ope: row 1 has the weight -1") {
		t.Error(err)
	}
}

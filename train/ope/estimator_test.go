package ope_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/objectives/weights"
	"opl/train/ope"
)

// An estimator and a weight of one's own stand beside those of opl: with values,
// errors, gains and differences, a hyperparameter, a model.
func TestOwnEstimator_StandsBesideTheStandardOnes(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	l, xs := w.log(rand.New(rand.NewPCG(1, 2)), 400, 1)
	short := ope.Estimator{Name: "short", About: "mean of min(w, 2) r", Biased: true, Of: func(d *ope.Data, _ float64) ope.Value {
		return d.Mean(func(i int) float64 { return min(d.W[i], 2) * d.R[i] })
	}}
	truncated := ope.FromWeight("truncated", "min(π/π₀, 1/h)", 0, func(h float64) weights.Weight {
		return weights.Weight{Name: "truncated", Hyper: h, Of: func(pi, pi0 weights.Value) weights.Value { return pi.Div(pi0).AtMost(1 / h) }}
	})
	half, err := truncated.With(0.5)
	if err != nil {
		t.Fatal(err)
	}
	// DR normalized by its own weights, which reads all that there is.
	normalized := ope.Estimator{Name: "normalized", Model: true, Of: func(d *ope.Data, _ float64) ope.Value {
		dm := d.Mean(func(i int) float64 { return d.Direct[i] })
		rest := d.Ratio(func(i int) float64 { return d.W[i] * (d.R[i] - d.Predicted[i]) }, func(i int) float64 { return d.W[i] })
		for i := range rest.Influence {
			rest.Influence[i] += dm.Influence[i]
		}
		return ope.Value{Value: dm.Value + rest.Value, Influence: rest.Influence}
	}}
	l.X = oneHot(xs, 6)
	model, err := ope.Ridge(l, ope.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs), w.target("b", w.other, xs)},
		ope.Options{Estimators: append(ope.Default(ope.Estimators(), false), short, half, normalized), Model: model})
	if want := len(ope.Default(ope.Estimators(), false)) + 3; len(r.Policies[0].Estimates) != want || len(r.Pairs) != want {
		t.Errorf("%d estimates, %d pairs", len(r.Policies[0].Estimates), len(r.Pairs))
	}
	a, _ := estimate(r.Policies[0], "short")
	b, _ := estimate(r.Policies[0], "truncated")
	near(t, "two ways to write one weight", a.Value, b.Value)
	near(t, "their errors", a.Gain.SE, b.Gain.SE)
	if a.Label() != "short" || b.Label() != "truncated=0.5" || !a.Biased || b.Model || a.SE == 0 {
		t.Errorf("%+v, %+v", a, b)
	}
	sndr, _ := estimate(r.Policies[0], "normalized")
	ours, _ := estimate(r.Policies[0], "sndr")
	near(t, "one's own sndr", sndr.Value, ours.Value)
	near(t, "its error", sndr.Gain.SE, ours.Gain.SE)
	// Without a model it is left out, and said to be.
	if r := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs)}, ope.Options{Estimators: []ope.Estimator{short, normalized}}); !slices.Equal(r.Missing, []string{"normalized: no model of the reward"}) {
		t.Error(r.Missing)
	}
	// A weight that is refused names itself; so does a value that is none.
	nothing := ope.FromWeight("nothing", "", math.NaN(), func(float64) weights.Weight { return weights.Weight{Name: "nothing"} })
	if _, err := ope.Evaluate(l, []ope.Target{ope.Uniform()}, ope.Options{Estimators: []ope.Estimator{nothing}}); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Error(err)
	}
	none := ope.Estimator{Name: "none", Of: func(*ope.Data, float64) ope.Value { return ope.Value{Value: math.NaN()} }}
	if r := evaluate(t, l, []ope.Target{ope.Uniform()}, ope.Options{Estimators: []ope.Estimator{none}}); !slices.Equal(r.Missing, []string{"none: it has no value for target uniform"}) {
		t.Error(r.Missing)
	}
}

// Hyperparameters have domains.
func TestHyperparameters_HaveDomains(t *testing.T) {
	for _, e := range ope.Estimators() {
		for _, h := range []float64{0, -1, 1.5, math.NaN(), math.Inf(1)} {
			if h == 1.5 && e.Hyper != nil && e.Hyper.High > 1 {
				continue
			}
			if _, err := e.With(h); err == nil || !strings.Contains(err.Error(), e.Name) {
				t.Errorf("%s=%v: %v", e.Name, h, err)
			}
		}
		if e.About == "" {
			t.Errorf("%s says nothing", e.Name)
		}
	}
	// The list is not touched.
	clip := ope.Estimators()[2]
	if _, err := clip.With(0.3); err != nil {
		t.Error(err)
	}
	near(t, "the default", clip.Hyper.Default(&ope.Data{N: 10000}), 0.1)
}

// The weights are 0 where π is, however near 0 their denominators.
func TestWeights_AreZeroWhereTheTargetIs(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	l, _ := w.log(rand.New(rand.NewPCG(1, 2)), 50, 1)
	for i := range l.Propensity {
		l.Propensity[i] = 1e-30
	}
	target := ope.Target{Name: "never", Logged: make([]float64, 50)}
	p := evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: with(t, hypers{"har": 1e-300, "es": 1e-300})}).Policies[0]
	if e, ok := estimate(p, "sg"); !ok || e.Hyper != 1 {
		t.Errorf("sg where no weight is above 0: %+v", e)
	}
	for _, e := range p.Estimates {
		if e.Value != 0 || e.SE != 0 {
			t.Errorf("%+v", e)
		}
	}
}

// Hyperparameters that rows choose are what they are said to be: the λ of sg solves its equation, those of
// shrunk weights have the least se² + (difference to dr)².
func TestHyperparameters_AreChosenByTheRows(t *testing.T) {
	w := newWorld(3, 6, 4, 1.2)
	l, xs := w.log(rand.New(rand.NewPCG(4, 2)), 500, 1)
	target := w.target("a", w.pi, xs)
	model := func(dst []float64, i int) {
		for a := range dst {
			dst[a] = 0.3 + 0.1*float64(a)*float64(xs[i]%2)
		}
	}
	o := ope.Options{Delta: 0.1, Model: model, Estimators: only("sg", "dr", "switch", "dros")}
	p := evaluate(t, l, []ope.Target{target}, o).Policies[0]
	sg, _ := estimate(p, "sg")
	square := 0.0
	for i, a := range l.Action {
		v := w.pi[xs[i]*4+int(a)] / l.Propensity[i]
		v *= sg.Hyper / (1 - sg.Hyper + sg.Hyper*v)
		square += v * v
	}
	near(t, "n λ² times the second moment", square, 2*math.Log(10)/3)
	dr, _ := estimate(p, "dr")
	for _, e := range []ope.Estimator{ope.SwitchDR(), ope.DRos()} {
		least, best := math.Inf(1), 0.0
		for j := 40; j >= -10; j-- {
			at, err := e.With(math.Pow(2, float64(j)))
			if err != nil {
				t.Fatal(err)
			}
			o.Estimators = []ope.Estimator{at}
			got := evaluate(t, l, []ope.Target{target}, o).Policies[0].Estimates[0]
			if err := got.SE*got.SE + (got.Value-dr.Value)*(got.Value-dr.Value); err < least*(1-1e-9) {
				least, best = err, got.Hyper
			}
		}
		if got, _ := estimate(p, e.Name); got.Hyper != best || best > 1e6 || best < 0.01 {
			t.Errorf("%s=%v, want %v", e.Name, got.Hyper, best)
		}
	}
}

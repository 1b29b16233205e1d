package ope_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// weighing is a log of two actions and a target with given weights in its rows, rewards 1 and 0 in turn.
func weighing(w []float64) (*logs.Log, ope.Target) {
	n := len(w)
	l := &logs.Log{Actions: logs.Numbered(2), Action: make([]int32, n), Cost: make([]float64, n), Propensity: make([]float64, n)}
	target := ope.Target{Name: "t", Origin: provenance.FixedBefore(), Logged: make([]float64, n)}
	for i, v := range w {
		l.Action[i], l.Cost[i], l.Propensity[i] = int32(i%2), -float64(i%2), 1e-6
		target.Logged[i] = v * 1e-6
	}
	return l, target
}

// The tail of Pareto weights of shape k is found; weights of few values have none.
func TestTail_FindsTheShapeOfParetoWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, k := range []float64{0.2, 0.5, 1.2} {
		mean := 0.0
		for range 20 {
			w := make([]float64, 2000)
			for i := range w {
				w[i] = math.Pow(1-r.Float64(), -k)
			}
			l, target := weighing(w)
			p := evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: only("ips")}).Policies[0]
			mean += p.Tail / 20
			if heavy := slices.ContainsFunc(p.Warnings, func(s string) bool { return strings.Contains(s, "tail k = ") }); heavy != (p.Tail >= 0.7) {
				t.Errorf("k = %v, %v", p.Tail, p.Warnings)
			}
		}
		if math.Abs(mean-k) > 0.12 {
			t.Errorf("k = %v for weights of %v", mean, k)
		}
	}
	// By another program in plain Python, for w = 1, 4, 9 … 3600: the largest 12 above 48² = 2304.
	w := make([]float64, 60)
	for i := range w {
		w[i] = float64((i + 1) * (i + 1))
	}
	l, target := weighing(w)
	if k := evaluate(t, l, []ope.Target{target}, ope.Options{}).Policies[0].Tail; math.Abs(k+0.16212169806034435) > 1e-9 {
		t.Errorf("k = %.12f", k)
	}
	few := slices.Repeat([]float64{1}, 1000) // the tail is of 3 values
	for i := range 60 {
		few[i*16] = []float64{5, 7, 9}[i%3]
	}
	l, target = weighing(few)
	near(t, "k of three values", evaluate(t, l, []ope.Target{target}, ope.Options{}).Policies[0].Tail, 0)
	for _, values := range [][]float64{{1}, {0, 2}, {0, 1, 7, 50}} {
		w := make([]float64, 1000)
		for i := range w {
			w[i] = values[r.IntN(len(values))]
		}
		l, target := weighing(w)
		if k := evaluate(t, l, []ope.Target{target}, ope.Options{}).Policies[0].Tail; k != 0 {
			t.Errorf("k = %v of %v", k, values)
		}
	}
}

// What is believed: sndr with a model, snips without, what there is otherwise; nothing where weights are beyond it.
func TestBelieve_TakesSNDRWithAModel(t *testing.T) {
	w := newWorld(3, 6, 4, 0.3)
	l, xs := w.log(rand.New(rand.NewPCG(1, 2)), 2000, 1)
	l.X = oneHot(xs, 6)
	target := w.target("a", w.pi, xs)
	learn := learner(l)
	recommended := func(l *logs.Log, target ope.Target, o ope.Options) ope.Policy {
		t.Helper()
		return evaluate(t, l, []ope.Target{target}, o).Policies[0]
	}
	for want, o := range map[string]ope.Options{
		"sndr": {Learn: learn}, "snips": {}, "dr": {Learn: learn, Estimators: only("ls", "dr")}, "": {Estimators: only("ls", "ix")},
	} {
		if p := recommended(l, target, o); p.Recommended != want || p.Warnings != nil {
			t.Errorf("%q is recommended, want %q; %v", p.Recommended, want, p.Warnings)
		}
	}
	// Rows needed: n(z se/h)², where h is a tenth of the logging policy's mean reward, or given.
	r := evaluate(t, l, []ope.Target{target}, ope.Options{})
	p := r.Policies[0]
	snips, _ := estimate(p, "snips")
	near(t, "rows needed", p.RowsNeeded, math.Ceil(2000*math.Pow(1.959963984540054*snips.SE/(r.Logging.Value/10), 2)))
	p = recommended(l, target, ope.Options{HalfWidth: 0.001})
	near(t, "rows needed", p.RowsNeeded, math.Ceil(2000*math.Pow(1.959963984540054*snips.SE/0.001, 2)))
	near(t, "half-width", p.HalfWidth, 0.001)

	// A log that says what helps is believed: as many rows give that half-width, nearly.
	more, contexts := w.log(rand.New(rand.NewPCG(7, 2)), int(evaluate(t, l, []ope.Target{target}, ope.Options{HalfWidth: 0.015}).Policies[0].RowsNeeded), 1)
	e, _ := estimate(recommended(more, w.target("a", w.pi, contexts), ope.Options{}), "snips")
	if h := (e.High - e.Low) / 2; math.Abs(h/0.015-1) > 0.1 {
		t.Errorf("the half-width is %v with the rows that were said to give .015", h)
	}

	// One row carries all; few effective rows; wrong propensities; actions never taken.
	one := slices.Repeat([]float64{0.5}, 400)
	one[3] = 300
	five := make([]float64, 400)
	for i := range 40 {
		five[i*10] = 10
	}
	wrong := make([]float64, 400)
	for i := range wrong {
		wrong[i] = 0.5 + 0.001*float64(i%7)
	}
	for want, weights := range map[string][]float64{"one row carries 6": one, "rests on 40.0 effective rows": five, "weights average 0.503": wrong,
		"never takes a logged action": make([]float64, 400)} {
		l, target := weighing(weights)
		p := recommended(l, target, ope.Options{})
		if p.Recommended != "" || !strings.Contains(fmt.Sprint(p.Warnings), want) {
			t.Errorf("%q is recommended, want nothing: %q of %v", p.Recommended, want, p.Warnings)
		}
	}
	// 60 rows like those 400 that amount to 40 are too few for 50: n·50/ESS.
	l2, few := weighing(five)
	if p := recommended(l2, few, ope.Options{HalfWidth: 10}); p.RowsNeeded != 500 {
		t.Errorf("%v rows needed, want 500", p.RowsNeeded)
	}
}

// Mass on actions that the log never took, or could not take, is counted.
func TestUncovered_CountsActionsNeverLogged(t *testing.T) {
	l := &logs.Log{Actions: logs.Numbered(4)}
	for i := range 400 {
		l.Action, l.Cost, l.Propensity = append(l.Action, int32(i%2)), append(l.Cost, -float64(i/2%2)), append(l.Propensity, 0.5)
	}
	p := evaluate(t, l, []ope.Target{ope.Uniform()}, ope.Options{}).Policies[0]
	near(t, "never taken", p.Uncovered, 0.5)
	if p.Recommended != "" || !strings.Contains(p.Warnings[0], "0.5 of what it does") {
		t.Errorf("%+v", p)
	}
	for i := range 400 {
		row := []float64{0.5, 0.5, logs.LeastPropensity, logs.LeastPropensity}
		if i < 100 {
			row = []float64{0.5, 0.25, 0.25, logs.LeastPropensity}
			l.Propensity[i] = row[l.Action[i]]
		}
		l.Propensities = append(l.Propensities, row...)
	}
	near(t, "could not be taken", evaluate(t, l, []ope.Target{ope.Uniform()}, ope.Options{}).Policies[0].Uncovered, (100*0.25+300*0.5)/400)
}

// Where only logged propensities are known, actions that no row has are no reason for doubt if weights average 1.
func TestUncovered_WarnsUnlessWeightsAverageOne(t *testing.T) {
	const n, k = 400, 200 // an action is missing from the rows with probability .13
	l := &logs.Log{Actions: logs.Numbered(k), Action: make([]int32, n), Cost: make([]float64, n), Propensity: slices.Repeat([]float64{1. / k}, n)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		l.Action[i], l.Cost[i] = int32(r.IntN(k)), -float64(i%2)
	}
	warned := func() bool {
		p := evaluate(t, l, []ope.Target{ope.Uniform()}, ope.Options{Estimators: only("ips"), EstimatesAlone: true}).Policies[0]
		if p.Uncovered < 0.05 {
			t.Fatalf("%v of the target are actions without rows", p.Uncovered)
		}
		return p.Warnings != nil
	}
	if warned() {
		t.Error("all actions have the propensity of the target, and there is a warning")
	}
	for i := range n { // half of the actions are never taken
		l.Action[i] %= k / 2
		l.Propensity[i] = 2. / k
	}
	if !warned() {
		t.Error("half of the target is never logged, and there is no warning")
	}
}

// Estimates rest on the rows that carry the variance of the rewards, whatever is added to them, and their sign.
func TestBelieve_WhatFewRewardsCarry(t *testing.T) {
	const n = 500
	for _, c := range []struct {
		few  int
		odd  float64 // reward of so few rows
		rest func(i int) float64
		want string
	}{
		{5, 0, func(int) float64 { return 1 }, "5 rows carry 95 % of"},
		{5, 1, func(int) float64 { return 0 }, "only 5 rows of weight have a reward above 0"},
		{3, 1, func(i int) float64 { return .001 + .0002*float64(i%7) }, "3 rows carry 95 % of"},
		{1, 0, func(int) float64 { return .5 }, "one row carries 95 % of"},
		{25, 0, func(int) float64 { return 1 }, ""},
		{5, 0, func(i int) float64 { return float64(i % 2) }, ""},
		{5, 1, func(int) float64 { return 1 }, ""},
	} {
		l, target := weighing(slices.Repeat([]float64{1}, n))
		for i := range n {
			l.Propensity[i], target.Logged[i] = .5, .5
			if l.Cost[i] = -c.rest(i); i%(n/c.few) == 3 {
				l.Cost[i] = -c.odd
			}
		}
		p := evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: only("ips")}).Policies[0]
		if got := strings.Join(p.Warnings, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%d rows of reward %v: %q, want %q", c.few, c.odd, got, c.want)
		}
	}
}

package train_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/logs"
)

// TradeOff is a user's own: the risk, and λ for what it does to latency beyond a limit.
func TradeOff(lambda, limit float64) objectives.Objective {
	return func(p objectives.Problem) graph.Expr {
		w := p.Weight()                                        // [R]
		risk := p.Mean("risk", w.Mul(p.Cost))                  // ()
		slow := p.Mean("slow", w.Mul(p.Outcome("latency")))    // −1 is best
		return risk.Add(slow.Plus(limit).ReLU().Scale(lambda)) // ()
	}
}

func TestProblem_ReadsOutcomesAndHoldsTheirLimit(t *testing.T) {
	objective := TradeOff(2, .3)
	report, err := objectives.GradCheck(objective, objectives.Weight{}, policies.Softmax{}, 1)
	if err != nil || report.Error > 1e-7 {
		t.Fatalf("gradient off by %v: %v", report.Error, err)
	}
	// Action 1 earns more, and is slow.
	const n = 400
	r := rand.New(rand.NewPCG(1, 0))
	x := logs.Rows64{Width: 1, Data: make([]float64, n)}
	l := &logs.Log{Actions: logs.Numbered(2), X: x}
	latency := make([]float64, n)
	for i := range n {
		x.Data[i] = 1
		a := r.IntN(2)
		l.Action, l.Propensity = append(l.Action, int32(a)), append(l.Propensity, .5)
		l.Cost, latency[i] = append(l.Cost, -.5-.3*float64(a)), 1+2*float64(a)
	}
	l.Outcomes = []logs.Outcome{{Column: "cost_latency", Values: latency, Range: logs.Units{Low: 0, High: 4}}}
	played := func(lambda float64) (pi float64) {
		c := train.Config{Objective: TradeOff(lambda, .7), Epochs: 20, Seed: 1}
		got, err := train.Fit(context.Background(), l, c)
		if err != nil {
			t.Fatal(err)
		}
		got.Propensities(l.X, func(_ int, p []float64) { pi = p[1] })
		v, err := got.ObjectiveValue(l, c) // of all rows, in chunks
		if err != nil || len(v.Terms) != 2 || v.Terms[1].Value > 0 || v.Terms[1].Value < -1 {
			t.Fatalf("%+v, %v", v, err)
		}
		return pi
	}
	if free, held := played(0), played(20); free < .9 || held > .2 {
		t.Errorf("the slow action is played with %.2f, and with %.2f where latency counts", free, held)
	}
	l.Outcomes[0].Column = "cost_late"
	_, err = train.Fit(context.Background(), l, train.Config{Objective: objective, Epochs: 1})
	if err == nil || !strings.Contains(err.Error(), "no column reward_latency or cost_latency: did you mean late?") &&
		!strings.Contains(err.Error(), "no column reward_latency") {
		t.Errorf("an outcome that the log lacks: %v", err)
	}
}

package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/train"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// An outcome that gets worse under what is learned is named, unless a limit is set for it or the reward counts it.
func TestLearn_NamesOutcomesThatGetWorse(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var rows []logs.Decision
	n := 1500
	harm, good, same := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		x, a := r.NormFloat64(), r.IntN(2)
		d := logs.Decision{ID: fmt.Sprint(i), Context: []features.Value{{Name: "x_a", Number: x}}, Action: a, Propensity: .5,
			Propensities: []float64{.5, .5}, Weight: 1}
		if r.Float64() < []float64{.3, .7}[a] {
			d.Cost = -1
		}
		harm[i], good[i], same[i] = 2*float64(a), float64(a), r.Float64()
		if i%7 == 0 {
			harm[i] = math.NaN()
		}
		rows = append(rows, d)
	}
	l, err := logs.Collect([]string{"a", "b"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	l.Outcomes = []logs.Outcome{{Column: "cost_harm", Values: harm, Range: logs.Units{Low: 0, High: 2}},
		{Column: "reward_good", Values: good}, {Column: "cost_none"}, {Column: "cost_same", Values: same}}
	for _, limits := range [][]provenance.Requirement{nil, {{Name: "harm", Limit: -1.5}}} {
		o := pipeline.Options{Settings: train.Settings{Epochs: 1}, Trading: pipeline.Trading{Requirements: limits}, Floor: .05}
		learned, err := pipeline.Learn(context.Background(), library.Standard(), l, o)
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Join(learned.Training.Warnings, "\n")
		if strings.Contains(told, "column cost_harm gets worse: 1.9") != (limits == nil) || strings.Contains(told, "reward_good") ||
			strings.Contains(told, "cost_none") {
			t.Errorf("%v: %s", limits, told)
		}
	}
}

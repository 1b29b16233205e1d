package pipeline_test

import (
	"testing"

	"opl/train/logs"
	"opl/train/pipeline"
)

func TestForetold_RowsThatPlayNoChoice(t *testing.T) {
	for _, c := range []struct {
		rows   int
		p      float64
		reason string
		none   bool
	}{{20_000, 1. / 50_000, "0.4 rows play a choice", false}, {3000, 0.001, "3 rows do", true}, {100, 0.25, "25 do", true}} {
		log := &logs.Log{Cost: make([]float64, c.rows), Action: make([]int32, c.rows), Propensity: make([]float64, c.rows)}
		for i := range log.Propensity {
			log.Propensity[i] = c.p
		}
		if said := pipeline.Foretold(log); (said == nil) != c.none {
			t.Errorf("%s: said %q", c.reason, said)
		}
	}
}

package ope_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"opl/testdata/long"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// The mean squared errors stand in the published orders: where weights are large, doubly robust is better than
// importance weights, and normalized, switched or shrunk doubly robust than plain; weights that are cut or
// smoothed are better than those that are not. A model of the reward knows 3 features of 20 contexts. OPL_LONG
// prints what docs/evidence/estimators.md has.
func TestEstimators_StandInThePublishedOrders(t *testing.T) {
	long.Test(t)
	trials := 30
	if os.Getenv("OPL_LONG") != "" {
		trials = 400
	}
	for _, c := range []struct {
		n     int
		sharp float64 // of the logging policy
	}{{250, 0.5}, {1000, 0.5}, {1000, 1.5}, {4000, 1.5}, {1000, 2.5}} {
		if c.sharp != 1.5 && trials < 100 {
			continue
		}
		mse := map[string]float64{}
		ess := 0.0
		for s := range trials {
			w := newWorld(uint64(1000+s), 20, 10, c.sharp)
			l, xs := w.log(rand.New(rand.NewPCG(uint64(s), 5)), c.n, 1)
			three := make([]int, c.n)
			for i, x := range xs {
				three[i] = x % 3
			}
			l.X = oneHot(three, 3)
			target := w.target("a", w.pi, xs)
			target.Origin = provenance.Origin{}
			p := evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: ope.Estimators(), Learn: learner(l)}).Policies[0]
			ess += p.ESS / float64(trials)
			for _, e := range p.Estimates {
				mse[e.Estimator] += (e.Value - w.value(w.pi)) * (e.Value - w.value(w.pi)) / float64(trials)
			}
		}
		line := ""
		for _, e := range ope.Estimators() {
			if v, ok := mse[e.Name]; ok {
				line += fmt.Sprintf(" %s %.1f", e.Name, 1e4*v)
			}
		}
		t.Logf("n %d, sharpness %v, ESS %.0f: 1e4·MSE%s", c.n, c.sharp, ess, line)
		if c.sharp < 1.5 {
			continue
		}
		for _, o := range [][2]string{{"dr", "ips"}, {"snips", "ips"}, {"sndr", "dr"}, {"switch", "dr"}, {"dros", "dr"}} {
			if mse[o[0]] > mse[o[1]] {
				t.Errorf("n %d, sharpness %v: %s has the error %.2g, %s %.2g", c.n, c.sharp, o[0], mse[o[0]], o[1], mse[o[1]])
			}
		}
	}
}

// learner learns ridge regressions from a log.
func learner(l *logs.Log) func([]float64) (ope.Model, error) {
	return func(weight []float64) (ope.Model, error) { return ope.Ridge(l, ope.ModelOptions{Weight: weight}) }
}

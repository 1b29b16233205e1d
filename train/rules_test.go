package train

import (
	"math"
	"slices"
	"testing"

	"opl/policies/features"
	"opl/testdata/long"
	"opl/train/regress"
)

// ruleReward is a world whose best policy is a tree of depth 2 on four features of which one tells nothing.
func ruleReward(x []float64, a int) float64 {
	best := 0
	switch {
	case x[0] <= .4 && x[1] > -.3:
		best = 1
	case x[0] > .4 && x[2] <= .2:
		best = 2
	}
	if a == best {
		return .7
	}
	return .4
}

func TestRules_FindTheTree(t *testing.T) {
	long.Test(t)
	found := 0
	for seed := range uint64(10) {
		log := tableLog(2000, 5, 3, seed, ruleReward) // what teaches of 4,000 rows
		s, err := (&Rules{}).Learn(t.Context(), log, allRows(log.Len()), false)
		if err != nil {
			t.Fatal(err)
		}
		if worth(t, s, 5, 3, ruleReward) > .685 { // the best is .7
			found++
		}
	}
	if found < 9 {
		t.Errorf("found in %d seeds of 10, want 9", found)
	}
}

func TestRules_DistilPlaysAlike(t *testing.T) {
	log := tableLog(2000, 5, 3, 1, ruleReward)
	first, err := (&Rules{}).Learn(t.Context(), log, allRows(1000), false)
	if err != nil {
		t.Fatal(err)
	}
	// a log that rewards nothing, of which only what the policy plays can be learned
	blank := tableLog(3000, 5, 3, 2, func([]float64, int) float64 { return 0 })
	second, err := (&Rules{Of: []Component{first}}).Learn(t.Context(), blank, allRows(blank.Len()), false)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := worth(t, first, 5, 3, ruleReward), worth(t, second, 5, 3, ruleReward); a-b > .003 {
		t.Errorf("distilled %.4f of %.4f", b, a)
	}
}

// TestRecipe_TakesATreeWhereItIsAsGood: where a tree is as good as anything it is taken, the smallest that is; where it is not, it is
// not.
func TestRecipe_TakesATreeWhereItIsAsGood(t *testing.T) {
	long.Test(t)
	for _, c := range []struct {
		reward func(x []float64, a int) float64
		simple bool
	}{
		{ruleReward, true},
		{func(x []float64, a int) float64 { // three actions, each for a direction, of five features
			return .5 + .4*[]float64{x[0] + x[1] - x[2] + x[4], x[2] - x[0] - x[3] - x[4], x[3] - x[1]}[a]
		}, false},
	} {
		log := tableLog(6000, 5, 3, 4, c.reward)
		got, err := Recipe{Simple: true, Learners: []string{"linear"}, Direct: &Direct{}, Rules: &Rules{}}.Learn(t.Context(),
			nil, log, Config{Seed: 1, LearningRate: .1, Epochs: 2, Delta: .05})
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"rules of depth 1", "rules of depth 2", "rules of depth 3"}
		if slices.Contains(names, got.Learner) != c.simple {
			t.Errorf("learned by %s; simple %v", got.Learner, c.simple)
		}
	}
}

func TestRules_CutsAreNumbersOfFewDigits(t *testing.T) {
	e := &features.Encoder{Names: []string{"amount"}, Scale: []float64{.7}, Center: []float64{.9}, Width: []float64{19.3}}
	cut := (&Rules{Encoder: e}).options(&table{x: regress.Matrix{Width: e.Dim()}}).Cut
	for cents := range 3000 {
		low, high := float64(cents)/100, float64(cents+1)/100
		v := e.AtMost(0, cut(0, e.Number(0, low), e.Number(0, high)))
		if rest := 1000*v - math.Round(1000*v); v < low || v >= high || math.Abs(rest) > 1e-6 {
			t.Errorf("between %v and %v: a cut at %v", low, high, v)
		}
	}
}

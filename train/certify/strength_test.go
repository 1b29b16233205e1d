package certify_test

import (
	"math/rand/v2"
	"testing"

	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/logs"
)

// drawn is a log of n rows of three actions without contexts: pi0 are what they are drawn with, logged what is
// logged, and reward is each action's mean reward.
func drawn(r *rand.Rand, n int, pi0, logged, reward [3]float64) (*logs.Log, []int) {
	l := &logs.Log{Actions: logs.Numbered(3)}
	rows := make([]int, n)
	for i := range n {
		a, u := 0, r.Float64()
		for ; a < 2 && u >= pi0[a]; a++ {
			u -= pi0[a]
		}
		c := 0.
		if r.Float64() < reward[a] {
			c = -1
		}
		rows[i] = i
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, c)
		l.Propensity, l.Propensities = append(l.Propensity, logged[a]), append(l.Propensities, logged[:]...)
	}
	return l, rows
}

// X of a row increases in Γ within a bracket, with a model as without, else the strength could not be read
// off the rows.
func TestStrength_IncreasesWithinABracket(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, p := range []float64{.01, .1, .5} {
		logged := [3]float64{p, (1 - p) / 3, 2 * (1 - p) / 3}
		l, rows := drawn(r, 300, logged, logged, [3]float64{.5, .5, .5})
		for _, predicted := range [][]float64{{.99, .99, .99}, {.6, .1, .9}, {0, 0, 0}} {
			m := &certify.RewardModel{Name: "sure", Predict: func(dst []float64, _ int) { copy(dst, predicted) }}
			for _, pi := range [][]float64{{1, 0, 0}, {.3, .3, .4}} {
				for _, ell := range []float64{1, .3, .1, .03, .01, .001} {
					for _, gammas := range [][]float64{{1.001, 1.005, 1.01}, {1.02, 1.05, 1.08, 1.1}, {1.35, 1.4, 1.46}, {4.2, 4.5}} {
						for _, i := range rows {
							last := 2.e9
							for _, g := range gammas {
								f := certify.FactorAt(l, i, pi, m, g, ell)
								if !(f > 0 && f <= last+1e-12) {
									t.Fatalf("ℓ = %v, Γ = %v, π₀ = %v, action %d, cost %v: 1 − ℓX is %v, above %v at a smaller Γ", ell, g, logged, l.Action[i], l.Cost[i], f, last)
								}
								last = f
							}
						}
					}
				}
			}
		}
	}
}

// With it increases the bound of the gain. The strength is where it ends.
func TestStrength_IsWhereTheBoundEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	play := func(dst []float64, _ int) error { copy(dst, []float64{0, .1, .9}); return nil }
	strengths := map[float64]bool{}
	for range 40 {
		uneven := [3]float64{.6, .3, .1}
		l, rows := drawn(r, 200, uneven, uneven, [3]float64{.1, .3, .8})
		sure := &certify.RewardModel{Name: "sure", Predict: func(dst []float64, _ int) { copy(dst, []float64{.2, .3, .95}) }}
		for _, models := range [][]*certify.RewardModel{nil, {sure}} {
			bound := func(gamma float64) certify.Bounds {
				b, err := certify.Fixed(play, nil, l, rows, certify.Options{Gamma: gamma, Models: models})
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			for _, gammas := range [][]float64{{1.001, 1.005, 1.01}, {1.02, 1.05, 1.08, 1.1}, {1.35, 1.4, 1.46}} {
				last := -2.0
				for _, g := range gammas {
					if b := bound(g); b.Gain.Risk < last {
						t.Errorf("Γ = %v, %d models: the bound %v is below that at a smaller Γ, %v", g, len(models), b.Gain.Risk, last)
					} else {
						last = b.Gain.Risk
					}
				}
			}
			s, err := certify.Strength(play, nil, l, rows, certify.Options{Models: models})
			switch {
			case err != nil:
				t.Fatal(err)
			case s == 0 && bound(1).Better(), s > 0 && !bound(s).Better(), s >= 1 && s < certify.Strongest && bound(s+.0021).Better() && bound(s+.004).Better():
				t.Errorf("%d models: the strength is %v", len(models), s)
			}
			strengths[s] = true
		}
	}
	if len(strengths) < 20 {
		t.Errorf("%d different strengths of 80", len(strengths))
	}
}

// Where a policy is as good as the logging one, and each propensity is off by what makes it look best within Γ, a
// strength of Γ or more is as rare as δ says: 2,000 logs at δ = .2. Bounds at Γ = 1 fail far more often.
func TestStrength_IsOverstatedAsRarelyAsPromised(t *testing.T) {
	long.Test(t)
	const gamma, logs = 1.25, 2000
	r := rand.New(rand.NewPCG(6, 6))
	pi0 := [3]float64{.3, .3, .4}
	logged := [3]float64{.34, .34, .32} // the played action's is .4/1.25
	play := func(dst []float64, _ int) error { copy(dst, []float64{0, 0, 1}); return nil }
	strong, better := 0, 0
	for range logs {
		l, rows := drawn(r, 300, pi0, logged, [3]float64{.5, .5, .5})
		sure := &certify.RewardModel{Name: "sure", Predict: func(dst []float64, _ int) { copy(dst, []float64{.5, .5, .5}) }}
		s, err := certify.Strength(play, nil, l, rows, certify.Options{Delta: .2, Models: []*certify.RewardModel{sure}})
		if err != nil {
			t.Fatal(err)
		}
		if s >= gamma {
			strong++
		}
		if s > 0 {
			better++
		}
	}
	if strong > logs/10+50 || better < 2*logs/10 {
		t.Errorf("of %d logs %d have the strength %v, and %d are better at Γ = 1", logs, strong, gamma, better)
	}
	t.Logf("of %d logs %d have the strength %v, and %d are better at Γ = 1", logs, strong, gamma, better)
}

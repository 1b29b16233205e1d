package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/train/logs"
	"opl/train/regress"
)

// Rewards are sales where all are what the action is worth, or the same nothing.
func TestSell_KnowsSales(t *testing.T) {
	sold := func(low float64, worth ...float64) (t *table) {
		t = &table{k: len(worth)}
		for i := range 300 {
			a := i % len(worth)
			t.action = append(t.action, int32(a))
			t.y = append(t.y, low)
			if i%5 == 0 {
				t.y[i] = worth[a]
			}
		}
		return t
	}
	other := sold(0, .2, .5)
	other.y[5] = .3
	few := sold(0, .2, .5)
	few.y = few.y[:90]
	amounts := sold(0, slices.Repeat([]float64{.2, .5}, 30)...) // of each action one row or two
	amounts.y[5] = .21
	for name, c := range map[string]struct {
		of    *table
		worth []float64
	}{
		"prices":             {sold(0, .2, .5), []float64{.2, .5}},
		"a loss, and a gain": {sold(.4, .2, .5), []float64{.2, .5}},
		"clicks":             {sold(0, 1, 1), nil},
		"rare failures":      {sold(1, 0, 0), nil},
		"of two values":      {sold(.1, .5, .5), nil},
		"another reward":     {other, nil},
		"few":                {few, nil},
		"amounts":            {amounts, nil},
		"one row an action":  {sold(0, slices.Repeat([]float64{.2, .5}, 32)...), nil},
		"one never sells":    {sold(0, .2, 0), nil},
	} {
		before := slices.Clone(c.of.y)
		c.of.sell()
		switch {
		case c.worth == nil && (c.of.sales != nil || !slices.Equal(before, c.of.y)):
			t.Errorf("%s: sales of %v", name, c.of.sales)
		case c.worth != nil && (c.of.sales == nil || !floats.EqualApprox(c.of.sales.worth, c.worth, 1e-12) ||
			floats.Sum(c.of.y) != 60):
			t.Errorf("%s: %v", name, c.of.sales)
		}
	}
}

// The layers that follow give the logits of rewards.
func TestLink_GivesRewards(t *testing.T) {
	for _, s := range []sales{{low: 0, worth: []float64{.3, 1, .01}}, {low: .4, worth: []float64{.2, .9, 0}},
		{low: 1, worth: []float64{.5, 0, .9}}} {
		theta := []float64{1, 0, 0, 0, 2, 0, .5, 0, -1} // [K×3] on h
		net := features.NewNet(s.link(theta))
		for _, h := range [][]float64{{0, 0, 0}, {3, -4, 1}, {-9, 8, 20}} {
			got := make([]float64, 3)
			net.Apply(got, h, make([]float64, net.Scratch()))
			for a, logit := range got {
				want := s.low + (s.worth[a]-s.low)/(1+math.Exp(-floats.Dot(theta[3*a:3*a+3], h)))
				if p := 1 / (1 + math.Exp(-logit)); math.Abs(p-want) > 2*nearly {
					t.Errorf("%v, h %v: action %d has the reward %v, want %v", s, h, a, p, want)
				}
			}
		}
	}
}

// priced is a log of prices from 8 to 22 alone, encoded, and its decisions: x tells how much is paid.
func priced(t *testing.T, of numeric.Actions, seed uint64) (*logs.Log, *features.Encoder, []logs.Decision) {
	r := rand.New(rand.NewPCG(seed, 1))
	var decisions []logs.Decision
	for range 1200 {
		x := r.NormFloat64()
		d := logs.Decision{Number: 8 + 14*r.Float64(), Density: 1. / 14,
			Context: []features.Value{{Name: "x", Number: x}, {Name: "y", Number: r.NormFloat64()}}}
		if r.Float64() < .8/(1+math.Exp((d.Number-16-2*math.Tanh(x))/3)) {
			d.Cost = -d.Number / 40
		}
		decisions = append(decisions, d)
	}
	log, err := logs.CollectNumbers(of, decisions)
	if err != nil {
		t.Fatal(err)
	}
	e, err := log.FitEncoder(logs.Every(log.Len()), logs.Scaling{Kind: "standard", Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	if log, err = log.Encode(e); err != nil {
		t.Fatal(err)
	}
	return log, e, decisions
}

// Rules and explanations are of the log's own rows and rewards, to which none is added.
func TestRules_TakeNoRewardsForSales(t *testing.T) {
	log, e, _ := priced(t, numeric.Even(0, 40, 4), 1)
	rows := logs.Every(log.Len())
	if sold := (&Direct{Encoder: e}).table(log, rows); sold.sales == nil || len(sold.rows) == len(rows) {
		t.Fatalf("sales %v, %d rows of %d: want sales, and rows of prices that nobody tried", sold.sales, len(sold.rows), len(rows))
	}
	if got := (&Rules{Encoder: e}).table(log, rows); got.sales != nil || len(got.rows) != len(rows) {
		t.Errorf("%d rows of %d, sales %v", len(got.rows), len(rows), got.sales)
	}
	if _, err := Surrogate(t.Context(), log, e, rows, make([]float64, 4*len(rows)), 2, 1); err != nil {
		t.Error(err)
	}
}

// Where prices were tried, the best is found, and no price is played that nobody tried.
func TestDirect_SellsNothingAtPricesThatNobodyTried(t *testing.T) {
	of := numeric.Even(0, 40, 32)
	for seed := range uint64(3) {
		log, e, decisions := priced(t, of, seed)
		d := &Direct{Encoder: e}
		scores, lost := scorers(t, d, log, logs.Every(log.Len())), 0.
		for i, row := range decisions {
			best := 0.
			revenue := func(price float64) float64 {
				return .8 * price / (1 + math.Exp((price-16-2*math.Tanh(row.Context[0].Number))/3))
			}
			for c := range of.Bins() {
				best = max(best, revenue(of.Center(c)))
			}
			lost += (1 - revenue(of.Center(floats.MaxIdx(scores(i))))/best) / float64(len(decisions))
		}
		t.Logf("seed %d: %s loses %.3f", seed, d, lost)
		if lost > .05 {
			t.Errorf("seed %d: %s loses %.3f of the revenue", seed, d, lost)
		}
	}
}

// Of actions with features, whose worth is linear in these, within what pieces of the logarithm allow.
func TestLinkPairs_GivesRewards(t *testing.T) {
	for _, s := range []sales{{low: 0, worth: []float64{0, .2, .3}, least: .1, most: .6},
		{low: .05, worth: []float64{.1, -.1, .4}, least: .2, most: .6}} {
		theta := []float64{1, 0, -2, .5} // on φ(x) [2] and z(a) [2]
		net := features.NewNet(s.linkPairs(nil, theta, 2))
		for _, x := range [][]float64{{0, 0, 0, 0}, {3, 1, -1, 1}, {-2, 5, .5, -.9}, {1, 1, 1, .7}} {
			var got [1]float64
			net.Apply(got[:], x, make([]float64, net.Scratch()))
			worth := s.of(x[2:])
			want := s.low + (worth-s.low)/(1+math.Exp(-floats.Dot(theta, x)))
			if p := 1 / (1 + math.Exp(-got[0])); math.Abs(p-want) > 2e-3*want {
				t.Errorf("%v, %v: %v, want %v", s, x, p, want)
			}
		}
	}
}

// Prices of items, and prices less costs, are told by their features; two rewards, or amounts that features do not tell,
// are none.
func TestSellPairs_KnowsPricesByFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		worth func(z []float64) float64
		sold  bool
	}{
		"price":           {func(z []float64) float64 { return .3 + .1*z[0] }, true},
		"price less cost": {func(z []float64) float64 { return .4 + .1*z[0] - .2*z[1] }, true},
		"one price":       {func([]float64) float64 { return .7 }, false},
		"a square":        {func(z []float64) float64 { return .1 + .2*z[0]*z[0] }, false},
	} {
		r := rand.New(rand.NewPCG(3, 3))
		of := &table{x: regress.Matrix{Width: 4}, k: 1, context: 1, numbers: []int32{0, 1, 2}, constant: []int32{3}}
		bought := 0.
		for range 300 {
			z := []float64{r.Float64(), r.Float64(), 1}
			of.x.Data = append(append(of.x.Data, r.NormFloat64()), z...)
			y := 0.
			if r.Float64() < .3 {
				y, bought = c.worth(z), bought+1
			}
			of.y, of.action = append(of.y, y), append(of.action, 0)
		}
		of.sellPairs()
		if (of.sales != nil) != c.sold || c.sold && (floats.Sum(of.y) != bought || math.Abs(of.sales.of([]float64{.5, .2, 1})-c.worth([]float64{.5, .2})) > 1e-9) {
			t.Errorf("%s: %+v", name, of.sales)
		}
	}
}

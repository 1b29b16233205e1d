package certify_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/train/certify"
	"opl/train/logs"
)

// contrasts are a gain, margins relative to what plays, of a reward and of a cost, and a budget.
var contrasts = []certify.Contrast{{Logged: 1}, {Logged: .9}, {Logged: 1.3, Shift: .3}, {Logged: 2, Shift: 1}, {}}

// Whatever it is measured against, from above and from below, with models and without, the e-value of a fixed policy
// has the mean 1 exactly at the true mean, over all logs there are.
func TestContrast_HasMeanOne(t *testing.T) {
	w, pi := three(), [][]float64{{.1, .7, .2}, {1, 0, 0}}
	risk, logging := w.risks(pi)
	for _, c := range contrasts {
		for _, reversed := range []bool{false, true} {
			for _, modelled := range []bool{false, true} {
				c, r, r0 := c, risk, logging
				if reversed {
					c.Reversed, r, r0 = true, -1-risk, -1-logging
				}
				truth := r - c.Logged*r0 - c.Shift
				var mean, fails float64
				w.logs(2, 1, false, func(p float64, l *logs.Log, rows []int) {
					o := certify.Options{Contrast: &c}
					if modelled {
						o.Models = models(l)
					}
					b, err := certify.Fixed(play(l, pi), nil, l, rows, o)
					if err != nil {
						t.Fatal(err)
					}
					e := b.Evidence()
					mean += p * math.Exp(e.Log(truth))
					if upper, _ := e.Upper(.3); upper < truth {
						fails += p
					}
				})
				near(t, "mean e-value", mean, 1)
				if fails > .3 {
					t.Errorf("%+v: the bound fails with probability %v", c, fails)
				}
			}
		}
	}
}

// Where costs are missing, whatever they are and whatever they are missing by, the e-value's mean is at most 1; and
// not all is lost.
func TestContrast_CountsMissingCostsAsWorst(t *testing.T) {
	w, pi := two(), [][]float64{{1, 0}, {0, 1}}
	risk, logging := w.risks(pi)
	for _, c := range contrasts {
		for _, modelled := range []bool{false, true} {
			truth := risk - c.Logged*logging - c.Shift
			for name, lacks := range map[string]func(a int32, cost float64) bool{
				"all": func(int32, float64) bool { return true }, "one action": func(a int32, _ float64) bool { return a == 0 },
				"what is bad":  func(_ int32, c float64) bool { return c == 0 },
				"what is good": func(_ int32, c float64) bool { return c < 0 }} {
				mean, whole := 0., 0.
				w.logs(3, 1, false, func(p float64, l *logs.Log, rows []int) {
					of := c
					of.Missing = make([]bool, len(rows))
					o := certify.Options{Contrast: &of}
					if modelled {
						o.Models = models(l)
					}
					seen := *l
					seen.Cost = make([]float64, len(rows))
					for i, cost := range l.Cost {
						if of.Missing[i] = lacks(l.Action[i], cost); !of.Missing[i] {
							seen.Cost[i] = cost
						}
					}
					b, err := certify.Fixed(play(l, pi), nil, &seen, rows, o)
					if err != nil {
						t.Fatal(err)
					}
					mean += p * math.Exp(b.Evidence().Log(truth))
					of.Missing = nil
					if b, err = certify.Fixed(play(l, pi), nil, l, rows, o); err != nil {
						t.Fatal(err)
					}
					whole += p * math.Exp(b.Evidence().Log(truth))
				})
				near(t, "mean e-value", whole, 1)
				if !(mean <= 1+1e-9 && mean > 0) {
					t.Errorf("%+v, missing %s: the mean is %v", c, name, mean)
				}
			}
		}
	}
}

// The evidence is what a plain loop makes of the formulas: ls, rows that lack the cost, clusters.
func TestContrast_IsThePlainLoop(t *testing.T) {
	const n, clusters = 60, 30
	r := rand.New(rand.NewPCG(3, 4))
	l := &logs.Log{Actions: logs.Numbered(2)}
	logged, missing := make([]float64, n), make([]bool, n)
	for i := range n {
		p := .2 + .6*r.Float64()
		l.Action, l.Cost = append(l.Action, int32(i%2)), append(l.Cost, -r.Float64())
		l.Propensity, l.Group = append(l.Propensity, p), append(l.Group, int32(i/2))
		logged[i], missing[i] = r.Float64(), i%5 == 0
	}
	for _, c := range contrasts {
		c.Missing = missing
		const gamma, delta = 1.05, .1
		b, err := certify.Fixed(nil, logged, l, rowsTo(n), certify.Options{Contrast: &c, Gamma: gamma})
		if err != nil {
			t.Fatal(err)
		}
		most := .5 / max(1, c.Logged)
		root := 1 / math.Sqrt(clusters)
		ells, weights := []float64{min(root, most), min(4*root, most)}, []float64{.15, .45}
		low := min(.3*root, most/10)
		for g := range 8 {
			ells, weights = append(ells, low*math.Pow(most/low, float64(g)/7)), append(weights, .4/8)
		}
		value := func(at float64) (sum float64) {
			for g, ell := range ells {
				product := 1.
				for u := range clusters {
					x := 0.
					for i := 2 * u; i < 2*u+2; i++ {
						of := func(cost float64) float64 {
							return logged[i]*cost/min(1, l.Propensity[i]*gamma) - c.Logged*cost - c.Shift
						}
						if missing[i] {
							x += max(of(0), of(-1)) / 2
						} else {
							x += of(l.Cost[i]) / 2
						}
					}
					product *= (1 - ell*x) / (1 - ell*at)
				}
				sum += weights[g] * product
			}
			return sum
		}
		e := b.Evidence()
		for _, at := range []float64{-.5, -.2, -.1} {
			near(t, "e-value", math.Exp(e.Log(at)), value(at))
		}
		low, high := -1-c.Shift, c.Logged-c.Shift
		for range 200 {
			if mid := (low + high) / 2; value(mid) > 1/delta {
				high = mid
			} else {
				low = mid
			}
		}
		upper, absurd := e.Upper(delta)
		if near(t, "bound", upper, high); absurd {
			t.Error("absurd")
		}
	}
}

func rowsTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// No row, whatever it is, brings an e-value to 0 or below: 1 − ℓX is above 0.
func TestContrast_KeepsFactorsPositive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		p := math.Exp(-12 * r.Float64())
		l := &logs.Log{Actions: logs.Numbered(2), Action: []int32{0}, Cost: []float64{-float64(r.IntN(3)) / 2},
			Propensity: []float64{p}, Propensities: []float64{p, 1 - p}}
		q := float64(r.IntN(3)) / 2
		c := contrasts[r.IntN(len(contrasts))]
		c.Reversed = r.IntN(2) == 0
		if r.IntN(2) == 0 {
			c.Missing = []bool{true}
		}
		m := &certify.RewardModel{Name: "any", Predict: func(dst []float64, _ int) {
			dst[0], dst[1] = float64(r.IntN(3))/2, float64(r.IntN(3))/2
		}}
		o := certify.Options{Contrast: &c, Models: []*certify.RewardModel{m}, AnyTime: r.IntN(2) == 0,
			Gamma: []float64{1, 1.3}[r.IntN(2)]}
		b, err := certify.Fixed(func(dst []float64, _ int) error { dst[0], dst[1] = q, 1-q; return nil }, nil, l, []int{0}, o)
		if err != nil {
			t.Fatal(err)
		}
		if v := b.Evidence().Log(0); v-v != 0 {
			t.Fatalf("%+v: the e-value is exp(%v)", c, v)
		}
	}
}

// A contrast that is none is refused, and so is one of a posterior.
func TestContrast_RefusesWhatItCannotBound(t *testing.T) {
	l := &logs.Log{Actions: logs.Numbered(2), Action: []int32{0}, Cost: []float64{0}, Propensity: []float64{.5}}
	for _, c := range []certify.Contrast{{Logged: -1}, {Logged: math.NaN()}, {Logged: math.Inf(1)}, {Shift: math.NaN()}} {
		if _, err := certify.Fixed(nil, []float64{.5}, l, []int{0}, certify.Options{Contrast: &c}); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

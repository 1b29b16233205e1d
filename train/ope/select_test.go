package ope_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// shop is a log of n rows of three actions in contexts of two numbers, drawn from pi0, of which logged is written.
func shop(r *rand.Rand, n int, pi0, logged [3]float64, reward func(x, y float64, a int) float64) *logs.Log {
	l := &logs.Log{Actions: logs.Numbered(3)}
	var xs []float64
	for i := range n {
		x, y := 2*r.Float64()-1, 2*r.Float64()-1
		a, u := 0, r.Float64()
		for ; a < 2 && u >= pi0[a]; a++ {
			u -= pi0[a]
		}
		c := 0.
		if r.Float64() < reward(x, y, a) {
			c = -1
		}
		xs = append(xs, x, y)
		l.Action, l.Cost, l.Keys = append(l.Action, int32(a)), append(l.Cost, c), append(l.Keys, uint64(i))
		l.Propensity, l.Propensities = append(l.Propensity, logged[a]), append(l.Propensities, logged[:]...)
	}
	l.X = logs.Rows64{Width: 2, Data: xs}
	return l
}

var third = [3]float64{1. / 3, 1. / 3, 1. / 3}

// always plays an action.
func always(name string, a int) ope.Target {
	return ope.Target{Name: name, Origin: provenance.FixedBefore(), Row: func(dst []float64, _ int) error {
		clear(dst[:3])
		dst[a] = 1
		return nil
	}}
}

// The bounds of m targets are those of one at δ/m each, at each Γ; the first of them is selected.
func TestSelect_DividesDeltaAmongTargets(t *testing.T) {
	l := shop(rand.New(rand.NewPCG(1, 1)), 600, third, third, func(_, _ float64, a int) float64 { return [3]float64{.2, .5, .8}[a] })
	targets := []ope.Target{always("a", 0), always("b", 1), always("c", 2), ope.Uniform()}
	for _, gamma := range []float64{0, 1.2} {
		s, err := ope.Select(l, targets, ope.Options{Delta: .1, Gamma: gamma})
		if err != nil || s.Selected == nil || *s.Selected != "c" || !s.Ship || s.Decision != ope.Ship || !strings.HasPrefix(s.Because, "ship c: ") {
			t.Fatalf("%v: %+v", err, s)
		}
		for _, c := range s.Targets {
			for _, target := range targets {
				if target.Name != c.Name {
					continue
				}
				logged, row := make([]float64, l.Len()), make([]float64, 3)
				for i, a := range l.Action {
					_ = target.Row(row, i)
					logged[i] = row[a]
				}
				cert, err := provenance.Within(l, gamma).Target(target.Row, logged, target.Origin, certify.Options{Delta: .1 / 4, Gamma: gamma})
				if err != nil {
					t.Fatal(err)
				}
				g := cert.Statement()
				if *c.AtLeast != g.Promise() || *c.GainAtLeast != g.GainAtLeast() || g.Delta != .1/4 {
					t.Errorf("Γ = %v: %s: at least %v and %v, alone %v and %v", gamma, c.Name, *c.AtLeast, *c.GainAtLeast, g.Promise(), g.GainAtLeast())
				}
			}
		}
	}
}

// What is selected by its bounds may not be what has the largest estimate; what nobody vouches for is never selected;
// what contradicts the log is not shipped.
func TestSelect_WithholdsTargetsOfUnknownOrigin(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	l := shop(r, 600, third, third, func(_, _ float64, a int) float64 { return [3]float64{.2, .5, .8}[a] })
	unknown := always("unknown", 2)
	unknown.Origin = provenance.Origin{}
	s, err := ope.Select(l, []ope.Target{unknown, always("b", 1)}, ope.Options{})
	if err != nil || *s.Selected != "b" || s.Targets[1].Name != "unknown" || s.Targets[1].AtLeast != nil || s.RunnerUp != nil || s.Ship {
		t.Errorf("%v: %+v", err, s)
	}
	s, err = ope.Select(l, []ope.Target{unknown}, ope.Options{})
	if err != nil || s.Selected != nil || s.Decision != ope.Keep || !strings.Contains(s.Because, "it is not said where the policy comes from") {
		t.Errorf("%v: %+v", err, s)
	}
	// A target of probabilities that are those of the logged actions, as if it had known them.
	knew := ope.Target{Name: "knew", Origin: provenance.FixedBefore(), Logged: make([]float64, l.Len())}
	for i, c := range l.Cost {
		knew.Logged[i] = 1./3 - .15*c
	}
	s, err = ope.Select(l, []ope.Target{knew, always("a", 0)}, ope.Options{})
	if err != nil || s.Selected == nil || *s.Selected != "knew" || s.Ship || s.Decision != ope.Keep || !strings.Contains(s.Because, "the weights π/π₀") {
		t.Errorf("%v: %+v", err, s)
	}
	// More rows do not make up for propensities that are not known.
	s, err = ope.Select(l, []ope.Target{always("c", 2)}, ope.Options{Gamma: 3})
	if err != nil || s.Ship || s.Needed != 0 || !strings.HasSuffix(s.Because, "more than what plays for all propensities within the factor 3") {
		t.Errorf("%v: %+v", err, s)
	}
	// What the rows hardly show has no estimate, and no number of rows that would show its gain.
	elsewhere := ope.Target{Name: "elsewhere", Origin: provenance.FixedBefore(), Logged: make([]float64, l.Len())}
	for i, c := range l.Cost {
		elsewhere.Logged[i] = .01 - .001*c
	}
	s, err = ope.Select(l, []ope.Target{elsewhere, always("a", 0)}, ope.Options{})
	if err != nil || s.Targets[0].Name != "a" || s.Targets[0].Estimate == nil || s.Targets[1].Estimate != nil || s.RunnerUp != nil {
		t.Errorf("%v: %+v", err, s)
	}
	s, err = ope.Select(l, []ope.Target{elsewhere}, ope.Options{})
	if err != nil || s.Ship || s.Needed != 0 || len(s.Targets[0].Warnings) == 0 {
		t.Errorf("%v: %+v", err, s)
	}
	// Nor has what rests on a few rows, as evaluate believes none of it.
	rare := [3]float64{.96, .02, .02}
	l = shop(rand.New(rand.NewPCG(6, 6)), 1000, rare, rare, func(_, _ float64, a int) float64 { return [3]float64{.2, .9, .5}[a] })
	s, err = ope.Select(l, []ope.Target{always("b", 1)}, ope.Options{})
	if err != nil || s.Targets[0].Estimate != nil || s.Needed != 0 || strings.Contains(s.Because, "rows would") {
		t.Errorf("%v: %+v", err, s)
	}
	for want, targets := range map[string][]ope.Target{"no target": nil, `two targets "a"`: {always("a", 0), always("a", 0)}} {
		t.Run(want, func(t *testing.T) {
			if _, err := ope.Select(l, targets, ope.Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	for _, o := range []ope.Options{{Delta: -1}, {Delta: 1}, {Gamma: .5}, {Gamma: math.NaN()}, {Estimators: []ope.Estimator{ope.IPS(), ope.SNIPS()}}} {
		if _, err := ope.Select(l, []ope.Target{always("a", 0)}, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// Propensities that are off by Γ as is worst for the log: where no target earns more than the logging policy and all
// look better, at Γ one is shipped as rarely as δ says; at Γ = 1 the log is refused or doubted, or would ship in most cases.
func TestSelect_ShipsAtGammaAsRarelyAsItSays(t *testing.T) {
	long.Test(t)
	const gamma, trials = 1.3, 50
	pi0 := [3]float64{.3, .3, .4}
	logged := [3]float64{(1 - .4/gamma) / 2, (1 - .4/gamma) / 2, .4 / gamma}
	false1, falseΓ, above := 0, 0, 0
	for seed := range uint64(trials) {
		l := shop(rand.New(rand.NewPCG(3, seed)), 800, pi0, logged, func(x, _ float64, _ int) float64 { return .6 + .2*x })
		targets := []ope.Target{always("b", 1), always("c", 2), {Name: "mix", Origin: provenance.FixedBefore(), Row: func(dst []float64, _ int) error { copy(dst, []float64{0, .3, .7}); return nil }}}
		s, err := ope.Select(l, targets, ope.Options{Delta: .2, Gamma: gamma})
		if err != nil {
			t.Fatal(err)
		}
		if s.Targets[0].AtLeast == nil {
			t.Fatalf("seed %d: %s", seed, s.Because)
		}
		if s.Ship {
			falseΓ++
		}
		for _, c := range s.Targets {
			if *c.AtLeast > .6 {
				above++
			}
		}
		// Without the judge's doubts: the bounds alone.
		if seed == 0 {
			s, err = ope.Select(l, targets, ope.Options{Delta: .2, Judge: provenance.Within(l, gamma), Gamma: 1})
			if err != nil || s.Gamma != gamma {
				t.Fatalf("%v: a judge that knows of Γ = %v states it for %v", err, gamma, s.Gamma)
			}
		}
		rows, ell := make([]int, l.Len()), certify.Options{Delta: .2 / 3}
		for i := range rows {
			rows[i] = i
		}
		if b, err := certify.Fixed(targets[1].Row, nil, l, rows, ell); err != nil || b.Better() {
			false1++
		}
	}
	if falseΓ > trials/5 || above > trials/5 || false1 < trials*3/5 {
		t.Errorf("of %d logs %d ship a policy that earns no more at Γ = %v, with %d values above the truth; at Γ = 1 %d bounds on the gain fail", trials, falseΓ, gamma, above, false1)
	}
	t.Logf("of %d logs %d ship at Γ = %v, %d values are above the truth; at Γ = 1 %d bounds on the gain fail", trials, falseΓ, gamma, above, false1)
}

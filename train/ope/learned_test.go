package ope_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"opl/policies/propensity"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// A target that all rows taught is marked, and no estimate of it is recommended; of one that some rows taught the others
// serve, alone.
func TestTaughtTarget_IsMarkedAndNotRecommended(t *testing.T) {
	w := newWorld(1, 5, 4, .5)
	l, xs := w.log(rand.New(rand.NewPCG(3, 3)), 2000, 1)
	rows := make([]int, l.Len())
	for i := range rows {
		rows[i] = i
	}
	model := func(dst []float64, i int) { copy(dst, w.mu[xs[i]*w.k:(xs[i]+1)*w.k]) }
	target := w.target("learned", w.pi, xs)
	for _, taught := range []int{2000, 1999, 1200} {
		target.Origin = provenance.TaughtBy(propensity.NewRowSet(l.Hashes(rows[:taught])))
		r := evaluate(t, l, []ope.Target{target, w.target("other", w.other, xs)}, ope.Options{Model: model})
		p := r.Policies[0]
		if p.Guarantee != nil || r.Policies[1].Learned || r.Policies[1].Rows != 0 || r.Policies[1].Recommended == "" {
			t.Errorf("%d rows: %+v", taught, r.Policies)
		}
		if taught > 1200 {
			if !p.Learned || p.Recommended != "" || p.RowsNeeded != 0 || p.Rows != 0 || !strings.Contains(p.Warnings[0], "flatter it") || len(r.Pairs) == 0 {
				t.Errorf("%d rows taught: %+v", taught, p)
			}
			continue
		}
		clean := l.Subset(rows[taught:])
		want := evaluate(t, clean, []ope.Target{w.target("learned", w.pi, xs[taught:])},
			ope.Options{EstimatesAlone: true, Model: func(dst []float64, i int) { model(dst, i+taught) }})
		if p.Learned || p.Rows != 800 || p.Recommended == "" || len(r.Pairs) != 0 || !strings.Contains(strings.Join(r.Notes, ""), "800 rows of 2000") {
			t.Errorf("%+v, %q", p, r.Notes)
		}
		agree(t, "the rows that had no part", p.Estimates, want.Policies[0].Estimates)
		if s, err := ope.Select(l, []ope.Target{target}, ope.Options{Model: model}); err != nil || s.Targets[0].Learned || s.Selected != nil {
			t.Errorf("%+v, %v", s, err)
		}
	}
	target.Origin = provenance.TaughtBy(propensity.NewRowSet(l.Hashes(rows)))
	s, err := ope.Select(l, []ope.Target{target}, ope.Options{Model: model})
	if err != nil || !s.Targets[0].Learned || s.Selected != nil || s.Targets[0].Warnings == nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// The star is of the estimator with the smaller standard error; of the policy that logged the rows, of none that reads a model.
func TestStar_MarksTheSmallerStandardError(t *testing.T) {
	w := newWorld(1, 5, 4, .5)
	l, xs := w.log(rand.New(rand.NewPCG(4, 4)), 2000, 1)
	rounded, scaled := slices.Clone(w.pi0), slices.Clone(w.pi0)
	for at := range rounded {
		rounded[at] = math.Round(w.pi0[at]*1e5) / 1e5
		if scaled[at] *= 1 + 5e-3; at%w.k == w.k-1 { // of the other actions, and less of the last
			scaled[at] = 1 - floats.Sum(scaled[at+1-w.k:at])
			rounded[at] = 1 - floats.Sum(rounded[at+1-w.k:at])
		}
	}
	targets := []ope.Target{w.target("new", w.pi, xs), w.target("itself", w.pi0, xs), w.target("rounded", rounded, xs),
		w.target("scaled", scaled, xs)}
	good := func(dst []float64, i int) { copy(dst, w.mu[xs[i]*w.k:(xs[i]+1)*w.k]) }
	noise := rand.New(rand.NewPCG(5, 5))
	table := make([]float64, l.Len()*w.k)
	for i := range table {
		table[i] = noise.Float64() * 3
	}
	bad := func(dst []float64, i int) { copy(dst, table[i*w.k:(i+1)*w.k]) }
	for want, model := range map[string]ope.Model{"sndr": good, "snips": bad} {
		t.Run(want, func(t *testing.T) {
			p := evaluate(t, l, targets, ope.Options{Model: model}).Policies
			if p[0].Recommended != want || p[0].Same || p[1].Recommended != "snips" || !p[1].Same || !p[2].Same || p[3].Same {
				t.Errorf("%+v", p)
			}
		})
	}
	s, err := ope.Select(l, targets, ope.Options{Model: bad}) // of which itself has no gain by any model
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Targets {
		if c.Name == "itself" && (c.Estimate.Gain != ope.Interval{} || c.Estimate.Interval != s.Logging) {
			t.Errorf("%+v, logged %+v", c.Estimate, s.Logging)
		}
	}
}

// What is shipped names the others that are as good, as far as the rows can tell; a policy at small rewards has digits that its error allows.
func TestSelect_NamesTargetsThatAreAsGood(t *testing.T) {
	w := newWorld(2, 6, 4, .5)
	best, second := make([]float64, len(w.mu)), make([]float64, len(w.mu))
	for x := range len(w.mu) / w.k {
		row := w.mu[x*w.k : (x+1)*w.k]
		at := slices.Index(row, slices.Max(row))
		other := (at + 1) % w.k
		row[other] = row[at]
		best[x*w.k+at], second[x*w.k+other] = 1, 1
	}
	l, xs := w.log(rand.New(rand.NewPCG(6, 6)), 4000, 1)
	s, err := ope.Select(l, []ope.Target{w.target("best", best, xs), w.target("as good", second, xs)}, ope.Options{Estimators: []ope.Estimator{ope.IPS()}})
	if err != nil || !s.Ship || len(s.Within) != 1 || !strings.HasSuffix(s.Because, "; within noise of it: "+s.Within[0]) {
		t.Errorf("%+v, %v", s, err)
	}
	small := ope.Selection{RewardMax: 1, Logging: ope.Interval{Value: .005, Low: .0045, High: .0055},
		Targets: []ope.Candidate{{Estimate: &ope.Estimate{Gain: ope.Interval{Value: .0002, Low: -.00001, High: .00041}}}}}
	if d := small.Decimals(); d != 5 {
		t.Errorf("%d decimals", d)
	}
}

// Averaged models predict the mean of what their seeds do.
func TestAveraged_PredictsTheMeanOfItsSeeds(t *testing.T) {
	given := func(seed uint64) ope.Model {
		return func(dst []float64, i int) {
			for a := range dst {
				dst[a] = float64(seed) + float64(i*10+a)
			}
		}
	}
	w := newWorld(1, 5, 4, .5)
	l, _ := w.log(rand.New(rand.NewPCG(3, 3)), 20, 1)
	m := ope.RewardModel{Learn: func(_ *logs.Log, o ope.ModelOptions) (ope.Model, error) { return given(o.Seed), nil }}
	got, err := m.Averaged(5).Learn(l, ope.ModelOptions{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 4)
	got(dst, 3)
	for a, v := range dst {
		near(t, "prediction", v, 9+30+float64(a))
	}
}

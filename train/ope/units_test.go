package ope_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// A log of other units gives the same estimates in these units, a guarantee that is the same, and the same decision; what is in units
// already stays as it is.
func TestUnits_ChangeNoDecision(t *testing.T) {
	var rows []logs.Decision
	draw := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		cost, a := -draw.Float64(), draw.IntN(2)
		if a == 1 {
			cost /= 4
		}
		rows = append(rows, logs.Decision{Action: a, Cost: cost, Propensity: .5, Propensities: []float64{.5, .5}, Weight: 1})
	}
	first := ope.Target{Name: "first", Row: func(dst []float64, _ int) error { dst[0], dst[1] = .9, .1; return nil }}
	of := func(u logs.Units) (ope.Result, ope.Selection) {
		l, err := logs.Collect([]string{"a", "b"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		l.RewardMin, l.RewardMax = u.Low, u.High
		targets, o := []ope.Target{ope.Uniform(), first}, ope.Options{HalfWidth: 0.01 * u.Span()}
		for i := range targets {
			targets[i].Origin = provenance.FixedBefore()
		}
		r, err := ope.Evaluate(l, targets, o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ope.Select(l, targets, o)
		if err != nil {
			t.Fatal(err)
		}
		return r, s
	}
	u := logs.Units{Low: -50, High: 150}
	plain, chosen := of(logs.Units{})
	scaled, selected := of(u)
	if plain.RewardMax != 1 || scaled.RewardMin != u.Low || scaled.RewardMax != u.High {
		t.Fatal(plain.RewardMax, scaled.RewardMin, scaled.RewardMax)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*u.Span()) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	in, again := scaled.InUnits(), scaled.InUnits().InUnits()
	near("logging", in.Logging.Value, u.At(plain.Logging.Value))
	near("logging, twice", again.Logging.Value, in.Logging.Value)
	for i, p := range plain.Policies {
		q := in.Policies[i]
		near("half width", q.HalfWidth, p.HalfWidth*u.Span())
		near("rows needed", q.RowsNeeded, p.RowsNeeded)
		for j, e := range p.Estimates {
			near("value", q.Estimates[j].Value, u.At(e.Value))
			near("low", q.Estimates[j].Low, u.At(e.Low))
			near("se", q.Estimates[j].SE, e.SE*u.Span())
			near("gain", q.Estimates[j].Gain.Value, e.Gain.Value*u.Span())
		}
		if p.Guarantee == nil {
			t.Fatal(p.Uncertified)
		}
		near("guaranteed", *q.Guaranteed, u.At(p.Guarantee.Promise()))
		near("gain guaranteed", *q.GainGuaranteed, p.Guarantee.GainAtLeast()*u.Span())
		near("guaranteed, twice", *again.Policies[i].Guaranteed, *q.Guaranteed)
	}
	near("difference", in.Pairs[0].Value, plain.Pairs[0].Value*u.Span())
	if selected.Decision != chosen.Decision || selected.Ship != chosen.Ship || *selected.Selected != *chosen.Selected || selected.Targets[0].Name != chosen.Targets[0].Name {
		t.Errorf("%+v, want %+v", selected, chosen)
	}
	near("at least", *selected.InUnits().Targets[0].AtLeast, u.At(*chosen.Targets[0].AtLeast))
	near("gain at least, twice", *selected.InUnits().InUnits().Targets[0].GainAtLeast, *chosen.Targets[0].GainAtLeast*u.Span())
	var back ope.Result
	written, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(written, &back); err != nil {
		t.Fatal(err)
	}
	near("written", back.Logging.Value, in.Logging.Value)
}

package ope

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/train/logs"
	"opl/train/provenance"
)

// doses is a log of numbers from 0 to 10, a fifth of which are 5, with the mean reward of each.
func doses(t *testing.T, n int, seed uint64) (*logs.Log, func(a float64) float64) {
	mean := func(a float64) float64 { return .2 + .6*math.Exp(-(a-6)*(a-6)/8) }
	r := rand.New(rand.NewPCG(seed, 1))
	var decisions []logs.Decision
	for i := range n {
		d := logs.Decision{ID: strconv.Itoa(i), Context: []features.Value{{Name: "x", Number: r.Float64()}}, Number: 5, Propensity: .2}
		if r.Float64() < .8 {
			d.Number, d.Propensity, d.Density = 10*math.Sqrt(r.Float64()), 0, 0
			d.Density = .8 * 2 * d.Number / 100
		}
		if r.Float64() < mean(d.Number) {
			d.Cost = -1
		}
		decisions = append(decisions, d)
	}
	log, err := logs.CollectNumbers(numeric.Even(0, 10, 8), decisions)
	if err != nil {
		t.Fatal(err)
	}
	return log, mean
}

// The curve's band holds the values of all intervals and atoms, and its kernels are those of another program: sums over
// rows, as they are written.
func TestCurve(t *testing.T) {
	log, mean := doses(t, 3000, 1)
	got, err := Curve(log, provenance.Within(log, 1), RewardModels()[0], .05, 1)
	if err != nil {
		t.Fatal(err)
	}
	predict, err := RewardModels()[0].Learn(log, ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Doses) != 9 || got.Doses[8].Number != 5 || got.Doses[8].Point != nil {
		t.Fatalf("%+v", got.Doses)
	}
	for c, d := range got.Doses {
		truth := 0.0
		for i := range 1000 {
			truth += mean(d.From+(d.To-d.From)*(float64(i)+.5)/1000) / 1000
		}
		if !(d.Low <= truth && truth <= d.High && d.Low <= d.Value && d.Value <= d.High && d.High-d.Low < .9) {
			t.Errorf("%v: %v in [%v, %v], truly %v", d.Number, d.Value, d.Low, d.High, truth)
		}
		if d.Point == nil {
			continue
		}
		h := d.Point.Bandwidth
		k := func(a float64) float64 { return .75 * (1 - math.Pow((a-d.Number)/h, 2)) / h }
		a, b := max(0, d.Number-h), min(10, d.Number+h)
		m := (b - a) / 6 * (k(a) + 4*k((a+b)/2) + k(b)) // Simpson's rule is exact for cubics
		var ips, snips, all, dr float64
		for i, a := range log.Numbers.Value {
			w := 0.0
			if log.Numbers.Density[i] > 0 {
				w = max(0, .75*(1-math.Pow((a-d.Number)/h, 2))) / h / log.Numbers.Density[i]
			}
			q := make([]float64, 9)
			predict(q, i)
			ips, all, snips = ips-w*log.Cost[i], all+w, snips-w*log.Cost[i]
			dr += m*q[c] + w*(-log.Cost[i]-q[log.Action[i]])
		}
		n := float64(log.Len())
		for name, v := range map[string][2]float64{"ips": {d.Point.IPS, ips / n / m}, "dr": {d.Point.DR, dr / n / m}} {
			if math.Abs(v[0]-v[1]) > 1e-12 {
				t.Errorf("%s at %v: %v, want %v", name, d.Number, v[0], v[1])
			}
		}
		if math.Abs(d.Point.SNIPS-snips/all) > 1e-12 {
			t.Errorf("snips at %v: %v, want %v", d.Number, d.Point.SNIPS, snips/all)
		}
		if math.Abs(d.Point.DR-mean(d.Number)) > .2 {
			t.Errorf("dr at %v: %v, truly %v", d.Number, d.Point.DR, mean(d.Number))
		}
	}
}

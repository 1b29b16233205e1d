package logs_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"opl/train/logs"
)

// Rewards that are written in their own units are what they were, lie within their range, and are read back to the same costs.
func TestWriter_KeepsCostsInTheirUnits(t *testing.T) {
	for _, u := range []logs.Units{{Low: 0, High: 200}, {Low: -0.1, High: 0.3}, {Low: -3, High: 7.7}, {Low: 1e-9, High: 3e-9}, {Low: -1e6, High: 1e7}} {
		path := filepath.Join(t.TempDir(), "log.csv")
		w, err := logs.Create(path, logs.WriterOptions{Actions: []string{"a", "b"}, RewardMin: u.Low, RewardMax: u.High})
		if err != nil {
			t.Fatal(err)
		}
		var costs []float64
		for i := range 1001 {
			costs = append(costs, 0-float64(i)/1000)
			if err := w.Write(&logs.Decision{Action: i % 2, Cost: costs[i], Propensity: .5, Weight: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		l, err := logs.Open(context.Background(), path, logs.Options{RewardMin: u.Low, RewardMax: u.High})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range costs {
			if got := l.Cost[i]; math.Abs(got-c) > 1e-14*(1+max(math.Abs(u.Low), math.Abs(u.High))/u.Span()) {
				t.Errorf("%v: cost %v was read as %v", u, c, got)
			}
		}
		if l.Units() != u || u.At(1) > u.High+1e-9*u.Span() {
			t.Errorf("%v: units %v", u, l.Units())
		}
		l.Close()
	}
	if _, err := logs.Create(filepath.Join(t.TempDir(), "x.csv"), logs.WriterOptions{Actions: []string{"a", "b"}, RewardMin: 1, RewardMax: 0}); err == nil {
		t.Error("rewards from 1 to 0 are taken")
	}
}

// A lower bound has the digits that the error of its estimate allows, two at least, and is never said to be more than
// it is.
func TestUnits_LeastRoundsDownToTheDigitsOfItsError(t *testing.T) {
	for _, c := range []struct {
		u           logs.Units
		v, se       float64
		least, gain string
	}{
		{logs.Units{}, 0.77097946, .014, "0.770", "0.77"},
		{logs.Units{}, 0.29604, .3, "0.29", "0.29"},
		{logs.Units{}, 0.99999, .0002, "0.99999", "0.99"},
		{logs.Units{}, -0.00623, .02, "-0.0063", "-0.0063"},
		{logs.Units{}, 0.0000412, .02, "0.000041", "0.000041"},
		{logs.Units{}, 0, .02, "0", "0"},
		{logs.Units{Low: 0, High: 200}, 0.7, .01, "140.0", "140"},
		{logs.Units{Low: 0, High: 200}, 0.75339, .1, "150", "150"},
		{logs.Units{Low: 0, High: 1000}, 0.7539, .004, "753.9", "753"},
		{logs.Units{}, 0.5, math.Inf(1), "0.500", "0.50"},
		{logs.Units{}, 0.5, math.NaN(), "0.500", "0.50"},
	} {
		if least, gain := c.u.Least(c.v, c.se), c.u.LeastWidth(c.v); least != c.least || gain != c.gain {
			t.Errorf("%v ± %v of %v: %s, %s; want %s, %s", c.v, c.se, c.u, least, gain, c.least, c.gain)
		}
	}
}

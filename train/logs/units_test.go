package logs_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"opl/train/logs"
)

// Rewards that are written in their own units are what they were, lie within their range, and are read back to the same costs.
func TestWriteInUnits(t *testing.T) {
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

// A lower bound is never said to be more than it is.
func TestUnitsLeast(t *testing.T) {
	for _, c := range []struct {
		u           logs.Units
		v           float64
		least, gain string
	}{
		{logs.Units{}, 0.77097946, "0.7709", "0.77"},
		{logs.Units{}, 0.29604, "0.296", "0.29"},
		{logs.Units{}, 0.99999, "0.9999", "0.99"},
		{logs.Units{}, -0.00623, "-0.00623", "-0.0063"},
		{logs.Units{}, 0, "0", "0"},
		{logs.Units{Low: 0, High: 200}, 0.7, "140", "140"},
		{logs.Units{Low: 0, High: 200}, 0.75339, "150.6", "150"},
		{logs.Units{Low: 0, High: 1000}, 0.7539, "753.9", "753"},
	} {
		if least, gain := c.u.Least(c.v), c.u.LeastWidth(c.v); least != c.least || gain != c.gain {
			t.Errorf("%v of %v: %s, %s; want %s, %s", c.v, c.u, least, gain, c.least, c.gain)
		}
	}
}

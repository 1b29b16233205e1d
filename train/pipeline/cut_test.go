package pipeline

import (
	"math/rand/v2"
	"strings"
	"testing"

	"opl/train/logs"
)

// Rewards whose range a few use are to be cut, with the most frequent one inside; others are not.
func TestCut_NamesTheRangeOfMost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		low, high float64
		draw      func() float64
		want      string
	}{
		{0, 2000, func() float64 { return 0 }, ""},
		{0, 1, func() float64 { return float64(r.IntN(2)) }, ""},
		{0, 2000, func() float64 { return 2000 * r.Float64() }, ""},
		{0, 2000, func() float64 { return float64(r.IntN(10)/9) * min(2000, 5/(1e-9+r.Float64())) }, "'min(reward, "},
		{-20, 2000, func() float64 { return -3 + float64(r.IntN(3)/2)*(13+10*r.Float64()) }, "'min(reward, 20)' with setting range reward=-20:20"},
		{-1000, 0, func() float64 { return max(-1000, -r.ExpFloat64()) }, ""},
		{-10000, 15000, func() float64 { return min(15000, 90+100*r.NormFloat64()) }, ""}, // losses are rare and large
		{0, 1, func() float64 { return .03 * r.Float64() }, "'min(reward, 0.03)' with setting range reward=0:0.03"},
	} {
		l := &logs.Log{RewardMin: c.low, RewardMax: c.high, Cost: make([]float64, 2000)}
		for i := range l.Cost {
			l.Cost[i] = -(c.draw() - c.low) / (c.high - c.low)
		}
		if got := cut(l, logs.Every(2000)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
	if got := cut(&logs.Log{RewardMax: 1}, nil); got != "" {
		t.Error(got)
	}
}

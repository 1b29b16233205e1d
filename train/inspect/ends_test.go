package inspect_test

import (
	"math/rand/v2"
	"testing"

	"opl/train/inspect"
	"opl/train/logs"
)

// Sessions that end with a reward are found, with a group or by their context; sessions of any other
// length, and with a luck of their own, are not.
func TestEnds_FindSessionsThatStopAtAReward(t *testing.T) {
	session := func(seed uint64, ends, grouped bool) *logs.Log {
		r := rand.New(rand.NewPCG(seed, 9))
		l := &logs.Log{Actions: logs.Numbered(2)}
		var x []float64
		for s := range 300 {
			p, length, at := .2+.5*r.Float64(), 1+r.IntN(6), r.NormFloat64()
			for i := 0; ends && i < 20 || i < length && !ends; i++ {
				reward := 0.
				if r.Float64() < p {
					reward = 1
				}
				l.Action, l.Cost, l.Propensity = append(l.Action, int32(r.IntN(2))), append(l.Cost, -reward), append(l.Propensity, .5)
				x = append(x, at)
				if grouped {
					l.Group = append(l.Group, int32(s))
				}
				if ends && reward == 1 {
					break
				}
			}
		}
		l.X = logs.Rows64{Width: 1, Data: x}
		return l
	}
	for _, grouped := range []bool{true, false} {
		alarms := 0
		for seed := range uint64(20) {
			if f, ok := inspect.Inspect(session(seed, true, grouped)).Finding("ends of groups"); !ok || f.Severity != inspect.Doubtful || f.About != inspect.Selection {
				t.Errorf("seed %d, grouped: %v: %+v", seed, grouped, f)
			}
			r := inspect.Inspect(session(seed, false, grouped))
			if f, _ := r.Finding("ends of groups"); f.Severity != inspect.Fine {
				alarms++
			}
			// What rows of a session share is no doubt where its group says so, and one where it does not.
			if (r.Severity == inspect.Fine) != grouped {
				t.Errorf("seed %d, grouped: %v: sound sessions: %s", seed, grouped, r.Summary())
			}
		}
		if alarms > 0 {
			t.Errorf("grouped: %v: %d of 20 logs of sound sessions are doubted", grouped, alarms)
		}
	}
}

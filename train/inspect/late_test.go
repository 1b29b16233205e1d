package inspect_test

import (
	"math/rand/v2"
	"testing"

	"opl/train/inspect"
	"opl/train/logs"
)

// Rewards of an action that come late, and read 0 or what else stands for none, are found; those of sound logs are not, in
// groups, where rewards are rare, and where those of all actions fall, nor are they without times.
func TestLate(t *testing.T) {
	type world struct {
		n, group int
		rate     func(age float64) float64 // of a reward, at the age of a row, from 1 to 0
		late     float64                   // the age from which rewards of action 0 are not in
		none     float64                   // what stands for none
		untimed  bool
		lost     float64 // the share of action 0's rewards that are not in at ages below .1
	}
	level := func(p float64) func(float64) float64 { return func(float64) float64 { return p } }
	log := func(w world, seed uint64) *logs.Log {
		r := rand.New(rand.NewPCG(seed, 12))
		l := &logs.Log{Actions: logs.Numbered(3)}
		var x []float64
		for i := range w.n {
			age, action, reward := float64(w.n-i)/float64(w.n), r.IntN(3), 0.
			if r.Float64() < w.rate(age) {
				reward = 1
			}
			if action == 0 && age < w.late {
				reward = w.none
			}
			if action == 0 && age < .1 && r.Float64() < w.lost {
				reward = w.none
			}
			if w.group > 0 && i%w.group > 0 {
				reward, action = -l.Cost[i-1], int(l.Action[i-1])
			}
			if w.group > 0 {
				l.Group = append(l.Group, int32(i/w.group))
			}
			if !w.untimed {
				l.Time = append(l.Time, int64(i)*1e9)
			}
			l.Action, l.Cost, l.Propensity, x = append(l.Action, int32(action)), append(l.Cost, -reward), append(l.Propensity, 1./3), append(x, r.NormFloat64())
		}
		l.X = logs.Rows64{Width: 1, Data: x}
		return l
	}
	for name, w := range map[string]world{
		"the newest tenth":        {n: 4000, rate: level(.5), late: .1},
		"a fifth":                 {n: 4000, rate: level(.5), late: .2},
		"rare rewards":            {n: 8000, rate: level(.1), late: .2},
		"failures that come late": {n: 4000, rate: level(.5), late: .1, none: 1},
		"between other rewards":   {n: 4000, rate: level(.5), late: .1, none: .5},
		"in groups":               {n: 12000, rate: level(.5), late: .15, group: 3},
	} {
		for seed := range uint64(3) {
			if f, ok := inspect.Inspect(log(w, seed)).Finding("newest rewards"); !ok || f.Severity != inspect.Doubtful || f.About != inspect.Selection {
				t.Errorf("%s, seed %d: not found", name, seed)
			}
		}
	}
	for name, w := range map[string]world{
		"sound":                {n: 2000, rate: level(.5)},
		"rare":                 {n: 2000, rate: level(.02)},
		"groups of equal rows": {n: 2000, rate: level(.5), group: 20},
		"falling slowly":       {n: 4000, rate: func(age float64) float64 { return .2 + .4*age }},
		"fallen long ago":      {n: 4000, rate: func(age float64) float64 { return map[bool]float64{true: .9, false: .2}[age > .5] }},
		"of a seventh alone":   {n: 60000, rate: level(.5), lost: .14},
		"untimed":              {n: 4000, rate: level(.5), late: .1, untimed: true},
	} {
		for seed := range uint64(4) {
			if f, ok := inspect.Inspect(log(w, seed)).Finding("newest rewards"); ok {
				t.Errorf("%s, seed %d: %+v", name, seed, f)
			}
		}
	}
}

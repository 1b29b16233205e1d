package inspect_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"opl/testdata/long"
	"opl/train/inspect"
	"opl/train/logs"
)

// Rewards of an action that come late, and read 0 or what else stands for none, are found; those of sound logs are not, in
// groups, where rewards are rare, and where those of all actions fall.
func TestLate_FindsLateRewards(t *testing.T) {
	long.Test(t)
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
		"without times":           {n: 4000, rate: level(.5), late: .1, untimed: true},
		"in groups":               {n: 12000, rate: level(.5), late: .15, group: 3},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				if f, ok := inspect.Inspect(log(w, seed)).Finding("newest rewards"); !ok || f.Severity != inspect.Doubtful || f.About != inspect.Selection {
					t.Errorf("%s, seed %d: not found", name, seed)
				}
				all, err := inspect.Combine(cut(t, log(w, seed), 2))
				if err != nil {
					t.Fatal(err)
				}
				if f, ok := all.Finding("newest rewards"); !ok || f.Severity != inspect.Doubtful || f.About != inspect.Selection {
					t.Errorf("%s, seed %d: not found in shards", name, seed)
				}
			}
		})
	}
	for name, w := range map[string]world{
		"sound":                {n: 2000, rate: level(.5)},
		"rare":                 {n: 2000, rate: level(.02)},
		"groups of equal rows": {n: 2000, rate: level(.5), group: 20},
		"falling slowly":       {n: 4000, rate: func(age float64) float64 { return .2 + .4*age }},
		"fallen long ago":      {n: 4000, rate: func(age float64) float64 { return map[bool]float64{true: .9, false: .2}[age > .5] }},
		"of a twelfth alone":   {n: 60000, rate: level(.5), lost: .08},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				if f, ok := inspect.Inspect(log(w, seed)).Finding("newest rewards"); ok {
					t.Errorf("%s, seed %d: %+v", name, seed, f)
				}
			}
		})
	}
}

// delayed is a log whose rewards come after exponential delays, so that not all of the newest are in.
type delayed struct {
	n, k    int
	rate    float64                   // of a reward
	effect  float64                   // of contexts and actions on it
	delay   func(a int) float64       // mean delay, in lengths of the log; 0: none
	drift   func(age float64) float64 // factor on rewards of all actions
	plus    func(age float64) float64 // added to them
	context float64                   // by how much contexts move
	policy  float64                   // by how much the logging policy does
	learns  bool                      // the logging policy learns
	untimed bool
}

func (w delayed) log(seed uint64) *logs.Log {
	r := rand.New(rand.NewPCG(seed, 34))
	l := &logs.Log{Actions: logs.Numbered(w.k)}
	var data []float64
	beta := make([][3]float64, w.k)
	for a := range beta {
		for j := range beta[a] {
			beta[a][j] = w.effect * r.NormFloat64()
		}
	}
	base := math.Log(w.rate / (1 - w.rate))
	won, shown := make([][2]float64, w.k), make([][2]float64, w.k)
	for i := range w.n {
		age := 1 - float64(i)/float64(w.n)
		x := []float64{r.NormFloat64() + w.context*(1-age), r.NormFloat64() - w.context*(1-age), float64(r.IntN(2))}
		if r.Float64() < w.context/4*(1-age) {
			x[2] = 1
		}
		pi, sum := make([]float64, w.k), 0.0
		for a := range pi {
			pi[a] = math.Exp(w.policy * (1 - 2*age) * math.Sin(float64(1+2*a)+x[0]/2))
			if w.learns {
				s := int(x[2])
				pi[a] = math.Exp(8 * (won[a][s] + 1) / (shown[a][s] + 3))
			}
			sum += pi[a]
		}
		a, u := 0, r.Float64()*sum
		for ; a < w.k-1 && u >= pi[a]; a++ {
			u -= pi[a]
		}
		p := 1 / (1 + math.Exp(-base-beta[a][0]*x[0]-beta[a][1]*x[1]-beta[a][2]*x[2]))
		if w.drift != nil {
			p *= w.drift(age)
		}
		if w.plus != nil {
			p = max(0, min(1, p+w.plus(age)))
		}
		cost := 0.0
		if r.Float64() < p {
			cost = -1
		}
		shown[a][int(x[2])]++
		won[a][int(x[2])] -= cost
		if w.delay != nil && r.ExpFloat64()*w.delay(a) > age {
			cost = 0
		}
		data = append(data, x...)
		l.Action, l.Cost, l.Propensity = append(l.Action, int32(a)), append(l.Cost, cost), append(l.Propensity, pi[a]/sum)
		if !w.untimed {
			l.Time = append(l.Time, int64(i)*1e9)
		}
	}
	l.X = logs.Rows64{Width: 3, Data: data}
	return l
}

// Rewards that come later for some actions, at a mean delay of .3 of the log, are found in at least half of logs.
func TestLate_FindsDelaysOfSomeActions(t *testing.T) {
	long.Test(t)
	seeds := 3
	if os.Getenv("OPL_LONG") != "" {
		seeds = 60
	}
	first := func(a int) float64 { return map[bool]float64{true: .3}[a == 0] }
	some := func(a int) float64 { return .3 * float64(a%2) }
	all, of := 0, 0
	for name, w := range map[string]delayed{
		"one of two":            {n: 4000, k: 2, rate: .3, effect: .3, delay: first},
		"one of three":          {n: 4000, k: 3, rate: .3, effect: .3, delay: first},
		"one of three, rare":    {n: 10000, k: 3, rate: .1, effect: .3, delay: first},
		"two of five":           {n: 5000, k: 5, rate: .3, effect: .3, delay: some},
		"three of six":          {n: 6000, k: 6, rate: .3, effect: .3, delay: some},
		"one of ten":            {n: 10000, k: 10, rate: .2, effect: .3, delay: first},
		"small":                 {n: 2000, k: 3, rate: .4, effect: .3, delay: first},
		"logging policy drifts": {n: 4000, k: 3, rate: .4, effect: .3, policy: .5, delay: first},
		"learns":                {n: 4000, k: 3, rate: .4, effect: .3, learns: true, delay: first},
	} {
		found := [2]int{}
		for s := range uint64(seeds) {
			for u := range found {
				w.untimed = u == 1
				if f, ok := inspect.Inspect(w.log(s)).Finding("newest rewards"); ok {
					found[u]++
					if f.About != inspect.Selection || strings.Contains(f.Do, "recent") {
						t.Errorf("%s: %+v", name, f)
					}
				}
			}
		}
		t.Logf("%-24s %d, without times %d, of %d found", name, found[0], found[1], seeds)
		all, of = all+found[0]+found[1], of+2*seeds
	}
	if 2*all < of {
		t.Errorf("%d of %d found", all, of)
	}
}

// A logging policy that comes to choose by a product of features changes what actions earn, and no feature's mean.
func TestLate_PassesPoliciesThatChange(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 56))
		l := &logs.Log{Actions: logs.Numbered(2)}
		var data []float64
		for i := range 4000 {
			x := [2]float64{float64(2*r.IntN(2) - 1), float64(2*r.IntN(2) - 1)}
			p, action, cost := .5, int32(1), 0.
			if i > 3200 {
				p += .4 * x[0] * x[1]
			}
			if r.Float64() < p {
				action = 0
			} else {
				p = 1 - p
			}
			if r.Float64() < .5+.2*x[0]*x[1] {
				cost = -1
			}
			data = append(data, x[:]...)
			l.Action, l.Cost, l.Propensity = append(l.Action, action), append(l.Cost, cost), append(l.Propensity, p)
		}
		l.X = logs.Rows64{Width: 2, Data: data}
		if f, ok := inspect.Inspect(l).Finding("newest rewards"); ok {
			t.Errorf("seed %d: %+v", seed, f)
		}
	}
}

// Weights 1/π₀ of a skewed logging policy show nothing; where it stays as it was, they need not.
func TestLate_FindsDelaysUnderSkewedPolicies(t *testing.T) {
	found := 0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 78))
		l := &logs.Log{Actions: logs.Numbered(2)}
		var data []float64
		for i := range 4000 {
			x, p, action, cost := r.NormFloat64(), .05, int32(1), 0.
			if x > 0 {
				p = .6
			}
			if r.Float64() < p {
				action = 0
			} else {
				p = 1 - p
			}
			if r.Float64() < .15 && (action == 1 || r.ExpFloat64()*.3 < 1-float64(i)/4000) {
				cost = -1
			}
			data = append(data, x)
			l.Action, l.Cost, l.Propensity = append(l.Action, action), append(l.Cost, cost), append(l.Propensity, p)
		}
		l.X = logs.Rows64{Width: 1, Data: data}
		if _, ok := inspect.Inspect(l).Finding("newest rewards"); ok {
			found++
		}
	}
	if found < 5 {
		t.Errorf("%d of 8 found", found)
	}
}

// Sound logs, whose rewards, contexts and logging policies may change, are not doubted for late rewards.
func TestLate_PassesSoundLogs(t *testing.T) {
	long.Test(t)
	seeds := 14 // of each world: 210 logs
	if os.Getenv("OPL_LONG") != "" {
		seeds = 40
	}
	fall := func(age float64) float64 { return .4 + .6*age }
	recent := func(age float64) float64 { return min(1, .3+2*age) }
	rise := func(age float64) float64 { return .3 * (1 - age) }
	every := func(int) float64 { return .2 }
	alarms, of := 0, 0
	for name, w := range map[string]delayed{
		"steady":                     {n: 4000, k: 3, rate: .3, effect: .5},
		"many actions":               {n: 10000, k: 40, rate: .1, effect: .5},
		"rare":                       {n: 10000, k: 5, rate: .01, effect: .5},
		"rewards fall":               {n: 6000, k: 3, rate: .3, effect: 1, drift: fall},
		"newest fall":                {n: 6000, k: 3, rate: .3, effect: 1, drift: recent},
		"all are late":               {n: 6000, k: 3, rate: .3, effect: 1, delay: every},
		"rewards rise":               {n: 6000, k: 3, rate: .3, effect: 1, plus: rise},
		"contexts move":              {n: 6000, k: 3, rate: .3, effect: .7, context: 1},
		"contexts move, five":        {n: 10000, k: 5, rate: .2, effect: .5, context: 1},
		"policy moves":               {n: 6000, k: 3, rate: .3, effect: 1, policy: 1.5},
		"policy and rewards":         {n: 6000, k: 3, rate: .3, effect: 1, policy: 1.5, drift: fall},
		"policy and rewards rise":    {n: 6000, k: 4, rate: .3, effect: 1, policy: 1.5, plus: rise},
		"learns":                     {n: 6000, k: 3, rate: .3, effect: 1, learns: true},
		"learns, while rewards fall": {n: 6000, k: 3, rate: .3, effect: 1, learns: true, drift: fall},
		"all":                        {n: 6000, k: 3, rate: .3, effect: .5, policy: 1, context: 1, drift: fall},
	} {
		bad := 0
		for s := range uint64(seeds) {
			w.untimed = s%2 == 1
			if f, ok := inspect.Inspect(w.log(s + 1000)).Finding("newest rewards"); ok {
				bad++
				t.Logf("%s, seed %d: %s", name, s, f.Measured)
			}
		}
		t.Logf("%-26s %d of %d", name, bad, seeds)
		alarms, of = alarms+bad, of+seeds
	}
	if 100*alarms > of {
		t.Errorf("%d of %d sound logs are doubted", alarms, of)
	}
}

// The order of a table's rows is no order of time, which is said where they have no times.
func TestLate_DoubtsTheOrderOfTables(t *testing.T) {
	in := world{n: 300, k: 3, rate: 0.3}.log(7)
	for _, c := range []struct{ table, timed, doubted bool }{{true, false, true}, {true, true, false}, {false, false, false}} {
		if in.Snapshots, in.Time = nil, nil; c.table {
			in.Snapshots = []string{"iceberg://db/t/1.arrow"}
		}
		if c.timed {
			in.Time = make([]int64, len(in.Action))
			for i := range in.Time {
				in.Time[i] = int64(i) * 1e9
			}
		}
		if f, found := inspect.Inspect(in).Finding("order of rows"); found != c.doubted || found && f.Severity != inspect.Doubtful {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

package provenance_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// service is a world of requests of two kinds that go to one of two models. Action 1 is what the target plays.
type service struct {
	name     string
	reward   [2]float64 // mean, by action
	outcome  [2]float64 // likewise
	cost     bool       // the outcome is a cost
	together bool       // the outcome is 1 where a number is below its mean by which the reward is, too
	missing  func(outcome, action, context int) float64
	atRandom bool
	limit    provenance.Requirement
	logged   bool // propensities of logged actions alone
	looks    int  // 0: one; else at any time, so many
}

const chance = .5 // π₀ of action 1

// draw is a log of n rows.
func (w service) draw(n int, seed uint64) *logs.Log {
	r := rand.New(rand.NewPCG(seed, 7))
	x := logs.Rows64{Width: 1, Data: make([]float64, n)}
	l := &logs.Log{Actions: logs.Numbered(2), X: x}
	values := make([]float64, n)
	for i := range n {
		kind := r.IntN(2)
		x.Data[i] = float64(kind)
		pi := []float64{1 - chance, chance}
		a := propensity.Draw(pi, r)
		l.Action, l.Propensity = append(l.Action, int32(a)), append(l.Propensity, pi[a])
		if !w.logged {
			l.Propensities = append(l.Propensities, pi...)
		}
		u, v := r.Float64(), r.Float64()
		if w.together {
			v = u
		}
		cost, o := 0., 0
		if u < w.reward[a] {
			cost = -1
		}
		if v < w.outcome[a] {
			o = 1
		}
		if values[i] = float64(o); w.missing != nil && r.Float64() < w.missing(o, a, kind) {
			values[i] = math.NaN()
		}
		l.Cost = append(l.Cost, cost)
	}
	column := "reward_safe"
	if w.cost {
		column = "cost_safe"
	}
	l.Outcomes = []logs.Outcome{{Column: column, Values: values, Range: logs.Units{Low: 0, High: 1}, AtRandom: w.atRandom}}
	return l
}

// decide is what the rows say of the target.
func (w service) decide(t *testing.T, l *logs.Log) *provenance.Decision {
	t.Helper()
	logged := make([]float64, l.Len())
	for i, a := range l.Action {
		logged[i] = float64(a)
	}
	pi := func(dst []float64, _ int) error { dst[0], dst[1] = 0, 1; return nil }
	// The log is sound, and the inspection's own false alarms are no part of what is counted: they only withhold.
	var withheld *provenance.Withheld
	c, err := provenance.New(l).Force().Target(pi, logged, provenance.FixedBefore(),
		certify.Options{Delta: .05, AnyTime: w.looks > 0}, w.limit)
	if errors.As(err, &withheld) {
		return &provenance.Decision{Answer: provenance.Undecided, Outcomes: make([]provenance.Outcome, 2)}
	}
	if err != nil {
		t.Fatal(w.name, err)
	}
	return c.Statement().Decision
}

// tally counts what comes of logs, at the last look or any before: "ship" by the goal alone, by all, and by bounds that
// share δ; a bound of those that are to hold together that does not; and harm.
type tally struct{ alone, all, shared, broken, harm int }

// truth is what bounds are on: of the goal's gain, and of the other outcome.
func (w service) truth() [2]float64 {
	of := w.outcome[1]
	switch logging := (1-chance)*w.outcome[0] + chance*of; {
	case w.limit.Relative && w.cost:
		of -= (1 - w.limit.Limit) * logging
	case w.limit.Relative:
		of -= (1 + w.limit.Limit) * logging
	case !w.limit.Budget:
		of -= logging
	}
	return [2]float64{(1 - chance) * (w.reward[1] - w.reward[0]), of}
}

// count adds a log to a tally.
func (w service) count(t *testing.T, n int, seed uint64, into *tally) {
	l, truth := w.draw(n, seed), w.truth()
	var alone, all, shared, broken, harm bool
	for look := range max(1, w.looks) {
		seen := l
		if w.looks > 0 {
			seen = l.Subset(upTo(0, n*(look+1)/w.looks))
		}
		d := w.decide(t, seen)
		goal, other := d.Outcomes[0], d.Outcomes[1]
		alone = alone || goal.Verdict == provenance.Holds
		all = all || d.Answer == provenance.Ship
		kept := other.Verdict != "" && other.Together >= other.Limit
		if other.AtMost {
			kept = other.Together <= other.Limit
		}
		shared = shared || kept && goal.Together > 0 && !strings.Contains(d.Because, "contradicts")
		broken = broken || goal.Together > truth[0] || other.Verdict != "" &&
			(other.AtMost && other.Together < truth[1] || !other.AtMost && other.Together > truth[1])
		harm = harm || d.Answer == provenance.Harm
	}
	into.alone, into.all, into.shared = into.alone+count(alone), into.all+count(all), into.shared+count(shared)
	into.broken, into.harm = into.broken+count(broken), into.harm+count(harm)
}

// logsOf is the number of logs and the seed of the first: what is given, or many by OPL_LONG=1, or OPL_LOGS and OPL_SEED.
func logsOf(few, many int) (logs int, seed uint64) {
	if logs = few; os.Getenv("OPL_LONG") != "" {
		logs = many
	}
	if n, err := strconv.Atoi(os.Getenv("OPL_LOGS")); err == nil {
		logs = n
	}
	seed, _ = strconv.ParseUint(os.Getenv("OPL_SEED"), 10, 64)
	return logs, seed
}

// mostFalse is what a rate of .05 exceeds in one of 100 such tests.
func mostFalse(logs int) int {
	term := math.Pow(.95, float64(logs))
	for k, sum := 0, 0.; ; k++ {
		if sum += term; sum >= .99 {
			return k
		}
		term *= float64(logs-k) / float64(k+1) * .05 / .95
	}
}

var (
	rises    = [2]float64{.3, .6}
	worse    = provenance.Requirement{Name: "safe", Limit: -.05}
	third    = func(int, int, int) float64 { return 1. / 3 }
	services = []service{
		// by half of .1002: just beyond the margin
		{name: "the goal rises, the guardrail falls", reward: rises, outcome: [2]float64{.9002, .8}, limit: worse},
		{name: "likewise, logged propensities alone", reward: rises, outcome: [2]float64{.3002, .2}, limit: worse,
			logged: true},
		{name: "all is flat", reward: [2]float64{.5, .5}, outcome: [2]float64{.8, .8}, limit: worse},
		{name: "they correlate", reward: [2]float64{.7, .8}, outcome: [2]float64{.9002, .8}, together: true, limit: worse},
		{name: "a third is missing", reward: rises, outcome: [2]float64{.9002, .8}, missing: third, limit: worse},
		{name: "a third is missing at random", reward: rises, outcome: [2]float64{.9002, .8}, missing: third,
			atRandom: true, limit: worse},
		{name: "what is bad is missing", reward: rises, outcome: [2]float64{.9, .6},
			missing: func(o, _, _ int) float64 { return 1 - float64(o) }, limit: worse},
		{name: "a relative margin", reward: rises, outcome: [2]float64{.9, .8141}, // (1 − .05)·.85705 = .8142
			limit: provenance.Requirement{Name: "safe", Limit: -.05, Relative: true}},
		{name: "a relative margin of a cost", reward: rises, outcome: [2]float64{.2, .2211}, cost: true, // 1.05·.21055
			limit: provenance.Requirement{Name: "safe", Limit: -.05, Relative: true}},
		{name: "a budget", reward: rises, outcome: [2]float64{.1, .3501}, cost: true,
			limit: provenance.Requirement{Name: "safe", Limit: .35, Budget: true}},
		{name: "at any time", reward: rises, outcome: [2]float64{.3002, .2}, limit: worse, looks: 6},
	}
)

// Where the limit is not kept, "ship" is said in at most δ of the logs: of 500 at δ = .05 in 37 at most, but for one in
// 100 of such tests. So are bounds that are to hold together. By what the goal alone says far more are shipped, which
// is what the limit is there for. OPL_LONG=1 draws 500 logs of each world.
func TestDecision_ShipsFalselyAsRarelyAsPromised(t *testing.T) {
	long.Test(t)
	trials, seed := logsOf(12, 500)
	for _, w := range services {
		t.Run(w.name, func(t *testing.T) {
			var c tally
			for i := range trials {
				w.count(t, 1200, seed+uint64(i), &c)
			}
			t.Logf("%d logs from seed %d: %+v", trials, seed, c)
			if most := mostFalse(trials); c.all > most || c.broken > most {
				t.Errorf("of %d logs %d ship and %d break a bound, want at most %d", trials, c.all, c.broken, most)
			}
			if flat := w.reward[0] == w.reward[1]; !flat && c.alone <= trials/2 {
				t.Errorf("the goal alone ships %d of %d: the test has no power", c.alone, trials)
			}
		})
	}
}

// Power: how often what should be shipped is, beside bounds that share δ; and harm that is not there.
func TestDecision_ShipsWhatShouldBeShipped(t *testing.T) {
	long.Test(t)
	trials, seed := logsOf(10, 200)
	for _, w := range []service{
		{name: "flat guardrail", reward: [2]float64{.5, .62}, outcome: [2]float64{.9, .9}, limit: worse},
		{name: "better guardrail", reward: [2]float64{.5, .62}, outcome: [2]float64{.8, .85}, limit: worse},
		{name: "budget", reward: [2]float64{.5, .62}, outcome: [2]float64{.1, .3}, cost: true,
			limit: provenance.Requirement{Name: "safe", Limit: .35, Budget: true}},
	} {
		for _, n := range []int{600, 1200, 2400} {
			var c tally
			for i := range trials {
				w.count(t, n, seed+uint64(i), &c)
			}
			t.Logf("%s, %d rows, %d logs from seed %d: %+v", w.name, n, trials, seed, c)
			if c.all < c.shared {
				t.Errorf("%s, %d rows: sharing δ ships more, %d, than not, %d", w.name, n, c.shared, c.all)
			}
			if most := mostFalse(trials); c.broken > most || c.harm > most {
				t.Errorf("%s, %d rows: %+v of %d, want at most %d broken or harmed", w.name, n, c, trials, most)
			}
			if n == 2400 && c.all < trials/2 {
				t.Errorf("%s: only %d of %d ship", w.name, c.all, trials)
			}
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Harm that is there is shown, and seldom where it is not.
func TestDecision_ShowsHarm(t *testing.T) {
	w := service{reward: rises, outcome: [2]float64{.9, .5}, limit: worse}
	if d := w.decide(t, w.draw(3000, 1)); d.Answer != provenance.Harm || !strings.Contains(d.Because, "guardrail safe") {
		t.Errorf("%s: %s", d.Answer, d.Because)
	}
	w = service{reward: [2]float64{.6, .3}, outcome: [2]float64{.9, .9}, limit: worse}
	if d := w.decide(t, w.draw(3000, 1)); d.Answer != provenance.Harm || d.Because != "goal reward falls" {
		t.Errorf("%s: %s", d.Answer, d.Because)
	}
	w = service{reward: rises, outcome: [2]float64{.9, .8}, limit: worse} // exactly at the margin: no harm
	harms := 0
	for seed := range 20 {
		harms += count(w.decide(t, w.draw(600, uint64(seed))).Answer == provenance.Harm)
	}
	if harms > 5 {
		t.Errorf("harm is shown falsely in %d of 20 logs", harms)
	}
}

// Nothing is shipped where the rewards, or another outcome, of one action are not in yet in the newest rows.
func TestDecision_OutcomesThatComeLateAreNotShipped(t *testing.T) {
	const n = 4000
	w := service{reward: rises, outcome: [2]float64{.2, .2}, cost: true, limit: worse}
	if d := w.decide(t, w.draw(n, 1)); d.Answer != provenance.Ship {
		t.Fatalf("a sound log: %s, %s", d.Answer, d.Because)
	}
	for what, late := range map[string]func(l *logs.Log, i int){
		"rewards": func(l *logs.Log, i int) {
			if l.Action[i] == 0 {
				l.Cost[i] = 0
			}
		},
		"costs": func(l *logs.Log, i int) {
			if l.Action[i] == 1 {
				l.Outcomes[0].Values[i] = 0
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := w.draw(n, 1)
			for i := n * 7 / 10; i < n; i++ {
				late(l, i)
			}
			d := w.decide(t, l)
			if d.Answer != provenance.Undecided || !strings.Contains(d.Because, "contradicts what the bounds assume") {
				t.Errorf("late %s: %s, %s", what, d.Answer, d.Because)
			}
		})
	}
}

// A cost that is not in yet in the newest rows, of all actions alike, is no reason that a budget holds.
func TestDecision_BudgetsDoubtCostsThatComeLate(t *testing.T) {
	w := service{reward: rises, outcome: [2]float64{.2, .2}, cost: true}
	for late, want := range map[bool]provenance.Answer{false: provenance.Ship, true: provenance.Undecided} {
		w.limit = provenance.Requirement{Name: "safe", Limit: map[bool]float64{false: .25, true: .15}[late], Budget: true}
		l := w.draw(4000, 1)
		r := rand.New(rand.NewPCG(2, 2))
		for i := range 4000 {
			if late && float64(4000-i) < 1200*r.ExpFloat64() {
				l.Outcomes[0].Values[i] = 0
			}
		}
		d := w.decide(t, l)
		if d.Answer != want || late && !strings.Contains(d.Because, "falls toward the newest rows") {
			t.Errorf("late: %v: %s, %s", late, d.Answer, d.Because)
		}
	}
}

// The rows that are still needed are about enough.
func TestDecision_NeedsAboutTheRowsItSays(t *testing.T) {
	w := service{reward: rises, outcome: [2]float64{.9, .92}, limit: provenance.Requirement{Name: "safe", Limit: -.04}}
	d := w.decide(t, w.draw(600, 3))
	if d.Answer != provenance.Undecided || d.RowsNeeded <= 600 || d.RowsNeeded > 10000 {
		t.Fatalf("%s, %d rows", d.Answer, d.RowsNeeded)
	}
	if d := w.decide(t, w.draw(3*d.RowsNeeded, 3)); d.Answer != provenance.Ship {
		t.Errorf("%s with %d rows", d.Answer, d.Outcomes[0].Rows)
	}
}

// What is printed is what a plain loop makes of the rows.
func TestDecision_IsThePlainLoop(t *testing.T) {
	w := service{reward: rises, outcome: [2]float64{.3, .2}, limit: worse, logged: true}
	l := w.draw(500, 11)
	d := w.decide(t, l)
	const n = 500.
	for k, column := range [][]float64{nil, l.Outcomes[0].Values} {
		var sum, weight, logging float64
		value := func(i int) float64 {
			if column == nil {
				return -l.Cost[i]
			}
			return column[i]
		}
		for i, a := range l.Action {
			w := float64(a) / chance
			sum, weight, logging = sum+w*value(i), weight+w, logging+value(i)/n
		}
		// log E at a gain g, by the mixture over ℓ
		upper := func(delta float64) float64 {
			root := 1 / math.Sqrt(n)
			ells, ws := []float64{root, 4 * root}, []float64{.15, .45}
			for g := range 8 {
				ells, ws = append(ells, .3*root*math.Pow(.5/(.3*root), float64(g)/7)), append(ws, .05)
			}
			low, high := -1., 1.
			for range 100 {
				at, e := (low+high)/2, 0.
				for g, ell := range ells {
					product := 1.
					for i, a := range l.Action {
						product *= (1 + ell*(float64(a)/chance-1)*value(i)) / (1 - ell*at)
					}
					e += ws[g] * product
				}
				if e > 1/delta {
					high = at
				} else {
					low = at
				}
			}
			return -high
		}
		o := d.Outcomes[k]
		for what, pair := range map[string][2]float64{"estimate": {o.Estimate, sum / weight}, "logging": {o.Logging, logging},
			"bound": {o.Bound, upper(.05)}, "together": {o.Together, upper(.025)}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", o.Name, what, pair[0], pair[1])
			}
		}
	}
	if fmt.Sprint(d.Outcomes[1].Limit) != "-0.05" || d.Outcomes[1].Bounded != "change" {
		t.Errorf("%+v", d.Outcomes[1])
	}
}

// The mean under the logging policy that a guardrail is relative to is known with an error, which the claim allows for:
// it is tighter than the truth in at most half of δ of the logs, and not by far looser. What the rows had instead of
// the bound is too tight in about half of the logs.
func TestOutcome_ClaimAllowsForTheLoggedMean(t *testing.T) {
	const n, logs, delta = 500, 1000, .2
	for _, at := range []float64{.02, .5, .97} {
		for what, x := range map[string]struct {
			o     provenance.Outcome
			truth func(mean float64) float64 // what is claimed, did one know the mean
		}{
			"a reward":            {provenance.Outcome{High: 1, Bounded: "change", Limit: -.01}, func(m float64) float64 { return m - .01 }},
			"a cost":              {provenance.Outcome{High: 1, Bounded: "change", Limit: .01, AtMost: true}, func(m float64) float64 { return m + .01 }},
			"a cost from 2 to 6":  {provenance.Outcome{Low: 2, High: 6, Bounded: "change", Limit: .1, AtMost: true}, func(m float64) float64 { return 2 + 4*m + .1 }},
			"a share of a reward": {provenance.Outcome{High: 1, Bounded: "value − 0.9 × logging"}, func(m float64) float64 { return .9 * m }},
		} {
			r := rand.New(rand.NewPCG(1, 9))
			tight, far := 0, 0
			for range logs {
				sum := 0
				for range n {
					sum += count(r.Float64() < at)
				}
				o := x.o
				o.Rows, o.Logging, o.Estimate = n, o.Low+(o.High-o.Low)*float64(sum)/n, 1
				if o.Point = 1 - o.Logging; o.Bounded != "change" {
					o.Point = 1 - .9*o.Logging
				}
				claim, left := o.Claim(delta)
				if left != delta/2 {
					t.Fatalf("%v of δ are left", left)
				}
				over := o.Slack(claim) - o.Slack(x.truth(at))
				tight += count(over > 1e-9)
				far += count(over < -5*math.Sqrt(at*(1-at)/n)-3./n)
			}
			if tight > logs*delta/2*13/10 || far > logs/20 {
				t.Errorf("%s of mean %v: of %d claims %d are too tight, %d far too loose", what, at, logs, tight, far)
			}
		}
	}
}

package certify_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/logs"
)

// At every log there is, the e-value at any time is the mean of those of the logs that are longer
// by a row: a martingale, which begins at 1. Where it is 1/δ of its share at some row, or the bounds
// are wrong at some row, has a probability of at most δ.
func TestAnyTime_IsAMartingale(t *testing.T) {
	for _, c := range []struct {
		name       string
		w          world
		pi         [][]float64
		n          int
		models     bool
		loggedOnly bool
	}{
		{"argmax", two(), [][]float64{{1, 0}, {0, 1}}, 4, false, false},
		{"hardly logged", two(), [][]float64{{0, 1}, {1, 0}}, 4, false, false},
		{"with models", two(), [][]float64{{0, 1}, {1, 0}}, 4, true, false},
		{"with models, of rows without all propensities", two(), [][]float64{{0, 1}, {1, 0}}, 3, true, true},
		{"randomized, with models", three(), [][]float64{{.1, .7, .2}, {.6, .1, .3}}, 3, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			risk, logging := c.w.risks(c.pi)
			const delta = .5
			type state struct {
				p          float64
				e, gain    float64
				fail, high bool // at this row or before
			}
			before := []state{{p: 1, e: 1, gain: 1}}
			for n := 1; n <= c.n; n++ {
				var now []state
				c.w.logs(n, 1, false, func(p float64, l *logs.Log, rows []int) { // the last draw is the slowest to change
					o := certify.Options{Delta: delta, AnyTime: true}
					if c.models {
						o.Models = models(l)
					}
					if c.loggedOnly {
						l.Propensities = nil
					}
					e, err := certify.FixedAt(play(l, c.pi), l, rows, o, risk, risk-logging)
					if err != nil {
						t.Fatal(err)
					}
					b, err := certify.Fixed(play(l, c.pi), nil, l, rows, o)
					if err != nil {
						t.Fatal(err)
					}
					s := state{p: p, e: math.Exp(e.Risk), gain: math.Exp(e.Gain)}
					s.high = s.e >= 2/delta || s.gain >= 2/delta
					s.fail = risk > b.Best().Risk+1e-12 || risk-logging > b.Gain.Risk+1e-12
					was := before[len(now)%len(before)]
					s.high, s.fail = s.high || was.high, s.fail || was.fail
					now = append(now, s)
				})
				e, gain := make([]float64, len(before)), make([]float64, len(before))
				var fail, high float64
				for i, s := range now {
					was := before[i%len(before)]
					e[i%len(before)] += s.p / was.p * s.e
					gain[i%len(before)] += s.p / was.p * s.gain
					if s.fail {
						fail += s.p
					}
					if s.high {
						high += s.p
					}
				}
				for i, was := range before {
					near(t, fmt.Sprintf("after %d rows, log %d: mean of the risk's e-value a row later", n-1, i), e[i], was.e)
					near(t, fmt.Sprintf("after %d rows, log %d: mean of the gain's e-value a row later", n-1, i), gain[i], was.gain)
				}
				if !(fail <= delta && high <= delta) {
					t.Errorf("within %d rows: the bounds fail with probability %.4f, an e-value reaches 2/δ with %.4f, want at most %v", n, fail, high, delta)
				}
				before = now
			}
		})
	}
}

// Rows of several logs, of which a later one's propensities depend on the rewards before, are
// of other formats and in other clusters: the mean is 1 at the risk, and at most 1 at the gain over
// the mix of what logged them.
func TestPool_HasMeanOneOverSeveralLogs(t *testing.T) {
	long.Test(t)
	w := two()
	pi := [][]float64{{0, 1}, {1, 0}}
	risk, first := w.risks(pi)
	later := w
	var mean, gain, total, fail float64
	const delta = .5
	w.logs(2, 1, false, func(p float64, a *logs.Log, rows []int) {
		later.pi0 = [][]float64{{.5, .5}, {.5, .5}}
		if a.Cost[0]+a.Cost[1] < -1 { // what was found to pay is played more
			later.pi0 = [][]float64{{.1, .9}, {.9, .1}}
		}
		_, second := later.risks(pi)
		d := risk - (2*first+2*second)/4
		later.logs(2, 2, true, func(q float64, b *logs.Log, more []int) {
			b.Propensities = nil
			parts := []certify.PoolLog{{Pi: play(a, pi), Log: a, Rows: rows, Models: models(a)}, {Pi: play(b, pi), Log: b, Rows: more, Models: models(b)}}
			e, err := certify.PoolAt(parts, certify.Options{Delta: delta}, risk, d)
			if err != nil {
				t.Fatal(err)
			}
			total += p * q
			mean += p * q * math.Exp(e.Risk)
			gain += p * q * math.Exp(e.Gain)
			bound, err := certify.Pool(parts, certify.Options{Delta: delta})
			if err != nil {
				t.Fatal(err)
			}
			if bound.N != 6 || bound.Groups != 4 || bound.Best().Name != "ls+dr" || !bound.AnyTime {
				t.Fatalf("%+v", bound)
			}
			if risk > bound.Best().Risk+1e-12 || d > bound.Gain.Risk+1e-12 {
				fail += p * q
			}
		})
	})
	near(t, "probabilities", total, 1)
	near(t, "mean e-value of the risk", mean, 1)
	if !(gain <= 1 && gain > .9) {
		t.Errorf("mean e-value of the gain: %v, want at most 1", gain)
	}
	if fail > delta {
		t.Errorf("the bounds fail with probability %v", fail)
	}
}

// A pool says what one log of all rows says, whatever it is cut into.
func TestPool_SaysWhatOneLogOfAllRowsSays(t *testing.T) {
	w := three()
	pi := [][]float64{{.1, .7, .2}, {.6, .1, .3}}
	done := 0
	w.logs(3, 1, false, func(_ float64, l *logs.Log, rows []int) {
		if done++; done%97 != 1 {
			return
		}
		o := certify.Options{AnyTime: true, Models: models(l)}
		one, err := certify.FixedAt(play(l, pi), l, rows, o, -.4, -.1)
		if err != nil {
			t.Fatal(err)
		}
		var parts []certify.PoolLog
		for _, r := range rows {
			parts = append(parts, certify.PoolLog{Pi: play(l, pi), Log: l, Rows: []int{r}, Models: models(l)})
		}
		many, err := certify.PoolAt(parts, certify.Options{}, -.4, -.1)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "log E of the risk", many.Risk, one.Risk)
		near(t, "log E of the gain", many.Gain, one.Gain)
	})
}

// A Γ of 1.01, to which the inspection may raise it after a look, makes no e-value larger: what
// the bounds say at either is false only where that of Γ = 1 is.
func TestAnyTime_AllowsARaisedGamma(t *testing.T) {
	w := three()
	pi := [][]float64{{.1, .7, .2}, {.6, .1, .3}}
	risk, logging := w.risks(pi)
	done := 0
	w.logs(3, 1, false, func(_ float64, l *logs.Log, rows []int) {
		if done++; done%23 != 1 {
			return
		}
		var e [2]certify.EValues
		for i, gamma := range []float64{1, 1.01} {
			var err error
			if e[i], err = certify.FixedAt(play(l, pi), l, rows, certify.Options{AnyTime: true, Gamma: gamma, Models: models(l)}, risk, risk-logging); err != nil {
				t.Fatal(err)
			}
		}
		if e[1].Risk > e[0].Risk+1e-12 || e[1].Gain > e[0].Gain+1e-12 {
			t.Errorf("log %d: Γ = 1.01 raises log E from %v to %v", done, e[0], e[1])
		}
	})
}

// Exactly: in a world of one context, where π plays an action of propensity 1/4 that earns 1 half
// of the time, a log is the number of its rows that did. Looked at after each of 20,000 rows,
// the bound of one look fails with more than its δ/2, and that at any time with less.
func TestAnyTime_HoldsAtEveryLook(t *testing.T) {
	const weight, chance, share, looks = 4, .5 / 4, .025, 20_000
	for _, anyTime := range []bool{false, true} {
		at := make([]float64, looks+2) // probability of k such rows, and no failure so far
		at[0] = 1
		low, high := 0, 0 // of k
		var failed float64
		for n := 1; n <= looks; n++ {
			for k := high + 1; k > low; k-- {
				at[k] = at[k]*(1-chance) + at[k-1]*chance
			}
			at[low] *= 1 - chance
			for high++; at[high] < 1e-20 && high > low; high-- {
				at[high] = 0
			}
			for ; at[low] < 1e-20; low++ {
				at[low] = 0
			}
			for ; high > low && certify.BinaryAt(n, high, weight, -.5, anyTime) > -math.Log(share); high-- { // E increases in k
				failed += at[high]
				at[high] = 0
			}
		}
		t.Logf("any time %v: fails at some look with probability %.4f", anyTime, failed)
		if (failed <= share) != anyTime {
			t.Errorf("any time %v: fails with probability %.4f, δ/2 is %v", anyTime, failed, share)
		}
	}
}

// draw is a log of n rows.
func (w world) draw(r *rand.Rand, n int) *logs.Log {
	l := &logs.Log{Actions: logs.Numbered(w.k)}
	data := make([]float64, 0, 2*n)
	for range n {
		x := 0
		if r.Float64() >= w.nu[0] {
			x = 1
		}
		a, cost := propensity.Draw(w.pi0[x], r), 0.
		if r.Float64() < w.reward[x][a] {
			cost = -1
		}
		data = append(data, 1-float64(x), float64(x))
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, cost)
		l.Propensity, l.Propensities = append(l.Propensity, w.pi0[x][a]), append(l.Propensities, w.pi0[x]...)
	}
	l.X = logs.Rows64{Width: 2, Data: data}
	return l
}

// Logs of 8,000 rows looked at every 500, and three rounds of 500 rows whose propensities depend on the
// rewards before, looked at after each: how many have a false bound at some look.
func TestAnyTime_FailsAsRarelyAsPromised(t *testing.T) {
	logsOf := 10
	if os.Getenv("OPL_LONG") != "" {
		logsOf = 1000
	}
	w := two()
	w.pi0 = [][]float64{{.95, .05}, {.06, .94}}
	pi := [][]float64{{0, 1}, {1, 0}}
	risk, logging := w.risks(pi)
	for _, delta := range []float64{.05, .2} {
		var grown, fixed, rounds int
		for s := range uint64(logsOf) {
			r := rand.New(rand.NewPCG(s, 14))
			l := w.draw(r, 8000)
			var wrong [2]bool
			for n := 500; n <= 8000; n += 500 {
				rows := make([]int, n)
				for i := range rows {
					rows[i] = i
				}
				for k, anyTime := range []bool{false, true} {
					b, err := certify.Fixed(play(l, pi), nil, l, rows, certify.Options{Delta: delta, AnyTime: anyTime})
					if err != nil {
						t.Fatal(err)
					}
					wrong[k] = wrong[k] || risk > b.Best().Risk+1e-12 || risk-logging > b.Gain.Risk+1e-12
				}
			}
			if wrong[0] {
				fixed++
			}
			if wrong[1] {
				grown++
			}
			var parts []certify.PoolLog
			mix, rows, failed := 0., 0., false
			for now := w; len(parts) < 3; {
				part := now.draw(r, 500)
				all := make([]int, 500)
				for i := range all {
					all[i] = i
				}
				parts = append(parts, certify.PoolLog{Pi: play(part, pi), Log: part, Rows: all})
				_, this := now.risks(pi)
				mix, rows = mix+500*this, rows+500
				b, err := certify.Pool(parts, certify.Options{Delta: delta})
				if err != nil {
					t.Fatal(err)
				}
				failed = failed || risk > b.Best().Risk+1e-12 || risk-mix/rows > b.Gain.Risk+1e-12
				if now.pi0 = [][]float64{{.5, .5}, {.5, .5}}; b.Better() {
					now.pi0 = [][]float64{{.05, .95}, {.95, .05}}
				}
			}
			if failed {
				rounds++
			}
		}
		t.Logf("δ = %v, %d logs: at any time %d false, bounds of one look %d; three rounds %d", delta, logsOf, grown, fixed, rounds)
		if most := delta*float64(logsOf) + 3.1*math.Sqrt(delta*(1-delta)*float64(logsOf)); float64(grown) > most || float64(rounds) > most {
			t.Errorf("δ = %v, of %d logs %d have a false bound at some look, and %d of three rounds", delta, logsOf, grown, rounds)
		}
	}
}

// A policy that rows choose has no bound at any time.
func TestAnyTime_RefusesAPosterior(t *testing.T) {
	l := two().draw(rand.New(rand.NewPCG(1, 1)), 20)
	if _, err := certify.Posterior(propensity.Gaussian{}, around(2, [2]int{0, 1}, 1), l, []int{0, 1}, certify.Options{AnyTime: true}); err == nil || !strings.Contains(err.Error(), "fixed before the rows") {
		t.Error(err)
	}
	if _, err := certify.Pool(nil, certify.Options{}); err == nil {
		t.Error("a pool of nothing")
	}
	k := three().draw(rand.New(rand.NewPCG(1, 1)), 20)
	if _, err := certify.Pool([]certify.PoolLog{{Logged: make([]float64, 20), Log: l, Rows: []int{0}}, {Logged: make([]float64, 20), Log: k, Rows: []int{0}}}, certify.Options{}); err == nil || !strings.Contains(err.Error(), "log 2 has 3 actions") {
		t.Error(err)
	}
}

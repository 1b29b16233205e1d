package ope_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// intervals are those of methods at the level, by their names.
func intervals(t *testing.T, l *logs.Log, targets []ope.Target, o ope.Options, methods []ope.Method) map[string]ope.Result {
	t.Helper()
	all := map[string]ope.Result{}
	for _, m := range methods {
		o.Interval = m.Name
		all[m.Name] = evaluate(t, l, targets, o)
	}
	return all
}

// Intervals of the value, the gain and the difference cover by each method: those for bounded weights
// at least as often as they say, however few rows and rare rewards there are; the others where there are
// rows enough. OPL_LONG prints what docs/evidence/estimators.md has; otherwise there are too few rows for the others, see
// TestIntervals_CoverAsOftenAsTheySay.
func TestMethods_CoverAsOftenAsTheySay(t *testing.T) {
	trials, share, methods := 600, 1, ope.Methods()
	if os.Getenv("OPL_LONG") == "" {
		trials, share = 40, 5
		methods = slices.DeleteFunc(methods, func(m ope.Method) bool { return !m.Bounded })
	}
	for _, c := range []struct {
		name    string
		sharp   float64
		n, size int
		scale   float64 // of the rewards' means
	}{{"uniform", 0, 1000, 1, 1}, {"softmax", 0.7, 1000, 1, 1}, {"softmax", 0.7, 100, 1, 1}, {"groups of 4", 0.7, 1000, 4, 1}, {"rare", 0.7, 1000, 1, 0.02}, {"rare", 0.7, 100, 1, 0.02}} {
		t.Run(c.name, func(t *testing.T) {
			c.n /= share
			w := newWorld(11, 8, 5, c.sharp)
			for i := range w.mu {
				w.mu[i] *= c.scale
			}
			truth := []float64{w.value(w.pi), w.value(w.pi) - w.value(w.pi0), w.value(w.pi) - w.value(w.other)}
			hit, wide := map[string][3]int{}, map[string]float64{}
			for s := range trials {
				l, xs := w.log(rand.New(rand.NewPCG(uint64(s), 78)), c.n, c.size)
				for _, x := range xs {
					l.Propensities = append(l.Propensities, w.pi0[x*w.k:(x+1)*w.k]...)
				}
				o := ope.Options{Estimators: only("ips", "snips"), Seed: uint64(s)}
				a, b := w.target("a", w.pi, xs), w.target("b", w.other, xs)
				a.Origin, b.Origin = provenance.Origin{}, provenance.Origin{} // no guarantees, which take long
				for method, r := range intervals(t, l, []ope.Target{a, b}, o, methods) {
					for j, e := range r.Policies[0].Estimates {
						key := method + " " + e.Estimator
						all, h := []ope.Interval{e.Interval, e.Gain, r.Pairs[j].Interval}, hit[key]
						for q, v := range all {
							if v.Low <= truth[q] && truth[q] <= v.High {
								h[q]++
							}
						}
						hit[key] = h
						wide[key] += (e.High - e.Low) / 2 / float64(trials)
					}
				}
			}
			for key, h := range hit {
				covered := func(q int) float64 { return float64(h[q]) / float64(trials) }
				t.Logf("%-12s n %4d %-16s value %.3f gain %.3f pair %.3f half-width %.4f", c.name, c.n, key, covered(0), covered(1), covered(2), wide[key])
				least, slack := 0.95, 4*math.Sqrt(0.05*0.95/float64(trials))
				if strings.HasPrefix(key, "normal") || strings.HasPrefix(key, "bootstrap") {
					if c.n < 1000 || c.scale < 1 {
						continue
					}
					least = 0.94
				}
				for q := range 3 {
					if covered(q) < least-slack {
						t.Errorf("%s, %d rows: interval %d by %s covers %.3f", c.name, c.n, q, key, covered(q))
					}
				}
				if c.n == 1000 && c.scale == 1 && strings.HasPrefix(key, "betting") && wide[key] > wide["bernstein ips"] {
					t.Errorf("%s: betting is wider than Bernstein", c.name)
				}
			}
		})
	}
}

// halves is a log of two actions of propensity ½, of which the first is taken.
func halves(cost []float64) *logs.Log {
	n := len(cost)
	return &logs.Log{Actions: logs.Numbered(2), Action: make([]int32, n), Cost: cost, Propensity: slices.Repeat([]float64{0.5}, n), Propensities: slices.Repeat([]float64{0.5}, 2*n)}
}

// Actions of propensity 0 are in no row: the largest weight is of the others.
func TestBounded_IgnoresActionsOfPropensityZero(t *testing.T) {
	l := halves([]float64{-1, 0, -0.5, -1})
	l.Actions, l.Propensities = logs.Numbered(3), slices.Repeat([]float64{0.5, 0.5, 0}, 4)
	for name, probabilities := range map[string][]float64{"plays it": {0.25, 0.25, 0.5}, "does not": {0.5, 0.5, 0}} {
		t.Run(name, func(t *testing.T) {
			target := ope.Target{Name: name, Row: func(dst []float64, _ int) error { copy(dst, probabilities); return nil }}
			for _, method := range []string{"bernstein", "betting"} {
				e := evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: only("ips"), Interval: method}).Policies[0].Estimates[0]
				for _, v := range []ope.Interval{e.Interval, e.Gain} {
					if !(v.Low > -10 && v.Low <= v.Value && v.Value <= v.High && v.High < 10) {
						t.Errorf("%s, %s: %+v", name, method, v)
					}
				}
			}
		})
	}
}

// Four rows by hand: rewards 1, 0, ½, 1 with weights 1.
func TestBounded_EqualsTheFormulaByHand(t *testing.T) {
	l := halves([]float64{-1, 0, -0.5, -1})
	all := intervals(t, l, []ope.Target{ope.Uniform()}, ope.Options{Estimators: only("ips")}, ope.Methods())
	// The mean is .625, squares around it .140625, .390625, .015625, .140625.
	half := math.Sqrt(2*(0.6875/3)*math.Log(80)/4) + 7*math.Log(80)/9
	b := all["bernstein"].Policies[0].Estimates[0]
	near(t, "bernstein low", b.Low, 0.625-half)
	near(t, "bernstein high", b.High, 0.625+half)
	// The logging policy's own gain is 0, and nothing is known of it but its bounds.
	near(t, "gain", b.Gain.Value, 0)
	near(t, "its interval", b.Gain.High, 2*7*math.Log(80)/9)
}

// Bets on rows that are all alike do not depend on their order: n rewards of ½ (and weights of 1) have
// μ̂ = ½ and σ̂² = 1/(4t), so λ_t = √(8t log(2/δ)/n), cut.
func TestBetting_OfEqualRowsHasItsClosedForm(t *testing.T) {
	const n, delta = 40, 0.05
	e := evaluate(t, halves(slices.Repeat([]float64{-0.5}, n)), []ope.Target{ope.Uniform()}, ope.Options{Estimators: only("ips"), Interval: "betting"}).Policies[0].Estimates[0]
	capital := func(m float64) (k float64) {
		k = 1
		for i := 1; i <= n; i++ {
			k *= 1 + math.Min(math.Sqrt(8*float64(i)*math.Log(2/delta)/n), 1/(2*m))*(0.5-m)
		}
		return k / 2
	}
	if low := capital(e.Low - 1e-9); low < 1/delta {
		t.Errorf("%v below the interval has the capital %v", e.Low, low)
	}
	if low := capital(e.Low + 1e-9); low > 1/delta {
		t.Errorf("%v in the interval has the capital %v", e.Low, low)
	}
	near(t, "symmetry", e.High, 1-e.Low)
}

// The bootstrap's interval is of the values of the estimator on rows that are drawn anew, groups as a whole.
func TestBootstrap_DrawsWholeGroups(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	l, xs := w.log(rand.New(rand.NewPCG(1, 2)), 60, 3)
	var values, on []float64
	spy := ope.Estimator{Name: "spy", Of: func(d *ope.Data, _ float64) ope.Value {
		var above, below, reward float64
		for i := range d.N {
			omega := 1.0
			if d.Weight != nil {
				if omega = d.Weight[i]; omega != d.Weight[i/3*3] || omega != math.Trunc(omega) {
					t.Fatalf("row %d is drawn %v times, its group %v", i, omega, d.Weight[i/3*3])
				}
			}
			above, below, reward = above+omega*d.W[i]*d.R[i], below+omega*d.W[i], reward+omega*d.R[i]/float64(d.N)
		}
		if d.Weight != nil {
			values, on = append(values, above/below), append(on, reward)
		}
		return d.Ratio(func(i int) float64 { return d.W[i] * d.R[i] }, func(i int) float64 { return d.W[i] })
	}}
	r := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs)}, ope.Options{Estimators: []ope.Estimator{spy}, Interval: "bootstrap", Seed: 5, Delta: 0.2})
	if len(values) != 1000 {
		t.Fatalf("%d resamples", len(values))
	}
	gains := make([]float64, len(values))
	for b, v := range values {
		gains[b] = v - on[b]
	}
	e := r.Policies[0].Estimates[0]
	if ratio := (e.High - e.Low) / 2 / (1.2815515655446004 * e.SE); math.Abs(ratio-1) > 0.2 {
		t.Errorf("its interval is %v times as wide as the normal one", ratio)
	}
	for _, c := range []struct {
		of  []float64
		got ope.Interval
	}{{values, e.Interval}, {gains, e.Gain}} {
		slices.Sort(c.of)
		near(t, "low", c.got.Low, c.of[99]+0.9*(c.of[100]-c.of[99])) // 99.9 of 0 … 999
		near(t, "high", c.got.High, c.of[899]+0.1*(c.of[900]-c.of[899]))
	}
	// An estimator that has no value of rows that are drawn anew has no interval.
	none := ope.Estimator{Name: "none", Of: func(d *ope.Data, _ float64) ope.Value {
		if d.Weight != nil {
			return ope.Value{Value: math.Inf(1)}
		}
		return d.Mean(func(int) float64 { return 1 })
	}}
	if r := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs)}, ope.Options{Estimators: []ope.Estimator{none}, Interval: "bootstrap"}); !slices.Equal(r.Missing, []string{"none: it has no value in resamples for target a"}) {
		t.Error(r.Missing)
	}
	again := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs)}, ope.Options{Estimators: only("snips"), Interval: "bootstrap", Seed: 5, Delta: 0.2})
	if e, got := r.Policies[0].Estimates[0], again.Policies[0].Estimates[0]; e.Low != got.Low || e.Gain.High != got.Gain.High {
		t.Errorf("%+v by the same seed, %+v", got, e)
	}
}

// What intervals ask for and do not get is said, by its setting.
func TestInterval_NamesTheSettingThatIsWrong(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	ok := func() (*logs.Log, ope.Options) {
		l, xs := w.log(rand.New(rand.NewPCG(1, 2)), 60, 3)
		for _, x := range xs {
			l.Propensities = append(l.Propensities, w.pi0[x*w.k:(x+1)*w.k]...)
		}
		return l, ope.Options{Estimators: append(only("ips"), ope.SNIPS()), Interval: "betting"}
	}
	target := ope.Uniform()
	for want, spoil := range map[string]func(l *logs.Log, o *ope.Options, target *ope.Target){
		"setting interval: no interval \"t\": want normal, ": func(_ *logs.Log, o *ope.Options, _ *ope.Target) { o.Interval = "t" },
		"betting asks for rows of equal weight":              func(l *logs.Log, _ *ope.Options, _ *ope.Target) { l.Weight = make([]float64, 60); l.Weight[3] = 1 },
		"betting asks for groups of equal size":              func(l *logs.Log, _ *ope.Options, _ *ope.Target) { l.Group[0] = 7 },
		"set max-weight (setting max-weight)":                func(l *logs.Log, _ *ope.Options, _ *ope.Target) { l.Propensities = nil },
		"logged actions alone does not show": func(l *logs.Log, _ *ope.Options, x *ope.Target) {
			*x = ope.Target{Name: "x", Logged: make([]float64, 60)}
		},
		", above 1.01":                                         func(_ *logs.Log, o *ope.Options, _ *ope.Target) { o.MaxWeight = 1.01 },
		"setting max-weight: -1":                               func(_ *logs.Log, o *ope.Options, _ *ope.Target) { o.MaxWeight = -1 },
		"setting max-weight: NaN":                              func(_ *logs.Log, o *ope.Options, _ *ope.Target) { o.MaxWeight = math.NaN() },
		"setting half-width: +Inf":                             func(_ *logs.Log, o *ope.Options, _ *ope.Target) { o.HalfWidth = math.Inf(1) },
		"though the estimator is said to be Bounded":           func(_ *logs.Log, o *ope.Options, _ *ope.Target) { o.Estimators[0].Of = twice },
		"no estimator is left: [snips: no interval by betting": func(_ *logs.Log, o *ope.Options, _ *ope.Target) { o.Estimators = o.Estimators[1:] },
	} {
		t.Run(want, func(t *testing.T) {
			l, o := ok()
			x := target
			spoil(l, &o, &x)
			if _, err := ope.Evaluate(l, []ope.Target{x}, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	l, o := ok()
	if r := evaluate(t, l, []ope.Target{target}, o); len(r.Policies[0].Estimates) != 1 || len(r.Missing) != 1 {
		t.Errorf("%+v", r)
	}
}

// twice is no mean of bounded rows.
func twice(d *ope.Data, _ float64) ope.Value {
	return d.Mean(func(i int) float64 { return 2 * d.W[i] * (1 + d.R[i]) })
}

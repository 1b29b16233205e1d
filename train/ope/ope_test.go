package ope_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// world is a bandit whose values are known by summation: contexts 0 to m−1 drawn
// uniformly, rewards Bernoulli with means mu.
type world struct {
	k       int
	mu      []float64 // [m×k]
	pi0, pi []float64 // [m×k]
	other   []float64 // a second target
}

func newWorld(seed uint64, m, k int, sharp float64) world {
	r := rand.New(rand.NewPCG(seed, 1))
	policy := func(sharp float64) []float64 {
		out := make([]float64, m*k)
		for x := range m {
			sum := 0.0
			for a := range k {
				out[x*k+a] = math.Exp(sharp * r.NormFloat64())
				sum += out[x*k+a]
			}
			for a := range k {
				out[x*k+a] /= sum
			}
		}
		return out
	}
	w := world{k: k, pi0: policy(sharp), pi: policy(1.5), other: policy(1)}
	for range m * k {
		w.mu = append(w.mu, 0.1+0.8*r.Float64())
	}
	return w
}

func (w world) value(pi []float64) float64 {
	v := 0.0
	for i, p := range pi {
		v += p * w.mu[i]
	}
	return v / float64(len(pi)/w.k)
}

// log draws n rows; the rewards of a group of size rows are alike, as they share
// one context and one uniform number. It returns the contexts too.
func (w world) log(r *rand.Rand, n, size int) (*logs.Log, []int) {
	l := &logs.Log{Actions: logs.Numbered(w.k), Action: make([]int32, n), Cost: make([]float64, n), Propensity: make([]float64, n)}
	if size > 1 {
		l.Group = make([]int32, n)
	}
	xs := make([]int, n)
	x, u := 0, 0.0
	for i := range n {
		if i%size == 0 {
			x, u = r.IntN(len(w.pi0)/w.k), r.Float64()
		}
		if size > 1 {
			l.Group[i] = int32(i / size)
		}
		row := w.pi0[x*w.k : (x+1)*w.k]
		a := propensity.Draw(row, r)
		xs[i], l.Action[i], l.Propensity[i] = x, int32(a), row[a]
		if u < w.mu[x*w.k+a] {
			l.Cost[i] = -1
		}
		if size == 1 {
			u = r.Float64()
		}
	}
	return l, xs
}

func (w world) target(name string, pi []float64, xs []int) ope.Target {
	return ope.Target{Name: name, Origin: provenance.FixedBefore(), Row: func(dst []float64, i int) error { copy(dst, pi[xs[i]*w.k:(xs[i]+1)*w.k]); return nil }}
}

func evaluate(t *testing.T, l *logs.Log, targets []ope.Target, o ope.Options) ope.Result {
	t.Helper()
	r, err := ope.Evaluate(l, targets, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// estimate is that of an estimator, by its name.
func estimate(p ope.Policy, name string) (ope.Estimate, bool) {
	i := slices.IndexFunc(p.Estimates, func(e ope.Estimate) bool { return e.Estimator == name })
	if i < 0 {
		return ope.Estimate{}, false
	}
	return p.Estimates[i], true
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

// Two rows by hand: w = 2, 1/2 and r = 1, 1/2.
func TestEstimators_EqualTwoRowsByHand(t *testing.T) {
	l := &logs.Log{Actions: logs.Numbered(2), Action: []int32{0, 1}, Cost: []float64{-1, -0.5}, Propensity: []float64{0.25, 0.8}}
	target := ope.Target{Name: "t", Origin: provenance.FixedBefore(), Logged: []float64{0.5, 0.4}}
	r := evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: with(t, hypers{"clip": 0.5, "ix": 0.25, "es": 0.5, "har": 0.5, "ls": 0.5})})
	want := map[string]float64{
		"ips": (2 + 0.25) / 2, "snips": 2.25 / 2.5,
		"clip": (1 + 0.25) / 2, "ix": (1 + 0.2/1.05) / 2, "es": (1 + 0.2/math.Sqrt(0.8)) / 2,
		"har": (2/1.5 + 0.5*0.5/0.75) / 2, "ls": (math.Log(2)/0.5 + math.Log(1.125)/0.5) / 2,
	}
	p := r.Policies[0]
	for _, m := range r.Missing {
		if !strings.HasSuffix(m, ": target t has no probabilities of all actions") && !strings.HasSuffix(m, ": the log does not say who logged each row, in a column policy") {
			t.Errorf("missing %v", m)
		}
	}
	for name, v := range want {
		e, _ := estimate(p, name)
		near(t, name, e.Value, v)
	}
	ips, _ := estimate(p, "ips")
	near(t, "se", ips.SE, 0.875) // |2 − 0.25|/2, the sample deviation over √2
	near(t, "high", ips.High, 1.125+1.959963984540054*0.875)
	snips, _ := estimate(p, "snips") // influences 2·0.1/2.5 and −0.5·0.4/2.5
	near(t, "se of snips", snips.SE, math.Sqrt(2*(0.08*0.08+0.08*0.08)))
	near(t, "ess", p.ESS, 2.5*2.5/4.25)
	near(t, "mean weight", p.MeanWeight, 1.25)
	near(t, "share", p.Share, 0.8)
	near(t, "logging", r.Logging.Value, 0.75)
	near(t, "gain", ips.Gain.Value, 0.375)
	near(t, "se of gain", ips.Gain.SE, math.Abs((2-1)-(0.25-0.5))/2)
	if p.Guarantee == nil || len(p.Warnings) == 0 {
		t.Errorf("%+v", p)
	}
}

// hypers are hyperparameters by estimator.
type hypers map[string]float64

// with is the list of estimators with some hyperparameters.
func with(t *testing.T, h hypers) []ope.Estimator {
	t.Helper()
	list := ope.Estimators()
	for i, e := range list {
		if v, ok := h[e.Name]; ok {
			var err error
			if list[i], err = e.With(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	return list
}

// only is some of the estimators.
func only(names ...string) (list []ope.Estimator) {
	for _, e := range ope.Estimators() {
		if slices.Contains(names, e.Name) {
			list = append(list, e)
		}
	}
	return list
}

// single is the estimators that do not ask who logged a row.
func single(list []ope.Estimator) []ope.Estimator {
	return slices.DeleteFunc(list, func(e ope.Estimator) bool { return e.ByLogger })
}

// naive computes every estimator by plain loops, with weights and groups: values by
// their definitions, errors from the jackknife's first-order form, written out.
func naive(l *logs.Log, pi, model func(i, a int) float64, h hypers) (value, se map[string]float64) {
	n := len(l.Action)
	s := map[string]func(i int) float64{}
	w := func(i int) float64 { return pi(i, int(l.Action[i])) / l.Propensity[i] }
	r := func(i int) float64 { return -l.Cost[i] }
	p := func(i int) float64 { return pi(i, int(l.Action[i])) }
	s["ips"] = func(i int) float64 { return w(i) * r(i) }
	s["snips"] = s["ips"]
	s["clip"] = func(i int) float64 {
		if l.Propensity[i] < h["clip"] {
			return p(i) / h["clip"] * r(i)
		}
		return w(i) * r(i)
	}
	s["ix"] = func(i int) float64 { return p(i) / (l.Propensity[i] + h["ix"]) * r(i) }
	s["es"] = func(i int) float64 { return p(i) * math.Exp(-h["es"]*math.Log(l.Propensity[i])) * r(i) }
	s["har"] = func(i int) float64 { return r(i) / ((1 - h["har"]) + h["har"]/w(i)) }
	s["ls"] = func(i int) float64 { return math.Log(1+h["ls"]*w(i)*r(i)) / h["ls"] }
	dm := func(i int) (v float64) {
		for a := range l.K() {
			v += pi(i, a) * model(i, a)
		}
		return v
	}
	s["dm"] = dm
	rest := func(i int) float64 { return r(i) - model(i, int(l.Action[i])) }
	s["dr"] = func(i int) float64 { return dm(i) + w(i)*rest(i) }
	s["sg"] = func(i int) float64 { return w(i) * r(i) / (h["sg"]*w(i) + 1 - h["sg"]) }
	s["switch"] = func(i int) float64 {
		if w(i) > h["switch"] {
			return dm(i)
		}
		return s["dr"](i)
	}
	s["dros"] = func(i int) float64 { return dm(i) + h["dros"]*w(i)/(w(i)*w(i)+h["dros"])*rest(i) }
	// The model that taught makes for mrdr.
	var above, below, all float64
	for i := range n {
		by := l.Weight[i] * w(i) * w(i) * (1 - l.Propensity[i])
		above, below, all = above+by*r(i), below+by, all+l.Weight[i]
	}
	s["mrdr"] = func(i int) (v float64) {
		for a := range l.K() {
			v += pi(i, a) * model(i, a) * above / below
		}
		return v + w(i)*(r(i)-model(i, int(l.Action[i]))*above/below)
	}
	var weighted, weights float64
	for i := range n {
		weighted, weights = weighted+l.Weight[i]*w(i)*rest(i), weights+l.Weight[i]*w(i)
	}
	s["sndr"] = func(i int) float64 { // its value's expansion, whose mean is the value
		q := weighted / weights
		return dm(i) + q + w(i)*(rest(i)-q)*all/weights
	}
	value, se = map[string]float64{}, map[string]float64{}
	for m, of := range s {
		var num, den float64
		for i := range n {
			num += l.Weight[i] * of(i)
			if m == "snips" {
				den += l.Weight[i] * w(i)
			} else {
				den += l.Weight[i]
			}
		}
		value[m] = num / den
		sums := map[int32]float64{}
		for i := range n {
			if m == "snips" {
				sums[l.Group[i]] += l.Weight[i] * (of(i) - w(i)*value[m]) / den
			} else {
				sums[l.Group[i]] += l.Weight[i] * (of(i) - value[m]) / den
			}
		}
		square := 0.0
		for g := range int32(n) {
			square += sums[g] * sums[g]
		}
		se[m] = math.Sqrt(square * float64(len(sums)) / float64(len(sums)-1))
	}
	return value, se
}

func TestEstimators_EqualPlainLoops(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	r := rand.New(rand.NewPCG(1, 2))
	l, xs := w.log(r, 500, 1)
	l.Weight, l.Group = make([]float64, 500), make([]int32, 500)
	for i := range l.Weight {
		l.Weight[i], l.Group[i], l.Cost[i] = 3*r.Float64(), int32(r.IntN(80)), -r.Float64()
	}
	model := make([]float64, len(w.mu))
	for i := range model {
		model[i] = r.Float64()
	}
	h := hypers{"clip": 0.2, "ix": 0.15, "es": 0.8, "har": 0.7, "ls": 0.03, "sg": 0.2, "switch": 1.5, "dros": 3}
	o := ope.Options{Estimators: single(with(t, h)),
		Learn: func(weight []float64) (ope.Model, error) {
			scale := 1.0
			if weight != nil {
				var above, below float64
				for i, w := range weight {
					above, below = above-w*l.Weight[i]*l.Cost[i], below+w*l.Weight[i]
				}
				scale = above / below
			}
			return func(dst []float64, i int) {
				for a := range dst {
					dst[a] = scale * model[xs[i]*4+a]
				}
			}, nil
		}}
	res := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs), w.target("b", w.other, xs)}, o)
	at := func(m []float64) func(i, a int) float64 { return func(i, a int) float64 { return m[xs[i]*4+a] } }
	var values []map[string]float64
	for j, pi := range [][]float64{w.pi, w.other} {
		value, se := naive(l, at(pi), at(model), h)
		values = append(values, value)
		if got := len(res.Policies[j].Estimates); got != len(o.Estimators)-1 { // mips needs actions with features
			t.Errorf("%d estimates", got)
		}
		for _, e := range res.Policies[j].Estimates {
			near(t, e.Estimator, e.Value, value[e.Estimator])
			near(t, e.Estimator+" se", e.SE, se[e.Estimator])
		}
		if res.Policies[j].Guarantee != nil || res.Policies[j].Uncertified == "" {
			t.Error("rows of different weights in groups were certified")
		}
	}
	if res.Groups != 80 || len(res.Pairs) != len(o.Estimators)-1 {
		t.Errorf("%d groups, %d pairs", res.Groups, len(res.Pairs))
	}
	_, se := naive(l, func(i, a int) float64 { return w.pi[xs[i]*4+a] - w.other[xs[i]*4+a] }, at(model), h)
	for _, p := range res.Pairs {
		near(t, "pair", p.Value, values[0][p.Estimator]-values[1][p.Estimator])
		if p.Estimator == "dm" { // whose pair is the mean of a difference of columns
			near(t, "se of a pair", p.SE, se["dm"])
		}
	}
}

// Limits: IPS is every regularized weight without regularization, SNIPS of the
// logging policy is its mean reward, equal weights are none, DR of a model that is
// right is DM, of one that is 0 IPS.
func TestEstimators_AgreeAtTheirLimits(t *testing.T) {
	w := newWorld(5, 6, 4, 1)
	l, xs := w.log(rand.New(rand.NewPCG(1, 2)), 400, 1)
	target := w.target("a", w.pi, xs)
	ends := hypers{"clip": 1e-12, "ix": 1e-15, "es": 1, "har": 1, "ls": 1e-9, "sg": 1e-12, "switch": 1e9, "dros": 1e12}
	one := ope.Options{Estimators: single(with(t, ends)), Model: func(dst []float64, i int) { clear(dst) }}
	p := evaluate(t, l, []ope.Target{target}, one).Policies[0]
	for _, e := range p.Estimates {
		want := p.Estimates[0].Value
		if e.Estimator == "dm" {
			want = 0
		} else if e.Estimator == "snips" || e.Estimator == "sndr" {
			want = p.Estimates[1].Value
		}
		if math.Abs(e.Value-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", e.Estimator, e.Value, want)
		}
	}
	logging := evaluate(t, l, []ope.Target{w.target("logging", w.pi0, xs)}, ope.Options{})
	snips, _ := estimate(logging.Policies[0], "snips")
	near(t, "snips of the logging policy", snips.Value, logging.Logging.Value)
	near(t, "its gain", snips.Gain.Value, 0)
	near(t, "its gain's se", snips.Gain.SE, 0)

	l.Weight = make([]float64, 400)
	for i := range l.Weight {
		l.Weight[i] = 7
	}
	q := evaluate(t, l, []ope.Target{target}, one).Policies[0]
	for j, e := range q.Estimates {
		near(t, e.Estimator+" of equal weights", e.SE, p.Estimates[j].SE)
	}
	if q.Guarantee == nil {
		t.Error("equal weights are not certified")
	}
	l.Estimated = true
	if q := evaluate(t, l, []ope.Target{target}, one).Policies[0]; q.Guarantee != nil || q.Uncertified == "" {
		t.Error("estimated propensities were certified")
	}
}

// Ridge predicts by the other folds alone, as the normal equations say, in its
// primal and its dual form.
func TestRidge_PredictsByOtherFoldsAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n, k, folds, penalty = 90, 3, 4, 0.7
	for _, d := range []int{3, 60} { // fewer features than rows of an action, and more
		x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
		for i := range x.Data {
			x.Data[i] = r.NormFloat64()
		}
		l := &logs.Log{Actions: logs.Numbered(k + 1), X: x, Action: make([]int32, n), Cost: make([]float64, n), Propensity: make([]float64, n), Weight: make([]float64, n), Group: make([]int32, n)}
		for i := range n {
			l.Action[i], l.Cost[i], l.Propensity[i], l.Weight[i], l.Group[i] = int32(r.IntN(k)), -r.Float64(), 0.5, 0.5+r.Float64(), int32(i/2)
		}
		predict := func(l *logs.Log) [][]float64 {
			m, err := ope.Ridge(l, ope.ModelOptions{Folds: folds, Penalty: penalty, Seed: 9})
			if err != nil {
				t.Fatal(err)
			}
			out := make([][]float64, n)
			for i := range out {
				out[i] = make([]float64, k+1)
				m(out[i], i)
			}
			return out
		}
		before := predict(l)
		// The rows whose reward moves the prediction of row 0 are those of other folds.
		var train []int
		for j := range n {
			c := l.Cost[j]
			l.Cost[j] = c/2 - 0.25
			after := predict(l)
			l.Cost[j] = c
			if after[0][k] != before[0][k] { // the mean, as action k has no rows
				train = append(train, j)
			}
			if j < 2 && fmt.Sprint(after[0], after[1]) != fmt.Sprint(before[0], before[1]) {
				t.Errorf("row %d moves the prediction of its own group", j)
			}
		}
		if len(train) < n*(folds-1)/folds-4 || len(train) > n*(folds-1)/folds+4 {
			t.Fatalf("%d of %d rows predict row 0", len(train), n)
		}
		var sum, total float64
		for _, j := range train {
			sum -= l.Weight[j] * l.Cost[j]
			total += l.Weight[j]
		}
		near(t, "mean", before[0][k], sum/total)
		for a := range k {
			left, right := make([][]float64, d), make([]float64, d)
			for c := range d {
				left[c] = make([]float64, d)
				left[c][c] = penalty
			}
			for _, j := range train {
				if int(l.Action[j]) != a {
					continue
				}
				for c := range d {
					right[c] += l.Weight[j] * x.Data[j*d+c] * (-l.Cost[j] - sum/total)
					for e := range d {
						left[c][e] += l.Weight[j] * x.Data[j*d+c] * x.Data[j*d+e]
					}
				}
			}
			want := sum / total
			for c, v := range eliminate(left, right) {
				want += v * x.Data[c]
			}
			if math.Abs(before[0][a]-want) > 1e-10 {
				t.Errorf("d = %d, action %d: %v, want %v", d, a, before[0][a], want)
			}
		}
	}
}

// eliminate solves a positive definite system.
func eliminate(a [][]float64, b []float64) []float64 {
	n := len(b)
	for c := range n {
		for r := c + 1; r < n; r++ {
			f := a[r][c] / a[c][c]
			for e := c; e < n; e++ {
				a[r][e] -= f * a[c][e]
			}
			b[r] -= f * b[c]
		}
	}
	for c := n - 1; c >= 0; c-- {
		for e := c + 1; e < n; e++ {
			b[c] -= a[c][e] * b[e]
		}
		b[c] /= a[c][c]
	}
	return b
}

// oneHot is the contexts of a world as features.
func oneHot(xs []int, m int) logs.Rows64 {
	x := logs.Rows64{Width: m, Data: make([]float64, len(xs)*m)}
	for i, c := range xs {
		x.Data[i*m+c] = 1
	}
	return x
}

// Intervals cover the value as often as they say, for the methods that are
// unbiased: fresh logs of known worlds, single rows and groups, and the gain and
// the difference of two targets too. Guarantees fail at most as often as δ.
func TestIntervals_CoverAsOftenAsTheySay(t *testing.T) {
	long.Test(t)
	logs, n := 150, 1000
	if os.Getenv("OPL_LONG") != "" {
		logs = 4000
	}
	for _, c := range []struct {
		name  string
		sharp float64
		size  int
	}{{"uniform", 0, 1}, {"softmax", 0.7, 1}, {"groups of 10", 0.7, 10}} {
		t.Run(c.name, func(t *testing.T) {
			const m, k = 8, 5
			w := newWorld(11, m, k, c.sharp)
			truth, other, logging := w.value(w.pi), w.value(w.other), w.value(w.pi0)
			hit, gain, pair := map[string]int{}, map[string]int{}, map[string]int{}
			single, broken := 0, 0
			for s := range logs {
				r := rand.New(rand.NewPCG(uint64(s), 77))
				l, xs := w.log(r, n, c.size)
				l.X = oneHot(xs, m)
				model, err := ope.Ridge(l, ope.ModelOptions{})
				if err != nil {
					t.Fatal(err)
				}
				a, b := w.target("a", w.pi, xs), w.target("b", w.other, xs)
				b.Origin = provenance.Origin{} // no guarantee, which takes long: that of a is counted
				res := evaluate(t, l, []ope.Target{a, b}, ope.Options{Model: model})
				in := func(low, x, high float64) int {
					if low <= x && x <= high {
						return 1
					}
					return 0
				}
				for _, e := range res.Policies[0].Estimates {
					hit[e.Estimator] += in(e.Low, truth, e.High)
					gain[e.Estimator] += in(e.Gain.Low, truth-logging, e.Gain.High)
				}
				for _, p := range res.Pairs {
					pair[p.Estimator] += in(p.Low, truth-other, p.High)
				}
				if g := res.Policies[0].Guarantee; g != nil {
					broken += 1 - in(g.Promise(), truth, 1)*in(g.GainAtLeast(), truth-logging, 1)
				}
				l.Group, a.Origin = nil, provenance.Origin{}
				e := evaluate(t, l, []ope.Target{a}, ope.Options{Estimators: only("ips")}).Policies[0].Estimates[0]
				single += in(e.Low, truth, e.High)
			}
			share := func(m map[string]int) (s string) {
				for _, name := range ope.Default(ope.Estimators(), false) {
					s += fmt.Sprintf(" %s %.3f", name.Name, float64(m[name.Name])/float64(logs))
				}
				return s
			}
			t.Logf("%-12s value%s", c.name, share(hit))
			t.Logf("%-12s gain %s", c.name, share(gain))
			t.Logf("%-12s pair %s", c.name, share(pair))
			t.Logf("%-12s guarantees broken %d of %d; ips without groups %.3f", c.name, broken, logs, float64(single)/float64(logs))
			slack := 0.01 + 4*math.Sqrt(0.05*0.95/float64(logs))
			for _, name := range []string{"ips", "snips", "dr", "sndr"} {
				for what, of := range map[string]map[string]int{"value": hit, "gain": gain, "pair": pair} {
					if got := float64(of[name]) / float64(logs); math.Abs(got-0.95) > slack {
						t.Errorf("the %s's interval by %s covers %.3f", what, name, got)
					}
				}
			}
			if float64(broken) > 0.05*float64(logs) {
				t.Errorf("%d of %d guarantees failed", broken, logs)
			}
			// Without the groups the interval is too narrow: the clusters matter.
			if c.size > 1 && float64(single)/float64(logs) > 0.93 {
				t.Errorf("unclustered intervals cover %.3f of dependent rows", float64(single)/float64(logs))
			}
		})
	}
}

// What cannot be estimated says why.
func TestEvaluate_SaysWhyItCannot(t *testing.T) {
	ok := func() (*logs.Log, []ope.Target) {
		return &logs.Log{Actions: logs.Numbered(2), Action: []int32{0, 1, 0}, Cost: []float64{-1, 0, 0}, Propensity: []float64{0.5, 0.5, 0.5}}, []ope.Target{{Name: "t", Logged: []float64{0.1, 0.9, 0.1}}}
	}
	for name, spoil := range map[string]func(l *logs.Log, t []ope.Target, o *ope.Options){
		"action":       func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Action[1] = 2 },
		"cost":         func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Cost[1] = 1 },
		"propensity":   func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Propensity[1] = 0 },
		"propensities": func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Propensity = nil },
		"weight":       func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Weight = []float64{1, -1, 1} },
		"weights":      func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Weight = []float64{0, 0, 0} },
		"groups":       func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Group = []int32{1, 1, 1} },
		"lengths":      func(l *logs.Log, _ []ope.Target, _ *ope.Options) { l.Group = []int32{1, 1} },
		"probability":  func(_ *logs.Log, t []ope.Target, _ *ope.Options) { t[0].Logged[0] = 1.5 },
		"rows":         func(_ *logs.Log, t []ope.Target, _ *ope.Options) { t[0].Logged = t[0].Logged[1:] },
		"sum": func(_ *logs.Log, t []ope.Target, _ *ope.Options) {
			t[0].Row = func(dst []float64, _ int) error { dst[0], dst[1] = 0.5, 0.4; return nil }
		},
		"negative": func(_ *logs.Log, t []ope.Target, _ *ope.Options) {
			t[0].Row = func(dst []float64, _ int) error { dst[0], dst[1] = -0.5, 1.5; return nil }
		},
		"method": func(_ *logs.Log, _ []ope.Target, o *ope.Options) { o.Estimators = []ope.Estimator{{Name: "best"}} },
		"no method": func(_ *logs.Log, _ []ope.Target, o *ope.Options) {
			o.Estimators = only("dm")
		},
		"delta": func(_ *logs.Log, _ []ope.Target, o *ope.Options) { o.Delta = 1 },
		"twice": func(_ *logs.Log, _ []ope.Target, o *ope.Options) { o.Estimators = append(only("ips"), ope.IPS()) },
		"default": func(_ *logs.Log, _ []ope.Target, o *ope.Options) {
			o.Estimators = only("clip")
			o.Estimators[0].Hyper.Default = func(*ope.Data) float64 { return 2 }
		},
		"not finite": func(_ *logs.Log, _ []ope.Target, o *ope.Options) {
			o.Estimators = []ope.Estimator{{Name: "inf", Of: func(d *ope.Data, _ float64) ope.Value {
				return d.Mean(func(i int) float64 { return math.Inf(1) })
			}}}
		},
		"influences": func(_ *logs.Log, _ []ope.Target, o *ope.Options) {
			o.Estimators = []ope.Estimator{{Name: "none", Of: func(*ope.Data, float64) ope.Value { return ope.Value{Value: 1} }}}
		},
		"model": func(_ *logs.Log, t []ope.Target, o *ope.Options) {
			t[0].Row = func(dst []float64, _ int) error { dst[0], dst[1] = 0.5, 0.5; return nil }
			o.Model = func(dst []float64, _ int) { dst[0] = math.NaN() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, targets := ok()
			var o ope.Options
			spoil(l, targets, &o)
			if _, err := ope.Evaluate(l, targets, o); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	l, targets := ok()
	if _, err := ope.Evaluate(l, targets, ope.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := ope.Evaluate(l, nil, ope.Options{}); err == nil {
		t.Error("no target: no error")
	}
	// A target that takes none of the logged actions has no SNIPS.
	targets[0].Logged = []float64{0, 0, 0}
	r := evaluate(t, l, targets, ope.Options{})
	if _, ok := estimate(r.Policies[0], "snips"); ok || len(r.Policies[0].Warnings) != 1 {
		t.Errorf("%+v", r.Policies[0])
	}
}

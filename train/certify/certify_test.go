package certify_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"opl/graph"
	"opl/objectives"
	"opl/objectives/weights"
	"opl/policies"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
)

// example is a log of n rows and a posterior around a prior at 0.
func example(n int) (*logs.Log, policies.Posterior, []int) {
	w := newWorld(3, 5, 4, 3, false, true)
	log := w.log(w.logging(2), n, train.Stream(3, "example"))
	q := policies.Posterior{Actions: 3, Dim: 4, Mu: make([]float64, 12), Sigma: 0.8, Prior: policies.Prior{Mean: make([]float64, 12)}}
	for i := range q.Mu {
		q.Mu[i] = 0.3 * math.Sin(float64(i))
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return log, q, rows
}

func mustCertify(t *testing.T, pol policies.Policy, q policies.Posterior, log *logs.Log, rows []int, o certify.Options) certify.Bounds {
	t.Helper()
	c, err := certify.Posterior(pol, q, log, rows, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bound(t *testing.T, c certify.Bounds, name string) certify.Bound {
	t.Helper()
	for _, b := range c.All {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no bound %s, missing are %q", name, c.Missing)
	return certify.Bound{}
}

func terms(b certify.Bound) map[string]float64 {
	m := map[string]float64{}
	for _, t := range b.Terms {
		m[t.Name] = t.Value
	}
	return m
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// least is the smallest value of f over 100 points from a to b, equally spaced
// or geometrically.
func least(a, b float64, geometric bool, f func(l float64) float64) float64 {
	best := math.Inf(1)
	for g := range 100 {
		l := a + (b-a)*float64(g)/99
		if geometric {
			l = a * math.Pow(b/a, float64(g)/99)
		}
		best = min(best, f(l))
	}
	return best
}

// TestByHand computes the bounds of a Gaussian policy again, from the rows.
func TestByHand(t *testing.T) {
	log, q, all := example(300)
	rows := all[50:]
	const tau, delta, priors = 0.3, 0.1, 6
	c := mustCertify(t, policies.Gaussian{}, q, log, rows, certify.Options{Delta: delta, Weight: objectives.Clip(tau), Priors: priors})
	n := float64(len(rows))
	if c.N != len(rows) || c.Priors != priors || c.Delta != delta {
		t.Errorf("n = %d, %d priors, δ = %v", c.N, c.Priors, c.Delta)
	}
	share := delta / 2 / 4 / priors
	kl := 6 * (0.64 - 1 - math.Log(0.64))
	for _, m := range q.Mu {
		kl += m * m / 2
	}
	near(t, "KL", c.KL, kl)

	// π_Q by a midpoint rule of E_ε[∏ Φ(ε + (z_a − z_k))].
	pi := func(r, a int) float64 {
		x := make([]float64, 4)
		log.X.Row64(log.Context(r), x)
		var norm, sum float64
		var z [3]float64
		for j, v := range x {
			norm += v * v
			for k := range z {
				z[k] += v * q.Mu[k*4+j]
			}
		}
		const nodes = 400
		for i := range nodes {
			e := -9 + 18*(float64(i)+0.5)/nodes
			p := math.Exp(-e*e/2) / math.Sqrt(2*math.Pi) * 18 / nodes
			for k := range z {
				if k != a {
					p *= math.Erfc(-(e+(z[a]-z[k])/(0.8*math.Sqrt(norm)))/math.Sqrt2) / 2
				}
			}
			sum += p
		}
		return sum
	}
	var risk, kept, v float64
	logged := map[int]float64{}
	for _, r := range rows {
		for a := range 3 {
			p, p0 := pi(r, a), log.Propensities[r*3+a]
			h := max(p0, tau)
			kept += p0 * p / h / n
			v += p0 * p / (h * h) / n
			if a == int(log.Action[r]) {
				logged[r] = p
				risk += p / h * log.Cost[r] / n
				v += p / (h * h) * log.Cost[r] * log.Cost[r] / n
			}
		}
	}
	kappa := (kl + math.Log(100/share)) / n
	oneSided := func(loss func(l, c, p0 float64) float64) float64 {
		return least(1/math.Sqrt(n), 1, false, func(l float64) float64 {
			var mean float64
			for _, r := range rows {
				mean += logged[r] * loss(l, log.Cost[r], log.Propensity[r]) / n
			}
			return (1 - math.Exp(-l*(mean+kappa/l))) / l
		})
	}
	corollary := func(b, log2 float64) float64 {
		return least(1e-4, 1, true, func(l float64) float64 {
			return risk + math.Sqrt((kl+math.Log(4*math.Sqrt(n)/share))/(2*n)) + b + (kl+log2)/(n*l) + l/2*v
		})
	}
	for name, want := range map[string]float64{
		"ls":                   oneSided(func(l, c, p0 float64) float64 { return -math.Log(1-l*c/p0) / l }),
		"ixbound":              oneSided(func(l, c, p0 float64) float64 { return c / (p0 + l/2) }),
		"corollary1":           corollary(0, math.Log(200/share)),
		"corollary1-two-sided": corollary(1-kept, math.Log(400/share)),
	} {
		b := bound(t, c, name)
		near(t, name, b.Risk, want)
		near(t, name+"'s δ", b.Delta, share)
	}
	if len(c.All) != 4 || !slices.IsSortedFunc(c.All, func(a, b certify.Bound) int { return int(math.Copysign(1, a.Risk-b.Risk)) }) {
		t.Errorf("bounds are %v, want 4, the tightest first", c.All)
	}
	near(t, "guarantee", c.Reward(), -c.All[0].Risk)
}

// fromTerms is a bound computed from its printed terms.
func fromTerms(b certify.Bound, n float64, sampled bool) float64 {
	m, d := terms(b), b.Delta
	if sampled {
		d /= 2
	}
	l, kl := b.Lambda, m["KL"]
	common := m["risk"] + math.Sqrt((kl+math.Log(4*math.Sqrt(n)/d))/(2*n)) + m["bias"] + l/2*m["variance"]
	switch b.Name {
	case "ls", "ixbound":
		return (1 - math.Exp(-l*(m["risk"]+m["sampling"])-(kl+math.Log(100/d))/n)) / l
	case "corollary1":
		return common + (kl+math.Log(200/d))/(n*l)
	}
	return common + (kl+math.Log(400/d))/(n*l) + m["sampling"]
}

func TestTerms(t *testing.T) {
	log, q, rows := example(200)
	for _, pol := range []policies.Policy{policies.Gaussian{}, policies.SoftmaxPosterior{}, policies.MixedLogit{}} {
		c := mustCertify(t, pol, q, log, rows, certify.Options{Draws: 32})
		for _, b := range c.All {
			near(t, pol.Name()+" "+b.Name+" from its terms", fromTerms(b, 200, pol.Noisy()), b.Risk)
			if s := terms(b)["sampling"]; pol.Noisy() != (s > 0) {
				t.Errorf("%s %s: sampling term %v", pol.Name(), b.Name, s)
			}
		}
	}
}

// TestTheorem1ByHand computes Theorem 1's bound for a Har weight and a linear one
// again, from draws of its own: all but the sampling term agree as far as the
// draws allow, and the sampling term is what the ranges give.
func TestTheorem1ByHand(t *testing.T) {
	log, q, rows := example(60)
	const draws, lambda, tau = 4000, 0.6, 0.25
	for _, tc := range []struct {
		weight objectives.Weight
		of     func(pi, p0 float64) float64
	}{
		{objectives.Har(lambda), func(pi, p0 float64) float64 { return pi / ((1-lambda)*pi + lambda*p0) }},
		{objectives.Clip(tau), func(pi, p0 float64) float64 { return pi / max(p0, tau) }},
	} {
		pol := policies.SoftmaxPosterior{}
		c := mustCertify(t, pol, q, log, rows, certify.Options{Weight: tc.weight, Draws: draws})
		b := bound(t, c, "theorem1")
		near(t, "share", b.Delta, 0.05/2/3)

		n, l := float64(len(rows)), b.Lambda
		r := train.Stream(9, "by hand")
		var risk, bias, v, squares float64
		pi, eps := make([]float64, 3), make([]float64, 3)
		widest, loosest := 0.0, 0.0
		logs.Scores(log.X, log.Rows, q.Mu, 3, func(i int, scores []float64) {
			a, cost, p0 := log.Action[i], log.Cost[i], log.Propensities[3*i:3*i+3]
			low, high := math.Inf(1), math.Inf(-1)
			z := func(pi []float64) (risk, bias, v float64) {
				for k, p := range pi {
					w := tc.of(p, p0[k])
					bias += math.Abs(p - p0[k]*w)
					v += p0[k] * w * w
				}
				w := tc.of(pi[a], p0[a])
				return w * cost, bias, v + w*w*cost*cost
			}
			seen := func(pi []float64) (float64, float64, float64) {
				x, y, w := z(pi)
				low, high = min(low, x+y+l/2*w), max(high, x+y+l/2*w)
				return x, y, w
			}
			for range draws {
				graph.Gaussian(r, eps)
				pol.At(pi, scores, q.Sigma*log.X.Norm(log.Context(i)), eps)
				x, y, w := seen(pi)
				risk, bias, v = risk+x/n/draws, bias+y/n/draws, v+w/n/draws
			}
			for k := range 3 { // as far as policies may go
				corner := make([]float64, 3)
				corner[k] = 1
				seen(corner)
			}
			// The range as the doc comment derives it.
			var biasHigh, second, sum float64
			for k := range 3 {
				u := tc.of(1, p0[k])
				if tc.weight.Linear() {
					biasHigh, second = max(biasHigh, math.Abs(1-p0[k]*u)), max(second, p0[k]*u*u)
				} else {
					sum, second = sum+p0[k]*u, second+p0[k]*u*u
					biasHigh = 1 + sum
				}
			}
			top := -tc.of(1, p0[a]) * cost
			parabola := func(t float64) float64 { return -t + l/2*t*t }
			span := max(0, parabola(top)) - parabola(min(top, 1/l)) + biasHigh + l/2*second
			squares += span * span
			widest, loosest = max(widest, (high-low)/span), max(loosest, span)
		})
		if widest > 1 {
			t.Errorf("%v: values spread over %v of the range", tc.weight, widest)
		}
		m := terms(b)
		for name, x := range map[string]float64{"risk": risk, "bias": bias, "variance": v} {
			if math.Abs(m[name]-x) > 0.01 {
				t.Errorf("%v: %s %v, by hand %v", tc.weight, name, m[name], x)
			}
		}
		near(t, "sampling", m["sampling"], math.Sqrt(math.Log(100/(b.Delta/2))*squares/(2*n*n*draws)))
		near(t, "theorem1 from its terms", fromTerms(b, n, true), b.Risk)
		if m["sampling"] > 0.02*loosest {
			t.Errorf("%v: sampling %v is not small", tc.weight, m["sampling"])
		}
	}
}

// TestOneSidedIsTighter: in two-sided form Corollary 1 is never better, bounds
// fall as rows repeat (the same mean, more of them), and rise with the divergence.
func TestOneSidedIsTighter(t *testing.T) {
	log, q, rows := example(100)
	repeat := func(times int) (*logs.Log, []int) {
		var all []int
		for range times {
			all = append(all, rows...)
		}
		l := log.Subset(all)
		for i := range all {
			all[i] = i
		}
		return l, all
	}
	far := q
	far.Prior.Mean = slices.Repeat([]float64{0.7}, 12) // the same policy, and more divergence
	for _, pol := range []policies.Policy{policies.Gaussian{}, policies.SoftmaxPosterior{}} {
		o := certify.Options{Weight: objectives.Clip(0.2), Draws: 64}
		var last certify.Bounds
		for i, times := range []int{1, 4, 16} {
			l, all := repeat(times)
			c := mustCertify(t, pol, q, l, all, o)
			if i > 0 {
				for _, b := range c.All {
					if old := bound(t, last, b.Name); !(b.Risk < old.Risk) {
						t.Errorf("%s %s: %v at %d rows, %v before", pol.Name(), b.Name, b.Risk, len(all), old.Risk)
					}
				}
			}
			last = c
			d := mustCertify(t, pol, far, l, all, o)
			for _, b := range c.All {
				if more := bound(t, d, b.Name); !(more.Risk > b.Risk) || !(d.KL > c.KL) {
					t.Errorf("%s %s: %v at KL %v, %v at %v", pol.Name(), b.Name, more.Risk, d.KL, b.Risk, c.KL)
				}
			}
			if pol.Mixture() {
				if one, two := bound(t, c, "corollary1").Risk, bound(t, c, "corollary1-two-sided").Risk; one > two {
					t.Errorf("one-sided %v, two-sided %v", one, two)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	log, q, rows := example(20)
	change := func(f func(q *policies.Posterior)) policies.Posterior {
		c := q
		c.Mu, c.Prior.Mean = slices.Clone(q.Mu), slices.Clone(q.Prior.Mean)
		f(&c)
		return c
	}
	gauss := policies.Gaussian{}
	for _, tc := range []struct {
		name string
		pol  policies.Policy
		q    policies.Posterior
		rows []int
		o    certify.Options
		want string
	}{
		{"twice", gauss, q, []int{1, 2, 1}, certify.Options{}, "row 1 is given twice"},
		{"outside", gauss, q, []int{20}, certify.Options{}, "no row 20"},
		{"negative", gauss, q, []int{-1}, certify.Options{}, "no row -1"},
		{"no rows", gauss, q, nil, certify.Options{}, "no rows"},
		{"point policy", policies.Softmax{}, q, rows, certify.Options{}, "no posterior"},
		{"delta 1", gauss, q, rows, certify.Options{Delta: 1}, "outside (0, 1)"},
		{"delta < 0", gauss, q, rows, certify.Options{Delta: -0.1}, "outside (0, 1)"},
		{"delta NaN", gauss, q, rows, certify.Options{Delta: math.NaN()}, "outside (0, 1)"},
		{"priors", gauss, q, rows, certify.Options{Priors: -1}, "at least 1"},
		{"draws", gauss, q, rows, certify.Options{Draws: -1}, "at least 1"},
		{"K of another log", gauss, change(func(q *policies.Posterior) { q.Actions = 4 }), rows, certify.Options{}, "4 actions and 4 features"},
		{"d of another log", gauss, change(func(q *policies.Posterior) { q.Dim = 3 }), rows, certify.Options{}, "3 actions and 3 features"},
		{"short mean", gauss, change(func(q *policies.Posterior) { q.Mu = q.Mu[1:] }), rows, certify.Options{}, "11 numbers"},
		{"short prior", gauss, change(func(q *policies.Posterior) { q.Prior.Mean = q.Prior.Mean[1:] }), rows, certify.Options{}, "prior's of 11"},
		{"NaN", gauss, change(func(q *policies.Posterior) { q.Mu[3] = math.NaN() }), rows, certify.Options{}, "divergence"},
		{"infinite", gauss, change(func(q *policies.Posterior) { q.Mu[3] = math.Inf(1) }), rows, certify.Options{}, "divergence"},
		{"no spread", gauss, change(func(q *policies.Posterior) { q.Sigma = 0 }), rows, certify.Options{}, "divergence"},
		{"negative scale", gauss, change(func(q *policies.Posterior) { q.Prior.Scale = -1 }), rows, certify.Options{}, "divergence"},
	} {
		if _, err := certify.Posterior(tc.pol, tc.q, log, tc.rows, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
}

// TestMissing: what does not apply is left out with a reason, and needs no share.
func TestMissing(t *testing.T) {
	log, q, rows := example(50)
	logged := *log
	logged.Propensities = nil
	down := objectives.Weight{Name: "down", Of: func(pi, pi0 weights.Value) weights.Value { return pi.Neg().Plus(1).Div(pi0) }}
	small := objectives.Weight{Name: "small", H: func(pi0 weights.Value) weights.Value { return pi0.Scale(0.5) }}
	for _, tc := range []struct {
		name   string
		pol    policies.Policy
		log    *logs.Log
		weight objectives.Weight
		want   []string // the bounds
		share  float64  // of δ/2
		reason string
	}{
		{"gaussian", policies.Gaussian{}, log, objectives.Weight{}, []string{"corollary1", "corollary1-two-sided", "ixbound", "ls"}, 4, "theorem1: policy gaussian is computed exactly as a mixture"},
		{"logged only", policies.Gaussian{}, &logged, objectives.Weight{}, []string{"ixbound", "ls"}, 2, "corollary1: the log has no propensities"},
		{"har", policies.Gaussian{}, log, objectives.Har(0.5), []string{"ixbound", "ls"}, 2, "corollary1: weight har is not linear"},
		{"h < p", policies.Gaussian{}, log, small, []string{"ixbound", "ls"}, 4, "want h(p) ≥ p"},
		{"softmax", policies.SoftmaxPosterior{}, log, objectives.Har(0), []string{"ixbound", "ls", "theorem1"}, 3, "no mixture"},
		{"softmax, ips", policies.SoftmaxPosterior{}, log, objectives.IPS(), []string{"ixbound", "ls", "theorem1"}, 3, "no mixture"},
		{"softmax, es 0", policies.SoftmaxPosterior{}, log, objectives.ES(0), []string{"ixbound", "ls", "theorem1"}, 3, "no mixture"},
		{"softmax, logged only", policies.SoftmaxPosterior{}, &logged, objectives.Weight{}, []string{"ixbound", "ls"}, 2, "theorem1: the log has no propensities"},
		{"decreasing", policies.SoftmaxPosterior{}, log, down, []string{"ixbound", "ls"}, 3, "nondecreasing"},
		{"outside", policies.SoftmaxPosterior{}, log, objectives.Clip(2), []string{"ixbound", "ls"}, 3, "outside [0, 1]"},
		{"mixed logit", policies.MixedLogit{}, log, objectives.Weight{}, []string{"ixbound", "ls", "theorem1"}, 3, "sampling alone"},
	} {
		c := mustCertify(t, tc.pol, q, tc.log, rows, certify.Options{Weight: tc.weight, Draws: 16})
		var got []string
		for _, b := range c.All {
			got = append(got, b.Name)
			near(t, tc.name+" share", b.Delta, 0.05/2/tc.share)
			if math.IsNaN(b.Risk) || math.IsInf(b.Risk, 0) {
				t.Errorf("%s: %s is %v", tc.name, b.Name, b.Risk)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) || !strings.Contains(strings.Join(c.Missing, "; "), tc.reason) {
			t.Errorf("%s: bounds %q, missing %q, want %q and %q", tc.name, got, c.Missing, tc.want, tc.reason)
		}
	}
}

// TestRows: n is the number of rows, whatever the chunks, and only they count.
func TestRows(t *testing.T) {
	log, q, all := example(5000)
	for _, n := range []int{1, 2, 255, 257, 4097} {
		rows := all[:n]
		c := mustCertify(t, policies.Gaussian{}, q, log, rows, certify.Options{})
		other := mustCertify(t, policies.Gaussian{}, q, log.Subset(rows), upTo(n), certify.Options{})
		if c.N != n {
			t.Errorf("n = %d of %d rows", c.N, n)
		}
		for i, b := range c.All {
			near(t, fmt.Sprintf("%d rows, %s", n, b.Name), b.Risk, other.All[i].Risk)
			near(t, "from terms", fromTerms(b, float64(n), false), b.Risk)
		}
		near(t, "logging", c.LoggingUpper, certify.LoggingUpper(log.Cost, 0.025))
	}
}

func upTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

func TestLoggingUpper(t *testing.T) {
	// No reward in n rows: Chernoff gives 1 − (δ/2)^(1/n).
	near(t, "all costs 0", certify.LoggingUpper(make([]float64, 50), 0.1), 1-math.Pow(0.05, 1./50))
	near(t, "all costs -1", certify.LoggingUpper(slices.Repeat([]float64{-1}, 50), 0.1), 1)
	// Half of the rewards: 50·kl(½‖u) = log 20, where kl = −½ log(4u(1−u)).
	half := slices.Repeat([]float64{-1, 0}, 25)
	near(t, "half", certify.LoggingUpper(half, 0.1), (1+math.Sqrt(1-math.Exp(-2*math.Log(20)/50)))/2)
	// Rewards of little variance: empirical Bernstein is the smaller.
	const n = 10000
	even := slices.Repeat([]float64{-0.3, -0.5}, n/2)
	l := math.Log(40)
	near(t, "even", certify.LoggingUpper(even, 0.1), 0.4+math.Sqrt(2*0.01*n/(n-1)*l/n)+7*l/(3*(n-1)))
	if u := certify.LoggingUpper([]float64{-0.5}, 0.1); !(u > 0.5 && u <= 1) {
		t.Errorf("of one row: %v", u)
	}

	// Coverage for rewards u² of uniform u, whose mean is 1/3.
	const logs = 1000
	r := train.Stream(5, "coverage")
	for _, n := range []int{1, 5, 50, 500} {
		for _, delta := range deltas {
			failed := 0
			cost := make([]float64, n)
			for range logs {
				for i := range cost {
					u := r.Float64()
					cost[i] = -u * u
				}
				if certify.LoggingUpper(cost, delta) < 1./3 {
					failed++
				}
			}
			if failed > most(logs, delta) {
				t.Errorf("n=%d: too low %d times of %d at δ = %v", n, failed, logs, delta)
			}
		}
	}
}

// TestSampling: with 100 times the draws, the estimate moves by less than the
// sampling term, at each of many seeds, and the term shrinks to a tenth.
func TestSampling(t *testing.T) {
	log, q, rows := example(20)
	for _, pol := range []policies.Policy{policies.SoftmaxPosterior{}, policies.MixedLogit{}} {
		compared := 0
		many := mustCertify(t, pol, q, log, rows, certify.Options{Draws: 1600, Seed: 999})
		for seed := range uint64(40) {
			few := mustCertify(t, pol, q, log, rows, certify.Options{Draws: 16, Seed: seed})
			for _, b := range few.All {
				m, f := terms(bound(t, many, b.Name)), terms(b)
				if b.Lambda != bound(t, many, b.Name).Lambda {
					continue // estimates of other quantities
				}
				if b.Name == "ls" { // by hand
					var square float64
					for i, c := range log.Cost {
						u := math.Log(1-b.Lambda*c/log.Propensity[i]) / b.Lambda
						square += u * u
					}
					near(t, "sampling by hand", f["sampling"], math.Sqrt(math.Log(100/(b.Delta/2))*square/(2*20*20*16)))
				}
				compared++
				near(t, "sampling", f["sampling"], 10*m["sampling"])
				off := f["risk"] + f["bias"] + b.Lambda/2*f["variance"] - (m["risk"] + m["bias"] + b.Lambda/2*m["variance"])
				if math.Abs(off) > f["sampling"]+m["sampling"] || off == 0 {
					t.Errorf("%s %s, seed %d: the estimate is off by %v, sampling term %v", pol.Name(), b.Name, seed, off, f["sampling"])
				}
			}
		}
		if compared < 40 {
			t.Errorf("%s: %d estimates compared", pol.Name(), compared)
		}
		again := mustCertify(t, pol, q, log, rows, certify.Options{Draws: 1600, Seed: 999})
		if fmt.Sprint(again) != fmt.Sprint(many) {
			t.Error("the same seed gives another certificate")
		}
	}
}

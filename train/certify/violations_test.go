package certify_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"opl/objectives"
	"opl/policies"
	"opl/policies/propensity"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
)

// world is a finite distribution of contexts and costs, in which risks are sums.
type world struct {
	x    logs.Rows64
	k    int
	nu   []float64 // probabilities of the contexts
	p    []float64 // mean reward of a context and an action
	half bool      // costs of −1/2 too, and not of 0 and −1 alone
}

// newWorld draws m contexts of norm 1 in R^d. Of a flat world all mean rewards
// are 0.3, so that whatever is learned is noise.
func newWorld(seed uint64, m, d, k int, flat, half bool) world {
	r := train.Stream(seed, "world")
	w := world{x: logs.Rows64{Width: d, Data: make([]float64, m*d)}, k: k, nu: make([]float64, m), p: make([]float64, m*k), half: half}
	var sum float64
	for i := range m {
		phi := w.x.Data[i*d : (i+1)*d]
		var norm float64
		for j := range phi {
			phi[j] = r.NormFloat64()
			norm += phi[j] * phi[j]
		}
		for j := range phi {
			phi[j] /= math.Sqrt(norm)
		}
		w.nu[i] = 0.5 + r.Float64()
		sum += w.nu[i]
	}
	for i := range w.nu {
		w.nu[i] /= sum
	}
	for i := range w.p {
		w.p[i] = 0.02 + 0.96*math.Pow(r.Float64(), 2)
		if flat {
			w.p[i] = 0.3
		}
	}
	return w
}

// logging is π₀ [m×K]: softmax of η times the mean rewards, uniform at 0, good
// above and bad below.
func (w world) logging(eta float64) []float64 {
	pi0 := make([]float64, len(w.p))
	for i := range w.nu {
		var sum float64
		for a := range w.k {
			pi0[i*w.k+a] = math.Exp(eta * w.p[i*w.k+a])
			sum += pi0[i*w.k+a]
		}
		for a := range w.k {
			pi0[i*w.k+a] /= sum
		}
	}
	return pi0
}

// log draws n interactions.
func (w world) log(pi0 []float64, n int, r *rand.Rand) *logs.Log {
	l := &logs.Log{X: w.x, Actions: logs.Numbered(w.k), Rows: make([]int, n), Action: make([]int32, n), Cost: make([]float64, n), Propensity: make([]float64, n)}
	for i := range n {
		x := propensity.Draw(w.nu, r)
		row := pi0[x*w.k : (x+1)*w.k]
		a := propensity.Draw(row, r)
		l.Rows[i], l.Action[i], l.Propensity[i] = x, int32(a), row[a]
		l.Propensities = append(l.Propensities, row...)
		switch p, u := w.p[x*w.k+a], r.Float64(); {
		case !w.half && u < p || w.half && u < 2*p-1:
			l.Cost[i] = -1
		case w.half && u < 2*p:
			l.Cost[i] = -0.5
		}
	}
	return l
}

// reward is Σ_x ν(x) Σ_a π(a|x) p(x,a).
func (w world) reward(pi []float64) float64 {
	var r float64
	for i, p := range w.p {
		r += w.nu[i/w.k] * pi[i] * p
	}
	return r
}

// mixture is π_Q [m×K], exact, or by draws on eps.
func (w world) mixture(pol policies.Policy, q policies.Posterior, eps []float64) []float64 {
	out := make([]float64, len(w.p))
	pi := make([]float64, w.k)
	logs.Scores(w.x, nil, q.Mu, w.k, func(i int, scores []float64) {
		draws := 1
		if pol.Noisy() {
			draws = len(eps) / w.k
		}
		for s := range draws {
			var draw []float64
			if pol.Noisy() {
				draw = eps[s*w.k : (s+1)*w.k]
			}
			pol.At(pi, scores, q.Sigma*w.x.Norm(i), draw)
			for a, v := range pi {
				out[i*w.k+a] += v / float64(draws)
			}
		}
	})
	return out
}

// setting is one line of the table.
type setting struct {
	eta     float64 // of the logging policy: 0 uniform, 6 peaked, −2 bad
	n, k    int     // k 0: 3
	flat    bool    // see newWorld
	half    bool
	logged  bool // only the logged propensities are known
	learner string
	scale   float64 // of the prior; 0: 1
	scales  bool    // the prior's scale is chosen from the recipe's grid
	split   bool    // half of the rows learn the prior
	pol     policies.Policy
	weight  objectives.Weight
	quick   bool // in the quick version too
}

func (s setting) String() string {
	name := []string{map[float64]string{0: "uniform", 6: "peaked", -2: "bad"}[s.eta], s.pol.Name(), s.learner}
	for _, f := range []struct {
		on   bool
		name string
	}{{s.scales, "scales"}, {s.split, "split"}, {s.flat, "flat"}, {s.half, "fractional costs"}, {s.logged, "logged π₀ only"}, {s.weight.Name != "", s.weight.String()}, {s.scale != 0, fmt.Sprintf("s=%v", s.scale)}, {s.k != 0, fmt.Sprintf("K=%d", s.k)}} {
		if f.on {
			name = append(name, f.name)
		}
	}
	return strings.Join(name, ", ")
}

// settings are those of the full version.
func settings() []setting {
	gauss, soft, mixed := policies.Gaussian{}, policies.SoftmaxPosterior{}, policies.MixedLogit{}
	var all []setting
	for _, eta := range []float64{0, 6, -2} {
		for _, n := range []int{30, 100, 1000} {
			all = append(all, setting{eta: eta, n: n, learner: "table", pol: gauss, quick: n == 30})
		}
	}
	return append(all,
		setting{n: 30, learner: "none", pol: gauss, quick: true},
		setting{eta: 6, n: 1000, learner: "none", pol: gauss},
		setting{n: 30, learner: "overfit", flat: true, pol: gauss, quick: true},
		setting{n: 100, learner: "overfit", flat: true, scales: true, pol: gauss},
		setting{n: 100, learner: "table", scales: true, pol: gauss},
		setting{eta: 6, n: 100, learner: "table", scales: true, half: true, pol: gauss},
		setting{eta: -2, n: 30, learner: "table", scales: true, pol: gauss},
		setting{n: 60, learner: "table", scales: true, split: true, pol: gauss, quick: true},
		setting{eta: 6, n: 100, learner: "table", scales: true, split: true, pol: gauss},
		setting{eta: -2, n: 100, learner: "table", scales: true, split: true, half: true, pol: gauss},
		setting{n: 600, learner: "overfit", flat: true, split: true, pol: gauss},
		setting{n: 2000, learner: "none", scale: 0.1, split: true, pol: gauss},
		setting{n: 2000, learner: "none", scale: 0.1, flat: true, split: true, pol: gauss},
		setting{eta: -2, n: 2000, learner: "table", scale: 0.1, split: true, pol: gauss},
		setting{eta: 6, n: 2000, learner: "none", scale: 0.1, split: true, pol: gauss},
		setting{n: 300, learner: "none", scale: 0.1, split: true, pol: gauss, quick: true},
		setting{n: 1000, learner: "bold", pol: gauss},
		setting{n: 300, learner: "table", scales: true, split: true, pol: gauss},
		setting{n: 100, k: 6, learner: "table", scales: true, split: true, weight: objectives.ES(0.7), pol: gauss},
		setting{n: 30, learner: "adam", pol: gauss, quick: true},
		setting{eta: 6, n: 100, learner: "adam", pol: gauss},
		setting{n: 100, learner: "adam", scales: true, split: true, pol: gauss},
		setting{eta: -2, n: 100, learner: "table", logged: true, pol: gauss},
		setting{n: 100, learner: "table", weight: objectives.IX(0.1), pol: gauss},
		setting{eta: 6, n: 300, learner: "none", scale: 0.1, split: true, pol: policies.Floor{Policy: gauss, Epsilon: 0.3}, quick: true},
		setting{n: 30, learner: "table", weight: objectives.Har(0.5), pol: soft, quick: true},
		setting{n: 30, learner: "none", weight: objectives.Har(0.9), pol: soft},
		setting{eta: 6, n: 300, learner: "table", weight: objectives.Har(0.9), pol: soft},
		setting{eta: -2, n: 100, learner: "overfit", weight: objectives.Clip(0.1), pol: soft},
		setting{n: 100, learner: "table", scales: true, split: true, weight: objectives.IPS(), pol: soft},
		setting{n: 100, learner: "table", scales: true, pol: mixed},
	)
}

// learn gives a posterior around a prior from rows of a log.
func (s setting) learn(w world, log *logs.Log, rows []int, prior policies.Prior) (policies.Posterior, error) {
	kd := w.k * w.x.Width
	scale := cmp.Or(prior.Scale, 1)
	q := policies.Posterior{Actions: w.k, Dim: w.x.Width, Mu: slices.Clone(prior.Mean), Sigma: scale, Prior: prior}
	switch s.learner {
	case "none":
		return q, nil
	case "adam":
		l := log.Subset(rows)
		res, err := train.Fit(context.Background(), l, train.Config{
			Objective: objectives.LogSmoothing(), Policy: s.pol, Prior: prior, Epochs: 8, LearningRate: 0.3, BatchSize: l.Len(),
		})
		if err != nil {
			return q, err
		}
		return res.Posterior, nil
	}
	// A step from the prior along the importance-weighted rewards, less their mean.
	step := make([]float64, kd)
	phi := make([]float64, w.x.Width)
	var mean, norm float64
	for _, r := range rows {
		mean -= log.Cost[r] / float64(len(rows))
	}
	for _, r := range rows {
		w.x.Row64(log.Context(r), phi)
		for j, v := range phi {
			step[int(log.Action[r])*len(phi)+j] += (-log.Cost[r] - mean) / log.Propensity[r] * v
		}
	}
	for _, v := range step {
		norm += v * v
	}
	length := 2 * scale // KL of 2
	switch s.learner {
	case "bold":
		length = 8 * scale
	case "overfit":
		length = 5 * scale
		q.Sigma = scale / 3
	}
	for i, v := range step {
		q.Mu[i] += v * length / math.Sqrt(max(norm, 1e-12))
	}
	return q, nil
}

// outcome is which statements failed for one log: by name, and δ.
type outcome map[string]bool

func key(name string, delta float64) string { return fmt.Sprint(name, " ", delta) }

var deltas = []float64{0.05, 0.2}

// run draws log number i, learns and certifies on it.
func (s setting) run(w world, eps []float64, seed uint64, i int) (outcome, error) {
	r := train.Stream(seed, fmt.Sprintf("log %d of %v, n=%d", i, s, s.n))
	pi0 := w.logging(s.eta)
	log := w.log(pi0, s.n, r)
	full := log.Propensities
	logging := w.reward(pi0)
	prior := policies.Prior{Mean: make([]float64, w.k*w.x.Width)}
	rows := r.Perm(s.n)
	if s.split {
		taught := rows[:s.n/2]
		rows = rows[s.n/2:]
		q, err := setting{learner: "bold"}.learn(w, log, taught, prior)
		if err != nil {
			return nil, err
		}
		prior = policies.Prior{Mean: q.Mu, Taught: propensity.NewRowSet(log.Hashes(taught))}
	}
	scales := []float64{cmp.Or(s.scale, 1)}
	if s.scales {
		scales = train.PriorScales()
	}
	if s.logged {
		log.Propensities = nil
	}
	// A model of the reward that no row has taught, or that those of the prior have.
	base := &certify.RewardModel{Theta: make([]float64, w.k*w.x.Width), Taught: prior.Taught}
	for j := range base.Theta {
		base.Theta[j] = 3*prior.Mean[j] + 2*math.Sin(float64(7*j))
	}
	failed := outcome{}
	best := map[float64]certify.Bounds{} // of the scales, by δ
	earned := map[float64]float64{}      // the true reward of that policy
	for _, scale := range scales {
		prior.Scale = scale
		q, err := s.learn(w, log, rows, prior)
		if err != nil {
			return nil, err
		}
		reward := w.reward(w.mixture(s.pol, q, eps))
		o := certify.Options{RewardModel: base, Priors: len(scales), Weight: s.weight, Draws: 32, Seed: seed + uint64(i)}
		singles, err := certify.Singles(s.pol, q, log, rows, o, deltas...)
		if err != nil {
			return nil, err
		}
		for j, bounds := range singles {
			for _, b := range bounds {
				failed[key(b.Name, deltas[j])] = failed[key(b.Name, deltas[j])] || -reward > b.Risk
			}
		}
		for _, d := range deltas {
			o.Delta = d
			c, err := certify.Posterior(s.pol, q, log, rows, o)
			if err != nil {
				return nil, err
			}
			for _, b := range c.All {
				failed[key("any", d)] = failed[key("any", d)] || -reward > b.Risk
			}
			failed[key("any", d)] = failed[key("any", d)] || logging > c.LoggingUpper
			if old, ok := best[d]; !ok || c.Reward() > old.Reward() {
				best[d], earned[d] = c, reward
			}
		}
	}
	for d, c := range best {
		failed[key("verdict", d)] = c.Reward() > c.LoggingUpper && earned[d] <= logging+1e-12
		failed[key("said better", d)] = c.Reward() > c.LoggingUpper
		failed[key("logging", d)] = logging > certify.LoggingUpper(log.Cost, d)
	}
	log.Propensities = full
	return failed, nil
}

// count runs a setting on fresh logs and counts what failed.
func (s setting) count(t *testing.T, seed uint64, logs int) map[string]int {
	k := cmp.Or(s.k, 3)
	w := newWorld(seed, 5, 4, k, s.flat, s.half)
	eps := make([]float64, 4000*k)
	r := train.Stream(seed, "truth")
	for i := range eps {
		eps[i] = r.NormFloat64()
	}
	counts := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	const workers = 2
	for worker := range workers {
		wg.Go(func() {
			for i := worker; i < logs; i += workers {
				failed, err := s.run(w, eps, seed, i)
				mu.Lock()
				if err != nil {
					t.Errorf("%v, n=%d, log %d: %v", s, s.n, i, err)
				}
				for name, f := range failed {
					if _, ok := counts[name]; !ok || f {
						counts[name] += map[bool]int{true: 1}[f]
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return counts
}

// most is the 0.999 quantile of the binomial distribution.
func most(n int, p float64) int {
	var sum float64
	for i := range n {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		if sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p)); sum >= 0.999 {
			return i
		}
	}
	return n
}

// env reads a number of the environment.
func env(t *testing.T, name string, otherwise int) int {
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestViolations counts how often certificates fail on trials drawn afresh, with
// policies learned on the rows that certify them. OPL_LONG=1 runs all settings on
// 1,000 trials each and prints the table; OPL_SEED, OPL_LOGS, OPL_K and OPL_N
// change it. Every bound is tried alone with the whole of δ, every certificate as
// it is ("any": a bound or the logging policy's value fails, for any scale).
func TestViolations(t *testing.T) {
	long := os.Getenv("OPL_LONG") != ""
	trials := 200
	if long {
		trials = 1000
	}
	trials = env(t, "OPL_LOGS", trials)
	seed := uint64(env(t, "OPL_SEED", 1))
	columns := []string{"ls", "ls-dr", "ixbound", "corollary1", "corollary1-two-sided", "theorem1", "logging", "any", "verdict"}
	table := &strings.Builder{}
	fmt.Fprintf(table, "| setting | n | δ | %s | said better | control |\n|---|---|---|%s---|---|\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, s := range settings() {
		if !long && !s.quick {
			continue
		}
		s.k, s.n = env(t, "OPL_K", s.k), env(t, "OPL_N", s.n)
		counts := s.count(t, seed, trials)
		for _, d := range deltas {
			fmt.Fprintf(table, "| %v | %d | %v |", s, s.n, d)
			for _, name := range append(slices.Clone(columns), "said better", "control") {
				c, ok := counts[key(name, d)]
				switch {
				case !ok:
					fmt.Fprint(table, " - |")
					continue
				case slices.Contains(columns, name) && c > most(trials, d):
					t.Errorf("%v, n=%d: %s fails on %d of %d logs, at most %d are by chance at δ = %v", s, s.n, name, c, trials, most(trials, d), d)
				}
				fmt.Fprintf(table, " %d |", c)
			}
			fmt.Fprintln(table)
		}
	}
	if long {
		fmt.Printf("Failures on %d logs, seed %d:\n\n%s", trials, seed, table)
	}
}

// TestControl shows that the counting can tell: logarithmic smoothing with the
// divergence taken as 0, on the very rows that chose the policy, fails far more
// often than δ, and with the divergence it does not. Contexts are many and have
// a feature each, and all actions are alike.
func TestControl(t *testing.T) {
	const m, n, k = 100, 200, 3
	trials := 100
	if os.Getenv("OPL_LONG") != "" {
		trials = 1000
	}
	w := newWorld(1, m, 1, k, true, false)
	w.x = logs.Rows64{Width: m, Data: make([]float64, m*m)}
	for i := range m {
		w.x.Data[i*m+i] = 1
	}
	counts := map[string]int{}
	for i := range trials {
		log := w.log(w.logging(0), n, train.Stream(1, fmt.Sprint("control ", i)))
		rows := make([]int, n)
		q := policies.Posterior{Actions: k, Dim: m, Mu: make([]float64, k*m), Sigma: 0.3, Prior: policies.Prior{Mean: make([]float64, k*m)}}
		for r := range rows {
			rows[r] = r
			q.Mu[int(log.Action[r])*m+log.Context(r)] -= log.Cost[r]
		}
		reward := w.reward(w.mixture(policies.Gaussian{}, q, nil))
		singles, err := certify.Singles(policies.Gaussian{}, q, log, rows, certify.Options{}, deltas...)
		if err != nil {
			t.Fatal(err)
		}
		for j, bounds := range singles {
			for _, b := range bounds {
				if -reward > b.Risk {
					counts[key(b.Name, deltas[j])]++
				}
			}
		}
	}
	for _, d := range deltas {
		if c := counts[key("control", d)]; c <= most(trials, d) {
			t.Errorf("the control fails on %d of %d logs, want more than %d at δ = %v", c, trials, most(trials, d), d)
		}
		for _, name := range []string{"ls", "ixbound", "corollary1", "corollary1-two-sided"} {
			if c := counts[key(name, d)]; c > most(trials, d) {
				t.Errorf("%s fails on %d of %d logs at δ = %v", name, c, trials, d)
			}
		}
	}
	if trials > 100 {
		for _, d := range deltas {
			fmt.Printf("Control on %d logs, δ = %v: with KL taken as 0 %d failures, with KL %d (ls).\n", trials, d, counts[key("control", d)], counts[key("ls", d)])
		}
	}
}

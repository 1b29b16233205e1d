package objectives_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/objectives/weights"
	"opl/policies"
	"opl/testdata/long"
)

// What everything runs through: a new objective, weight or policy is one line
// here, and that line buys the gradient check, the extremes, the evaluation in
// chunks and the limits.

var everyObjective = []struct {
	name      string
	objective objectives.Objective
	own       bool // brings its own weight
	bound     bool // is an upper bound that falls in n and rises in KL
}{
	{name: "risk", objective: objectives.Risk()},
	{name: "l2", objective: objectives.L2(.01)},
	{name: "heuristic", objective: objectives.Heuristic(objectives.Penalties{Distance: .01, Variance: .02, Bias: .03})},
	{name: "theorem1 star", objective: objectives.Theorem1(objectives.LambdaStar), bound: true},
	{name: "theorem1 authors", objective: objectives.Theorem1(objectives.LambdaAuthors), bound: true},
	{name: "theorem1 fixed", objective: objectives.Theorem1(objectives.LambdaFixed(.1)), bound: true},
	{name: "corollary1 star", objective: objectives.Corollary1(objectives.LambdaStar), bound: true},
	{name: "corollary1 authors", objective: objectives.Corollary1(objectives.LambdaAuthors), bound: true},
	{name: "corollary1 fixed", objective: objectives.Corollary1(objectives.LambdaFixed(.1)), bound: true},
	{name: "london", objective: objectives.London(), bound: true},
	{name: "sakhi1", objective: objectives.Sakhi1(), bound: true},
	{name: "sakhi2", objective: objectives.Sakhi2(), bound: true},
	{name: "variance", objective: objectives.SampleVariance(1)},
	{name: "pseudoloss", objective: objectives.PseudoLoss(.1), own: true},
	{name: "implicit", objective: objectives.Implicit(.3), own: true},
	{name: "likelihood", objective: objectives.Likelihood(.01), own: true},
	{name: "logistic", objective: objectives.Logistic(.01), own: true},
	{name: "weighted", objective: objectives.WeightedLikelihood(.01)},
	{name: "ixbound", objective: objectives.IXBound(), own: true, bound: true},
	{name: "ls", objective: objectives.LogSmoothing(), own: true, bound: true},
}

var everyWeight = []objectives.Weight{
	objectives.IPS(),
	objectives.Clip(0), objectives.Clip(.3), objectives.Clip(1),
	objectives.ES(0), objectives.ES(.3), objectives.ES(1),
	objectives.IX(0), objectives.IX(.3), objectives.IX(1),
	objectives.Har(0), objectives.Har(.3), objectives.Har(1),
}

var everyPolicy = []struct {
	name   string
	policy policies.Policy
}{
	{"softmax", policies.Softmax{}},
	{"gaussian", policies.Gaussian{}},
	{"gaussian mc", policies.Gaussian{Samples: 3}},
	{"softmax-posterior", policies.SoftmaxPosterior{Samples: 3}},
	{"mixedlogit", policies.MixedLogit{Samples: 3}},
	{"floored", policies.Floor{Policy: policies.Gaussian{}, Epsilon: .1}},
}

// everyFit calls f, in parallel by policy, with all that Check accepts.
// Objectives with a weight of their own run with the first weight alone. -short
// leaves out the hyperparameters 0 and 1, which -race makes slow.
func everyFit(t *testing.T, f func(t *testing.T, name string, s spec)) {
	for _, p := range everyPolicy {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, o := range everyObjective {
				for i, w := range everyWeight {
					if testing.Short() && (w.Hyper == 0 || w.Hyper == 1) {
						continue
					}
					if o.own && i > 0 || objectives.Check(o.objective, w, p.policy) != nil {
						continue
					}
					f(t, o.name+" "+w.String(), spec{objective: o.objective, weight: w, policy: p.policy})
				}
			}
		})
	}
}

// spec is what a program is built from.
type spec struct {
	objective objectives.Objective
	weight    objectives.Weight
	policy    policies.Policy
	dtype     tensor.Dtype // zero value: float64
	n         int          // rows of the log; 0: 500
	prior     policies.Prior
	mu        []float64 // nil: the prior's mean
	sigma     float64   // 0: the prior's scale
}

// batch is a log in memory.
type batch struct {
	k, d   int
	x      []float64 // [n×d]
	action []float64
	cost   []float64
	pi0    []float64 // [n×K]
}

func (b *batch) Len() int { return len(b.cost) }

// Feed implements objectives.Rows.
func (b *batch) Feed(p *graph.Program, rows []int) error {
	var x, norm, action, cost, logged, pi0 []float64
	for _, i := range rows {
		xi, pi := b.x[i*b.d:(i+1)*b.d], b.pi0[i*b.k:(i+1)*b.k]
		square := 0.0
		for _, v := range xi {
			square += v * v
		}
		x, norm = append(x, xi...), append(norm, math.Sqrt(square))
		action, cost = append(action, b.action[i]), append(cost, b.cost[i])
		pi0, logged = append(pi0, pi...), append(logged, pi[int(b.action[i])])
	}
	for name, v := range map[string][]float64{
		objectives.InputContext: x, objectives.InputNorm: norm,
		objectives.InputAction: action, objectives.InputCost: cost,
		objectives.InputPropensity: logged, objectives.InputPropensities: pi0,
	} {
		if p.Has(name) {
			if err := p.Feed(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// randomBatch has contexts of norms from 0.4 to 2.5, costs in [−1, 0] and random
// propensities.
func randomBatch(r *rand.Rand, n, k, d int) *batch {
	b := &batch{k: k, d: d}
	for range n {
		row, square := make([]float64, d), 0.0
		for j := range row {
			row[j] = r.NormFloat64()
			square += row[j] * row[j]
		}
		for j := range row {
			row[j] *= (.4 + 2.1*r.Float64()) / math.Sqrt(square)
		}
		b.x = append(b.x, row...)
		pi, sum := make([]float64, k), 0.0
		for a := range pi {
			pi[a] = math.Exp(r.NormFloat64())
			sum += pi[a]
		}
		for a := range pi {
			pi[a] /= sum
		}
		b.pi0 = append(b.pi0, pi...)
		b.action = append(b.action, float64(r.IntN(k)))
		b.cost = append(b.cost, -r.Float64())
	}
	return b
}

func normals(r *rand.Rand, n int, scale float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = scale * r.NormFloat64()
	}
	return xs
}

// setup completes the specification for a batch's actions and features.
func (s spec) setup(b *batch) objectives.Setup {
	if s.n == 0 {
		s.n = 500
	}
	if s.prior.Mean == nil {
		s.prior.Mean = make([]float64, b.k*b.d)
	}
	if s.dtype == (tensor.Dtype{}) {
		s.dtype = tensor.Float64
	}
	ps := objectives.NewParams(s.dtype, s.policy, s.prior, b.k, b.d)
	if s.mu != nil {
		ps.Mu.Set(s.mu)
	}
	if s.sigma > 0 && ps.LogSigma != nil {
		ps.LogSigma.Set([]float64{math.Log(s.sigma)})
	}
	return objectives.Setup{
		N: s.n, Policy: s.policy, Weight: s.weight, Prior: s.prior,
		Params: ps, Actions: b.k, Dim: b.d,
	}
}

// program builds the objective on the whole batch in one graph, fed, its noise
// filled from a fixed seed.
func (s spec) program(t testing.TB, b *batch) (*graph.Program, *objectives.Params) {
	t.Helper()
	setup := s.setup(b)
	p, err := objectives.New(setup, b.Len())
	if err != nil {
		t.Fatal(err)
	}
	prog, err := p.Graph().Compile(s.objective(p))
	if err != nil {
		t.Fatal(err)
	}
	refeed(t, prog, b)
	return prog, setup.Params
}

func refeed(t testing.TB, p *graph.Program, b *batch) {
	t.Helper()
	rows := make([]int, b.Len())
	for i := range rows {
		rows[i] = i
	}
	if err := b.Feed(p, rows); err != nil {
		t.Fatal(err)
	}
	p.Refill(rand.New(rand.NewPCG(11, 0)))
}

// value runs the objective on the batch.
func (s spec) value(t *testing.T, b *batch) float64 {
	t.Helper()
	p, _ := s.program(t, b)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p.Cost()
}

// gradient runs the objective and returns its value and gradient in mu.
func (s spec) gradient(t *testing.T, b *batch) (float64, []float64) {
	t.Helper()
	p, ps := s.program(t, b)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p.Cost(), floats(p.Grad(ps.Mu))
}

// floats copies a tensor of either element type.
func floats(d *tensor.Dense) (xs []float64) {
	switch data := d.Data().(type) {
	case []float64:
		return slices.Clone(data)
	case []float32:
		for _, x := range data {
			xs = append(xs, float64(x))
		}
	}
	return xs
}

func TestObjectives_HaveTheGradientsOfDifferences(t *testing.T) {
	everyFit(t, func(t *testing.T, name string, s spec) {
		sizes := [][3]int{{5, 4, 3}, {3, 2, 1}, {1, 3, 2}}
		if otherLambda(name) {
			sizes = sizes[:1]
		}
		for i, size := range sizes {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			b := randomBatch(r, size[0], size[1], size[2])
			s.prior = policies.Prior{Mean: normals(r, b.k*b.d, 1), Scale: 1.3}
			s.mu, s.sigma = normals(r, b.k*b.d, 1), .7
			checkGradient(t, fmt.Sprintf("%s, B×K×d %v", name, size), s, b)
		}
	})
}

// The noise of a frozen program is an input like others, whatever its source.
func TestGradients_TakeNoiseFromEverySource(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	b := randomBatch(r, 3, 3, 2)
	mu := normals(r, 6, 1)
	for _, source := range []policies.Noise{policies.Antithetic{}, policies.LowDiscrepancy{}} {
		for _, pol := range []policies.Policy{
			policies.Gaussian{Samples: 5, Noise: source}, policies.SoftmaxPosterior{Samples: 5, Noise: source}, policies.MixedLogit{Samples: 5, Noise: source},
		} {
			for _, w := range []objectives.Weight{objectives.Clip(.3), objectives.Har(.3)} {
				checkGradient(t, pol.Name()+" "+w.String(), spec{
					objective: objectives.Theorem1(objectives.LambdaStar), weight: w, policy: pol, mu: mu, sigma: .7,
				}, b)
			}
		}
	}
}

// otherLambda tells the variants of a bound that differ in one number: one size
// of problem is enough for them.
func otherLambda(name string) bool {
	return strings.Contains(name, " authors") || strings.Contains(name, " fixed")
}

func checkGradient(t *testing.T, name string, s spec, b *batch) {
	t.Helper()
	p, ps := s.program(t, b)
	report, err := graph.GradCheck(p, 0)
	if err != nil || !(report.Error < 1e-7) {
		t.Errorf("%s: %v (%v)", name, report, err)
	}
	entries := 0
	for _, q := range ps.All() {
		entries += q.Len()
	}
	if err == nil && report.Checked != entries {
		t.Errorf("%s: %d of %d entries checked", name, report.Checked, entries)
	}
}

// An extreme changes a batch and the point at which it is evaluated.
type extreme struct {
	name   string
	change func(b *batch, ps *objectives.Params)
}

var extremes = []extreme{
	{"plain", func(*batch, *objectives.Params) {}},
	{"π₀ of other actions 1e-30", func(b *batch, _ *objectives.Params) { b.tiny(1) }},
	{"π₀ of logged actions 1e-30", func(b *batch, _ *objectives.Params) { b.tiny(0) }},
	{"scores ±1e4", huge},
	{"scores ±1e4, π₀ of other actions 1e-30", func(b *batch, ps *objectives.Params) { huge(b, ps); b.tiny(1) }},
	{"scores ±1e4, π₀ of logged actions 1e-30", func(b *batch, ps *objectives.Params) { huge(b, ps); b.tiny(0) }},
	{"σ = 1e-3", func(_ *batch, ps *objectives.Params) { setSigma(ps, 1e-3) }},
	{"σ = 1e3", func(_ *batch, ps *objectives.Params) { setSigma(ps, 1e3) }},
	{"σ = 1e-3, scores ±1e4", func(b *batch, ps *objectives.Params) { huge(b, ps); setSigma(ps, 1e-3) }},
	{"rows of zeros", func(b *batch, _ *objectives.Params) { clear(b.x) }},
	{"rows of zeros, π₀ of other actions 1e-30", func(b *batch, _ *objectives.Params) { clear(b.x); b.tiny(1) }},
	{"own parameter 20", func(_ *batch, ps *objectives.Params) { setOwn(ps, 20) }},
	{"own parameter -20", func(_ *batch, ps *objectives.Params) { setOwn(ps, -20) }},
}

// tiny sets the propensity of each row's logged action, or of the action that
// is shift further, to 1e-30.
func (b *batch) tiny(shift int) {
	for i := range b.Len() {
		a := (int(b.action[i]) + shift) % b.k
		row := b.pi0[i*b.k : (i+1)*b.k]
		rest := 1 - row[a]
		for j := range row {
			row[j] /= rest
		}
		row[a] = 1e-30
	}
}

// huge makes scores ±1e4: the logged action of a row wins, loses, or ties.
func huge(b *batch, ps *objectives.Params) {
	clear(b.x)
	for i := range b.Len() {
		b.x[i*b.d+i%b.d] = 1
	}
	mu := make([]float64, b.k*b.d)
	for a := range b.k {
		for j := range b.d {
			mu[a*b.d+j] = 1e4 * float64(1-2*((a+j)%2))
		}
	}
	ps.Mu.Set(mu)
}

func setSigma(ps *objectives.Params, sigma float64) {
	if ps.LogSigma != nil {
		ps.LogSigma.Set([]float64{math.Log(sigma)})
	}
}

func setOwn(ps *objectives.Params, v float64) {
	for _, q := range ps.Own {
		q.Set([]float64{v})
	}
}

// At the extremes values and gradients are finite: always in float64, and in
// float32, near the same value, unless a number in question is beyond float32 itself. Those are, with
// unregularized weights (ips, clip=0, es=1, ix=0, har=1) and nothing else,
//
//   - V̄ₙ and the sample variance, 1e60, where a logged action with a cost has
//     π₀ = 1e-30: theorem1, corollary1, heuristic, variance (the last even where
//     all losses are equal, as their mean is rounded by 1e22);
//   - the bound under the authors' λ, about √(V̄ₙ/n)·V̄ₙ = 1e45/√n, where any action
//     that the policy plays has π₀ = 1e-30.
//
// Where all costs are 0, or the weight is regularized, everything is finite.
func TestObjectives_StayFiniteAtTheExtremes(t *testing.T) {
	long.Test(t)
	everyFit(t, func(t *testing.T, name string, s spec) {
		for _, size := range [][2]int{{3, 4}, {1, 2}} {
			rows, k := size[0], size[1]
			if rows == 1 && otherLambda(name) {
				break
			}
			base := randomBatch(rand.New(rand.NewPCG(3, uint64(k))), rows, k, 3)
			for i := range base.action {
				base.action[i] = float64(i % k)
			}
			s.mu = normals(rand.New(rand.NewPCG(4, 0)), k*3, 1)
			run := func(dt tensor.Dtype) func(cost float64, e extreme) (value, largest float64, err error) {
				s := s
				s.dtype = dt
				p, ps := s.program(t, base)
				var start [][]float64
				for _, q := range ps.All() {
					start = append(start, q.Float64s())
				}
				return func(cost float64, e extreme) (float64, float64, error) {
					b := *base
					b.x, b.pi0, b.cost = slices.Clone(b.x), slices.Clone(b.pi0), slices.Repeat([]float64{cost}, rows)
					for i, q := range ps.All() {
						q.Set(start[i])
					}
					e.change(&b, ps)
					refeed(t, p, &b)
					err := p.Run()
					return p.Cost(), largest(p, ps), err
				}
			}
			in64, in32 := run(tensor.Float64), run(tensor.Float32)
			for _, cost := range []float64{-1, 0} {
				for _, e := range extremes {
					at := fmt.Sprintf("%s, K=%d, %d rows, costs %v, %s", name, k, rows, cost, e.name)
					value, size, err := in64(cost, e)
					if err != nil {
						t.Errorf("%s: %v", at, err)
					}
					if got, _, err := in32(cost, e); err == nil {
						tol := 1e-3 * (1 + math.Abs(value))
						if strings.HasPrefix(name, "weighted") && strings.Contains(e.name, "logged actions 1e-30") {
							tol += 1e30 * 1e-7 // log π of a π that rounds to 1
						}
						if math.Abs(got-value) > tol {
							t.Errorf("%s: %v in float32, %v in float64", at, got, value)
						}
					} else {
						authors := strings.Contains(name, "authors")
						if strings.HasPrefix(name, "variance") {
							size *= size
						}
						if size < math.MaxFloat32 || !unregularized(s.weight) || cost == 0 && !authors {
							t.Errorf("%s, float32: %v; in float64 no number is above %.2g", at, err, size)
						}
					}
				}
			}
		}
	})
}

// largest returns the largest magnitude among cost, terms and gradients.
func largest(p *graph.Program, ps *objectives.Params) float64 {
	xs := []float64{p.Cost()}
	for _, name := range p.Terms() {
		xs = append(xs, p.Read(name)...)
	}
	for _, q := range ps.All() {
		xs = append(xs, floats(p.Grad(q))...)
	}
	var most float64
	for _, x := range xs {
		most = math.Max(most, math.Abs(x))
	}
	return most
}

// unregularized reports a weight that is π/π₀.
func unregularized(w objectives.Weight) bool {
	v := w.Value(weights.Column{.9, .1}, weights.Column{1e-6, .9}).(weights.Column)
	return math.Abs(v[0]/9e5-1) < 1e-9 && math.Abs(v[1]*9-1) < 1e-9
}

// rises reports that the weight is larger the larger π is.
func rises(w objectives.Weight, pi0 float64) bool {
	v := w.Value(weights.Column{.1, .3, .5, .7, .9}, weights.Column{pi0, pi0, pi0, pi0, pi0}).(weights.Column)
	return v[0] < v[1] && v[1] < v[2] && v[2] < v[3] && v[3] < v[4]
}

// Signs that must hold at the extremes too: a cost draws the policy to its
// action, the prior draws the posterior to itself.
func TestObjectives_KeepTheirSigns(t *testing.T) {
	everyFit(t, func(t *testing.T, name string, s spec) {
		objective, _, _ := strings.Cut(name, " ")
		plain := objective == "risk" || objective == "implicit"
		distance := slices.Contains([]string{"l2", "london", "sakhi1", "ixbound", "ls"}, objective)
		if !plain && !distance {
			return
		}
		b := randomBatch(rand.New(rand.NewPCG(6, 0)), 1, 3, 2)
		b.x, b.action[0] = []float64{1, 0}, 1
		p, ps := s.program(t, b)
		gradient := func(cost float64, mu ...float64) []float64 {
			b.cost[0] = cost
			refeed(t, p, b)
			ps.Mu.Set(mu)
			if err := p.Run(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return p.Grad(ps.Mu).Float64s()
		}
		for _, far := range []float64{1e-3, 1, 10} {
			// Without costs these depend on μ through its distance from the prior
			// alone, and rise with it.
			if mu := []float64{far, -far, 0, far, far, 0}; distance {
				grad := gradient(0, mu...)
				for i, m := range mu {
					if grad[i]*m < 0 || (grad[i] == 0) != (m == 0) {
						t.Errorf("%s, all costs 0: μ %g, gradient %g", name, mu, grad)
						break
					}
				}
			}
		}
		for _, tiny := range []bool{false, true} {
			if tiny {
				b.tiny(0)
			}
			if !plain || tiny && s.weight.Name == "har" { // whose ŵ is then constant but for rounding
				continue
			}
			for _, lead := range []float64{-1e4, -3, 0, 3, 1e4} { // of the logged action
				grad := gradient(-1, 0, 0, lead, 0, 0, 0)
				learns := math.Abs(lead) < 10 && rises(s.weight, b.pi0[1])
				if p.Cost() > 0 || grad[2] > 0 || grad[0] < 0 || grad[4] < 0 || learns && grad[2] == 0 {
					t.Errorf("%s, π₀ %g, lead %g: value %g, gradient %g", name, b.pi0[1], lead, p.Cost(), grad)
				}
			}
		}
	})
}

// refusals is what Check refuses, of what several entries refuse the first.
var refusals = []struct {
	objectives string                     // empty: all bounds
	policy     func(policies.Policy) bool // nil: all
	weight     func(objectives.Weight) bool
	reason     string
}{
	{objectives: "corollary1", policy: func(p policies.Policy) bool { return !p.Mixture() },
		reason: "corollary1 needs a mixture of deterministic policies, such as gaussian, and policy POLICY is none"},
	{objectives: "corollary1", weight: func(w objectives.Weight) bool { return w.H == nil },
		reason: "corollary1 needs a weight that is linear in π, such as clip, and WEIGHT is not"},
	{objectives: "likelihood", policy: func(p policies.Policy) bool { return p.Draws() > 1 },
		reason: "likelihood needs a policy that is not given by draws, and policy POLICY is"},
	{objectives: "weighted", weight: func(w objectives.Weight) bool { return w.H == nil },
		reason: "the weighted likelihood needs a weight that is linear in π, such as clip, and WEIGHT is not"},
	{objectives: "weighted", policy: func(p policies.Policy) bool { return p.Draws() > 1 },
		reason: "the weighted likelihood needs a policy that is not given by draws, and policy POLICY is"},
	{objectives: "logistic", policy: func(p policies.Policy) bool { return p.HasPosterior() },
		reason: "a model of the reward needs the scores of a point policy, and policy POLICY has none"},
	{objectives: "london sakhi1 sakhi2", weight: func(w objectives.Weight) bool { return w.Tau == 0 },
		reason: "OBJECTIVE needs the weight clip with τ > 0, not HYPER"},
	{policy: func(p policies.Policy) bool { return !p.HasPosterior() },
		reason: "the objective needs a posterior, and policy POLICY has none"},
}

func TestCheck_RefusesWhatDoesNotFit(t *testing.T) {
	for _, p := range everyPolicy {
		for _, o := range everyObjective {
			name, _, _ := strings.Cut(o.name, " ")
			for _, w := range everyWeight {
				want := ""
				for _, r := range refusals {
					if want == "" && (r.objectives == "" && o.bound || strings.Contains(" "+r.objectives+" ", " "+name+" ")) &&
						(r.policy == nil || r.policy(p.policy)) && (r.weight == nil || r.weight(w)) {
						want = strings.NewReplacer("POLICY", p.policy.Name(), "WEIGHT", w.Name, "HYPER", w.String(), "OBJECTIVE", name).Replace(r.reason)
					}
				}
				got := ""
				if err := objectives.Check(o.objective, w, p.policy); err != nil {
					var unfit *objectives.UnfitError
					if !errors.As(err, &unfit) {
						t.Errorf("%s, %s, %s: %v is no UnfitError", o.name, w, p.name, err)
						continue
					}
					got = unfit.Reason
				}
				if got != want {
					t.Errorf("%s, %s, %s: %q, want %q", o.name, w, p.name, got, want)
				}
			}
		}
	}
}

// Hyperparameters outside of their domain are refused whatever the objective
// makes of the weight.
func TestCheck_RefusesHyperparametersOutsideTheirDomain(t *testing.T) {
	for _, w := range []objectives.Weight{
		objectives.Clip(1.5), objectives.ES(-.1), objectives.IX(2), objectives.Har(-1), objectives.Har(math.NaN()),
	} {
		for _, o := range everyObjective {
			err := objectives.Check(o.objective, w, policies.Gaussian{})
			var unfit *objectives.UnfitError
			if want := fmt.Sprintf("%s: hyperparameter %v is outside [0, 1]", w.Name, w.Hyper); !errors.As(err, &unfit) || unfit.Reason != want {
				t.Errorf("%s, %s: %v, want %q", o.name, w, err, want)
			}
		}
	}
	for _, lambda := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		err := objectives.Check(objectives.Theorem1(objectives.LambdaFixed(lambda)), objectives.IPS(), policies.Gaussian{})
		var unfit *objectives.UnfitError
		if want := fmt.Sprintf("lambda %v, want a positive number", lambda); !errors.As(err, &unfit) || unfit.Reason != want {
			t.Errorf("fixed λ %v: %v, want %q", lambda, err, want)
		}
	}
}

// What an objective or a weight refuses is located where the objective asks.
func TestErrors_NameTheLineOfTheObjective(t *testing.T) {
	refuse := func(o objectives.Objective, w objectives.Weight, loggedOnly bool) string {
		s := spec{objective: o, weight: w, policy: policies.Softmax{}}
		setup := s.setup(randomBatch(rand.New(rand.NewPCG(1, 0)), 1, 2, 2))
		setup.LoggedOnly = loggedOnly
		p, err := objectives.New(setup, 1)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(o(p).Err())
	}
	for want, got := range map[string]string{
		"objectives/all_test.go:":  refuse(func(p objectives.Problem) graph.Expr { return p.Unfit("no") }, objectives.IPS(), false),
		"objectives/heuristic.go:": refuse(objectives.Heuristic(objectives.Penalties{}), objectives.IPS(), true),
		"objectives/lambda.go:":    refuse(objectives.Theorem1(objectives.LambdaStar), objectives.IPS(), false),
		"objectives/london.go:":    refuse(objectives.London(), objectives.Clip(.1), false),
		"objectives/risk.go:":      refuse(objectives.Risk(), objectives.Weight{Name: "empty"}, false),
	} {
		t.Run(want, func(t *testing.T) {
			if !strings.HasPrefix(got, want) {
				t.Errorf("error %q, want it to begin with %q", got, want)
			}
		})
	}
}

// CrossEntropy is fitted, not compared, so it is not in the table.
func TestCrossEntropy_HasItsGradientAndStaysFinite(t *testing.T) {
	b := randomBatch(rand.New(rand.NewPCG(1, 0)), 3, 4, 3)
	for _, pol := range everyPolicy {
		s := spec{objective: objectives.CrossEntropy(), weight: objectives.IPS(), policy: pol.policy, mu: normals(rand.New(rand.NewPCG(2, 0)), 12, 1)}
		checkGradient(t, pol.name, s, b)
	}
	// The logged action is last by 2e4: its probability is 0 in any float.
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		s := spec{objective: objectives.CrossEntropy(), weight: objectives.IPS(), policy: policies.Softmax{}, dtype: dt, mu: []float64{1e4, 0, -1e4, 0}}
		value, grad := s.gradient(t, &batch{k: 2, d: 2, x: []float64{1, 0}, action: []float64{1}, cost: []float64{0}, pi0: []float64{.5, .5}})
		if value != 2e4 || !slices.Equal(grad, []float64{1, 0, -1, 0}) {
			t.Errorf("%v: value %v, gradient %v", dt, value, grad)
		}
	}
}

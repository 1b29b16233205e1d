package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/logs"
)

func fit(t *testing.T, log *logs.Log, c train.Config) *train.Result {
	t.Helper()
	r, err := train.Fit(context.Background(), log, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The last partial minibatch is a step of its own with its true size: one epoch
// equals steps taken by hand.
func TestFit_StepsThroughAPartialBatchAsByHand(t *testing.T) {
	log := task(21, 4, 6)
	o := objectives.Theorem1(objectives.LambdaStar)
	prior := policies.Prior{Mean: make([]float64, 24)}
	prior.Mean[3] = 0.5
	c := train.Config{Objective: o, Weight: objectives.Clip(0.2), Policy: policies.SoftmaxPosterior{Samples: 3},
		Prior: prior, Epochs: 2, BatchSize: 8, Seed: 5, Dtype: tensor.Float64}
	got := fit(t, log, c)
	if got.Steps != 6 {
		t.Errorf("%d steps, want 6 (two epochs of 8, 8 and 5 rows)", got.Steps)
	}

	params := objectives.NewParams(tensor.Float64, c.Policy, prior, 4, 6)
	order := make([]int, 21)
	for i := range order {
		order[i] = i
	}
	shuffle, noise := train.Stream(5, "order"), train.Stream(5, "noise")
	adam := train.Adam{LearningRate: 0.1}
	for range 2 {
		shuffle.Shuffle(21, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, rows := range [][]int{order[:8], order[8:16], order[16:]} {
			p, err := objectives.New(objectives.Setup{N: 21, Policy: c.Policy, Weight: c.Weight, Prior: prior,
				Params: params, Actions: 4, Dim: 6}, len(rows))
			if err != nil {
				t.Fatal(err)
			}
			prog, err := p.Graph().Compile(o(p))
			if err != nil {
				t.Fatal(err)
			}
			if err := train.Feed(log).Feed(prog, rows); err != nil {
				t.Fatal(err)
			}
			prog.Refill(noise)
			if err := prog.Run(); err != nil {
				t.Fatal(err)
			}
			if err := train.Step(&adam, prog); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := params.Mu.Float64s(); !slices.Equal(got.Posterior.Mu, want) {
		t.Errorf("μ = %v\nby hand  %v", got.Posterior.Mu, want)
	}
	if want := math.Exp(params.LogSigma.Float64s()[0]); got.Posterior.Sigma != want {
		t.Errorf("σ = %v, by hand %v", got.Posterior.Sigma, want)
	}
}

func TestFit_IsDeterministicBySeed(t *testing.T) {
	log := task(300, 5, 20)
	c := train.Config{Objective: objectives.Corollary1(objectives.LambdaStar), Weight: objectives.IX(0.1), Policy: policies.Gaussian{}, Epochs: 3, Seed: 7}
	a, b := fit(t, log, c), fit(t, log, c)
	if !slices.Equal(a.Posterior.Mu, b.Posterior.Mu) || a.Posterior.Sigma != b.Posterior.Sigma {
		t.Error("two trainings of one seed differ")
	}
	c.Seed++
	if slices.Equal(a.Posterior.Mu, fit(t, log, c).Posterior.Mu) {
		t.Error("another seed gave the same parameters")
	}
}

// Float32 and float64 follow one another while rounding has had no time to grow.
func TestFit_AgreesInFloat32AndFloat64(t *testing.T) {
	log := task(256, 5, 20)
	c := train.Config{Objective: objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5}), Weight: objectives.Clip(0.1), Epochs: 2, Seed: 7}
	a := fit(t, log, c)
	c.Dtype = tensor.Float64
	b := fit(t, log, c)
	for i := range a.Posterior.Mu {
		if d := math.Abs(a.Posterior.Mu[i] - b.Posterior.Mu[i]); d > 1e-3 {
			t.Fatalf("μ[%d]: %v in float32, %v in float64", i, a.Posterior.Mu[i], b.Posterior.Mu[i])
		}
	}
}

func TestFit_RefusesBadConfigurations(t *testing.T) {
	log := task(40, 3, 4)
	risk := objectives.Risk()
	for _, c := range []struct {
		name string
		c    train.Config
		want string
	}{
		{"no objective", train.Config{}, "no objective"},
		{"negative epochs", train.Config{Objective: risk, Epochs: -1}, "-1 epochs"},
		{"negative batch", train.Config{Objective: risk, BatchSize: -2}, "batch size -2"},
		{"learning rate", train.Config{Objective: risk, LearningRate: math.Inf(1)}, "learning rate +Inf"},
		{"delta", train.Config{Objective: risk, Delta: 1.5}, "delta 1.5"},
		{"prior mean", train.Config{Objective: risk, Prior: policies.Prior{Mean: make([]float64, 3)}}, "prior mean of 3 numbers"},
		{"unfit", train.Config{Objective: objectives.Corollary1(objectives.LambdaStar)}, "mixture of deterministic"},
		{"hyperparameter", train.Config{Objective: risk, Weight: objectives.Clip(2)}, "outside [0, 1]"},
		{"not finite", train.Config{Epochs: 2, BatchSize: 16, Objective: func(p objectives.Problem) graph.Expr {
			return p.Mean("roots", p.PiLogged().Plus(-2).Sqrt())
		}}, `epoch 1, step 1: the term "roots" is NaN`},
		{"diverges", train.Config{Epochs: 3, BatchSize: 16, LearningRate: 1e300, Objective: objectives.L2(1)}, "epoch 1, step 2: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := train.Fit(context.Background(), log, c.c)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	steps := 0
	_, err := train.Fit(ctx, log, train.Config{Objective: risk, Epochs: 100, Progress: func(p train.Progress) {
		if steps++; steps == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || steps != 3 {
		t.Errorf("cancelled after %d steps: %v", steps, err)
	}
}

// A log without the full π₀ row trains what needs no more, and says what does.
func TestFit_NeedsOnlyThePropensitiesThatItReads(t *testing.T) {
	full := task(64, 3, 4)
	log := *full
	log.Propensities = nil
	gaussian := policies.Gaussian{}
	for name, o := range map[string]objectives.Objective{"ls": objectives.LogSmoothing(), "ixbound": objectives.IXBound(), "risk": objectives.Risk()} {
		t.Run(name, func(t *testing.T) {
			c := train.Config{Objective: o, Policy: gaussian, Weight: objectives.Clip(.1), Epochs: 1}
			if a, b := fit(t, &log, c), fit(t, full, c); !slices.Equal(a.Posterior.Mu, b.Posterior.Mu) {
				t.Errorf("%s: the full row made a difference", name)
			}
		})
	}
	_, err := train.Fit(context.Background(), &log, train.Config{Objective: objectives.Corollary1(objectives.LambdaStar), Policy: gaussian, Weight: objectives.Clip(.1), Epochs: 1})
	var unfit *objectives.UnfitError
	if !errors.As(err, &unfit) || !strings.Contains(err.Error(), "all actions") {
		t.Errorf("corollary1 on a log with logged propensities alone: %v", err)
	}
}

// Adam equals Gorgonia's own solver in float64.
func TestAdam_EqualsGorgoniasSolver(t *testing.T) {
	log := task(32, 3, 4)
	var got [2][]float64
	for i, solver := range []gorgonia.Solver{&train.Adam{LearningRate: 0.1}, gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.1))} {
		prior := policies.Prior{Mean: make([]float64, 12)}
		params := objectives.NewParams(tensor.Float64, policies.Softmax{}, prior, 3, 4)
		p, err := objectives.New(objectives.Setup{N: 32, Weight: objectives.Clip(.1), Prior: prior, Params: params, Actions: 3, Dim: 4}, 32)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := p.Graph().Compile(objectives.L2(0.1)(p))
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]int, 32)
		for j := range rows {
			rows[j] = j
		}
		if err := train.Feed(log).Feed(prog, rows); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if err := prog.Run(); err != nil {
				t.Fatal(err)
			}
			if err := train.Step(solver, prog); err != nil {
				t.Fatal(err)
			}
		}
		got[i] = params.Mu.Float64s()
	}
	for i := range got[0] {
		if math.Abs(got[0][i]-got[1][i]) > 1e-12 {
			t.Errorf("x[%d] = %v, Gorgonia's solver has %v", i, got[0][i], got[1][i])
		}
	}
}

// AdamW is its recursion: the trajectory is that of torch.optim.AdamW 1.13, lr = 0.05 and weight_decay = 0.3, in
// float64. Fit passes it on, at the parameter's own rate.
func TestAdamW_EqualsTorchsTrajectory(t *testing.T) {
	want := [][]float64{
		{0.9350000012499999, -1.9200000005, 0.4925}, {0.9076581496694088, -1.8698075712071132, 0.4479061848668449},
		{0.8837493126439473, -1.8624345883107405, 0.4730871721682952}, {0.8559155549194506, -1.8501288787636168, 0.48998337618340665},
	}
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-15, tensor.Float32: 1e-6} {
		x := graph.NewParam("x", dt, []float64{1, -2, .5}, 3)
		g := graph.New(dt)
		p, err := g.Compile(g.Param(x).Mul(g.Input("grad", 3)).Sum())
		if err != nil {
			t.Fatal(err)
		}
		adam := train.Adam{LearningRate: .1, Rates: []float64{.5}, WeightDecay: .3, Decoupled: true}
		for k, grad := range [][]float64{{.4, -1, 0}, {-.2, .3, 1e-3}, {0, 2, -.7}, {.1, -.1, .05}} {
			_ = p.Feed("grad", grad)
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if err := train.Step(&adam, p); err != nil {
				t.Fatal(err)
			}
			for i, v := range x.Float64s() {
				if math.Abs(v-want[k][i]) > tol {
					t.Errorf("%v, step %d: x[%d] = %v, want %v", dt, k+1, i, v, want[k][i])
				}
			}
		}
	}
	var size [2]float64
	for i, decoupled := range []bool{false, true} {
		r, err := train.Fit(context.Background(), task(64, 3, 4), train.Config{Objective: objectives.L2(0), Epochs: 20, WeightDecay: 5, Decoupled: decoupled})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Posterior.Mu {
			size[i] += v * v
		}
	}
	if !(size[0] < size[1]/2) || size[0] == 0 {
		t.Errorf("‖θ‖² is %v by coupled decay, %v by decoupled", size[0], size[1])
	}
}

func TestSplit_PutsEveryRowOnOneSideBySeed(t *testing.T) {
	logging, log, err := train.Split(1000, 0, 3)
	if err != nil || len(logging) != 50 || len(log) != 950 {
		t.Fatalf("%d and %d rows, %v", len(logging), len(log), err)
	}
	seen := map[int]bool{}
	for _, r := range append(slices.Clone(logging), log...) {
		seen[r] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different rows of 1000", len(seen))
	}
	again, _, _ := train.Split(1000, 0, 3)
	other, _, _ := train.Split(1000, 0, 4)
	if !slices.Equal(logging, again) || slices.Equal(logging, other) {
		t.Error("the split does not follow from the seed")
	}
	if a, b, err := train.Split(1000, 100, 3); err != nil || len(a) != 5 || len(b) != 95 {
		t.Errorf("limit 100: %d and %d rows, %v", len(a), len(b), err)
	}
	if _, _, err := train.Split(1000, 19, 3); err == nil {
		t.Error("19 examples were split")
	}
}

func TestRecord_WritesNoneAsNull(t *testing.T) {
	r := train.Record{Reward: 0.5, RewardAtMean: train.None(), Run: train.Run{Objective: "ls", Hyper: train.None(), Seed: math.MaxUint64}}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(`"reward_at_mean":null`)) || !bytes.Contains(b, []byte(`"reward":0.5`)) {
		t.Errorf("%s", b)
	}
	var back train.Record
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.Reward != 0.5 || back.RewardAtMean.Valid() || back.Hyper.Valid() || back.Seed != math.MaxUint64 || back.Objective != "ls" {
		t.Errorf("read back as %+v", back)
	}
}

// Rewards: exact against sampled, mixture against draws by hand.
func TestEvaluate_AgreesWithDrawsByHand(t *testing.T) {
	log := task(400, 4, 10)
	labels := make([]uint8, 400)
	for i := range labels {
		labels[i] = uint8(i % 4)
	}
	r := train.Stream(9, "mu")
	q := policies.Posterior{Actions: 4, Dim: 10, Sigma: 0.7, Mu: make([]float64, 40)}
	for i := range q.Mu {
		q.Mu[i] = r.NormFloat64()
	}
	for _, pol := range []policies.Policy{policies.Softmax{}, policies.Gaussian{}, policies.SoftmaxPosterior{}, policies.MixedLogit{}} {
		rw := train.Evaluate(pol, q, log.X, labels, 1)
		if again := train.Evaluate(pol, q, log.X, labels, 1); again != rw {
			t.Errorf("%s: two evaluations differ", pol.Name())
		}
		if pol.Noisy() != (rw.SE > 0) {
			t.Errorf("%s: standard error %v", pol.Name(), rw.SE)
		}
		if d := math.Abs(rw.Sampled - rw.Mean); d > 4*0.5/math.Sqrt(400) {
			t.Errorf("%s: sampled %v, mean %v", pol.Name(), rw.Sampled, rw.Mean)
		}
		// An independent estimate of π_Q by other draws.
		var mean, square float64
		const draws = 400
		pi, eps := make([]float64, 4), make([]float64, 4)
		for range draws {
			var one float64
			logs.Scores(log.X, nil, q.Mu, 4, func(i int, scores []float64) {
				for a := range eps {
					eps[a] = r.NormFloat64()
				}
				pol.At(pi, scores, q.Sigma*log.X.Norm(i), eps)
				one += pi[labels[i]] / 400
			})
			mean += one / draws
			square += one * one / draws
		}
		se := math.Sqrt((square - mean*mean) / draws)
		if d := math.Abs(rw.Mean - mean); d > 5*math.Hypot(se, rw.SE)+1e-9 {
			t.Errorf("%s: reward %v ± %v, by other draws %v ± %v", pol.Name(), rw.Mean, rw.SE, mean, se)
		}
	}
}

// Draws that contexts share by their exponentials give what each draw by itself does, whatever the
// norms of the contexts, a hundred sets of draws, scores far apart or infinite.
func TestEvaluate_WithSharedDrawsEqualsDrawByDraw(t *testing.T) {
	log := task(400, 4, 10)
	x := log.X.(logs.Rows64)
	labels := make([]uint8, 400)
	for i := range labels {
		labels[i] = uint8(i % 4)
		if i%7 == 0 {
			clear(x.Data[i*10 : i*10+10])
		} else if i%3 > 0 { // of one norm
			n := x.Norm(i)
			for j := range 10 {
				x.Data[i*10+j] /= n
			}
		}
	}
	r := train.Stream(9, "mu")
	for _, spread := range []float64{1, 30, 1e3} {
		for _, sigma := range []float64{1e-3, .7, 20, 1e3} { // the last too far for exponentials
			q := policies.Posterior{Actions: 4, Dim: 10, Sigma: sigma, Mu: make([]float64, 40)}
			for i := range q.Mu {
				q.Mu[i] = spread * r.NormFloat64()
			}
			got := train.Evaluate(policies.SoftmaxPosterior{}, q, x, labels, 1)
			want := train.Evaluate(struct{ policies.Policy }{policies.SoftmaxPosterior{}}, q, x, labels, 1)
			far := func(a, b float64) bool { return !(math.Abs(a-b) <= 1e-14) }
			if far(got.Mean, want.Mean) || far(got.SE, want.SE) || far(got.AtMean, want.AtMean) {
				t.Errorf("scores of %v, σ = %v: %+v, draw by draw %+v", spread, sigma, got, want)
			}
		}
	}
	// An infinite score takes all.
	q := policies.Posterior{Actions: 2, Dim: 2, Sigma: 1, Mu: []float64{0, 0, 1.7e308, 1.7e308}}
	if rw := train.Evaluate(policies.SoftmaxPosterior{}, q, logs.Rows64{Width: 2, Data: []float64{1, 1}}, []uint8{1}, 1); rw.Mean != 1 {
		t.Errorf("an infinite score earns %v", rw.Mean)
	}
}

// The number of threads changes no bit, and the vector kernels none that matters.
func TestFit_IsTheSameForAnyNumberOfThreads(t *testing.T) {
	was := simd.Use(true)
	defer simd.Use(was)
	log := task(600, 40, 30)
	for _, c := range []train.Config{
		{Objective: objectives.Heuristic(objectives.Penalties{Distance: 1e-3, Variance: 1e-2, Bias: 1e-2}), Policy: policies.Softmax{}},
		{Objective: objectives.Theorem1(objectives.LambdaStar), Policy: policies.SoftmaxPosterior{}},
	} {
		c.Weight, c.Epochs, c.Seed, c.LearningRate, c.BatchSize = objectives.Clip(.1), 1, 3, .01, 256
		fit := func(threads int) []float64 {
			c.Threads = threads
			r, err := train.Fit(context.Background(), log, c)
			if err != nil {
				t.Fatal(err)
			}
			return r.Posterior.Mu
		}
		want := fit(1)
		for _, threads := range []int{0, 2, 5} {
			if !slices.Equal(fit(threads), want) {
				t.Errorf("%d threads give other parameters than one", threads)
			}
		}
		simd.Use(false)
		for i, v := range fit(1) {
			if math.Abs(v-want[i]) > 1e-3 {
				t.Fatalf("parameter %d is %v without vector kernels, %v with them", i, v, want[i])
			}
		}
		simd.Use(true)
	}
}

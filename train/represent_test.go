package train_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// products is a log of a uniform policy in a world where the best of four actions depends on
// the signs of two products of features, and earns 0.8 where others earn 0.2.
func products(n int, seed uint64) (*logs.Log, []uint8) {
	r := train.Stream(seed, "products")
	const d, k = 6, 4
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
	log, best := &logs.Log{Actions: logs.Numbered(k), X: x}, make([]uint8, n)
	for i := range n {
		row := x.Data[i*d : i*d+d]
		for j := range 5 {
			row[j] = 2*r.Float64() - 1
		}
		row[5] = 1
		if row[0]*row[1] > 0 {
			best[i]++
		}
		if row[2]*row[3] > 0 {
			best[i] += 2
		}
		a, p, c := r.IntN(k), 0.2, 0.0
		if a == int(best[i]) {
			p = 0.8
		}
		if r.Float64() < p {
			c = -1
		}
		log.Action, log.Cost, log.Propensity = append(log.Action, int32(a)), append(log.Cost, c), append(log.Propensity, 0.25)
		log.Propensities = append(log.Propensities, .25, .25, .25, .25)
	}
	return log, best
}

// bestShare is how often the argmax policy plays the best action.
func bestShare(t *testing.T, in *train.Representation, q policies.Posterior, x logs.Contexts, best []uint8) float64 {
	t.Helper()
	h, err := in.Of(x, 2)
	if err != nil {
		t.Fatal(err)
	}
	return train.Evaluate(policies.ArgMax{}, q, h, best, 1).Mean
}

// Where the best action depends on products of features the recipe finds it by layers; linear
// scores can tell no more than one of the two signs.
func TestRecipe_FindsProductsOfFeaturesByLayers(t *testing.T) {
	log, _ := products(6000, 1)
	fresh, best := products(5000, 2)
	c := train.Config{Epochs: 20, Seed: 1, Representation: objectives.MLP("relu", 0, 64)}
	share := map[string]float64{}
	for name, h := range map[string]objectives.Representation{"linear": nil, "layers": c.Representation} {
		c.Representation = h
		got, err := train.Recipe{}.Learn(context.Background(), provenance.New(log), log, c)
		if err != nil {
			t.Fatal(err)
		}
		share[name] = bestShare(t, got.Components[0].In, got.Posterior, fresh.X, best)
		truth := .2 + .6*share[name]
		if g := got.Bounds.Reward(); g > truth || name == "layers" && g < truth-.15 {
			t.Errorf("%s: %v is guaranteed of a policy that earns %v", name, g, truth)
		}
		if strings.HasPrefix(got.Learner, "layered ") != (h != nil) || (got.Components[0].In != nil) != (h != nil) {
			t.Errorf("%s: learned by %s", name, got.Learner)
		}
		if h == nil {
			continue
		}
		layers, err := got.Components[0].In.Layers()
		if err != nil || len(layers) != 1 || layers[0].Out() != 64 || got.Posterior.Dim != 64 {
			t.Errorf("layers %d, %v", len(layers), err)
		}
		// What certifies is what a file would play.
		again, err := train.Layered(layers).View(log, got.Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := certify.Fixed(certify.Play(got.Policy, got.Posterior.Mu, again), nil, log, got.Rows, certify.Options{})
		if err != nil || !(b.Reward() > 0) {
			t.Errorf("by the layers of a file %v is guaranteed: %v", b.Reward(), err)
		}
	}
	if share["linear"] > .55 || share["layers"] < .7 {
		t.Errorf("the best action is played %v of the time", share)
	}
}

// Layers are learned to the bit whatever the threads, and nearly so in either element type and
// without vector kernels.
func TestFit_OfLayersIsTheSameForAnyNumberOfThreads(t *testing.T) {
	log := task(600, 5, 30)
	for name, h := range map[string]objectives.Representation{"relu": objectives.MLP("relu", .2, 16, 8), "fourier": objectives.Fourier(1, 32)} {
		t.Run(name, func(t *testing.T) {
			c := train.Config{Objective: objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5}), Weight: objectives.Clip(.1), Epochs: 2, Seed: 7,
				LearningRate: .002, Representation: h, Threads: 1}
			one := fit(t, log, c)
			c.Threads = 3
			three := fit(t, log, c)
			for i, p := range one.Params.All() {
				if !slices.Equal(p.Float64s(), three.Params.All()[i].Float64s()) {
					t.Errorf("%s differs with three threads", p.Name)
				}
			}
			c.Dtype = tensor.Float64
			wide := fit(t, log, c)
			if name == "fourier" {
				for i, v := range wide.Posterior.Mu {
					if math.Abs(v-one.Posterior.Mu[i]) > 1e-3 {
						t.Fatalf("μ[%d] is %v in float32, %v in float64", i, one.Posterior.Mu[i], v)
					}
				}
			}
			v, err := one.ObjectiveValue(log, c)
			if err != nil || math.IsNaN(v.Objective) {
				t.Errorf("objective %v, %v", v, err)
			}
		})
	}
}

// A representation that is no chain of layers is learned and computed by its graph.
func TestFit_LearnsARepresentationThatIsNoChain(t *testing.T) {
	own := func(p objectives.Problem, x graph.Expr) graph.Expr {
		w := p.Learned("values", objectives.Spread(.3), 24, x.Shape()[1])
		v := p.Learned("gates", objectives.Spread(.3), 24, x.Shape()[1])
		return x.MatMulT(w).Mul(x.MatMulT(v).Sigmoid())
	}
	log, _ := products(4000, 1)
	fresh, best := products(1000, 2)
	res := fit(t, log, train.Config{Objective: objectives.Logistic(0), Epochs: 30, Seed: 1, Schedule: train.Linear, LearningRate: .01, Representation: own})
	if got := bestShare(t, res.Represented, res.Posterior, fresh.X, best); got < .6 {
		t.Errorf("the best action is played %v of the time", got)
	}
	if _, err := res.Represented.Layers(); err == nil || !strings.Contains(err.Error(), "no chain of layers") {
		t.Errorf("its layers: %v", err)
	}
	// The context itself is seen as training saw it: scaled.
	itself := func(_ objectives.Problem, x graph.Expr) graph.Expr { return x }
	one := fit(t, log, train.Config{Objective: objectives.Logistic(0), Epochs: 1, Seed: 1, Representation: itself})
	h, err := one.Represented.Of(fresh.X, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float64, 6), make([]float64, 6)
	fresh.X.Row64(0, x)
	h.Row64(0, y)
	if scale := y[5]; !(scale > 1) || math.Abs(y[0]-scale*x[0]) > 1e-12 {
		t.Errorf("%v of %v", y, x)
	}
}

// A posterior takes what was learned on other rows, and nothing else.
func TestRepresent_TeachesAPosteriorByOtherRows(t *testing.T) {
	log, _ := products(4000, 1)
	c := train.Config{Objective: objectives.Corollary1(objectives.LambdaStar), Weight: objectives.IX(.01), Policy: policies.Gaussian{}, Epochs: 20, Seed: 1,
		Representation: objectives.MLP("relu", 0, 64), Prior: policies.Prior{Scale: .05}}
	if _, err := train.Fit(context.Background(), log, c); err == nil || !strings.Contains(err.Error(), "rows that never certify") {
		t.Errorf("layers and posterior on the same rows: %v", err)
	}
	teaching, rest, err := train.SplitPrior(log.Len(), .5, 1)
	if err != nil {
		t.Fatal(err)
	}
	in, prior, err := train.Represent(context.Background(), log, teaching, c, .002)
	if err != nil {
		t.Fatal(err)
	}
	deep, err := in.View(log, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	c.Representation, c.Prior = nil, prior
	c.Prior.Scale, c.Epochs = .05, 2
	res := fit(t, deep.Subset(rest), c)
	judge, err := provenance.New(log).Of(deep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := judge.Posterior(c.Policy, res.Posterior, rest, certify.Options{}); err != nil {
		t.Errorf("on rows that did not teach: %v", err)
	}
	if _, err := judge.Posterior(c.Policy, res.Posterior, append([]int{teaching[0]}, rest...), certify.Options{}); err == nil || !strings.Contains(err.Error(), "taught") {
		t.Errorf("a row that taught the layers certifies: %v", err)
	}
	fresh, best := products(2000, 3)
	if got := bestShare(t, in, res.Posterior, fresh.X, best); got < .6 {
		t.Errorf("the best action is played %v of the time", got)
	}
}

// Layers that saw the rows which certify break the bound; those that did not keep it. Rewards are
// coins: every policy earns 0.5.
func TestLayers_ThatSawTheRowsBreakTheBound(t *testing.T) {
	const logged, d = 40, 5
	honest, cheating := 0, 0
	for seed := range uint64(logged) {
		const n = 400
		r := train.Stream(seed, "coins")
		x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
		for i := range x.Data {
			x.Data[i] = r.NormFloat64()
		}
		log := &logs.Log{Actions: logs.Numbered(2), X: x}
		for range n {
			log.Action, log.Cost = append(log.Action, int32(r.IntN(2))), append(log.Cost, -float64(r.IntN(2)))
			log.Propensity, log.Propensities = append(log.Propensity, .5), append(log.Propensities, .5, .5)
		}
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		res := fit(t, log.Subset(rows[:n/2]), train.Config{Objective: objectives.Logistic(0), Epochs: 200, BatchSize: 50, LearningRate: .01, Seed: seed, Threads: 1, Representation: objectives.MLP("relu", 0, 128)})
		deep, err := res.Represented.View(log, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for part, count := range map[int]*int{0: &cheating, 1: &honest} {
			b, err := certify.Fixed(certify.Play(policies.ArgMax{}, res.Posterior.Mu, deep), nil, log, rows[part*n/2:(part+1)*n/2], certify.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if b.Reward() > .5 {
				*count++
			}
		}
	}
	if honest > 5 || cheating < logged*9/10 {
		t.Errorf("of %d guarantees %d are false on rows that the layers did not see, and %d on those they saw", logged, honest, cheating)
	}
}

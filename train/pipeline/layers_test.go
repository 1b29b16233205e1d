package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"opl/graph"
	"opl/objectives"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/report/render"
)

// productLog is a log of a uniform policy, or of one from a file, of which action yes earns
// 0.9 where the product of two features is positive and 0.1 elsewhere, no the contrary.
func productLog(t *testing.T, n int, seed uint64, by *policyfile.Policy) *logs.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.csv")
	out, err := logs.Create(path, logs.WriterOptions{Actions: []string{"yes", "no"}, Names: []string{"u", "v"}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 3))
	pi := []float64{.5, .5}
	for i := range n {
		u, v := 2*r.Float64()-1, 2*r.Float64()-1
		x := []features.Value{{Name: "u", Number: u}, {Name: "v", Number: v}}
		if by != nil {
			if err := by.Propensities(pi, x); err != nil {
				t.Fatal(err)
			}
		}
		a := 0
		if r.Float64() >= pi[0] {
			a = 1
		}
		p := .1
		if (a == 0) == (u*v > 0) {
			p = .9
		}
		d := logs.Decision{ID: fmt.Sprintf("s%d-%d", seed, i), Context: x, Action: a, Propensity: pi[a], Propensities: pi}
		if r.Float64() < p {
			d.Cost = -1
		}
		if err := out.Write(&d); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, path, logs.Options{Actions: []string{"yes", "no"}})
}

func productTruth(t *testing.T, p *policyfile.Policy) (sum float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	pi := make([]float64, 2)
	const n = 10000
	for range n {
		u, v := 2*r.Float64()-1, 2*r.Float64()-1
		if err := p.Propensities(pi, []features.Value{{Name: "u", Number: u}, {Name: "v", Number: v}}); err != nil {
			t.Fatal(err)
		}
		good := pi[0]
		if u*v <= 0 {
			good = pi[1]
		}
		sum += (.1 + .8*good) / n
	}
	return sum
}

// A layered policy is learned, written, read, served, certified on a later log, and is where
// the next round starts.
func TestLayeredPolicy_GoesTheWholeWay(t *testing.T) {
	log := productLog(t, 3000, 1, nil)
	o := pipeline.Options{Seed: 1, Floor: .05, Settings: train.Settings{Epochs: 10, Representation: "mlp=32"}, Learners: []string{"layers"}}
	l := mustLearn(t, log, o)
	if len(l.File.Components) != 6 {
		t.Fatalf("%d components", len(l.File.Components))
	}
	for _, c := range l.File.Components {
		if len(c.Layers) != 1 || !strings.Contains(l.Training.Learner, "layered ") || c.Kind != policyfile.ArgMax {
			t.Fatalf("%d layers, learned by %s, %s", len(c.Layers), l.Training.Learner, c.Kind)
		}
	}
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := policyfile.Save(path, l.File); err != nil {
		t.Fatal(err)
	}
	p, err := policyfile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	real := productTruth(t, p)
	if g := l.Certificate.Guaranteed(); !(g < real && g > .6) || real < .8 {
		t.Errorf("guaranteed %v, earns %v", g, real)
	}
	if again := mustCertify(t, p, log, options{}); math.Abs(again.Guaranteed-l.Certificate.Guaranteed()) > 1e-9 {
		t.Errorf("from its file %v is guaranteed, before %v", again.Guaranteed, l.Certificate.Guaranteed())
	}
	served := productLog(t, 3000, 2, p)
	if fresh := mustCertify(t, p, served, options{}); fresh.N != 3000 || !(fresh.Guaranteed < real) || fresh.Guaranteed < l.Certificate.Guaranteed()-.05 {
		t.Errorf("later: %d rows, guaranteed %v of %v", fresh.N, fresh.Guaranteed, real)
	}
	o.PriorFile, o.Seed = p, 2
	next := mustLearn(t, served, o)
	if q := productTruth(t, policy(t, next)); q < real-.05 || next.Certificate.Guaranteed() > q {
		t.Errorf("the next round earns %v of %v, guaranteed %v", q, real, next.Certificate.Guaranteed())
	}
	var b bytes.Buffer
	if err := render.Training(&b, l, nil, "x.json"); err != nil || !strings.Contains(b.String(), "through a layer of 32 units") {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// barLog is a log of a uniform policy on images of 6×6 pixels, a bar of three pixels anywhere: action yes earns 0.9
// where it lies and 0.1 where it stands, no the contrary. No pixel says which.
func barLog(t *testing.T, n int, seed uint64) *logs.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.csv")
	o := logs.WriterOptions{Actions: []string{"yes", "no"}}
	for j := range 36 {
		o.Names = append(o.Names, fmt.Sprint("p", j))
	}
	out, err := logs.Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 4))
	for i := range n {
		x, lies := bar(r)
		d := logs.Decision{ID: fmt.Sprintf("s%d-%d", seed, i), Context: x, Action: r.IntN(2), Propensity: .5, Propensities: []float64{.5, .5}}
		p := .1
		if (d.Action == 0) == lies {
			p = .9
		}
		if r.Float64() < p {
			d.Cost = -1
		}
		if err := out.Write(&d); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, path, logs.Options{Actions: []string{"yes", "no"}})
}

func bar(r *rand.Rand) (x []features.Value, lies bool) {
	lies = r.IntN(2) == 0
	at, step := r.IntN(6)*6+r.IntN(4), 1
	if !lies {
		at, step = r.IntN(4)*6+r.IntN(6), 6
	}
	for j := range 36 {
		v := 0.
		if d := j - at; d == 0 || d == step || d == 2*step {
			v = 1
		}
		x = append(x, features.Value{Name: fmt.Sprint("p", j), Number: v})
	}
	return x, lies
}

// Convolutions are learned where no linear policy earns more than a constant one, by the recipe and under a
// posterior; the file holds them and certifies again to the same.
func TestConvolutions_LearnWhatLinearPoliciesCannot(t *testing.T) {
	long.Test(t)
	log := barLog(t, 2500, 1)
	for _, o := range []pipeline.Options{
		{Settings: train.Settings{Epochs: 12}, Learners: []string{"layers"}},
		{Objective: "ls", Settings: train.Settings{Epochs: 20, PriorScales: []float64{.5}}},
	} {
		o.Seed, o.Floor, o.MinESS, o.Settings.LayerRate, o.Settings.Representation = 1, .05, -1, .005, "conv=6x3,8"
		l := mustLearn(t, log, o)
		path := filepath.Join(t.TempDir(), "policy.json")
		if err := policyfile.Save(path, l.File); err != nil {
			t.Fatal(err)
		}
		p, err := policyfile.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		layers := p.File().Components[0].Layers
		if len(layers) != 2 || layers[0].Image == nil || layers[0].Out() != 2*2*6 {
			t.Fatalf("%d layers", len(layers))
		}
		r, real, pi := rand.New(rand.NewPCG(6, 6)), 0., make([]float64, 2)
		const n = 3000
		for range n {
			x, lies := bar(r)
			if err := p.Propensities(pi, x); err != nil {
				t.Fatal(err)
			}
			good := pi[0]
			if !lies {
				good = pi[1]
			}
			real += (.1 + .8*good) / n
		}
		if g := l.Certificate.Guaranteed(); !(g < real && g > .6) || real < .8 {
			t.Errorf("%s: guaranteed %v, earns %v", o.Objective, g, real)
		}
		if again := mustCertify(t, p, log, options{}); math.Abs(again.Guaranteed-l.Certificate.Guaranteed()) > 1e-9 {
			t.Errorf("%s: from its file %v is guaranteed, before %v", o.Objective, again.Guaranteed, l.Certificate.Guaranteed())
		}
	}
}

// Objectives learn layers along where there is no posterior, and take them frozen where there
// is one.
func TestLayers_AreLearnedAndCertified(t *testing.T) {
	log := productLog(t, 2500, 1, nil)
	for _, c := range []struct {
		o         pipeline.Options
		guarantee bool
	}{
		{pipeline.Options{Objective: "heuristic"}, false},
		{pipeline.Options{Objective: "logistic"}, false},
		{pipeline.Options{Objective: "corollary1", Ancestry: pipeline.Ancestry{Prior: pipeline.LearnedPrior}, Settings: train.Settings{PriorScales: []float64{.05}}}, true},
		{pipeline.Options{Objective: "ls", Settings: train.Settings{PriorScales: []float64{.5}}}, true},
	} {
		c.o.Seed, c.o.Floor, c.o.MinESS = 1, .05, -1
		c.o.Settings.Epochs, c.o.Settings.Representation = 20, "mlp=32"
		l := mustLearn(t, log, c.o)
		p := policy(t, l)
		real := productTruth(t, p)
		if len(l.File.Components[0].Layers) != 1 || real < .7 || (l.Certificate != nil) != c.guarantee {
			t.Errorf("%s: %d layers, earns %v, certificate %v", c.o.Objective, len(l.File.Components[0].Layers), real, l.Certificate)
		}
		if !c.guarantee {
			continue
		}
		g := l.Certificate.Statement()
		if !(g.Guaranteed < real) || l.Training.Teaching == 0 {
			t.Errorf("%s: guaranteed %v of %v, %d rows taught", c.o.Objective, g.Guaranteed, real, l.Training.Teaching)
		}
		if again := mustCertify(t, p, log, options{}); math.Abs(again.Guaranteed-g.Guaranteed) > 1e-9 {
			t.Errorf("%s: from its file %v is guaranteed, before %v", c.o.Objective, again.Guaranteed, g.Guaranteed)
		}
		later := mustCertify(t, p, productLog(t, 2000, 7, nil), options{})
		if later.N != 2000 || !(later.Guaranteed < real) {
			t.Errorf("%s: later %d rows, guaranteed %v of %v", c.o.Objective, later.N, later.Guaranteed, real)
		}
	}
}

func TestLayers_AreRefusedWithTheReason(t *testing.T) {
	log := productLog(t, 400, 1, nil)
	lib := library.Standard()
	lib.Representations = append(lib.Representations, library.Representation{Name: "gated", Make: func([]string) (objectives.Representation, error) {
		return func(p objectives.Problem, x graph.Expr) graph.Expr {
			return x.MatMulT(p.Learned("w", objectives.Spread(1), 3, x.Shape()[1])).Sigmoid()
		}, nil
	}})
	linear := policy(t, mustLearn(t, log, pipeline.Options{Settings: train.Settings{Epochs: 1, Representation: "none"}}))
	for want, o := range map[string]pipeline.Options{
		`unknown representation "mpl"`:    {Objective: "heuristic", Settings: train.Settings{Representation: "mpl"}},
		"want a number of units":          {Settings: train.Settings{Representation: "mlp=0"}},
		"no chain of layers":              {Objective: "heuristic", Settings: train.Settings{Representation: "gated"}},
		"none takes no arguments":         {Settings: train.Settings{Representation: "none=3"}},
		"dropout \"1\": want a number in": {Settings: train.Settings{Representation: "mlp=3,dropout=1"}},
		"is of other features than":       {Objective: "heuristic", Ancestry: pipeline.Ancestry{Prior: pipeline.LearnedPrior}, Settings: train.Settings{Representation: "mlp=3"}},
		"is of its own features":          {Objective: "heuristic", PriorFile: linear, Ancestry: pipeline.Ancestry{Fresh: true}, Settings: train.Settings{Representation: "mlp"}},
	} {
		t.Run(want, func(t *testing.T) {
			o.Settings.Epochs = 1
			if _, err := pipeline.Learn(context.Background(), lib, log, o); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "none=3", "none"), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// A training that stops early keeps the layers of the epoch before, as the policy.
func TestLayers_OfAnEarlyStopAreThoseOfThePolicy(t *testing.T) {
	log := productLog(t, 600, 1, nil)
	o := pipeline.Options{Objective: "risk", Seed: 1, MinESS: 420, Settings: train.Settings{Epochs: 60, LayerRate: .01, Representation: "mlp=32"}}
	l := mustLearn(t, log, o)
	if l.Training.Stopped == "" || len(l.Training.Curve) < 2 {
		t.Fatalf("stopped %q after %d epochs", l.Training.Stopped, len(l.Training.Curve))
	}
	kept := l.Training.Curve[len(l.Training.Curve)-2].Effective
	if got := l.Training.Estimate.Effective; math.Abs(got-kept) > 1e-3*kept {
		t.Errorf("the policy's weights are worth %v rows, those of the epoch before %v", got, kept)
	}
	p, pi := policy(t, l), make([]float64, 2)
	if err := p.Propensities(pi, []features.Value{{Name: "u", Number: .3}, {Name: "v", Number: -.2}}); err != nil || len(l.File.Components[0].Layers) != 1 {
		t.Errorf("%v, %v", pi, err)
	}
}

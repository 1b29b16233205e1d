package pipeline_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// nearest is how often an action is right where x is near its own place.
func nearest(x float64, a, k int) float64 {
	d := x - (float64(a)+.5)/float64(k)
	return .1 + .7*math.Exp(-d*d/.02)
}

// Of a table of 80 actions more is guaranteed of a policy that draws among the best than of one that plays the best, and
// it earns nearly as much. It is certified again as it was at first, plays as its file does, and is a prior that draws.
func TestLearn_OfATableOfManyActionsDrawsAmongTheBest(t *testing.T) {
	const k, n = 80, 4000
	write := func(name string, n int, seed uint64) string {
		var text bytes.Buffer
		text.WriteString("action,reward,propensity,x_0,x_1\n")
		r := rand.New(rand.NewPCG(seed, 7))
		for range n {
			x, a, reward := r.Float64(), r.IntN(k), 0
			if r.Float64() < nearest(x, a, k) {
				reward = 1
			}
			fmt.Fprintf(&text, "a%02d,%d,%v,%v,%v\n", a, reward, 1./k, x, r.Float64())
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	earns := func(p *policyfile.Policy) (mean float64) {
		pi := make([]float64, k)
		for i := range 500 {
			x := (float64(i) + .5) / 500
			if err := p.Propensities(pi, named([]float64{x, .5})); err != nil {
				t.Fatal(err)
			}
			for a, v := range pi {
				mean += v * nearest(x, a, k) / 500
			}
		}
		return mean
	}
	path := write("log.csv", n, 1)
	log, err := logs.Open(t.Context(), path, logs.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var earned, guaranteed [2]float64
	var drawn *policyfile.Policy
	o := pipeline.Options{Settings: settings(2), Floor: .05, Seed: 1, Scaling: logs.Scaling{Intercept: true}}
	for i, kind := range []string{policyfile.ArgMax, policyfile.Softmax} {
		if o.Policy = kind; kind == policyfile.Softmax {
			o.Policy = ""
		}
		got, err := pipeline.Learn(t.Context(), library.Standard(), log, o)
		if err != nil {
			t.Fatal(err)
		}
		if c := got.File.Components[0]; c.Kind != kind || !c.Fixed() {
			t.Errorf("%s, learned by %s, where %s was wanted", c.Kind, got.Training.Learner, kind)
		}
		p := policy(t, got)
		again, err := provenance.New(log).File(t.Context(), p, provenance.Options{})
		if earned[i], guaranteed[i] = earns(p), got.Certificate.Statement().Reward(); err != nil ||
			math.Abs(again.Statement().Reward()-guaranteed[i]) > 1e-12 {
			t.Errorf("certified again: %v, at first %v: %v", again, guaranteed[i], err)
		}
		playAlike(t, p, path, logs.Options{NoCache: true}, 20)
		drawn = p
	}
	t.Logf("the largest earns %.3f, drawn %.3f; guaranteed %.3f and %.3f", earned[0], earned[1], guaranteed[0], guaranteed[1])
	if earned[1] < earned[0]-.02 || guaranteed[1] < guaranteed[0]+.02 || guaranteed[1] > earned[1] {
		t.Error("drawing earns less, or nothing more is guaranteed of it")
	}
	later, err := logs.Open(t.Context(), write("later.csv", 1000, 2), logs.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	o.PriorFile, o.Learners = drawn, []string{"likelihood"} // which learns less
	got, err := pipeline.Learn(t.Context(), library.Standard(), later, o)
	if err != nil {
		t.Fatal(err)
	}
	if after := earns(policy(t, got)); got.Training.Learner != "start" || math.Abs(after-earned[1]) > 1e-12 {
		t.Errorf("learning from it: %s, which earns %v, and before %v", got.Training.Learner, after, earned[1])
	}
}

package policyfile

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
	"opl/policies/serve"
	"opl/train"
	"opl/train/certify"
)

func posterior(k, d int, sigma float64) policies.Posterior {
	r := rand.New(rand.NewPCG(1, 2))
	q := policies.Posterior{Actions: k, Dim: d, Sigma: sigma, Prior: policies.Prior{Scale: 0.1, Taught: policies.NewRowSet([]uint64{9, 1, math.MaxUint64, 1 << 63})}}
	for range k * d {
		q.Mu = append(q.Mu, r.NormFloat64())
		q.Prior.Mean = append(q.Prior.Mean, r.NormFloat64()/3)
	}
	return q
}

func about(t *testing.T, k, d int) About {
	t.Helper()
	e := features.Encoder{Unit: true}
	a := About{Floor: 0.05, DataHash: "abc", TaughtHow: "xxHash64 of the row", TaughtSeed: 4, Training: train.Run{Objective: "ls", Hyper: train.None()}, Versions: train.ThisVersion()}
	for j := range d {
		e.Names, e.Scale = append(e.Names, string(rune('a'+j))), append(e.Scale, 1)
	}
	for j := range k {
		a.Actions = append(a.Actions, string(rune('A'+j)))
	}
	var err error
	if a.Encoder, err = features.New(e); err != nil {
		t.Fatal(err)
	}
	return a
}

// What is learned comes back from the disk as it was, and serves the propensities
// that the family gives.
func TestRoundTrip(t *testing.T) {
	const k, d = 4, 5
	for _, c := range []struct {
		pol   policies.Policy
		sigma float64
		back  policies.Policy
	}{
		{policies.Gaussian{}, 0.2, policies.Gaussian{Nodes: 65}},
		{policies.Gaussian{Nodes: 33, Samples: 8}, 0.2, policies.Gaussian{Nodes: 65}}, // Given is by 65 nodes
		{policies.Gaussian{Nodes: 101}, 0.2, policies.Gaussian{Nodes: 101}},
		{policies.Softmax{}, 0, policies.Softmax{}},
	} {
		q, a := posterior(k, d, c.sigma), about(t, k, d)
		a.Certificate = &certify.Certificate{Delta: .05, N: 7, Bounds: []certify.Bound{{Name: "ls", Risk: -.5, Terms: []objectives.Term{{Name: "kl", Value: 1.25}}}}, Missing: []string{"x: y"}, Verdict: certify.Better}
		f, err := File(c.pol, q, a)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "policy.json")
		if err := serve.Save(path, f); err != nil {
			t.Fatal(err)
		}
		p, err := serve.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		pol, got, err := Posterior(p)
		if err != nil || !reflect.DeepEqual(pol, c.back) || !reflect.DeepEqual(got, q) {
			t.Errorf("%#v, %+v, %v\nwant %#v, %+v", pol, got, err, c.back, q)
		}
		if got.KL() != q.KL() && c.sigma > 0 {
			t.Errorf("KL %v, want %v", got.KL(), q.KL())
		}
		cert, err := Certificate(p)
		if err != nil || !reflect.DeepEqual(cert, a.Certificate) {
			t.Errorf("%+v, %v", cert, err)
		}
		phi, scores, pi, want := []float64{.5, -.5, .5, 0, -.5}, make([]float64, k), make([]float64, k), make([]float64, k)
		for j := range scores {
			for i, v := range phi {
				scores[j] += v * q.Mu[j*d+i]
			}
		}
		c.pol.Given(want, scores, c.sigma, nil)
		if err := p.PropensitiesOf(pi, phi); err != nil {
			t.Fatal(err)
		}
		for j := range pi {
			if w := .95*want[j] + .05/k; math.Abs(pi[j]-w) > 1e-12 {
				t.Errorf("%T: action %d: %v, want %v", c.pol, j, pi[j], w)
			}
		}
	}
}

// A policy without a prior, or with the zero scale that stands for 1.
func TestPriors(t *testing.T) {
	q, a := posterior(2, 3, 0.5), about(t, 2, 3)
	a.Training = nil
	q.Prior = policies.Prior{Mean: make([]float64, 6)}
	for _, want := range []float64{1, 0} {
		f, err := File(policies.Gaussian{}, q, a)
		if err != nil {
			t.Fatal(err)
		}
		p, err := serve.New(f)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := Posterior(p)
		if err != nil || got.Prior.Scale != want || got.Prior.Taught.Len() != 0 || len(got.Prior.Mean) != len(q.Prior.Mean) {
			t.Errorf("%+v, %v", got.Prior, err)
		}
		if c, err := Certificate(p); c != nil || err != nil {
			t.Errorf("%v, %v", c, err)
		}
		q.Prior = policies.Prior{}
	}
}

func TestRefuses(t *testing.T) {
	for _, pol := range []policies.Policy{policies.SoftmaxPosterior{}, policies.MixedLogit{}} {
		if _, err := File(pol, posterior(2, 3, 1), about(t, 2, 3)); err == nil || !strings.Contains(err.Error(), "draws alone") {
			t.Errorf("%T: %v", pol, err)
		}
	}
	q := posterior(2, 3, 1)
	q.Mu = q.Mu[:5]
	if _, err := File(policies.Gaussian{}, q, about(t, 2, 3)); err == nil || !strings.Contains(err.Error(), "mean of 5 numbers") {
		t.Error(err)
	}
	a := about(t, 2, 3)
	a.Certificate = &certify.Certificate{KL: math.NaN()}
	if _, err := File(policies.Gaussian{}, posterior(2, 3, 1), a); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

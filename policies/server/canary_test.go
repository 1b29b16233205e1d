package server

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opl/policies/numeric"
	"opl/policies/policyfile"
)

// The propensities of a mixture are the marginal ones, and its file is one of its own.
func TestMix_PlaysMarginalPropensities(t *testing.T) {
	a := testPolicy(t, 3, 2, func(f *policyfile.File) {
		f.Floor = .1
		f.History = policyfile.History{Known: true, DataHash: "aa", How: "ids", Seed: 7, From: 10, Until: 20, Groups: policyfile.Hashes{2, 9}, Ancestors: []policyfile.Ancestor{{Policy: "old"}}}
		f.Components[0].Taught, f.Components[0].Chosen = policyfile.Hashes{3, 5}, policyfile.Hashes{4}
	})
	other := func(seed uint64) *policyfile.Policy {
		return testPolicy(t, 3, 5, func(f *policyfile.File) {
			f.Floor = .4
			f.History = policyfile.History{Known: true, How: "ids", Seed: seed, From: 5, Until: 30, Groups: policyfile.Hashes{1, 9}}
			f.Components[0].Kind, f.Components[0].Sigma = policyfile.Softmax, 0
			f.Components[0].Taught = policyfile.Hashes{9}
		})
	}
	b := other(7)
	const share = .2
	f, err := Mix(a, b, share)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mix.json")
	if err := policyfile.Save(path, f); err != nil {
		t.Fatal(err)
	}
	m, err := policyfile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	made, err := policyfile.New(f)
	if err != nil || made.Hash() != m.Hash() || m.Hash() == a.Hash() || m.Hash() == b.Hash() || m.File().Certificate != nil {
		t.Errorf("hashes %s and %s, %v", m.Hash(), made.Hash(), err)
	}
	inputs := m.Inputs()
	of := func(p *policyfile.Policy, x map[string]float64) []float64 {
		values, pi := make([]float64, p.Inputs().Dim()), make([]float64, 3)
		for name, v := range x {
			if j := p.Inputs().Feature(name); j >= 0 {
				values[j] = v
			}
		}
		if err := p.PropensitiesOf(pi, values); err != nil {
			t.Fatal(err)
		}
		return pi
	}
	for i := range 50 {
		x := map[string]float64{}
		for j, name := range inputs.Names {
			x[name] = math.Sin(float64(i*13 + j*5))
		}
		p, q, r := of(a, x), of(b, x), of(m, x)
		for k := range r {
			if want := (1-share)*p[k] + share*q[k]; math.Abs(r[k]-want) > 1e-14 {
				t.Errorf("%v: %v, want %v", x, r[k], want)
			}
		}
	}
	h := m.File().History
	if !h.Known || h.Seed != 7 || h.From != 5 || h.Until != 30 || !slices.Equal(m.File().Components[0].Chosen, policyfile.Hashes{4}) || len(h.Ancestors) != 3 ||
		h.Ancestors[0].Policy != a.Hash() || h.Ancestors[0].DataHash != "aa" || !slices.Equal(h.Ancestors[0].Rows, policyfile.Hashes{3, 4, 5}) || h.Ancestors[1].Policy != "old" || h.Ancestors[2].Policy != b.Hash() || !slices.Equal(h.Groups, policyfile.Hashes{1, 2, 9}) {
		t.Errorf("%+v", h)
	}
	// How rewards were made is kept, and the limits of both.
	trained := func(of *policyfile.Policy, training string) *policyfile.Policy {
		f := *of.File()
		f.Training = []byte(training)
		p, err := policyfile.New(&f)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b = trained(a, `{"rows":9,"formula":{"reward":"2*x"},"limits":[{"name":"c","limit":-1},{"name":"d","limit":-2}]}`),
		trained(b, `{"formula":{"reward":"2*x"},"limits":[{"name":"c","limit":-3},{"name":"c","budget":true,"limit":4}]}`)
	if f, err = Mix(a, b, share); err != nil || string(f.Training) != `{"formula":{"reward":"2*x"},"limits":`+
		`[{"name":"c","limit":-3},{"name":"c","budget":true,"limit":4},{"name":"d","limit":-2}]}` {
		t.Errorf("%s, %v", f.Training, err)
	}
	// Hashes of other seeds are kept with the ancestors alone.
	if f, err = Mix(a, other(8), share); err != nil || f.History.Known || f.Components[0].Taught != nil || f.Components[1].Taught != nil || len(f.History.Ancestors[2].Rows) != 1 || a.File().Components[0].Taught == nil {
		t.Errorf("%+v, %v", f, err)
	}
	numbers := func(window int, seed float64) *policyfile.Policy {
		return testPolicy(t, 3, 2, func(f *policyfile.File) {
			of := numeric.Even(0, 3, 3)
			of.Window = window
			f.Numbers, f.Actions = &of, of.Names()
			f.Components[0].Kind, f.Components[0].Sigma, f.Components[0].Weights[0][0] = policyfile.ArgMax, 0, seed
		})
	}
	for _, window := range []int{0, 1} {
		if f, err := Mix(numbers(0, 1), numbers(window, 2), share); err != nil || f.Numbers == nil || f.Numbers.Bins() != 3 {
			t.Errorf("windows 0 and %d: %+v, %v", window, f, err)
		}
	}
	if f, err := Mix(numbers(2, 1), numbers(2, 2), share); err != nil || f.Numbers.Window != 2 {
		t.Errorf("windows of 2: %+v, %v", f, err)
	}
	for want, mix := range map[string]func() (*policyfile.File, error){
		"play 1 and 2 bins": func() (*policyfile.File, error) { return Mix(numbers(0, 1), numbers(2, 1), .5) },
		"play 3 and 2 bins": func() (*policyfile.File, error) { return Mix(numbers(3, 1), numbers(2, 1), .5) },
		"names in the other": func() (*policyfile.File, error) {
			return Mix(numbers(2, 1), testPolicy(t, 3, 2, func(f *policyfile.File) { f.Actions = numbers(2, 1).File().Actions }), .5)
		},
		"share of 0":    func() (*policyfile.File, error) { return Mix(a, b, 0) },
		"share of 1":    func() (*policyfile.File, error) { return Mix(a, b, 1) },
		"are the same":  func() (*policyfile.File, error) { return Mix(a, a, .5) },
		"other actions": func() (*policyfile.File, error) { return Mix(a, testPolicy(t, 4, 2, nil), .5) },
		"of rewards from 0 to 1 and from 0 to 2": func() (*policyfile.File, error) {
			return Mix(a, testPolicy(t, 3, 2, func(f *policyfile.File) { f.RewardMax = 2 }), .5)
		},
		`"x_a" from other columns, "b" and "c"`: func() (*policyfile.File, error) {
			reads := func(from string) *policyfile.Policy {
				return testPolicy(t, 3, 2, func(f *policyfile.File) { f.Columns = map[string]string{"x_a": from, "x_" + from: from} })
			}
			return Mix(reads("b"), reads("c"), .5)
		},
	} {
		if _, err := mix(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

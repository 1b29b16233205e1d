package ope_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// taught is a log of ids d0 to d19 and a policy file with models of the reward through layers,
// whose rows of this log are the even ones.
func taught(t *testing.T) (*logs.Log, *policyfile.File) {
	t.Helper()
	l, _ := open(t, rowsOf(0, 20))
	encoder := func(scale float64) *features.Encoder {
		e, err := features.New(features.Encoder{Names: []string{"x_b", "x_a"}, Scale: []float64{1, scale}, Intercept: true})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	zero := policyfile.Matrix{{0, 0}, {0, 0}, {0, 0}}
	f := &policyfile.File{Actions: []string{"up", "left", "down"}, RewardMax: 1,
		Components: []policyfile.Component{
			{Weight: .5, Kind: policyfile.ArgMax, Encoder: encoder(1), Weights: policyfile.Matrix{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
			{Weight: .5, Kind: policyfile.ArgMax, Encoder: encoder(2), Weights: zero,
				Layers: []features.Layer{{Weights: [][]float64{{1, 1, 0}, {0, -1, 1}}, Bias: []float64{0, .5}, Activation: features.ReLU}}},
		},
		RewardModels: []policyfile.RewardModel{
			{Kind: policyfile.Logistic, Weights: policyfile.Matrix{{9, 9, 9}, {9, 9, 9}, {9, 9, 9}}},
			{Component: 1, Kind: policyfile.Softmax, Weights: policyfile.Matrix{{0, 0}, {1, 0}, {0, 1}}},
			{Component: 1, Kind: policyfile.Logistic, Weights: policyfile.Matrix{{1, 0}, {5, 5}, {.5, -1}}},
		}}
	var rows []int
	for i := 0; i < l.Len(); i += 2 {
		rows = append(rows, i)
	}
	provenance.New(l).Record(f, provenance.Made{Taught: rows, Chosen: []int{1}, Chunks: [][]int{{1}, {3}}, Seed: 7})
	return l, f
}

// rowsOf are decisions from to to of a log with the features x_a = i/10 and x_b = (i mod 3) − 1.
func rowsOf(from, to int) string {
	b := strings.Builder{}
	b.WriteString("decision_id,x_a,x_b,action,reward,propensity\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "d%d,%v,%d,%s,%d,%v\n", i, float64(i)/10, i%3-1, []string{"down", "up"}[i/2%2], i%2, []float64{.75, .25}[i/2%2])
	}
	return b.String()
}

// The model is the logistic one of the last component, through its layer, with the log's actions:
// dm and dr are those computed by hand from the log's text.
func TestRewardModel_OfAFileGivesDMAndDRByHand(t *testing.T) {
	_, f := taught(t)
	l, _ := open(t, rowsOf(20, 40))
	m, err := provenance.New(l).RewardModel(f)
	if err != nil {
		t.Fatal(err)
	}
	pi := map[string]float64{"up": .9, "down": .1}
	target := ope.Target{Name: "mostly up", Origin: provenance.FixedBefore(), Row: func(dst []float64, _ int) error {
		for a, name := range l.Actions {
			dst[a] = pi[name]
		}
		return nil
	}}
	sigma := func(s float64) float64 { return 1 / (1 + math.Exp(-s)) }
	var dm, dr, softmax float64
	for i := 20; i < 40; i++ {
		a, b := 2*float64(i)/10, float64(i%3-1)
		h := []float64{max(0, b+a), max(0, 1-a+.5)}
		r := map[string]float64{"up": sigma(h[0]), "down": sigma(.5*h[0] - h[1])}
		direct := .9*r["up"] + .1*r["down"]
		action, p := "down", .75
		if i/2%2 == 1 {
			action, p = "up", .25
		}
		dm += direct / 20
		dr += (direct + pi[action]/p*(float64(i%2)-r[action])) / 20
		e := 1 + math.Exp(h[0]) + math.Exp(h[1])
		softmax += (.9/e + .1*math.Exp(h[1])/e) / 20
	}
	check := func(name string, m *certify.RewardModel, want ...float64) {
		t.Helper()
		r := evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: []ope.Estimator{ope.DM(), ope.DR()}, Model: m.Predict})
		for j, w := range want {
			if got := r.Policies[0].Estimates[j]; m.Name != name || math.Abs(got.Value-w) > 1e-14 {
				t.Errorf("model %s: %s is %v, want the %s model's %v", m.Name, got.Estimator, got.Value, name, w)
			}
		}
	}
	check(policyfile.Logistic, m, dm, dr)
	f.RewardModels = f.RewardModels[:2] // no logistic one of the last component
	if m, err = provenance.New(l).RewardModel(f); err != nil {
		t.Fatal(err)
	}
	check(policyfile.Softmax, m, softmax)
}

// A model that rows of the log taught is not to be had, nor one that does not fit the log.
func TestRewardModel_IsRefusedWhereItSawTheRows(t *testing.T) {
	own, f := taught(t)
	later, _ := open(t, rowsOf(20, 40))
	overlap, _ := open(t, rowsOf(18, 40)) // d18 taught
	cases := map[string]struct {
		log      *logs.Log
		change   func(f *policyfile.File)
		want     string
		withheld bool
	}{
		"its own log":       {own, nil, "it was learned from this log", true},
		"a row that taught": {overlap, nil, "it was learned from rows of this log", true},
		"nobody knows":      {later, func(f *policyfile.File) { f.History = policyfile.History{} }, "does not say which rows", true},
		"no model":          {later, func(f *policyfile.File) { f.RewardModels = nil }, "holds no model of the reward", false},
		"an action too few": {later, func(f *policyfile.File) { f.Actions = []string{"up", "left", "side"} }, `an action "down" that the policy does not know`, false},
		"other units":       {later, func(f *policyfile.File) { f.RewardMax = 5 }, "from 0 to 5, the log is read with 0 to 1", false},
		"a log of no names": {&logs.Log{Actions: later.Actions}, nil, "names", false},
		"an encoder of others": {later, func(f *policyfile.File) {
			e, err := features.New(features.Encoder{Names: []string{"age"}, Scale: []float64{1}})
			if err != nil {
				t.Fatal(err)
			}
			f.Components[1].Encoder = e
		}, "none of the names in its contexts", false},
	}
	for name, c := range cases {
		changed := *f
		changed.Components = append([]policyfile.Component(nil), f.Components...)
		if c.change != nil {
			c.change(&changed)
		}
		_, err := provenance.New(c.log).RewardModel(&changed)
		var w *provenance.Withheld
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &w) != c.withheld {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Rows of different weights have the models that their encoded log has, and are predicted by those of a file.
func TestModels_PredictNamedRowsAsEncodedOnes(t *testing.T) {
	l := weighted(t)
	_, f := taught(t)
	if _, err := provenance.New(l).RewardModel(f); err != nil {
		t.Error(err)
	}
	e, err := l.FitEncoder(nil, logs.Scaling{Kind: "standard", Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	encoded := *l
	encoded.Weight = nil
	alike, err := encoded.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	both := *alike
	both.Weight = l.Weight
	for _, m := range ope.RewardModels() {
		var got [3][]float64
		for j, log := range []*logs.Log{l, &both, alike} {
			r, err := m.Learn(log, ope.ModelOptions{Seed: 1})
			if err != nil {
				t.Fatalf("%s: %v", m.Name, err)
			}
			for i, dst := 0, make([]float64, l.K()); i < l.Len(); i++ {
				r(dst, i)
				got[j] = append(got[j], dst...)
			}
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: %v from the file, %v encoded", m.Name, got[0], got[1])
		}
		if slices.Equal(got[0], got[2]) {
			t.Errorf("%s: weights change nothing: %v", m.Name, got[0])
		}
	}
}

func weighted(t *testing.T) *logs.Log {
	t.Helper()
	text := strings.ReplaceAll(rowsOf(20, 40), "\n", ",1\n")
	text = strings.Replace(strings.Replace(text, "propensity,1", "propensity,weight", 1), ".75,1\n", ".75,2\n", 1)
	l, _ := open(t, text)
	return l
}

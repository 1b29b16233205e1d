package pipeline_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/policies"
	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train"
	"opl/train/certify"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// refuted is a log whose rows say the propensity 1/3 while actions follow the context.
func refuted(t *testing.T, n int) *logs.Log {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	var rows []logs.Decision
	for i := range n {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		pi := []float64{.1, .1, .1}
		for a, v := range x {
			if v == max(x[0], x[1], x[2]) {
				pi[a] = .8
			}
		}
		d := logs.Decision{ID: fmt.Sprint("r", i), Context: named(x), Action: propensity.Draw(pi, r), Propensity: 1. / 3, Weight: 1}
		if r.Float64() < reward(x, d.Action) {
			d.Cost = -1
		}
		rows = append(rows, d)
	}
	l, err := logs.Collect([]string{"a", "b", "c"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// every door of the library that states a guarantee, by what it says of a log and of the policy of
// a file; nil: it guaranteed something.
func doors(t *testing.T, log *logs.Log, l *pipeline.Learned, p *policyfile.Policy) map[string]error {
	t.Helper()
	j := provenance.New(log)
	c := l.File.Components[0]
	encoded, err := log.Encode(c.Encoder)
	if err != nil {
		t.Fatal(err)
	}
	_, encoded.Keys = log.Identity()
	of, err := j.Of(encoded)
	if err != nil {
		t.Fatal(err)
	}
	all, pi := make([]int, log.Len()), make([]float64, log.Len())
	for i := range all {
		all[i] = i
	}
	play := func(dst []float64, i int) error {
		var d logs.Decision
		log.Decision(i, &d)
		return p.Propensities(dst, d.Context)
	}
	out := map[string]error{}
	first := func(_ *provenance.Certificate, err error) error { return err }
	out["Judge.File"] = first(j.File(t.Context(), p, provenance.Options{}))
	out["Judge.Fixed"] = first(j.Fixed(play, provenance.FromFile(p.File()), all, certify.Options{}))
	out["Judge.Target by row"] = first(j.Target(nil, pi, provenance.FromFile(p.File()), certify.Options{}))
	out["Judge.Posterior"] = first(of.Posterior(l.Policy, l.Posterior, all, certify.Options{}))
	search := train.Search{Log: encoded, Rows: all, Policy: policies.Gaussian{}, Judge: of}
	_, out["Search.Consider"] = search.Consider(l.Posterior)
	_, out["pipeline.Learn"] = pipeline.Learn(t.Context(), library.Standard(), log, pipeline.Options{PriorFile: p, Objective: "ls", Settings: settings(1)})
	for what, target := range map[string]ope.Target{
		"the file's policy":       {Name: "p", Row: play, Origin: provenance.FromFile(p.File()), Policy: p},
		"its probabilities alone": {Name: "p", Logged: pi, Origin: provenance.FromFile(p.File())},
		"a policy of no origin":   {Name: "p", Row: play},
	} {
		for name, judge := range map[string]*provenance.Judge{"": nil, ", with a judge": j} {
			got, err := ope.Evaluate(log, []ope.Target{target}, ope.Options{Judge: judge})
			if err != nil {
				t.Fatal(err)
			}
			what := "ope.Evaluate of " + what + name
			if out[what] = nil; got.Policies[0].Guarantee == nil {
				out[what] = errors.New(got.Policies[0].Uncertified)
			}
		}
	}
	return out
}

// A log whose propensities are refuted, and the log that taught a policy, certify it through
// no door of the library; another log does through all of those that the policy has an origin for.
func TestRefusedLog_CertifiesThroughNoDoor(t *testing.T) {
	log := world{seed: 1, ids: true}.log(t, 1200)
	o := pipeline.Options{Seed: 1, Settings: settings(1), Scaling: unit, Objective: "ls", Ancestry: pipeline.Ancestry{Prior: pipeline.LearnedPrior}}
	l := mustLearn(t, log, o)
	p := policy(t, l)
	for what, c := range map[string]struct {
		log  *logs.Log
		says string
	}{"refuted": {refuted(t, 1200), "unusable"}, "taught": {log, "taught"}} {
		t.Run(what, func(t *testing.T) {
			for door, err := range doors(t, c.log, l, p) {
				switch {
				case what == "taught" && door == "Judge.File": // by the rows that did not teach
				case err == nil:
					t.Errorf("%s guarantees", door)
				case what == "refuted" && !strings.Contains(err.Error(), c.says) && !strings.Contains(err.Error(), "cannot be used"):
					t.Errorf("%s: %v", door, err)
				}
			}
		})
	}
	if _, err := pipeline.Learn(t.Context(), library.Standard(), refuted(t, 1200), o); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("learning from a refuted log: %v", err)
	}
	for door, err := range doors(t, world{seed: 2, ids: true}.log(t, 1200), l, p) {
		if (err != nil) != strings.Contains(door, "no origin") {
			t.Errorf("another log: %s: %v", door, err)
		}
	}
}

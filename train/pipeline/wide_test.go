package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
)

// A category of many values, or many numbers, leave what has numbers a table. Categories alone leave it one learner.
// Learners that are named compete by their bounds, which need no model of the reward.
func TestLearn_TakesLearnersOfTablesWhereFeaturesAreMany(t *testing.T) {
	long.Test(t)
	seed := uint64(0)
	draw := func(n int, show func(v float64) string, head string, rest func(r *rand.Rand) string) *logs.Log {
		var b strings.Builder
		fmt.Fprintf(&b, "action,reward,propensity,x_u,%s\n", head)
		seed++
		r := rand.New(rand.NewPCG(seed, 7))
		for range n {
			v, a, p := r.NormFloat64(), r.IntN(2), .15
			if (a == 0) == (v > 0) {
				p = .85
			}
			reward := 0
			if r.Float64() < p {
				reward = 1
			}
			fmt.Fprintf(&b, "a%d,%d,0.5,%s,%s\n", a, reward, show(v), rest(r))
		}
		path := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return open(t, path, logs.Options{})
	}
	number := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	site := func(r *rand.Rand) string { return fmt.Sprintf("s%d", r.IntN(680)) }
	sites := draw(8000, number, "x_site", site)
	sign := func(v float64) string { return fmt.Sprintf("u%v", v > 0) }
	named, later := draw(8000, sign, "x_site", site), draw(8000, sign, "x_site", site)
	var names []string
	for j := range 600 {
		names = append(names, fmt.Sprintf("x_%d", j))
	}
	many := func(r *rand.Rand) string {
		var of []string
		for range 600 {
			of = append(of, fmt.Sprintf("%.2f", r.NormFloat64()))
		}
		return strings.Join(of, ",")
	}
	head := strings.Join(names, ",")
	numbers, others := draw(800, number, head, many), draw(800, number, head, many)
	var last *policyfile.Policy
	for _, c := range []struct {
		log  *logs.Log
		as   string
		want string
	}{{sites, "", "direct"}, {named, "", "linear logistic likelihood heuristic"}, {named, "rules", "rules"},
		{later, "distil", "rules"}, {named, "linear,rules", ""}, {numbers, "", "direct"}, {numbers, "simple", "rules of depth"},
		{numbers, "rules,heuristic", "rules heuristic"}} {
		o := pipeline.Options{Chunks: 1}
		o.Settings.Epochs = 2
		switch c.as {
		case "rules":
			o.Policy = pipeline.Rules
		case "distil":
			o.Distil, o.Fresh = last, true
		case "linear,rules", "rules,heuristic":
			o.Learners = strings.Split(c.as, ",")
		case "simple":
			o.Simple = true
		}
		l := mustLearn(t, c.log, o)
		if dim := l.File.Components[0].Encoder.Dim(); dim <= 512 {
			t.Errorf("%d features: want more than 512", dim)
		}
		begins := func(name string) bool { return strings.HasPrefix(l.Training.Learner, name) }
		if c.want != "" && !begins(c.want) && !slices.ContainsFunc(strings.Fields(c.want), begins) {
			t.Errorf("learned by %s: want %s", l.Training.Learner, c.want)
		}
		last = policy(t, l)
	}
	l := mustLearn(t, others, pipeline.Options{Chunks: 1, Readable: pipeline.Readable{Distil: last, Depth: 3}})
	if l.Training.Learner != "rules" {
		t.Errorf("distilled as %s", l.Training.Learner)
	}
}

// Of up to 10,000 actions each has a model of the reward, but rules choose from 100.
func TestLearn_ManyActionsAreATable(t *testing.T) {
	long.Test(t)
	var b strings.Builder
	b.WriteString("action,reward,propensity,x_u\n")
	r := rand.New(rand.NewPCG(5, 7))
	for i := range 3000 {
		u, a := r.NormFloat64(), i%1100
		reward := 0
		if r.Float64() < .2+.6*float64(a%2)*max(0, min(u, 1)) {
			reward = 1
		}
		fmt.Fprintf(&b, "a%d,%d,%v,%.3f\n", a, reward, 1/1100., u)
	}
	path := filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	log := open(t, path, logs.Options{})
	if l := mustLearn(t, log, pipeline.Options{Chunks: 1}); !strings.HasPrefix(l.Training.Learner, "direct (") {
		t.Errorf("learned by %s", l.Training.Learner)
	}
	var rules pipeline.Options
	rules.Policy = pipeline.Rules
	if _, err := pipeline.Learn(t.Context(), library.Standard(), log, rules); err == nil || !strings.Contains(err.Error(), "at most 100 actions") {
		t.Errorf("rules of 1,100 actions: %v", err)
	}
	simple := pipeline.Options{Chunks: 1, Readable: pipeline.Readable{Simple: true}}
	l := mustLearn(t, log, simple)
	if !strings.Contains(fmt.Sprint(l.Training.Warnings), "no rules were tried: rules take") {
		t.Errorf("simple of 1,100 actions: %v", l.Training.Warnings)
	}
	if pipeline.Distils(policy(t, l)) {
		t.Error("a policy of 1,100 actions can be distilled")
	}
}

package pipeline_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// altered is a policy's file with something changed.
func altered(t *testing.T, l *pipeline.Learned, change func(f *policyfile.File)) *policyfile.Policy {
	t.Helper()
	b, err := json.Marshal(l.File)
	if err != nil {
		t.Fatal(err)
	}
	var f policyfile.File
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	change(&f)
	p, err := policyfile.New(&f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The fewer rows there are for the effects, the more of them teach, up to three quarters; of many rows half are enough.
func TestShare_GrowsWithTheEffectsForTheRows(t *testing.T) {
	for n, want := range map[int][2]float64{60: {.66, .69}, 3000: {.55, .57}, 50_001: {.5, .501}} {
		o := pipeline.Options{Seed: 1, Learners: []string{"linear"}}
		if l := mustLearn(t, world{seed: 1, ids: true}.log(t, n), o); l.Training.Share < want[0] || l.Training.Share > want[1] {
			t.Errorf("%d rows: %v of them teach, want %v", n, l.Training.Share, want)
		}
		o.Share = .6
		if l := mustLearn(t, world{seed: 1, ids: true}.log(t, n), o); l.Training.Share != .6 {
			t.Errorf("%d rows: %v of them teach, want .6 as asked for", n, l.Training.Share)
		}
	}
}

// The rows of a chunk certify one component and teach those after it; groups stay whole, the weights are the
// shares of groups, and the file certifies again what it states, until it says something else of its rows.
func TestChunks_CertifyOneComponentEach(t *testing.T) {
	long.Test(t)
	for _, w := range []world{{seed: 1, ids: true, full: true}, {seed: 1, ids: true, full: true, groups: 3}, {seed: 1}} {
		log := w.log(t, 1500)
		l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: train.Settings{Epochs: 2, Representation: library.NoRepresentation}, Scaling: unit, Floor: .1, Chunks: 3})
		f, g := l.File, l.Certificate.Statement()
		if len(f.Components) != 3 || g.Chunks != 3 || g.N != l.Training.Certifying || l.Training.Chunks != 3 {
			t.Fatalf("%d components, %d chunks, %d of %d rows certify", len(f.Components), g.Chunks, g.N, l.Training.Certifying)
		}
		units := float64(g.N)
		if g.Groups > 0 {
			units = float64(g.Groups)
		}
		_, keys := log.Identity()
		at := map[uint64]int{}
		for i, k := range keys {
			at[provenance.Hash(f.History.Seed, k)] = i
		}
		for k, c := range f.Components {
			groups := map[int]bool{}
			for _, h := range c.Chosen {
				if i := at[h]; log.Group != nil && log.Group[i] >= 0 {
					groups[-1-int(log.Group[i])] = true
				} else {
					groups[i] = true
				}
			}
			if n := float64(len(groups)); math.Abs(c.Weight-n/units) > 1e-12 || n < units/5 {
				t.Errorf("%+v: component %d has the weight %v, %v of %v units certify it", w, k, c.Weight, n, units)
			}
			if k > 0 {
				b := f.Components[k-1]
				want := slices.Sorted(slices.Values(slices.Concat(b.Taught, b.Chosen)))
				if !slices.Equal(want, []uint64(c.Taught)) {
					t.Errorf("component %d was taught by %d rows, want the %d of the one before", k, len(c.Taught), len(want))
				}
			}
		}
		p := policy(t, l)
		again := mustCertify(t, p, log, options{})
		if math.Abs(again.Reward()-g.Reward()) > 1e-9 || math.Abs(again.GainAtLeast()-g.GainAtLeast()) > 1e-9 || again.Chunks != 3 || again.Verdict != g.Verdict || again.Estimate.Rows != g.N || math.Abs(again.Estimate.Reward-g.Estimate.Reward) > 1e-9 {
			t.Errorf("again %+v, want %+v", again, g)
		}
		if real := truth(t, p); !(g.Guaranteed < real) || math.Abs(l.Training.Estimate.Reward-real) > 5*l.Training.Estimate.SE {
			t.Errorf("guaranteed %v, estimated %v, earns %v", g.Guaranteed, l.Training.Estimate.Reward, real)
		}
		later := w
		later.seed = 2
		if s := mustCertify(t, p, later.log(t, 1500), options{fresh: w.groups > 0}); s.Relation != provenance.Fresh || s.N != 1500 || s.Chunks != 0 || w.full != (len(s.Missing) == 0) {
			t.Errorf("later: %s, %d rows, %d chunks, missing %q", s.Relation, s.N, s.Chunks, s.Missing)
		}
		for what, c := range map[string]struct {
			change func(f *policyfile.File)
			want   string
		}{
			"weights":     {func(f *policyfile.File) { f.Components[0].Weight += .01; f.Components[2].Weight -= .01 }, "chunk 1 of the policy file has the weight"},
			"its chunk":   {func(f *policyfile.File) { f.Components[1].Taught = f.Components[2].Taught }, "taught the policy"},
			"a component": {func(f *policyfile.File) { f.Components[1].Chosen = nil }, "had a part in the policy"},
			"an order": {func(f *policyfile.File) {
				c := f.Components
				c[0], c[2] = c[2], c[0]
				for i := range f.RewardModels {
					f.RewardModels[i].Component = 2 - f.RewardModels[i].Component
				}
			}, "taught the policy"},
		} {
			if s, err := certifyFile(altered(t, l, c.change), log, options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %+v, %v, want %q", what, s, err, c.want)
			}
		}
	}
}

// A mixture is where the next round starts, and none of its rows certify. Where nothing better is learned the mixture
// is kept, with the new floor, and what certified is stated again from the file.
func TestMixture_IsWhereTheNextRoundStarts(t *testing.T) {
	long.Test(t)
	w := world{seed: 1, ids: true, full: true}
	first := policy(t, mustLearn(t, w.log(t, 1500), pipeline.Options{Seed: 1, Settings: settings(2), Scaling: unit, Floor: .2}))
	w.seed = 2
	for _, objective := range []string{"", "ls"} {
		l := mustLearn(t, w.log(t, 1500), pipeline.Options{Seed: 1, Objective: objective, Settings: settings(2), PriorFile: first, Floor: .05})
		rows := map[uint64]bool{}
		for _, h := range l.File.Components[0].Taught {
			rows[h] = true
		}
		for _, c := range first.File().Components {
			for _, h := range slices.Concat(c.Taught, c.Chosen) {
				if !rows[h] {
					t.Fatalf("%q: a row of the prior is not recorded", objective)
				}
			}
		}
		w := w
		w.seed = 1
		if _, err := certifyFile(policy(t, l), w.log(t, 1500), options{}); err == nil || !strings.Contains(err.Error(), "none is left") {
			t.Errorf("%q: the first log certifies the second policy: %v", objective, err)
		}
	}
	var log *logs.Log
	var l *pipeline.Learned
	for w.seed = 3; w.seed < 20 && (l == nil || l.Training.Learner != "start"); w.seed++ {
		log = w.log(t, 800)
		l = mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(1), PriorFile: first, Share: .1, Floor: .05})
	}
	if l.Training.Learner != "start" || len(l.File.Components) != 6 || l.Training.Chunks != 1 {
		t.Fatalf("scores by %s, %d components, %d chunks", l.Training.Learner, len(l.File.Components), l.Training.Chunks)
	}
	for k, c := range first.File().Components {
		if b := l.File.Components[k]; b.Weight != c.Weight || !slices.EqualFunc(b.Weights, c.Weights, slices.Equal) {
			t.Errorf("component %d is not that of the prior", k)
		}
	}
	again, g := mustCertify(t, policy(t, l), log, options{}), l.Certificate.Statement()
	if math.Abs(again.Reward()-g.Reward()) > 1e-9 || math.Abs(again.GainAtLeast()-g.GainAtLeast()) > 1e-9 || again.N != g.N || again.Chunks != 0 || l.Training.Estimate != g.Estimate {
		t.Errorf("again %+v, want %+v", again, g)
	}
	// Of two halves with encoders of their own the last is where learning starts.
	other := altered(t, l, func(f *policyfile.File) { f.Components[0].Encoder.Scale[0] *= 2 })
	w.seed = 30
	if l := mustLearn(t, w.log(t, 800), pipeline.Options{Seed: 1, Settings: settings(1), PriorFile: other, Share: .05}); l.Training.Learner == "start" && len(l.File.Components) != 1 {
		t.Errorf("%d components of an encoder that is not theirs", len(l.File.Components))
	}
}

// What is not alike at all times, or too little, is not learned in chunks.
func TestChunks_AreLearnedOnlyFromManySimilarRows(t *testing.T) {
	long.Test(t)
	drifts := func(n int) *logs.Log {
		log := world{seed: 1, ids: true, full: true, times: true}.log(t, n)
		log.Cost = slices.Clone(log.Cost)
		for i := range n / 2 {
			log.Cost[i] = max(-1, log.Cost[i]-.6)
		}
		return log
	}
	for what, c := range map[string]struct {
		log  *logs.Log
		o    pipeline.Options
		want int
		warn string
	}{
		"by default":        {world{seed: 1, ids: true, full: true}.log(t, 600), pipeline.Options{}, 6, ""},
		"40 rows":           {world{seed: 1, ids: true, full: true}.log(t, 40), pipeline.Options{}, 1, ""},
		"40 groups":         {world{seed: 1, ids: true, full: true, groups: 15}.log(t, 600), pipeline.Options{}, 1, ""},
		"one":               {world{seed: 1, ids: true, full: true}.log(t, 600), pipeline.Options{Chunks: 1}, 1, ""},
		"by time":           {world{seed: 1, ids: true, full: true, times: true}.log(t, 600), pipeline.Options{Split: pipeline.ByTime}, 1, ""},
		"drift":             {drifts(1000), pipeline.Options{}, 1, "the log drifts, or rewards of its newest rows are not in yet"},
		"chunks and drift":  {drifts(1000), pipeline.Options{Chunks: 3}, 1, "learning in chunks needs rows that are alike"},
		"another objective": {world{seed: 1, ids: true, full: true}.log(t, 600), pipeline.Options{Objective: "ls"}, 1, ""},
	} {
		t.Run(what, func(t *testing.T) {
			c.o.Seed, c.o.Settings, c.o.Scaling = 1, settings(1), unit
			l := mustLearn(t, c.log, c.o)
			if l.Training.Chunks != c.want || len(l.File.Components) != c.want {
				t.Errorf("%d chunks, %d components, want %d", l.Training.Chunks, len(l.File.Components), c.want)
			}
			if c.warn != "" && !slices.ContainsFunc(l.Training.Warnings, func(w string) bool { return strings.Contains(w, c.warn) }) {
				t.Errorf("warnings %q, want %q", l.Training.Warnings, c.warn)
			}
		})
	}
}

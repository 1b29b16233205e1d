package train_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/train"
	"opl/train/provenance"
)

// Chunks after the first are learned from those before, too; the weights are their shares, and what is
// certified, by a judge or without, is the mixture.
func TestChunks_AreLearnedFromEarlierOnesAndCertifiedAsAMixture(t *testing.T) {
	log := labelled(3000, 4, true)
	var teaching []int
	chunks := make([][]int, 3)
	for i := range log.Len() {
		switch k := (i - 1000) * 3 / 2000; {
		case i < 1000:
			teaching = append(teaching, i)
		default:
			chunks[k] = append(chunks[k], i)
		}
	}
	chunks[2] = chunks[2][:400]
	r, c := train.Recipe{Teaching: teaching, Floor: .1}, train.Config{Epochs: 3, Seed: 1}
	stages := map[string]bool{}
	c.Epoch = func(e train.Epoch) bool { stages[e.Stage] = true; return true }
	got, err := r.LearnChunks(context.Background(), provenance.New(log), log, c, chunks)
	if err != nil {
		t.Fatal(err)
	}
	seen := len(teaching)
	for k, p := range got.Policies {
		taught := p.Posterior.Prior.Taught
		if taught.Len() != seen || !slices.Equal(p.Rows, chunks[k]) || math.Abs(got.Weights[k]-float64(len(chunks[k]))/float64(got.Bounds.N)) > 1e-12 {
			t.Errorf("part %d: %d rows taught it, want %d; weight %v", k, taught.Len(), seen, got.Weights[k])
		}
		for _, h := range log.Hashes(slices.Concat(chunks[k:]...)) {
			if taught.Has(h) {
				t.Fatalf("part %d was taught by a row that certifies it, or by a later one", k)
			}
		}
		seen += len(chunks[k])
	}
	s := got.Certificate.Statement()
	if s.Chunks != 3 || s.Verdict != provenance.Better || s.Reward() != got.Bounds.Reward() || !stages["prior"] && !stages["trial of likelihood"] || !stages["chunk 2, trial of likelihood"] {
		t.Errorf("%d chunks, %s, stages %v", s.Chunks, s.Verdict, stages)
	}
	bare, err := r.LearnChunks(context.Background(), nil, log, c, chunks)
	if err != nil || bare.Certificate != nil || bare.Bounds.Reward() != got.Bounds.Reward() {
		t.Errorf("without a judge: %v, %v, want %v", err, bare.Bounds.Reward(), got.Bounds.Reward())
	}
	for want, chunks := range map[string][][]int{
		"0 chunks":             nil,
		"chunk 2":              {chunks[0], nil},
		"taught the policy":    {chunks[0], teaching},
		"is given twice":       {chunks[0][:9], slices.Concat(chunks[1], chunks[1])},
		"chunk 2 of 2: certif": {chunks[0], {3000}},
	} {
		if _, err := r.LearnChunks(context.Background(), provenance.New(log), log, c, chunks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What plays, a mixture, is kept as a whole where nothing learned from a few rows is as good.
func TestMixture_IsKeptWhereNothingBetterIsLearned(t *testing.T) {
	log := labelled(3000, 4, true)
	good, bad := make([]float64, 16), make([]float64, 16)
	for a := range 4 {
		good[5*a], bad[4*a+(a+1)%4] = 1, 1
	}
	r := train.Recipe{Teaching: make([]int, 40), Floor: .2, Start: []train.Component{{Weight: .25, Theta: bad},
		{Weight: .75, Theta: good}}}
	for i := range log.Len() {
		if i < 40 {
			r.Teaching[i] = i
		} else {
			r.Certifying = append(r.Certifying, i)
		}
	}
	got, err := r.Learn(context.Background(), provenance.New(log), log, train.Config{Epochs: 1, LearningRate: 1e-9, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got.Learner != "start" || len(got.Components) != 2 {
		t.Fatalf("scores by %s, a mixture of %d", got.Learner, len(got.Components))
	}
	pi, one := make([]float64, 4), make([]float64, 4)
	play, err := got.Play(log, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		x := make([]float64, 4)
		log.X.Row64(i, x)
		want := make([]float64, 4)
		for _, s := range r.Start {
			scores := make([]float64, 4)
			for a := range scores {
				for j, v := range x {
					scores[a] += v * s.Theta[4*a+j]
				}
			}
			propensity.ArgMax{}.AtMean(one, scores)
			for a, p := range one {
				want[a] += s.Weight * (.8*p + .05)
			}
		}
		if err := play(pi, i); err != nil || math.Abs(pi[0]-want[0])+math.Abs(pi[1]-want[1])+math.Abs(pi[2]-want[2])+math.Abs(pi[3]-want[3]) > 1e-12 {
			t.Fatalf("plays %v, %v, want %v", pi, err, want)
		}
	}
	// .8·.75 + .05 of the rows, at least, and what the bad one gets by luck.
	if g := got.Certificate.Guaranteed(); !(g > .5 && g < .75) {
		t.Errorf("guaranteed %v", g)
	}
}

package provenance_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// example is a log of n rows, three actions and four features, whose actions were drawn
// as its propensities say.
func example(n int) *logs.Log {
	r := rand.New(rand.NewPCG(1, 2))
	x := logs.Rows64{Width: 4, Data: make([]float64, 4*n)}
	l := &logs.Log{Actions: logs.Numbered(3), X: x}
	for i := range n {
		for j := range 4 {
			x.Data[4*i+j] = r.NormFloat64()
		}
		pi := []float64{.5, .3, .2}
		a := propensity.Draw(pi, r)
		l.Action, l.Propensity, l.Propensities = append(l.Action, int32(a)), append(l.Propensity, pi[a]), append(l.Propensities, pi...)
		cost := 0.
		if r.Float64() < .2+.3*float64(a) {
			cost = -1
		}
		l.Cost = append(l.Cost, cost)
	}
	return l
}

func posterior(mean []float64) propensity.Posterior {
	return propensity.Posterior{Actions: 3, Dim: 4, Mu: slices.Clone(mean), Sigma: 1, Prior: propensity.Prior{Mean: mean}}
}

func upTo(from, to int) (rows []int) {
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	return rows
}

func withheld(t *testing.T, what string, err error, want string) {
	t.Helper()
	var w *provenance.Withheld
	if !errors.As(err, &w) || !strings.Contains(w.Reason, want) {
		t.Errorf("%s: %v, want a guarantee withheld: %q", what, err, want)
	}
}

// What must be fixed may not have been taught by the rows that certify, wherever these
// are copied to, and nobody's silence is taken for a word.
func TestPosterior(t *testing.T) {
	log := example(400)
	zero := posterior(make([]float64, 12))
	certifies := func(what string, log *logs.Log, q propensity.Posterior, rows []int, o certify.Options) {
		t.Helper()
		if c, err := provenance.New(log).Posterior(propensity.Gaussian{}, q, rows, o); err != nil || c.Statement().N != len(rows) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refuses := func(what string, log *logs.Log, q propensity.Posterior, rows []int, o certify.Options, want string) {
		t.Helper()
		_, err := provenance.New(log).Posterior(propensity.Gaussian{}, q, rows, o)
		withheld(t, what, err, want)
	}
	certifies("a prior of zeros", log, zero, upTo(0, 400), certify.Options{})
	mean := make([]float64, 12)
	mean[3] = 1
	q := posterior(mean)
	refuses("a prior of unknown origin", log, q, upTo(0, 400), certify.Options{}, "not said which rows taught it")
	q.Prior.Fixed = true
	certifies("a prior that was fixed", log, q, upTo(0, 400), certify.Options{})
	q.Prior.Fixed, q.Prior.Taught = false, propensity.NewRowSet(log.Hashes(upTo(0, 200)))
	certifies("rows that the prior has not seen", log, q, upTo(200, 400), certify.Options{})
	refuses("the prior's rows", log, q, upTo(0, 400), certify.Options{}, "row 0 taught the prior")
	refuses("one of them", log, q, append(upTo(200, 400), 7), certify.Options{}, "row 7 taught the prior")
	refuses("a copy of them", log.Subset(upTo(0, 200)), q, upTo(0, 200), certify.Options{}, "taught the prior")
	model := certify.Linear("zero", make([]float64, 12), log, certify.LogisticLink)
	refuses("a reward model of unknown origin", log, zero, upTo(0, 400), certify.Options{Models: []*certify.RewardModel{model}}, "model of the reward")
	model.Taught = propensity.NewRowSet(log.Hashes([]int{5}))
	refuses("a reward model's row", log, zero, upTo(0, 400), certify.Options{Models: []*certify.RewardModel{model}}, "row 5 taught the reward model")
	certifies("rows that the reward model has not seen", log, zero, upTo(6, 400), certify.Options{Models: []*certify.RewardModel{model}})
}

// Logs that can certify nothing, through every door.
func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		change func(l *logs.Log)
		want   string
	}{
		{func(l *logs.Log) { l.Estimated = true }, "estimates"},
		{func(l *logs.Log) { l.Propensity, l.Propensities = nil, nil }, "no propensities"},
		{func(l *logs.Log) { l.Weight = slices.Repeat([]float64{1}, 400); l.Weight[3] = 2 }, "different weights"},
		{func(l *logs.Log) { l.Propensity = slices.Repeat([]float64{1}, 400); l.Propensities = nil }, "is unusable"},
	} {
		log := example(400)
		c.change(log)
		j := provenance.New(log)
		withheld(t, "Admits", j.Admits(), c.want)
		_, err := j.Posterior(propensity.Gaussian{}, posterior(make([]float64, 12)), upTo(0, 400), certify.Options{})
		withheld(t, "Posterior", err, c.want)
		_, err = j.Probabilities(slices.Repeat([]float64{.5}, 400), provenance.FixedBefore(), certify.Options{})
		withheld(t, "Probabilities", err, c.want)
	}
	log := example(400)
	pi := slices.Repeat([]float64{.5}, 400)
	_, err := provenance.New(log).Probabilities(pi, provenance.Origin{}, certify.Options{})
	withheld(t, "no origin", err, "not said where the policy comes from")
	if _, err := provenance.New(log).Probabilities(pi, provenance.FixedBefore(), certify.Options{}); err != nil {
		t.Error(err)
	}
	log.Group = make([]int32, 400)
	for i := range log.Group {
		log.Group[i] = int32(i / 20)
	}
	c, err := provenance.New(log).Probabilities(pi, provenance.FixedBefore(), certify.Options{})
	if err != nil || c.Statement().Groups != 20 || c.Statement().N != 400 {
		t.Errorf("groups: %v", err)
	}
	c, err = provenance.New(log).Posterior(propensity.Gaussian{}, posterior(make([]float64, 12)), upTo(0, 400), certify.Options{})
	if err != nil || c.Statement().Groups != 20 {
		t.Errorf("groups: %v", err)
	}
}

func TestVerdict(t *testing.T) {
	const n = 4000
	for _, tc := range []struct {
		reward func(a int32) float64
		want   provenance.Verdict
	}{
		{func(int32) float64 { return .001 }, provenance.Vacuous},
		{func(int32) float64 { return 1 }, provenance.NotShown},
		{func(a int32) float64 { return map[bool]float64{true: 1}[a == 0] }, provenance.Better},
	} {
		l := example(n)
		for i := range l.Cost {
			l.Cost[i] = -tc.reward(l.Action[i])
		}
		l.Cost[0] = -1
		q := posterior(make([]float64, 12))
		if tc.want == provenance.Better { // action 0 in all contexts, known beforehand
			l.X = logs.Rows64{Width: 4, Data: slices.Repeat([]float64{1, 0, 0, 0}, n)}
			q.Mu[0], q.Prior.Mean[0], q.Prior.Fixed = 9, 9, true
		}
		c, err := provenance.New(l).Force().Posterior(propensity.Gaussian{}, q, upTo(0, n), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Statement(); s.Verdict != tc.want || s.Proven() != (tc.want == provenance.Better) {
			t.Errorf("verdict %q with %v guaranteed and a gain of %v, want %q", s.Verdict, c.Guaranteed(), s.GainAtLeast(), tc.want)
		}
	}
}

package pipeline_test

import (
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train/bench/worlds"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
)

// What is guaranteed of policies of numbers, of the reward or the gain, is false in at most δ of the logs of worlds whose
// truth is known, by more than chance in 37 of 500 (OPL_LOGS=500); and policies earn more than what logged them.
func TestNumbers_KeepTheirPromise(t *testing.T) {
	long.Test(t)
	n := 1
	if v, err := strconv.Atoi(os.Getenv("OPL_LOGS")); err == nil {
		n = v
	}
	for _, w := range worlds.OfNumbers() {
		t.Run(w.Name, func(t *testing.T) {
			cells, err := worlds.Measure(context.Background(), worlds.Options{Worlds: []worlds.World{w}, Rows: []int{500},
				Seeds: n, Seed: 1, Test: 500, Threads: 2,
				Learners: []worlds.Learner{{Name: "opl", Learn: learnNumbers}}})
			if err != nil {
				t.Fatal(err)
			}
			opl, logging := cells[0], cells[1]
			t.Logf("%d of %d guarantees were false, %.3f on average", opl.Violations, n, stat.Mean(opl.Guaranteed, nil))
			if opl.Violations > max(n/20+1, 37*n/500) {
				t.Errorf("%d of %d guarantees were false", opl.Violations, n)
			}
			won := 0
			for i, r := range opl.Rewards {
				if r > logging.Rewards[i] {
					won++
				}
			}
			if won < n*9/10-1 {
				t.Errorf("%d of %d policies earn more than what logged", won, n)
			}
		})
	}
}

// A policy that goes on from another plays windows as wide, and its file certifies again what it states.
func TestNumbers_PriorKeepsWindow(t *testing.T) {
	w, o := worlds.OfNumbers()[1], numbersOptions(1)
	o.Bins = []int{4, 32}
	for seed := range uint64(2) {
		decisions, _ := w.Draw(500, 1, seed+1)
		log, err := w.Collect(decisions)
		if err == nil && o.PriorFile != nil {
			log, err = log.Divided(32)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := pipeline.Learn(t.Context(), library.Standard(), log, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.File.Numbers.Window != 8 || got.File.Numbers.Bins() != 32 {
			t.Fatalf("log %d: %+v, want windows of 8 of 32 bins", seed+1, got.File.Numbers)
		}
		o.PriorFile = policy(t, got)
		if s, g := mustCertify(t, o.PriorFile, log, options{}), got.Certificate.Statement(); math.Abs(s.Reward()-g.Reward()) > 1e-9 {
			t.Errorf("log %d: certified again %v, want %v in %d chunks", seed+1, s.Reward(), g.Reward(), g.Chunks)
		}
	}
}

// numbersOptions are those of a quick recipe.
func numbersOptions(seed uint64) pipeline.Options {
	return pipeline.Options{Settings: settings(2), Scaling: unit, Floor: .05, Learners: []string{"linear"}, Seed: seed,
		Bins: []int{4, 8}, Force: true}
}

// learnNumbers learns quickly.
func learnNumbers(ctx context.Context, log *logs.Log, seed uint64) (worlds.Learned, error) {
	got, err := pipeline.Learn(ctx, library.Standard(), log, numbersOptions(seed))
	if err != nil {
		return worlds.Learned{}, err
	}
	p, err := policyfile.New(got.File)
	if err != nil {
		return worlds.Learned{}, err
	}
	l := worlds.Learned{Policy: func(dst []float64, x []features.Value) error {
		pi := make([]float64, p.Len())
		err := p.Propensities(pi, x)
		p.File().Numbers.Spread(dst, pi, log.Numbers.Of)
		return err
	}}
	l.Guaranteed, l.Gain = got.Certificate.Guaranteed(), got.Certificate.Statement().GainAtLeast()
	return l, nil
}

// What windows are chosen by is about what is guaranteed of them then, less far below the estimate of rewards that vary
// little.
func TestNumbers_WindowsSayWhatIsGuaranteed(t *testing.T) {
	w, o := worlds.OfNumbers()[1], numbersOptions(1)
	o.Bins = []int{4, 16}
	decisions, _ := w.Draw(4000, 1, 1)
	gap := math.Inf(1)
	for _, scale := range []float64{1, .2} {
		log, err := w.Collect(decisions)
		if err != nil {
			t.Fatal(err)
		}
		log.Cost = slices.Clone(log.Cost)
		for i, c := range log.Cost {
			log.Cost[i] = -.5 + scale*(c+.5)
		}
		got, err := pipeline.Learn(t.Context(), library.Standard(), log, o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(got.Training.Divisions, func(d pipeline.Division) bool { return d.Bins*got.File.Numbers.Window == 16 })
		d, least := got.Training.Divisions[i], got.Certificate.Guaranteed()
		if math.Abs(d.Least-least) > .04 || d.Value-d.Least > gap/2 {
			t.Errorf("rewards times %v: %+v, guaranteed %v, the gap before %v", scale, d, least, gap)
		}
		if gap = d.Value - d.Least; gap <= 0 {
			t.Errorf("rewards times %v: %+v", scale, d)
		}
	}
}

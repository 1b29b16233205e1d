package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
)

// synthetic makes up records of figures: a formula, not results of any run. noise
// is the standard deviation of rewards over seeds.
func synthetic(t testing.TB, names, data []string, seeds int, noise float64) []train.Record {
	t.Helper()
	lib := library.Standard()
	var recs []train.Record
	have := map[string]bool{}
	for _, f := range experiment.Figures() {
		wanted := false
		for _, n := range names {
			wanted = wanted || n == f.Name
		}
		if !wanted {
			continue
		}
		g := f.Grid
		if len(g.Datasets) == 0 {
			g.Datasets = data
		}
		g.Seeds = nil
		for s := range seeds {
			g.Seeds = append(g.Seeds, uint64(s+1))
		}
		runs, err := g.Runs(lib, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if r.Weight != "" && !r.Hyper.Valid() {
				w, err := lib.Weight(r.Weight)
				if err != nil {
					t.Fatal(err)
				}
				r.Hyper = train.Number(objectives.DefaultHyper(57000, w.IPSAt))
			}
			if key := experiment.Key(r); !have[key] {
				have[key] = true
				recs = append(recs, madeUp(r, noise))
			}
		}
	}
	return recs
}

// madeUp gives a run results by formula.
func madeUp(r train.Run, noise float64) train.Record {
	none := train.None()
	seed := rand.New(rand.NewPCG(r.Seed, uint64(len(experiment.Key(r)))))
	logging := .1 + .7/(1+math.Exp(-6*(r.Eta0-.3)))
	if r.Dataset == "fashion" {
		logging -= .07
	}
	skill := map[string]float64{"london": .2, "sakhi1": .35, "sakhi2": .45, "corollary1": .55, "theorem1": .3, "heuristic": .7, "l2": .7}[r.Objective]
	if r.Lambda == "authors" {
		skill += .2
	}
	if r.Hyper.Valid() {
		skill += .1 * (float64(r.Hyper) - .5)
	}
	if r.Weight == "har" {
		skill *= .4
	}
	reward := logging + skill*(.9-logging)*(.3+.7*math.Exp(-4*(r.Eta0-.4)*(r.Eta0-.4))) + noise*seed.NormFloat64()
	rec := train.Record{Run: r, N: 57000, LoggingReward: train.Number(logging), Reward: train.Number(reward), RewardSE: 0,
		RewardAtMean: none, SampledReward: none, ObjectiveValue: none, Sigma: none, PriorScale: none, Seconds: 1.5, DataHash: "made-up",
		Versions: train.Versions{Opl: "devel", Go: "go1.26", System: "linux/amd64"}}
	if r.Objective == train.LoggingPolicy {
		rec.Reward = rec.LoggingReward
		return rec
	}
	rec.ObjectiveValue = train.Number(-reward + .15 + .5*math.Exp(-3*r.Eta0)*(.5+float64(r.Hyper)))
	return rec
}

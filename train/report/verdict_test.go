package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"opl/testdata/long"
	"opl/train"
)

var allFigures = []string{"fig1", "fig2", "fig3", "fig4", "fig5", "fig6"}

// levels are rewards of made-up records under which every conclusion holds.
func levels(r train.Run) float64 {
	l := map[string]float64{"london": .5, "sakhi1": .55, "sakhi2": .6, "corollary1": .7, "theorem1": .6, "heuristic": .71, "l2": .705}[r.Objective]
	if r.Weight == "har" {
		l -= .05
	}
	return l
}

// settle gives made-up records rewards, a gap between bound and risk, and a logging
// policy that earns .3; jitter differs between seeds.
func settle(recs []train.Record, reward, gap func(train.Run) float64) []train.Record {
	recs = slices.Clone(recs)
	for i, r := range recs {
		jitter := .0003 * float64(r.Seed) * float64(len(r.Objective))
		recs[i].LoggingReward, recs[i].Reward = .3, .3
		if r.Objective != train.LoggingPolicy {
			recs[i].Reward = train.Number(reward(r.Run) + jitter)
			recs[i].ObjectiveValue = train.Number(gap(r.Run)-float64(recs[i].Reward)) + train.Number(.0001*float64(r.Seed)*r.Eta0)
		}
	}
	return recs
}

func falling(r train.Run) float64 { return 2 * math.Exp(-2*r.Eta0) }

func find(t *testing.T, vs []Verdict, conclusion int, lambda string) Verdict {
	t.Helper()
	for _, v := range vs {
		if v.Conclusion == conclusion && (v.Lambda == lambda || lambda == "") {
			return v
		}
	}
	t.Fatalf("no verdict on conclusion %d under %q", conclusion, lambda)
	return Verdict{}
}

func TestVerdicts_ConfirmContradictOrLeaveOpen(t *testing.T) {
	long.Test(t)
	three := slices.DeleteFunc(synthetic(t, allFigures, []string{"mnist"}, 3, 0), func(r train.Record) bool {
		return !slices.Contains([]float64{-.3, 0, .2, .5, .9}, r.Eta0)
	})
	type rule = func(train.Run) float64
	except := func(is func(train.Run) bool, by rule) rule {
		return func(r train.Run) float64 {
			if is(r) {
				return by(r)
			}
			return levels(r)
		}
	}
	constant := func(x float64) rule { return func(train.Run) float64 { return x } }
	objective := func(name string) func(train.Run) bool { return func(r train.Run) bool { return r.Objective == name } }
	flips := func(r train.Run) float64 { return levels(r) + .3*(float64(r.Seed)-2) } // by seed
	holds := Verdicts(settle(three, levels, falling))
	for i, want := range []struct {
		conclusion int
		lambda     string
	}{{1, "star"}, {1, "authors"}, {2, "star"}, {2, "authors"}, {3, "star"}, {4, "star"}, {5, "star"}, {5, "authors"}, {6, ""}, {7, "star"}} {
		if len(holds) != 10 {
			t.Fatalf("%d verdicts, want 10", len(holds))
		}
		if v := holds[i]; v.Conclusion != want.conclusion || v.Lambda != want.lambda || v.Status != Confirmed {
			t.Errorf("verdict %d: conclusion %d (%s): %s, want conclusion %d (%s) confirmed\n%+v",
				i, v.Conclusion, v.Lambda, v.Status, want.conclusion, want.lambda, v.Comparisons)
		}
	}
	for _, c := range []struct {
		name       string
		conclusion int
		lambda     string
		reward     rule
		gap        rule
		want       Status
	}{
		{"one rival is better", 1, "star", except(objective("sakhi2"), constant(.8)), falling, Contradicted},
		{"a rival is better at η₀ = 0 alone", 1, "star",
			except(func(r train.Run) bool { return r.Objective == "sakhi2" && r.Eta0 < .2 }, constant(.95)), falling, Confirmed},
		{"a rival is better for one seed", 1, "star", except(objective("london"), flips), falling, Undecided},
		{"better under the authors' λ alone", 1, "authors",
			except(func(r train.Run) bool { return r.Lambda == "star" }, constant(.4)), falling, Confirmed},
		{"worse under λ*", 1, "star",
			except(func(r train.Run) bool { return r.Lambda == "star" }, constant(.4)), falling, Contradicted},

		{"one method is worse than logging", 2, "star", except(objective("london"), constant(.2)), falling, Contradicted},
		{"the authors' λ is worse than logging", 2, "authors",
			except(func(r train.Run) bool { return r.Lambda == "authors" }, constant(.2)), falling, Contradicted},
		{"… which λ* does not mind", 2, "star",
			except(func(r train.Run) bool { return r.Lambda == "authors" }, constant(.2)), falling, Confirmed},
		{"Har is best", 2, "star", except(func(r train.Run) bool { return r.Weight == "har" }, constant(.9)), falling, Contradicted},

		{"one weight is .05 better", 3, "star",
			except(func(r train.Run) bool { return r.Weight == "es" }, func(r train.Run) float64 { return levels(r) + .05 }), falling, Contradicted},
		{"one weight changes with the seed", 3, "star",
			except(func(r train.Run) bool { return r.Weight == "es" }, flips), falling, Undecided},

		{"the bound is better", 4, "star", except(objective("theorem1"), constant(.9)), falling, Contradicted},
		{"the bound changes with the seed", 4, "star", except(objective("theorem1"), flips), falling, Undecided},

		{"the bound is .1 worse", 5, "star", except(objective("corollary1"), constant(.6)), falling, Contradicted},
		{"the bound is .1 better", 5, "authors", except(objective("corollary1"), constant(.8)), falling, Contradicted},

		{"L₂ is worse at one penalty, a tenth too much", 6, "",
			except(func(r train.Run) bool { return r.Objective == "l2" && r.Penalty == 1e-3 }, constant(.4)), falling, Contradicted},

		{"tighter below", 7, "star", levels, func(r train.Run) float64 { return 1 + r.Eta0 }, Contradicted},
		{"looser below, but no tighter as η₀ grows", 7, "star", levels,
			func(r train.Run) float64 {
				if r.Eta0 < .2 {
					return 5
				}
				return 1 + r.Eta0
			}, Contradicted},
	} {
		t.Run(c.name, func(t *testing.T) {
			vs := Verdicts(settle(three, c.reward, c.gap))
			if v := find(t, vs, c.conclusion, c.lambda); v.Status != c.want {
				t.Errorf("conclusion %d, %s (%s): %s, want %s\n%+v", c.conclusion, c.name, c.lambda, v.Status, c.want, v.Comparisons)
			}
		})
	}
}

// With fewer than three seeds the same records point to the same.
func TestVerdicts_OfFewSeedsOnlyPoint(t *testing.T) {
	for _, seeds := range []int{1, 2} {
		recs := synthetic(t, allFigures, []string{"mnist", "fashion"}, seeds, 0)
		for _, v := range Verdicts(settle(recs, levels, falling)) {
			if v.Status != PointsToConfirmed {
				t.Errorf("%d seeds: conclusion %d: %s, want %s", seeds, v.Conclusion, v.Status, PointsToConfirmed)
			}
			for _, c := range v.Comparisons {
				if c.Seeds != seeds || c.Lower.Valid() != (seeds > 1) {
					t.Errorf("%d seeds: %s: %d seeds, interval from %v", seeds, c.What, c.Seeds, c.Lower)
				}
			}
		}
	}
	recs := synthetic(t, []string{"fig2", "fig3"}, []string{"mnist", "fashion"}, 1, 0)
	worse := func(r train.Run) float64 {
		if r.Objective == "heuristic" {
			return .1
		}
		return levels(r)
	}
	if v := find(t, Verdicts(settle(recs, worse, falling)), 4, ""); v.Status != PointsToContradicted {
		t.Errorf("conclusion 4: %s, want %s", v.Status, PointsToContradicted)
	}
	mixed := func(r train.Run) float64 {
		if r.Dataset == "mnist" {
			return levels(r)
		}
		return worse(r)
	}
	if v := find(t, Verdicts(settle(recs, mixed, falling)), 4, ""); v.Status != Undecided {
		t.Errorf("conclusion 4, better on one data set and worse on the other: %s, want %s", v.Status, Undecided)
	}
}

func TestVerdicts_NameTheRunsThatAreMissing(t *testing.T) {
	recs := settle(synthetic(t, []string{"fig1"}, []string{"mnist"}, 3, 0), levels, falling)
	without := func(is func(train.Record) bool) []train.Record {
		return slices.DeleteFunc(slices.Clone(recs), is)
	}
	v := find(t, Verdicts(without(func(r train.Record) bool { return r.Objective == "sakhi1" })), 1, "star")
	if v.Status != NotRun || !slices.Equal(v.Missing(), []string{"no runs of Sakhi et al. 1 × Clip(n^(−1/4))"}) {
		t.Errorf("without Sakhi 1: %s, missing %q", v.Status, v.Missing())
	}
	// a seed that lacks one pair does not count, and is named
	v = find(t, Verdicts(without(func(r train.Record) bool { return r.Objective == "sakhi1" && r.Seed == 3 && r.Eta0 == .5 })), 1, "star")
	if v.Status != PointsToConfirmed || v.Comparisons[1].Seeds != 2 || !strings.Contains(v.Comparisons[1].Incomplete, "seed 3 lacks Sakhi et al. 1 × Clip(n^(−1/4)) on MNIST, η₀ = 0.5") {
		t.Errorf("without one run: %s, %+v", v.Status, v.Comparisons[1])
	}
	// nor does a value that is none
	broken := slices.Clone(recs)
	for i := range broken {
		if broken[i].Objective == "london" && broken[i].Eta0 == .3 {
			broken[i].Reward = train.None()
		}
	}
	v = find(t, Verdicts(broken), 1, "star")
	if c := v.Comparisons[0]; v.Status != Confirmed || c.Pairs != 3*8 {
		t.Errorf("London has no reward at η₀ = 0.3: %s with %d pairs, want it left out: %+v", v.Status, c.Pairs, c)
	}
	// what no figure of the records speaks of is not run
	for _, c := range []int{3, 4, 5, 6, 7} {
		if v := find(t, Verdicts(recs), c, ""); v.Status != NotRun || len(v.Missing()) == 0 {
			t.Errorf("conclusion %d from fig1 alone: %s", c, v.Status)
		}
	}
}

// One hyperparameter of a mean is missing for one seed: its mean would be of other
// values than the others'.
func TestVerdicts_LeaveOutASeedThatLacksAValue(t *testing.T) {
	recs := settle(synthetic(t, []string{"fig2", "fig3", "fig4"}, []string{"mnist"}, 3, 0), levels, falling)
	recs = slices.DeleteFunc(recs, func(r train.Record) bool {
		return r.Objective == "theorem1" && r.Weight == "ix" && r.Hyper == .3 && r.Seed == 2 && r.Eta0 == .1
	})
	c := find(t, Verdicts(recs), 3, "star").Comparisons[0]
	if c.Seeds != 2 || !strings.Contains(c.Incomplete, "seed 2 lacks") {
		t.Errorf("%+v", c)
	}
}

// Three seeds whose differences are .1, .2 and .3: mean .2, sd .1, and with
// t_{.975,2} = 4.30265 an interval of ± .24841.
func TestInterval_OfThreeSeedsByHand(t *testing.T) {
	recs := synthetic(t, []string{"fig2", "fig3"}, []string{"mnist"}, 3, 0)
	recs = settle(recs, levels, falling)
	for i, r := range recs {
		if recs[i].Reward = .5; r.Objective == "heuristic" {
			recs[i].Reward = train.Number(.5 + .1*float64(r.Seed) + .05*r.Eta0) // η₀ is even around 0
		}
	}
	c := find(t, Verdicts(recs), 4, "").Comparisons[0]
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"estimate", float64(c.Estimate), .2},
		{"lower", float64(c.Lower), .2 - .248413},
		{"upper", float64(c.Upper), .2 + .248413},
		{"least", float64(c.Least), .2 - .025},
	} {
		t.Run(x.name, func(t *testing.T) {
			if math.Abs(x.got-x.want) > 1e-6 {
				t.Errorf("%s = %v, want %v", x.name, x.got, x.want)
			}
		})
	}
	if c.Seeds != 3 || c.Pairs != 3*11*20 || c.Status != Undecided || !strings.HasSuffix(c.LeastAt, "η₀ = -0.5") {
		t.Errorf("%+v", c)
	}
}

func TestDecide_ComparesTheIntervalWithTheClaim(t *testing.T) {
	for _, c := range []struct {
		test         Test
		lower, upper float64
		want         Status
	}{
		{Above, .001, .1, Confirmed}, {Above, -.1, -.001, Contradicted}, {Above, -.1, .1, Undecided}, {Above, 0, .1, Undecided},
		{Alike, -.02, .02, Confirmed}, {Alike, -.019, .021, Undecided}, {Alike, .0201, .5, Contradicted}, {Alike, -.5, -.0201, Contradicted}, {Alike, -.5, .5, Undecided},
	} {
		x := Comparison{Test: c.test, Seeds: 3, Lower: train.Number(c.lower), Upper: train.Number(c.upper),
			ByDataset: []Estimate{{"mnist", train.Number((c.lower + c.upper) / 2)}}}
		if got := x.decide(); got != c.want {
			t.Errorf("%s, [%v, %v]: %s, want %s", c.test, c.lower, c.upper, got, c.want)
		}
	}
}

// Three seeds do not confirm, or contradict, what data sets disagree about, as one does not.
func TestVerdicts_AreUndecidedWhereDataSetsDisagree(t *testing.T) {
	for _, c := range []struct {
		test           Test
		mnist, fashion float64
		want           Status
	}{
		{Above, .001, .005, Confirmed}, {Above, -.0015, .005, Undecided}, {Above, .0015, -.005, Undecided}, {Above, -.001, -.005, Contradicted},
		{Alike, .001, .019, Confirmed}, {Alike, -.021, .021, Undecided}, {Alike, -.01, .03, Undecided}, {Alike, .03, .04, Contradicted},
	} {
		m := (c.mnist + c.fashion) / 2
		x := Comparison{Test: c.test, Seeds: 3, Lower: train.Number(m - .0001), Upper: train.Number(m + .0001),
			ByDataset: []Estimate{{"mnist", train.Number(c.mnist)}, {"fashion", train.Number(c.fashion)}}}
		if got := x.decide(); got != c.want {
			t.Errorf("%s, %v and %v: %s, want %s", c.test, c.mnist, c.fashion, got, c.want)
		}
	}
}

func TestConclude_TakesTheWorstOfItsComparisons(t *testing.T) {
	for _, c := range []struct {
		of   []Status
		want Status
	}{
		{[]Status{Confirmed, Confirmed}, Confirmed},
		{[]Status{Confirmed, PointsToConfirmed}, PointsToConfirmed},
		{[]Status{Confirmed, Undecided, PointsToConfirmed}, Undecided},
		{[]Status{Undecided, NotRun}, NotRun},
		{[]Status{NotRun, PointsToContradicted}, PointsToContradicted},
		{[]Status{PointsToContradicted, Contradicted, Confirmed}, Contradicted},
	} {
		var cs []Comparison
		for _, s := range c.of {
			cs = append(cs, Comparison{Status: s})
		}
		if v := conclude(1, "", "", cs); v.Status != c.want {
			t.Errorf("%v: %s, want %s", c.of, v.Status, c.want)
		}
	}
}

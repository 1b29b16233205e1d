package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"opl/train"
	"opl/train/experiment"
	"opl/train/report/table"
)

// Quantities that figures show.
const (
	Reward     = "reward"      // of the policy that the objective speaks of
	MeanReward = "mean_reward" // the mean of Reward over hyperparameters
	Bound      = "bound"       // the objective on the whole log, at the learned policy
	Risk       = "risk"        // −Reward
	Gap        = "gap"         // Bound − Risk
)

// Point is one point of a figure: a quantity over seeds.
type Point struct {
	Figure string
	train.Run
	Quantity string
	Mean     train.Number
	SD       train.Number // sample standard deviation over seeds; none of one seed
	Count    int          // seeds
}

// writePoints writes points as CSV.
func writePoints(w io.Writer, pts []Point) error {
	head := []string{"figure", "dataset", "eta0", "objective", "policy", "lambda", "weight", "hyperparameter",
		"penalty", "quantity", "mean", "sd", "count", "representation"}
	var rows [][]string
	for _, p := range pts {
		rows = append(rows, []string{p.Figure, p.Dataset, number(p.Eta0), p.Objective, p.Policy, p.Lambda,
			p.Weight,
			p.Hyper.String(), p.Penalty.String(), p.Quantity, p.Mean.String(), p.SD.String(), fmt.Sprint(p.Count),
			p.Representation})
	}
	return table.Write(w, table.CSV, head, rows)
}

// canonical sorts records by configuration, whatever order they came in, and keeps
// one of each configuration. Records that JSON cannot hold, whose η₀ is not finite,
// are left out.
func canonical(recs []train.Record) []train.Record {
	type keyed struct {
		train.Record
		key, text string
	}
	var ks []keyed
	for _, r := range recs {
		if b, err := json.Marshal(r); err == nil {
			ks = append(ks, keyed{r, experiment.Key(r.Run), string(b)})
		}
	}
	slices.SortFunc(ks, func(a, b keyed) int {
		return cmp.Or(compareRuns(a.Run, b.Run), cmp.Compare(a.key, b.key), cmp.Compare(a.text, b.text))
	})
	ks = slices.CompactFunc(ks, func(a, b keyed) bool { return a.key == b.key })
	out := make([]train.Record, len(ks))
	for i, k := range ks {
		out[i] = k.Record
	}
	return out
}

func compareRuns(a, b train.Run) int {
	return cmp.Or(
		datasetRank(a.Dataset, b.Dataset),
		cmp.Compare(a.Objective, b.Objective),
		cmp.Compare(a.Policy, b.Policy),
		cmp.Compare(b.Lambda, a.Lambda), // star before authors
		cmp.Compare(a.Representation, b.Representation),
		cmp.Compare(a.Weight, b.Weight),
		cmp.Compare(a.Hyper, b.Hyper),
		cmp.Compare(a.Penalty, b.Penalty),
		cmp.Compare(a.Eta0, b.Eta0),
		cmp.Compare(a.Seed, b.Seed),
	)
}

// datasetRank puts MNIST first, others by name.
func datasetRank(a, b string) int {
	first := func(s string) int {
		if s == "mnist" {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a, b))
}

// groupBy puts what has the same key together, in order of first appearance.
func groupBy[T any, K comparable](xs []T, key func(T) K) (groups [][]T) {
	index := map[K]int{}
	for _, x := range xs {
		k := key(x)
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

// configuration is the identity of what differs in the seed alone.
func configuration(r train.Record) string {
	r.Seed = 0
	return experiment.Key(r.Run)
}

// aggregate makes points of records in canonical order: the mean over seeds of a
// quantity, for each configuration that has it at all.
func aggregate(figure, quantity string, recs []train.Record, of func(train.Record) train.Number) (pts []Point) {
	recs = slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return !finite(of(r)) })
	for _, g := range groupBy(recs, configuration) {
		pts = append(pts, summary(figure, quantity, g[0].Run, numbers(g, of)))
	}
	return pts
}

// summary is the point of one value or more.
func summary(figure, quantity string, r train.Run, xs []float64) Point {
	p := Point{Figure: figure, Quantity: quantity, Run: r, Mean: train.Number(mean(xs)), SD: train.None(),
		Count: len(xs)}
	if len(xs) > 1 {
		p.SD = train.Number(deviation(xs))
	}
	return p
}

// loggingPoints returns the rewards of the logging policies that the records learned from, each seed once.
func loggingPoints(figure string, recs []train.Record) []Point {
	logs := slices.Clone(recs)
	for i, r := range logs {
		logs[i].Run = train.Run{Dataset: r.Dataset, Eta0: r.Eta0, Seed: r.Seed, Objective: train.LoggingPolicy,
			Policy: "softmax",
			Hyper:  train.None(), Penalty: train.None()}
	}
	logs = slices.DeleteFunc(logs, func(r train.Record) bool { return !finite(r.LoggingReward) })
	compare := func(a, b train.Record) int { return compareRuns(a.Run, b.Run) }
	slices.SortStableFunc(logs, compare)
	return aggregate(figure, Reward,
		slices.CompactFunc(logs, func(a, b train.Record) bool { return compare(a, b) == 0 }), loggingReward)
}

// meanPoints averages the reward over hyperparameters, per data set, η₀ and weight; SD and Count are over
// seeds. It leaves out a seed that lacks a hyperparameter which another seed has, since its mean would be of
// something else.
func meanPoints(figure string, recs []train.Record) (pts []Point) {
	recs = slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return !finite(r.Reward) })
	for _, g := range groupBy(recs, func(r train.Record) string { r.Hyper = 0; return configuration(r) }) {
		hypers := map[train.Number]bool{}
		for _, r := range g {
			hypers[r.Hyper] = true
		}
		slices.SortStableFunc(g, func(a, b train.Record) int { return cmp.Compare(a.Seed, b.Seed) })
		var xs []float64
		for _, of := range groupBy(g, func(r train.Record) uint64 { return r.Seed }) {
			if len(of) == len(hypers) {
				xs = append(xs, meanReward(of))
			}
		}
		if len(xs) > 0 {
			g[0].Hyper = train.None()
			pts = append(pts, summary(figure, MeanReward, g[0].Run, xs))
		}
	}
	slices.SortStableFunc(pts, func(a, b Point) int {
		return cmp.Or(datasetRank(a.Dataset, b.Dataset), cmp.Compare(a.Objective, b.Objective),
			cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Eta0, b.Eta0))
	})
	return pts
}

func reward(r train.Record) train.Number        { return r.Reward }
func loggingReward(r train.Record) train.Number { return r.LoggingReward }
func bound(r train.Record) train.Number         { return r.ObjectiveValue }
func risk(r train.Record) train.Number          { return -r.Reward }
func gap(r train.Record) train.Number           { return r.ObjectiveValue + r.Reward }

func finite[T ~float64](x T) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

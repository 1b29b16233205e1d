package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"opl/train"
	"opl/train/experiment"
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
	Figure    string
	Dataset   string
	Eta0      float64
	Objective string // logging: of the logging policy
	Policy    string
	Lambda    string
	Weight    string
	Hyper     train.Number
	Penalty   train.Number
	Quantity  string
	Mean      train.Number
	SD        train.Number // sample standard deviation over seeds; none of one seed
	Count     int          // seeds
}

// WritePoints writes points as CSV.
func WritePoints(w io.Writer, pts []Point) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"figure", "dataset", "eta0", "objective", "policy", "lambda", "weight", "hyperparameter", "penalty", "quantity", "mean", "sd", "count"})
	for _, p := range pts {
		_ = c.Write([]string{p.Figure, p.Dataset, number(p.Eta0), p.Objective, p.Policy, p.Lambda, p.Weight,
			p.Hyper.String(), p.Penalty.String(), p.Quantity, p.Mean.String(), p.SD.String(), fmt.Sprint(p.Count)})
	}
	c.Flush()
	return c.Error()
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

// aggregate makes points of records in canonical order: the mean over seeds of a
// quantity, for each configuration that has it at all.
func aggregate(figure, quantity string, recs []train.Record, of func(train.Record) train.Number) []Point {
	var pts []Point
	var values [][]float64
	index := map[string]int{}
	for _, r := range recs {
		x := of(r)
		if !finite(x) {
			continue
		}
		key := r.Run
		key.Seed = 0
		name := experiment.Key(key)
		i, ok := index[name]
		if !ok {
			i = len(pts)
			index[name] = i
			pts = append(pts, Point{Figure: figure, Quantity: quantity, Dataset: r.Dataset, Eta0: r.Eta0, Objective: r.Objective,
				Policy: r.Policy, Lambda: r.Lambda, Weight: r.Weight, Hyper: r.Hyper, Penalty: r.Penalty})
			values = append(values, nil)
		}
		values[i] = append(values[i], float64(x))
	}
	for i := range pts {
		pts[i].summarize(values[i])
	}
	return pts
}

// summarize sets mean, sd and count.
func (p *Point) summarize(xs []float64) {
	p.Mean, p.SD, p.Count = train.None(), train.None(), len(xs)
	if len(xs) > 0 {
		p.Mean = train.Number(mean(xs))
	}
	if len(xs) > 1 {
		p.SD = train.Number(deviation(xs))
	}
}

// loggingPoints are the rewards of the logging policies that records learned from,
// each seed once.
func loggingPoints(figure string, recs []train.Record) []Point {
	var logs []train.Record
	seen := map[string]bool{}
	for _, r := range recs {
		key := fmt.Sprint(r.Dataset, r.Eta0, r.Seed)
		if finite(r.LoggingReward) && !seen[key] {
			seen[key] = true
			logs = append(logs, train.Record{LoggingReward: r.LoggingReward, Run: train.Run{Dataset: r.Dataset, Eta0: r.Eta0, Seed: r.Seed,
				Objective: train.LoggingPolicy, Policy: "softmax", Hyper: train.None(), Penalty: train.None()}})
		}
	}
	slices.SortFunc(logs, func(a, b train.Record) int { return compareRuns(a.Run, b.Run) })
	return aggregate(figure, Reward, logs, func(r train.Record) train.Number { return r.LoggingReward })
}

// meanPoints average the reward over hyperparameters, per data set, η₀ and weight;
// sd and count are over seeds. A seed that lacks one of the hyperparameters that
// another has is left out: its mean would be of something else.
func meanPoints(figure string, recs []train.Record) []Point {
	type cell struct {
		Point
		hypers map[train.Number]bool
		seeds  []uint64
		sums   map[uint64][]float64
	}
	var cells []*cell
	index := map[string]*cell{}
	for _, r := range recs {
		if !finite(r.Reward) {
			continue
		}
		key := r.Run
		key.Seed, key.Hyper = 0, 0
		c := index[experiment.Key(key)]
		if c == nil {
			c = &cell{hypers: map[train.Number]bool{}, sums: map[uint64][]float64{},
				Point: Point{Figure: figure, Quantity: MeanReward, Dataset: r.Dataset, Eta0: r.Eta0, Objective: r.Objective,
					Policy: r.Policy, Lambda: r.Lambda, Weight: r.Weight, Hyper: train.None(), Penalty: r.Penalty}}
			index[experiment.Key(key)] = c
			cells = append(cells, c)
		}
		if c.sums[r.Seed] == nil {
			c.seeds = append(c.seeds, r.Seed)
		}
		c.hypers[r.Hyper] = true
		c.sums[r.Seed] = append(c.sums[r.Seed], float64(r.Reward))
	}
	var pts []Point
	for _, c := range cells {
		var xs []float64
		slices.Sort(c.seeds)
		for _, s := range c.seeds {
			if len(c.sums[s]) == len(c.hypers) {
				xs = append(xs, mean(c.sums[s]))
			}
		}
		if c.summarize(xs); c.Count > 0 {
			pts = append(pts, c.Point)
		}
	}
	slices.SortStableFunc(pts, func(a, b Point) int {
		return cmp.Or(datasetRank(a.Dataset, b.Dataset), cmp.Compare(a.Objective, b.Objective), cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Eta0, b.Eta0))
	})
	return pts
}

func reward(r train.Record) train.Number { return r.Reward }
func bound(r train.Record) train.Number  { return r.ObjectiveValue }
func risk(r train.Record) train.Number   { return -r.Reward }
func gap(r train.Record) train.Number    { return r.ObjectiveValue + r.Reward }

func finite(x train.Number) bool { return x.Valid() && !math.IsInf(float64(x), 0) }

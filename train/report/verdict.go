package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"opl/train"
	"opl/train/experiment"
)

// Status says whether records confirm a claim.
type Status string

// A claim is confirmed or contradicted by the interval of its differences, over
// three seeds at least; with fewer it is pointed to at most, by the estimate. In either
// case the estimates on all data sets must agree.
const (
	Confirmed            Status = "confirmed"
	Contradicted         Status = "contradicted"
	Undecided            Status = "undecided"
	PointsToConfirmed    Status = "points to confirmed"
	PointsToContradicted Status = "points to contradicted"
	NotRun               Status = "not run" // records are missing
)

// Test is the condition that a claim puts on a mean difference.
type Test string

// With interval [L, U]: a difference is Above if L > 0, and the contrary if U < 0;
// it is Alike if −.02 ≤ L and U ≤ .02, and the contrary if U < −.02 or L > .02.
const (
	Above Test = "> 0"
	Alike Test = "within ±0.02"
)

const (
	alike       = .02 // the largest mean difference of what is called alike
	confidence  = .95 // of intervals
	fewestSeeds = 3   // needed for more than a verdict that points to something
)

// Comparison is one mean difference, pooled over cells and clustered by seed.
//
// The difference of a seed is the mean difference between the two sides over all
// cells (of a data set, η₀ and what else is held equal). The estimate is the mean m̄
// of the S seeds' differences, and the interval
//
//	m̄ ± t_{0.975, S−1} s/√S
//
// s being their sample standard deviation. Only seeds with every cell count, so
// that each seed's mean is of the same cells.
type Comparison struct {
	What     string       `json:"what"` // the two sides, first − second
	Test     Test         `json:"test"`
	Status   Status       `json:"status"`
	Estimate train.Number `json:"estimate"`
	Lower    train.Number `json:"lower"` // none with fewer than two seeds
	Upper    train.Number `json:"upper"`
	Seeds    int          `json:"seeds"`
	Pairs    int          `json:"pairs"` // cells × seeds
	// Least is the smallest cell, its mean over seeds.
	Least      train.Number `json:"least"`
	LeastAt    string       `json:"least_at,omitempty"`
	ByDataset  []Estimate   `json:"by_dataset,omitempty"`
	Incomplete string       `json:"incomplete,omitempty"` // what is missing
}

// Estimate is a Comparison's estimate on one data set.
type Estimate struct {
	Dataset string       `json:"dataset"`
	Mean    train.Number `json:"mean"`
}

// Verdict judges one of the paper's conclusions by records.
type Verdict struct {
	Conclusion  int          `json:"conclusion"` // 1 to 7
	Claim       string       `json:"claim"`
	Lambda      string       `json:"lambda,omitempty"` // the choice of λ that it is under, where it depends on that
	Status      Status       `json:"status"`
	Comparisons []Comparison `json:"comparisons"`
}

// Missing lists what the verdict lacks.
func (v Verdict) Missing() []string {
	var out []string
	for _, c := range v.Comparisons {
		if c.Status == NotRun && !slices.Contains(out, c.Incomplete) {
			out = append(out, c.Incomplete)
		}
	}
	return out
}

// side is one of the two things compared: the records that are it, and the number
// that those of one cell and seed come to.
type side struct {
	name string
	is   func(train.Record) bool
	of   func([]train.Record) float64
}

// comparison says what is compared and what is held equal.
type comparison struct {
	a, b side // no b: a is compared with 0
	test Test
	// cell names what pairs agree in beside the data set and, unless across is set,
	// η₀; nil: nothing. Records of a side that agree in it are averaged.
	cell   func(train.Record) string
	across bool // pairs differ in η₀
}

type cellKey struct {
	dataset string
	eta0    float64
	across  bool // of several η₀
	rest    string
}

func (k cellKey) String() string {
	s := datasetName(k.dataset)
	if k.rest != "" {
		s += ", " + k.rest
	}
	if k.across {
		return s
	}
	return fmt.Sprintf("%s, η₀ = %v", s, k.eta0)
}

type sideCells struct {
	side
	cells map[cellKey]map[uint64][]train.Record
	// variants are how many a cell must have of every seed: all that any cell with the
	// same rest has, whatever the data set and η₀.
	variants map[string]int
}

func (c comparison) collect(s side, recs []train.Record) sideCells {
	type kind struct {
		rest string
		variant
	}
	out, seen := sideCells{s, map[cellKey]map[uint64][]train.Record{}, map[string]int{}}, map[kind]bool{}
	for _, r := range learnedOf(recs) {
		if !finite(r.Reward) || !s.is(r) {
			continue
		}
		k := c.key(r)
		if out.cells[k] == nil {
			out.cells[k] = map[uint64][]train.Record{}
		}
		out.cells[k][r.Seed] = append(out.cells[k][r.Seed], r)
		if v := (kind{k.rest, c.variant(r)}); !seen[v] {
			seen[v] = true
			out.variants[k.rest]++
		}
	}
	return out
}

func (c comparison) key(r train.Record) cellKey {
	k := cellKey{dataset: r.Dataset, across: c.across}
	if !c.across {
		k.eta0 = r.Eta0
	}
	if c.cell != nil {
		k.rest = c.cell(r)
	}
	return k
}

// variant tells apart the records of one side, cell and seed. The default
// hyperparameter is one variant, though its value depends on the length of the log;
// so is none, -1.
type variant struct {
	policy, lambda, weight, noise string
	hyper, penalty, eta0          float64
}

func (c comparison) variant(r train.Record) variant {
	v := variant{r.Policy, r.Lambda, r.Weight, r.Noise, -1, -1, 0}
	if r.Hyper.Valid() && !experiment.HasDefaultHyper(r) {
		v.hyper = float64(r.Hyper)
	}
	if r.Penalty.Valid() {
		v.penalty = float64(r.Penalty)
	}
	if c.across {
		v.eta0 = r.Eta0
	}
	return v
}

// value is the side's number for a cell and seed, if all of its records are there.
func (s sideCells) value(k cellKey, seed uint64) (float64, bool) {
	recs := s.cells[k][seed]
	if len(recs) == 0 || len(recs) < s.variants[k.rest] {
		return 0, false
	}
	x := s.of(recs)
	return x, finite(x)
}

func meanReward(recs []train.Record) float64 { return mean(numbers(recs, reward)) }

func meanOf(q func(train.Record) train.Number) func([]train.Record) float64 {
	return func(recs []train.Record) float64 { return mean(numbers(recs, q)) }
}

// compare computes a comparison from records in canonical order.
func (c comparison) compare(recs []train.Record) Comparison {
	out := Comparison{What: c.a.name, Test: c.test, Status: NotRun,
		Estimate: train.None(), Lower: train.None(), Upper: train.None(), Least: train.None()}
	a := c.collect(c.a, recs)
	sides := []sideCells{a}
	if c.b.is != nil {
		out.What += " − " + c.b.name
		sides = append(sides, c.collect(c.b, recs))
	}
	for _, s := range sides {
		if len(s.cells) == 0 {
			out.Incomplete = "no runs of " + s.name
			return out
		}
	}
	cells := c.common(sides)
	if len(cells) == 0 {
		out.Incomplete = fmt.Sprintf("no runs of %s and %s on the same data set, η₀ and hyperparameter", c.a.name,
			c.b.name)
		return out
	}
	var d [][]float64 // differences [seed][cell]
	var lacking []string
	var seeds []uint64
	for _, s := range sides {
		for _, k := range cells {
			seeds = slices.AppendSeq(seeds, maps.Keys(s.cells[k]))
		}
	}
	slices.Sort(seeds)
	for _, seed := range slices.Compact(seeds) {
		row, first, more := make([]float64, len(cells)), "", 0
		for n, s := range sides {
			for i, k := range cells {
				x, ok := s.value(k, seed)
				switch {
				case ok && n == 0:
					row[i] = x
				case ok:
					row[i] -= x
				case first == "":
					first = fmt.Sprintf("seed %d lacks %s on %v", seed, s.name, k)
				default:
					more++
				}
			}
		}
		switch {
		case more > 0:
			lacking = append(lacking, fmt.Sprintf("%s and %d more", first, more))
		case first != "":
			lacking = append(lacking, first)
		default:
			d = append(d, row)
		}
	}
	out.Incomplete = strings.Join(lacking, "; ")
	if len(d) > 0 {
		out.estimate(d, cells)
	}
	return out
}

// common lists the cells that pairs can be made in: of the data sets and η₀ at which
// both sides were run at all, with what either has there.
func (c comparison) common(sides []sideCells) (cells []cellKey) {
	have := map[cellKey]int{} // how many sides have a problem, without rest, or a rest alone
	for _, s := range sides {
		own := map[cellKey]bool{}
		for k := range s.cells {
			own[cellKey{k.dataset, k.eta0, k.across, ""}], own[cellKey{rest: k.rest}] = true, true
		}
		for k := range own {
			have[k]++
		}
	}
	for k, n := range have {
		for rest, m := range have {
			if n == len(sides) && m == len(sides) && k.dataset != "" && rest.dataset == "" {
				cells = append(cells, cellKey{k.dataset, k.eta0, k.across, rest.rest})
			}
		}
	}
	slices.SortFunc(cells, func(x, y cellKey) int {
		return cmp.Or(datasetRank(x.dataset, y.dataset), cmp.Compare(x.eta0, y.eta0), cmp.Compare(x.rest, y.rest))
	})
	return cells
}

// estimate fills in everything that follows from the differences [seed][cell].
func (out *Comparison) estimate(d [][]float64, cells []cellKey) {
	out.Seeds, out.Pairs = len(d), len(d)*len(cells)
	bySeed, byCell := make([]float64, len(d)), make([]float64, len(cells))
	for i := range cells {
		for s, row := range d {
			bySeed[s] += row[i] / float64(len(cells))
			byCell[i] += row[i]
		}
		byCell[i] /= float64(len(d))
	}
	least := slices.Min(byCell)
	out.Least, out.LeastAt = train.Number(least), cells[slices.Index(byCell, least)].String()
	m := mean(bySeed)
	out.Estimate = train.Number(m)
	if out.Seeds > 1 {
		s := float64(out.Seeds)
		t := distuv.StudentsT{Sigma: 1, Nu: s - 1}.Quantile((1 + confidence) / 2)
		half := t * deviation(bySeed) / math.Sqrt(s)
		out.Lower, out.Upper = train.Number(m-half), train.Number(m+half)
	}
	for i := 0; i < len(cells); {
		j := i
		for j < len(cells) && cells[j].dataset == cells[i].dataset {
			j++
		}
		out.ByDataset = append(out.ByDataset, Estimate{cells[i].dataset, train.Number(mean(byCell[i:j]))})
		i = j
	}
	out.Status = out.decide()
}

// decide is the rule of Test for the interval of three seeds or more, and for the estimate
// on every data set, which must all be on the same side of the same thresholds.
func (c Comparison) decide() Status {
	least, most := 1, -1
	for _, e := range c.ByDataset {
		j := c.Test.judge(e.Mean, e.Mean)
		least, most = min(least, j), max(most, j)
	}
	holds, contrary := PointsToConfirmed, PointsToContradicted
	if c.Seeds >= fewestSeeds {
		j := c.Test.judge(c.Lower, c.Upper)
		least, most = min(least, j), max(most, j)
		holds, contrary = Confirmed, Contradicted
	}
	switch {
	case least == 1:
		return holds
	case most == -1:
		return contrary
	}
	return Undecided
}

// judge is 1 for an interval that is as the test has it, −1 for the contrary, else 0.
func (t Test) judge(lower, upper train.Number) int {
	holds, contrary := lower > 0, upper < 0
	if t == Alike {
		holds, contrary = lower >= -alike && upper <= alike, upper < -alike || lower > alike
	}
	switch {
	case holds:
		return 1
	case contrary:
		return -1
	}
	return 0
}

// conclude makes a verdict of comparisons that must all hold: contradicted if one
// is, else not run if one is not, else undecided if one is; else confirmed, or
// pointed to if one is no more than that.
func conclude(number int, claim, lambda string, cs []Comparison) Verdict {
	v := Verdict{Conclusion: number, Claim: claim, Lambda: lambda, Comparisons: cs, Status: Confirmed}
	for _, s := range []Status{Contradicted, PointsToContradicted, NotRun, Undecided, PointsToConfirmed} {
		if slices.ContainsFunc(cs, func(c Comparison) bool { return c.Status == s }) {
			v.Status = s
			break
		}
	}
	return v
}

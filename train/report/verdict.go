package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"opl/train"
	"opl/train/experiment"
)

// Status is what records say about a claim.
type Status string

// A claim is confirmed or contradicted by the interval of its differences, over
// three seeds at least; with fewer it is pointed to at most, by the estimate.
const (
	Confirmed            Status = "confirmed"
	Contradicted         Status = "contradicted"
	Undecided            Status = "undecided"
	PointsToConfirmed    Status = "points to confirmed"
	PointsToContradicted Status = "points to contradicted"
	NotRun               Status = "not run" // records are missing
)

// Test is what a claim says about a mean difference.
type Test string

// With interval [L, U]: a difference is Above if L > 0, and the contrary if U < 0;
// it is Alike if −.02 ≤ L and U ≤ .02, and the contrary if U < −.02 or L > .02.
const (
	Above Test = "> 0"
	Alike Test = "within ±0.02"
)

// alike is the largest mean difference of what is called alike.
const alike = .02

// confidence of intervals.
const confidence = .95

// fewestSeeds are needed for more than a verdict that points to something.
const fewestSeeds = 3

// Comparison is one mean difference, pooled over cells and clustered by seed.
//
// The difference of a seed is the mean over all cells (of a data set, η₀ and what
// else is held equal) of the difference between the two sides; the estimate is the
// mean m̄ of the S seeds' differences, and the interval
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

// Verdict is what records say about one of the paper's conclusions.
type Verdict struct {
	Conclusion  int          `json:"conclusion"` // 1 to 7
	Claim       string       `json:"claim"`
	Lambda      string       `json:"lambda,omitempty"` // the choice of λ that it is under, where it hangs on that
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
	of   func([]train.Record) float64 // nil: the mean reward
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

// sorted orders cells by data set, η₀ and the rest.
func sorted(keys []cellKey) []cellKey {
	slices.SortFunc(keys, func(x, y cellKey) int {
		if c := datasetRank(x.dataset, y.dataset); c != 0 {
			return c
		}
		if x.eta0 != y.eta0 {
			if x.eta0 < y.eta0 {
				return -1
			}
			return 1
		}
		return strings.Compare(x.rest, y.rest)
	})
	return keys
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

// sideCells are a side's records by cell and seed.
type sideCells struct {
	side
	cells map[cellKey]map[uint64][]train.Record
	// variants are what a cell must have of every seed: all that any cell with the
	// same rest has, whatever the data set and η₀.
	variants map[string]map[variant]bool
}

func (c comparison) collect(s side, recs []train.Record) sideCells {
	out := sideCells{s, map[cellKey]map[uint64][]train.Record{}, map[string]map[variant]bool{}}
	for _, r := range recs {
		if r.Objective == train.LoggingPolicy || !finite(r.Reward) || !s.is(r) {
			continue
		}
		k := c.key(r)
		if out.cells[k] == nil {
			out.cells[k] = map[uint64][]train.Record{}
		}
		if out.variants[k.rest] == nil {
			out.variants[k.rest] = map[variant]bool{}
		}
		out.cells[k][r.Seed] = append(out.cells[k][r.Seed], r)
		out.variants[k.rest][c.variant(r)] = true
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
// hyperparameter is one variant, though its value hangs on the length of the log;
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
	if len(recs) == 0 || len(recs) < len(s.variants[k.rest]) {
		return 0, false
	}
	if s.of == nil {
		return meanReward(recs), true
	}
	x := s.of(recs)
	return x, finite(x)
}

func meanReward(recs []train.Record) float64 { return mean(numbers(recs, reward)) }

// meanOf averages a quantity over records.
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
		out.Incomplete = fmt.Sprintf("no runs of %s and %s on the same data set, η₀ and hyperparameter", c.a.name, c.b.name)
		return out
	}
	seeds := seedsOf(sides, cells)
	var complete []uint64
	var lacking []string
	for _, seed := range seeds {
		if l := lacks(sides, cells, seed); l != "" {
			lacking = append(lacking, l)
		} else {
			complete = append(complete, seed)
		}
	}
	if len(lacking) > 0 {
		out.Incomplete = strings.Join(lacking, "; ")
	}
	if len(complete) == 0 {
		return out
	}
	out.estimate(c.differences(sides, cells, complete), cells)
	return out
}

// common lists the cells that pairs can be made in: of the data sets and η₀ at which
// both sides were run at all, with what either has there.
func (c comparison) common(sides []sideCells) []cellKey {
	type problem struct {
		dataset string
		eta0    float64
	}
	at := make([]map[problem]bool, len(sides))
	rests := make([]map[string]bool, len(sides))
	for i, s := range sides {
		at[i], rests[i] = map[problem]bool{}, map[string]bool{}
		for k := range s.cells {
			at[i][problem{k.dataset, k.eta0}] = true
			rests[i][k.rest] = true
		}
	}
	both := func(n int, in func(i int) bool) bool {
		for i := range n {
			if !in(i) {
				return false
			}
		}
		return true
	}
	var cells []cellKey
	for p := range at[0] {
		if !both(len(sides), func(i int) bool { return at[i][p] }) {
			continue
		}
		for rest := range rests[0] {
			if both(len(sides), func(i int) bool { return rests[i][rest] }) {
				cells = append(cells, cellKey{p.dataset, p.eta0, c.across, rest})
			}
		}
	}
	return sorted(cells)
}

func seedsOf(sides []sideCells, cells []cellKey) []uint64 {
	var seeds []uint64
	for _, s := range sides {
		for _, k := range cells {
			for seed := range s.cells[k] {
				seeds = append(seeds, seed)
			}
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// lacks says what a seed lacks, nothing if it has every cell.
func lacks(sides []sideCells, cells []cellKey, seed uint64) string {
	first, more := "", 0
	for _, s := range sides {
		for _, k := range cells {
			if _, ok := s.value(k, seed); ok {
				continue
			}
			if first == "" {
				first = fmt.Sprintf("seed %d lacks %s on %v", seed, s.name, k)
			} else {
				more++
			}
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" and %d more", more)
	}
	return first
}

// differences are those of cells [cell][seed].
func (c comparison) differences(sides []sideCells, cells []cellKey, seeds []uint64) [][]float64 {
	d := make([][]float64, len(cells))
	for i, k := range cells {
		for _, seed := range seeds {
			x, _ := sides[0].value(k, seed)
			if len(sides) > 1 {
				y, _ := sides[1].value(k, seed)
				x -= y
			}
			d[i] = append(d[i], x)
		}
	}
	return d
}

// estimate fills in everything that follows from the differences [cell][seed].
func (out *Comparison) estimate(d [][]float64, cells []cellKey) {
	out.Seeds = len(d[0])
	out.Pairs = len(d) * out.Seeds
	bySeed := make([]float64, out.Seeds)
	least, at := math.Inf(1), 0
	for i, row := range d {
		for s, x := range row {
			bySeed[s] += x / float64(len(d))
		}
		if m := mean(row); m < least {
			least, at = m, i
		}
	}
	out.Least, out.LeastAt = train.Number(least), cells[at].String()
	m := mean(bySeed)
	out.Estimate = train.Number(m)
	if out.Seeds > 1 {
		s := float64(out.Seeds)
		t := distuv.StudentsT{Sigma: 1, Nu: s - 1}.Quantile((1 + confidence) / 2)
		half := t * deviation(bySeed) / math.Sqrt(s)
		out.Lower, out.Upper = train.Number(m-half), train.Number(m+half)
	}
	for i := 0; i < len(d); {
		e, sum, n := Estimate{Dataset: cells[i].dataset}, 0.0, 0
		for ; i < len(d) && cells[i].dataset == e.Dataset; i++ {
			sum += mean(d[i])
			n++
		}
		e.Mean = train.Number(sum / float64(n))
		out.ByDataset = append(out.ByDataset, e)
	}
	out.Status = out.decide()
}

// decide is the rule of Test for three seeds or more. With fewer, the estimates of
// all data sets must lie on the same side of the same thresholds.
func (c Comparison) decide() Status {
	if c.Seeds >= fewestSeeds {
		switch {
		case c.Test.holds(float64(c.Lower), float64(c.Upper)):
			return Confirmed
		case c.Test.fails(float64(c.Lower), float64(c.Upper)):
			return Contradicted
		}
		return Undecided
	}
	holds, fails := true, true
	for _, e := range c.ByDataset {
		m := float64(e.Mean)
		holds = holds && c.Test.holds(m, m)
		fails = fails && c.Test.fails(m, m)
	}
	switch {
	case holds:
		return PointsToConfirmed
	case fails:
		return PointsToContradicted
	}
	return Undecided
}

func (t Test) holds(lower, upper float64) bool {
	if t == Alike {
		return lower >= -alike && upper <= alike
	}
	return lower > 0
}

func (t Test) fails(lower, upper float64) bool {
	if t == Alike {
		return upper < -alike || lower > alike
	}
	return upper < 0
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

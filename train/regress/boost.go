package regress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"opl/graph/kernel/workers"
	"opl/policies/features"
)

// BoostOptions says how trees are grown. The zero value is useful: its defaults are in parentheses.
type BoostOptions struct {
	Rounds int     // trees at most (200)
	Rate   float64 // by which the values of leaves are multiplied (0.1)
	Leaves int     // of a tree, at most (31)
	// Depth of a tree, at most, up to 60. Without it that of 2, 4 and 6 with the least held-out loss; from 20,000
	// rows on 6.
	Depth   int
	MinRows int       // of a leaf, at least (20)
	L2      float64   // λ beside the hessians of a leaf (1); negative: 0
	Bins    int       // of a feature, at most (255)
	Squared bool      // squared loss, of any y; else the logistic loss, of y in [0, 1]
	Groups  [][]int32 // features that are the one-hot columns of one category: split by sets
	// Fold is the held-out part of each row, below Folds: rounds are chosen by cross-validation, and trees grown
	// on all rows. Without it Folds (5 below 20,000 rows, else 1) parts are drawn. With one part a tenth
	// of the rows, or the rows of fold 1 where Fold is given, only say when to stop, and nothing is grown anew.
	Fold    []uint8
	Folds   int
	Seed    uint64
	Threads int
}

const (
	manyRows = 20_000 // from where rounds are chosen on one held-out part, without growing anew
	patience = 15     // rounds without less loss on held-out rows, after which boosting stops
)

func (o BoostOptions) defaults(n int) (BoostOptions, error) {
	o.Rounds, o.Rate, o.Leaves = cmp.Or(o.Rounds, 200), cmp.Or(o.Rate, 0.1), cmp.Or(o.Leaves, 31)
	o.MinRows, o.Bins = cmp.Or(o.MinRows, 20), cmp.Or(o.Bins, mostBins)
	o.L2, o.Threads = max(0, cmp.Or(o.L2, 1)), max(1, o.Threads)
	if o.Folds == 0 {
		if o.Folds = 1; n < manyRows {
			o.Folds = 5
		}
	}
	switch {
	case o.Rounds < 1, o.Leaves < 2, o.Depth < 0, o.Depth > 60, o.MinRows < 1:
		return o, fmt.Errorf("regress: %d rounds of %d leaves, depth %d, %d rows of a leaf: "+
			"want positive numbers, depth up to 60", o.Rounds, o.Leaves, o.Depth, o.MinRows)
	case o.Bins < 2 || o.Bins > mostBins:
		return o, fmt.Errorf("regress: %d bins, want 2 to %d", o.Bins, mostBins)
	case !(o.Rate > 0 && o.Rate <= 1), math.IsInf(o.L2, 0), o.L2 != o.L2:
		return o, fmt.Errorf("regress: rate %v is not in (0, 1], or L2 is %v", o.Rate, o.L2)
	case o.Folds < 1 || o.Folds > 255:
		return o, fmt.Errorf("regress: %d folds, want 1 to 255", o.Folds)
	case o.Fold != nil && len(o.Fold) != n:
		return o, fmt.Errorf("regress: folds of %d rows, want %d", len(o.Fold), n)
	}
	for i, f := range o.Fold {
		if o.Folds > 1 && int(f) >= o.Folds {
			return o, fmt.Errorf("regress: row %d is in fold %d of %d", i, f, o.Folds)
		}
	}
	return o, nil
}

// Boosted holds the learned trees.
type Boosted struct {
	*features.Forest           // scores: of the logistic loss logits
	Rounds           []int     // trees of each output
	Loss             []float64 // mean held-out loss of each output at that many; NaN: there was none
}

// Layer returns the forest as a layer of a policy.
func (b Boosted) Layer() features.Layer { return features.Layer{Trees: b.Forest} }

// Boost learns gradient boosted trees of one output, by Newton steps on histograms: in each round a tree is grown
// whose leaves minimize Σ g_i v + ½ (h_i + λ) v² over the gradients and hessians of the loss. w are weights ≥ 0
// of rows;
// nil: all 1. Results are the same for any number of threads.
func Boost(ctx context.Context, x Rows, y, w []float64, o BoostOptions) (Boosted, error) {
	return boost(ctx, x, make([]int32, x.Len()), 1, y, w, o)
}

// BoostByAction learns trees for each of k outputs, the actions, each on the rows of its own, with its own early
// stopping. Where an action begins is shrunk to the mean of all rows, by five rows of that; one
// with few rows stays there.
func BoostByAction(ctx context.Context, x Rows, action []int32, k int, y, w []float64,
	o BoostOptions) (Boosted, error) {
	return boost(ctx, x, action, k, y, w, o)
}

func boost(ctx context.Context, x Rows, action []int32, k int, y, w []float64, o BoostOptions) (Boosted, error) {
	n := x.Len()
	if o.Threads = max(1, o.Threads); len(y) != n || len(action) != n || w != nil && len(w) != n {
		return Boosted{}, fmt.Errorf("regress: %d rewards, %d actions and %d weights for %d rows", len(y),
			len(action), len(w), n)
	}
	if n == 0 || k < 1 {
		return Boosted{}, errors.New("regress: no rows to learn trees from")
	}
	t := &task{y: y, w: w, o: o}
	var sum, total float64
	of := make([][]int32, k)
	for i, v := range y {
		switch weight := t.weight(int32(i)); {
		case v-v != 0 || !o.Squared && (v < 0 || v > 1):
			return Boosted{}, fmt.Errorf("regress: row %d has the reward %v, want one in [0, 1]", i, v)
		case !(weight >= 0) || math.IsInf(weight, 0):
			return Boosted{}, fmt.Errorf("regress: row %d has the weight %v, want one that is not negative", i, weight)
		case action[i] < 0 || int(action[i]) >= k:
			return Boosted{}, fmt.Errorf("regress: row %d has action %d of %d", i, action[i], k)
		case weight > 0:
			sum, total = sum+weight*v, total+weight
			of[action[i]] = append(of[action[i]], int32(i))
		}
	}
	if _, err := o.defaults(n); err != nil {
		return Boosted{}, err
	}
	mean, prior := 0.5, 0.0
	if total > 0 {
		mean = sum / total
	}
	if k > 1 {
		prior = 5
	}
	var err error
	if t.b, err = newBinned(x, o.Groups, cmp.Or(o.Bins, mostBins), o.Threads); err != nil {
		return Boosted{}, err
	}
	all, errs := make([]Boosted, k), make([]error, k)
	workers.Do(o.Threads, k, func(_, a int) {
		own := *t
		own.mean, own.prior, own.output = mean, prior, a
		all[a], errs[a] = own.learn(ctx, of[a])
	})
	out := Boosted{Forest: &features.Forest{In: x.Dim()}}
	for a, one := range all {
		if errs[a] != nil {
			return Boosted{}, errs[a]
		}
		out.Rounds, out.Loss = append(out.Rounds, one.Rounds...), append(out.Loss, one.Loss...)
		out.join(one.Forest)
	}
	return out, ctx.Err()
}

// join adds the outputs of another forest.
func (b *Boosted) join(f *features.Forest) {
	for i, feature := range f.Feature {
		if feature < -1 {
			f.Feature[i] -= int32(len(b.Sets))
		}
	}
	b.Base, b.Outputs, b.Sizes = append(b.Base, f.Base...), append(b.Outputs, f.Outputs...), append(b.Sizes, f.Sizes...)
	b.Feature, b.Value = append(b.Feature, f.Feature...), append(b.Value, f.Value...)
	b.Right = append(b.Right, f.Right...)
	b.Sets = append(b.Sets, f.Sets...)
}

// task is an output to be learned.
type task struct {
	b           *binned
	y, w        []float64
	o           BoostOptions
	mean, prior float64 // of all outputs, and how many rows that counts for
	output      int
}

func (t *task) weight(i int32) float64 {
	if t.w == nil {
		return 1
	}
	return t.w[i]
}

// base is the score that boosting begins with: the mean, or its logit.
func (t *task) base(rows []int32) float64 {
	sum, total := t.prior*t.mean, t.prior
	for _, i := range rows {
		w := t.weight(i)
		sum, total = sum+w*t.y[i], total+w
	}
	if total == 0 {
		sum, total = t.mean, 1
	}
	m := sum / total
	if t.o.Squared {
		return m
	}
	edge := 0.5 / float64(len(rows)+1)
	m = min(max(m, edge), 1-edge)
	return math.Log(m) - math.Log1p(-m)
}

// learn chooses the number of rounds and grows the trees.
func (t *task) learn(ctx context.Context, rows []int32) (Boosted, error) {
	out := Boosted{Forest: &features.Forest{Base: []float64{t.base(rows)}}, Rounds: []int{0},
		Loss: []float64{math.NaN()}}
	if t.o.Folds == 0 && len(rows) >= manyRows {
		t.o.Folds = 1
	} else if t.o.Folds == 0 {
		t.o.Folds = 5
	}
	var err error
	if t.o, err = t.o.defaults(len(t.y)); err != nil || len(rows) < 4*t.o.MinRows {
		return out, err
	}
	fold := t.folds(rows)
	depths := []int{t.o.Depth}
	if t.o.Depth == 0 {
		if depths = []int{2, 4, 6}; len(rows) >= manyRows || !slices.Contains(fold, 1) {
			depths = []int{6}
		}
	}
	best := candidate{loss: math.NaN()}
	for _, depth := range depths {
		t.o.Depth = depth
		var c candidate
		if t.o.Folds == 1 {
			var into features.Forest
			run, err := t.run(ctx, rows, func(i int) bool { return fold[i] == 1 }, t.o.Rounds, &into)
			if err != nil {
				return out, err
			}
			c = candidate{loss: run.least(), rounds: run.best, forest: &into}
		} else if c, err = t.crossValidate(ctx, rows, fold); err != nil {
			return out, err
		}
		if c.depth = depth; best.depth == 0 || c.loss < best.loss {
			best = c
		}
	}
	t.o.Depth, out.Rounds[0], out.Loss[0] = best.depth, best.rounds, best.loss
	switch {
	case best.forest != nil:
		out.Forest = best.forest
	case best.rounds > 0:
		_, err = t.run(ctx, rows, nil, best.rounds, out.Forest)
	}
	return out, err
}

// candidate is a number of rounds, and what held-out rows say of it.
type candidate struct {
	depth, rounds int
	loss          float64          // NaN: no rows were held out
	forest        *features.Forest // nil: to be grown on all rows
}

// crossValidate finds the number of rounds of the least held-out loss.
func (t *task) crossValidate(ctx context.Context, rows []int32, fold []uint8) (candidate, error) {
	losses := make([]float64, t.o.Rounds+1)
	runs, errs := make([]run, t.o.Folds), make([]error, t.o.Folds)
	workers.Do(t.o.Threads, t.o.Folds, func(_, f int) {
		runs[f], errs[f] = t.run(ctx, rows, func(i int) bool { return int(fold[i]) == f }, t.o.Rounds, nil)
	})
	if err := errors.Join(errs...); err != nil {
		return candidate{}, err
	}
	var total float64
	for _, r := range runs {
		if len(r.losses) == 0 {
			continue // no rows in the fold
		}
		total += r.weight
		for i := range losses {
			losses[i] += r.weight * r.losses[min(i, len(r.losses)-1)]
		}
	}
	best := 0
	for i, v := range losses {
		if v < losses[best] {
			best = i
		}
	}
	return candidate{rounds: best, loss: losses[best] / total}, nil
}

// folds are the held-out parts of rows.
func (t *task) folds(rows []int32) []uint8 {
	fold := make([]uint8, len(rows))
	if t.o.Fold != nil {
		for i, r := range rows {
			fold[i] = t.o.Fold[r]
		}
		return fold
	}
	r := rand.New(rand.NewPCG(t.o.Seed, 0xf01d+uint64(t.output)))
	for i, at := range r.Perm(len(rows)) {
		if t.o.Folds > 1 {
			fold[at] = uint8(i % t.o.Folds)
		} else if float64(i) < .1*float64(len(rows)) {
			fold[at] = 1
		}
	}
	return fold
}

// run is how the loss of held-out rows fell.
type run struct {
	losses []float64 // before the first round, and after each
	best   int       // rounds
	weight float64   // of held-out rows
}

func (r run) least() float64 {
	if len(r.losses) == 0 {
		return math.NaN()
	}
	return r.losses[r.best]
}

// run grows trees on the rows that are not held out, as long as held-out rows gain. It adds those of the best
// number of rounds to into, if there is one, whose base it sets.
func (t *task) run(ctx context.Context, rows []int32, held func(i int) bool, rounds int,
	into *features.Forest) (r run, err error) {
	var teach, out []int32
	for i, row := range rows {
		if held != nil && held(i) {
			out = append(out, row)
			r.weight += t.weight(row)
		} else {
			teach = append(teach, row)
		}
	}
	base := t.base(teach)
	score, judged := make([]float64, len(teach)), make([]float64, len(out))
	for i := range score {
		score[i] = base
	}
	for i := range judged {
		judged[i] = base
	}
	if len(out) > 0 {
		r.losses = append(r.losses, t.loss(out, judged))
	}
	g := &grower{binned: t.b, o: t.o, scratch: make([]int32, len(teach)), grads: make([]pair, t.b.n),
		ordered: make([]pair, len(teach)), best: make([][2]split, len(t.b.columns)),
		order: make([][]ranked, len(t.b.columns))}
	grown := &features.Forest{Base: []float64{base}}
	var ends []int // nodes after each round
	for round := 1; round <= rounds; round++ {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		t.gradients(teach, score, g.grads)
		g.rows = append(g.rows[:0], teach...)
		g.grow()
		if len(g.nodes) == 1 { // nothing to split
			break
		}
		t.each(len(teach), func(i int) { score[i] += g.leafOf(teach[i]) })
		g.write(grown, 0)
		ends = append(ends, len(grown.Feature))
		if len(out) == 0 {
			r.best = round
			continue
		}
		t.each(len(out), func(i int) { judged[i] += g.leafOf(out[i]) })
		if r.losses = append(r.losses, t.loss(out, judged)); r.losses[round] < r.losses[r.best] {
			r.best = round
		} else if round-r.best >= patience {
			break
		}
	}
	if into == nil {
		return r, nil
	}
	into.Base, into.Sets = grown.Base, grown.Sets
	into.Feature, into.Value, into.Right = grown.Feature, grown.Value, grown.Right
	into.Outputs, into.Sizes = slices.Repeat([]int32{int32(t.output)}, r.best), grown.Sizes[:r.best]
	end := 0
	if r.best > 0 {
		end = ends[r.best-1]
	}
	into.Feature, into.Value, into.Right = into.Feature[:end], into.Value[:end], into.Right[:end]
	sets := 0
	for _, feature := range into.Feature {
		sets = max(sets, -1-int(feature))
	}
	into.Sets = into.Sets[:sets]
	return r, nil
}

// each calls do for 0 ≤ i < n, on threads.
func (t *task) each(n int, do func(i int)) {
	const block = 1 << 14
	workers.Do(t.o.Threads, (n+block-1)/block, func(_, part int) {
		for i := part * block; i < min(n, (part+1)*block); i++ {
			do(i)
		}
	})
}

// gradients are those of the loss by the score.
func (t *task) gradients(rows []int32, score []float64, dst []pair) {
	t.each(len(rows), func(i int) {
		dst[rows[i]] = t.gradient(rows[i], score[i])
	})
}

func (t *task) gradient(row int32, score float64) pair {
	y, w := t.y[row], t.weight(row)
	if t.o.Squared {
		return pair{w * (score - y), w}
	}
	p := 1 / (1 + math.Exp(-score))
	return pair{w * (p - y), w * p * (1 - p)}
}

// loss is the mean loss of rows.
func (t *task) loss(rows []int32, score []float64) float64 {
	var sum, total float64
	for i, row := range rows {
		y, w, s := t.y[row], t.weight(row), score[i]
		if total += w; t.o.Squared {
			sum += w * (s - y) * (s - y) / 2
			continue
		}
		sum += w * (max(s, 0) + math.Log1p(math.Exp(-math.Abs(s))) - y*s)
	}
	return sum / total
}

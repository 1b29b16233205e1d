package regress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/graph/kernel/workers"
	"opl/policies/features"
)

// BoostOptions says how trees are grown. The zero value is useful: its defaults are in parentheses.
type BoostOptions struct {
	Rounds  int       // trees at most (200)
	Rate    float64   // by which the values of leaves are multiplied (0.1)
	Leaves  int       // of a tree, at most (31)
	Depth   int       // of a tree, at most (6), up to 60
	MinRows int       // of a leaf, at least (20)
	L2      float64   // λ beside the hessians of a leaf (1); negative: 0
	Bins    int       // of a feature that is in no group, at most (255)
	Groups  [][]int32 // features that are the columns of one category: split by sets, if no row has several
	Sure    int       // so many of the last groups are known to have effects: splits by them pay nothing
	// Fold is the held-out part of each row, below Folds: rounds are chosen by cross-validation, and trees grown
	// on all rows. Without it Folds (3 below 20,000 rows, else 1) parts are drawn. With one part a tenth
	// of the rows, or the rows of fold 1 where Fold is given, only say when to stop, and nothing is grown anew.
	Fold    []uint8
	Folds   int
	Threads int
	Weight  []float64 // ≥ 0 of rows; nil: all 1
	Squared bool      // the loss is ½(y − score)², of any y, and h_i = 1
}

const (
	manyRows = 20_000 // from where rounds are chosen on one held-out part, without growing anew
	patience = 15     // rounds without less loss on held-out rows, after which boosting stops
)

func (o BoostOptions) defaults(n int) (BoostOptions, error) {
	o.Rounds, o.Rate, o.Leaves = cmp.Or(o.Rounds, 200), cmp.Or(o.Rate, 0.1), cmp.Or(o.Leaves, 31)
	o.Depth, o.MinRows, o.Bins = cmp.Or(o.Depth, 6), cmp.Or(o.MinRows, 20), cmp.Or(o.Bins, mostBins)
	o.L2, o.Threads = max(0, cmp.Or(o.L2, 1)), max(1, o.Threads)
	switch {
	case o.Rounds < 1, o.Leaves < 2, o.Depth < 0, o.Depth > 60, o.MinRows < 1:
		return o, fmt.Errorf("regress: %d rounds of %d leaves, depth %d, %d rows of a leaf: "+
			"want positive numbers, depth up to 60", o.Rounds, o.Leaves, o.Depth, o.MinRows)
	case o.Bins < 2 || o.Bins > mostBins:
		return o, fmt.Errorf("regress: %d bins, want 2 to %d", o.Bins, mostBins)
	case !(o.Rate > 0 && o.Rate <= 1), math.IsInf(o.L2, 0), o.L2 != o.L2:
		return o, fmt.Errorf("regress: rate %v is not in (0, 1], or L2 is %v", o.Rate, o.L2)
	case o.Folds < 0 || o.Folds > 255:
		return o, fmt.Errorf("regress: %d folds, want 1 to 255", o.Folds)
	case o.Fold != nil && len(o.Fold) != n, o.Weight != nil && len(o.Weight) != n:
		return o, fmt.Errorf("regress: folds or weights of %d rows, want %d", max(len(o.Fold), len(o.Weight)), n)
	}
	for i, f := range o.Fold {
		if o.Folds != 1 && int(f) >= o.Folds {
			return o, fmt.Errorf("regress: row %d is in fold %d of %d", i, f, o.Folds)
		}
	}
	return o, nil
}

// Boosted holds the learned trees.
type Boosted struct {
	*features.Forest           // scores are logits; with Squared what is predicted
	Rounds           []int     // trees of each output
	Loss             []float64 // mean held-out loss of each output at that many; NaN: there was none
}

// Layer returns the forest as a layer of a policy.
func (b Boosted) Layer() features.Layer { return features.Layer{Trees: b.Forest} }

// Boost learns gradient boosted trees of one output, by Newton steps on histograms: in each round a tree is grown
// whose leaves minimize Σ g_i v + ½ (h_i + λ) v² over the gradients and hessians of the logistic loss of y in [0,
// 1]. The gain of a split by a set of m members of a group is lowered by 2/π·max(0, m − 6)·Σg_i²/Σh_i: about
// what the best order of members gains where the group has no effect.
// Results are the same for any number of threads.
func Boost(ctx context.Context, x Rows, y []float64, o BoostOptions) (Boosted, error) {
	return BoostByAction(ctx, x, make([]int32, x.Len()), 1, y, o)
}

// BoostEach learns trees for each of several y of the same rows, by their weights.
func BoostEach(ctx context.Context, x Rows, y, weight [][]float64, o BoostOptions) ([]Boosted, error) {
	out := make([]Boosted, len(y))
	var b *binned
	for j := range y {
		o.Weight = weight[j]
		t := &task{o: o, b: b}
		var err error
		if out[j], err = t.boost(ctx, x, make([]int32, x.Len()), 1, y[j], false); err != nil {
			return nil, err
		}
		b = t.b
	}
	return out, nil
}

// BoostByAction learns trees for each of k outputs, the actions, each on the rows of its own, with its own early
// stopping. Where an action begins is shrunk to the mean of all rows, by five rows of that; one
// with few rows stays there.
func BoostByAction(ctx context.Context, x Rows, action []int32, k int, y []float64, o BoostOptions) (Boosted, error) {
	return (&task{o: o}).boost(ctx, x, action, k, y, false)
}

// BoostExclusive learns trees for k outputs, the actions, exactly one of which is right in every row, see [Exclusive]:
// each row tells of all of them. Scores are those of a softmax.
func BoostExclusive(ctx context.Context, x Rows, action []int32, k int, y []float64, o BoostOptions) (Boosted, error) {
	return (&task{o: o}).boost(ctx, x, action, k, y, true)
}

func (t *task) boost(ctx context.Context, x Rows, action []int32, k int, y []float64, exclusive bool) (Boosted, error) {
	n := x.Len()
	if len(y) != n || len(action) != n {
		return Boosted{}, fmt.Errorf("regress: %d rewards and %d actions for %d rows", len(y), len(action), n)
	}
	if n == 0 || k < 1 {
		return Boosted{}, errors.New("regress: no rows to learn trees from")
	}
	o, err := t.o.defaults(n)
	if err != nil {
		return Boosted{}, err
	}
	t.y, t.o = y, o
	of, total := make([][]int32, k), 0.
	for i, v := range y {
		switch {
		case !(v >= 0 && v <= 1) && !(o.Squared && v-v == 0):
			return Boosted{}, fmt.Errorf("regress: row %d has the reward %v, want one in [0, 1]", i, v)
		case action[i] < 0 || int(action[i]) >= k:
			return Boosted{}, fmt.Errorf("regress: row %d has action %d of %d", i, action[i], k)
		}
		t.mean += t.weight(int32(i)) * v
		total += t.weight(int32(i))
		of[action[i]] = append(of[action[i]], int32(i))
	}
	t.mean /= max(total, math.SmallestNonzeroFloat64)
	if k > 1 {
		t.prior = 5
	}
	if t.b == nil {
		if t.b, err = newBinned(x, o.Groups, o.Bins, o.Threads); err != nil {
			return Boosted{}, err
		}
	}
	if exclusive {
		t.exclusive, t.k = action, k
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(i)
		}
		out, err := t.learn(ctx, rows)
		out.In, out.Base = x.Dim(), make([]float64, k)
		return out, cmp.Or(err, ctx.Err())
	}
	all, errs := make([]Boosted, k), make([]error, k)
	workers.Do(o.Threads, k, func(_, a int) {
		own := *t
		own.output = a
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
	y           []float64
	o           BoostOptions
	mean, prior float64 // of all outputs, and how many rows that counts for
	output      int
	// exclusive outputs grow together: a row of action a and reward y says that a is right with weight y, and else
	// another. nil: the task is one output.
	exclusive []int32 // the action of each row
	k         int     // of them
}

func (t *task) weight(row int32) float64 {
	if t.o.Weight == nil {
		return 1
	}
	return t.o.Weight[row]
}

// base is the score that boosting begins with: the mean, or its logit.
func (t *task) base(rows []int32) float64 {
	if t.exclusive != nil {
		return 0
	}
	sum, total := t.prior*t.mean, t.prior
	for _, i := range rows {
		sum += t.weight(i) * t.y[i]
		total += t.weight(i)
	}
	if total == 0 {
		sum, total = t.mean, 1
	}
	if t.o.Squared {
		return sum / total
	}
	edge := 0.5 / float64(len(rows)+1)
	m := min(max(sum/total, edge), 1-edge)
	return math.Log(m) - math.Log1p(-m)
}

// learn chooses the number of rounds and grows the trees.
func (t *task) learn(ctx context.Context, rows []int32) (Boosted, error) {
	out := Boosted{Forest: &features.Forest{Base: []float64{t.base(rows)}}, Rounds: []int{0},
		Loss: []float64{math.NaN()}}
	if len(rows) < 4*t.o.MinRows {
		return out, nil
	}
	if t.o.Folds == 0 {
		if t.o.Folds = 1; len(rows) < manyRows {
			t.o.Folds = 3
		}
	}
	fold := t.folds(rows)
	if t.o.Folds == 1 {
		run, err := t.run(ctx, rows, func(i int) bool { return fold[i] == 1 }, t.o.Rounds, out.Forest)
		if out.Rounds[0] = run.best; len(run.losses) > 0 {
			out.Loss[0] = run.losses[run.best]
		}
		return out, err
	}
	var err error
	if out.Rounds[0], out.Loss[0], err = t.crossValidate(ctx, rows, fold); err == nil && out.Rounds[0] > 0 {
		_, err = t.run(ctx, rows, nil, out.Rounds[0], out.Forest)
	}
	return out, err
}

// crossValidate finds the number of rounds of the least held-out loss, and that loss.
func (t *task) crossValidate(ctx context.Context, rows []int32, fold []uint8) (best int, loss float64, err error) {
	losses := make([]float64, t.o.Rounds+1)
	runs, errs := make([]run, t.o.Folds), make([]error, t.o.Folds)
	workers.Do(t.o.Threads, t.o.Folds, func(_, f int) {
		runs[f], errs[f] = t.run(ctx, rows, func(i int) bool { return int(fold[i]) == f }, t.o.Rounds, nil)
	})
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	var total float64
	for _, r := range runs {
		if len(r.losses) == 0 {
			continue // no rows in the fold
		}
		total += r.held
		for i := range losses {
			losses[i] += r.held * r.losses[min(i, len(r.losses)-1)]
		}
	}
	best = floats.MinIdx(losses)
	return best, losses[best] / total, nil
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
	r := rand.New(rand.NewPCG(0, 0xf01d+uint64(t.output)))
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
	held   float64   // rows that were held out
}

// run grows trees on the rows that are not held out, as long as held-out rows gain. It adds those of the best
// number of rounds to into, if there is one, whose base it sets.
func (t *task) run(ctx context.Context, rows []int32, held func(i int) bool, rounds int,
	into *features.Forest) (r run, err error) {
	var teach, out []int32
	for i, row := range rows {
		if held != nil && held(i) {
			out = append(out, row)
		} else {
			teach = append(teach, row)
		}
	}
	for _, row := range out {
		r.held += t.weight(row)
	}
	base, k := t.base(teach), max(1, t.k)
	score, judged := slices.Repeat([]float64{base}, len(teach)*k), slices.Repeat([]float64{base}, len(out)*k)
	var p []float64 // of exclusive outputs
	if len(out) > 0 {
		r.losses = append(r.losses, t.loss(out, judged))
	}
	g := &grower{binned: t.b, o: t.o, scratch: make([]int32, len(teach)), grads: make([]pair, t.b.n),
		ordered: make([]pair, len(teach)), best: make([][2]split, len(t.b.columns)),
		order: make([][]ranked, len(t.b.columns))}
	grown := &features.Forest{Base: []float64{base}}
	var ends, trees []int // nodes and trees after each round
	for round := 1; round <= rounds; round++ {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if t.exclusive != nil {
			p = slices.Grow(p[:0], len(score))[:len(score)]
			kernel.Softmax(p, score, k)
		}
		before := len(grown.Sizes)
		for a := range k {
			t.gradients(teach, score, p, a, g.grads)
			g.rows = append(g.rows[:0], teach...)
			g.grow()
			if len(g.nodes) == 1 { // nothing to split
				continue
			}
			t.each(len(teach), func(i int) { score[i*k+a] += g.leafOf(teach[i]) })
			t.each(len(out), func(i int) { judged[i*k+a] += g.leafOf(out[i]) })
			g.write(grown, t.output+a)
		}
		if len(grown.Sizes) == before {
			break
		}
		ends, trees = append(ends, len(grown.Feature)), append(trees, len(grown.Sizes))
		if len(out) == 0 {
			r.best = round
			continue
		}
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
	end, many := 0, 0
	if r.best > 0 {
		end, many = ends[r.best-1], trees[r.best-1]
	}
	into.Outputs, into.Sizes = grown.Outputs[:many], grown.Sizes[:many]
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

// gradients are those of the loss by the score, of exclusive outputs by that of a, where p are their probabilities.
func (t *task) gradients(rows []int32, score, p []float64, a int, dst []pair) {
	t.each(len(rows), func(i int) {
		row := rows[i]
		w := t.weight(row)
		switch {
		case t.exclusive != nil:
			d := t.among(row, p[i*t.k:(i+1)*t.k], a)
			dst[row] = pair{w * d.g, w * d.h}
		case t.o.Squared:
			dst[row] = pair{w * (score[i] - t.y[row]), w}
		default:
			p := 1 / (1 + math.Exp(-score[i]))
			dst[row] = pair{w * (p - t.y[row]), w * p * (1 - p)}
		}
	})
}

// among is the gradient by the score of output a, p_a less the probability that a is right given the reward, and the
// hessian as if that were known.
func (t *task) among(row int32, p []float64, a int) pair {
	y, at := t.y[row], int(t.exclusive[row])
	h := p[a] * (1 - p[a])
	if a == at {
		return pair{p[a] - y, h}
	}
	return pair{p[a] * (y - p[at]) / max(1-p[at], 1e-12), h}
}

// score is that of row at i; of exclusive outputs the log-odds of the one that was played.
func (t *task) score(score []float64, row int32, i int) float64 {
	if t.exclusive == nil {
		return score[i]
	}
	z, a := score[i*t.k:(i+1)*t.k], t.exclusive[row]
	of := z[a]
	z[a] = math.Inf(-1)
	odds := of - floats.LogSumExp(z)
	z[a] = of
	return odds
}

// loss is the mean loss of rows.
func (t *task) loss(rows []int32, score []float64) float64 {
	var sum, total float64
	for i, row := range rows {
		s := t.score(score, row, i)
		loss := max(s, 0) + math.Log1p(math.Exp(-math.Abs(s))) - t.y[row]*s
		if t.o.Squared {
			loss = (t.y[row] - s) * (t.y[row] - s) / 2
		}
		sum += t.weight(row) * loss
		total += t.weight(row)
	}
	return sum / max(total, math.SmallestNonzeroFloat64)
}

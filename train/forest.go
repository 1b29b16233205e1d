package train

import (
	"context"
	"math"
	"slices"

	"opl/policies/features"
	"opl/train/logs"
	"opl/train/regress"
)

// mostGrown are the numbers that trees are grown from, a category being one: of large tables some rows are left out.
const mostGrown = 1 << 22

// fewBins are the bins of all features that fit into a processor's cache: of wide tables of few rows each has fewer.
const fewBins = 1 << 14

// trees learns boosted trees of each action, from the rows that played it.
func trees(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
	o := t.boosting(rows)
	if p.deep {
		o.Depth, o.Leaves = 8, 32
	}
	x, action, y := t.of(t.grown(rows, 1))
	if t.own > 0 { // an action's name says nothing of others
		for i := range y {
			clear(x.Data[i*x.Width+t.own : (i+1)*x.Width])
		}
		o.Groups = o.Groups[:len(o.Groups)-1]
	}
	got, err := regress.BoostByAction(ctx, x, action, t.k, y, o)
	if err != nil {
		return nil, err
	}
	return []features.Layer{got.Layer()}, nil
}

// leastDeep is from how many rows deep trees are tried.
const leastDeep = 1000

// depth chooses deep trees if they lower the log-loss of held-out rows by more than [needless]. In large tables
// they may raise it by as much: they gain more from rows, and folds learn from fewer than the policy will. Where
// actions have features, trees are deep.
func depth(ctx context.Context, t *table, rows []int, of *tuning) (*tuning, error) {
	if of != nil {
		return of, nil
	}
	if t.context > 0 || len(rows) < leastDeep || len(rows) <= mostTuning && len(t.y) >= leastWeighed { // more will tell
		return &tuning{deep: t.context > 0}, nil
	}
	best, margin := &tuning{}, float64(needless)
	if len(rows) > mostTuning {
		margin = -needless
	}
	at := t.judged(rows)
	y, least := logs.Pick(logs.Pick(t.y, rows), at), math.Inf(1)
	for _, deep := range []bool{false, true} {
		p := &tuning{deep: deep}
		_, z, err := t.cross(ctx, kind{fit: trees}, p, rows)
		if err != nil {
			return nil, err
		}
		p.heldOut = &z
		_, loss, err := stack(ctx, [][]float64{z.at(at).logged}, []int{0}, nil, y)
		if err != nil {
			return nil, err
		}
		if loss < least {
			best, least = p, loss-margin
		}
	}
	return best, nil
}

// exclusiveTrees learns boosted trees of a softmax over actions of which exactly one is right.
func exclusiveTrees(ctx context.Context, t *table, rows []int, _ *tuning) ([]features.Layer, error) {
	o := t.boosting(rows)
	o.Depth, o.Leaves, o.MinRows, o.Rate, o.Rounds = 3, 6, 20, .16, 100 // each is grown from the rows of all actions
	x, action, y := t.of(t.grown(rows, t.k))
	got, err := regress.BoostExclusive(ctx, x, action, t.k, y, o)
	if err != nil {
		return nil, err
	}
	odds := features.Layer{Activation: features.Odds}
	for a := range t.k {
		odds.Weights = append(odds.Weights, make([]float64, t.k))
		odds.Weights[a][a] = 1
	}
	return []features.Layer{got.Layer(), odds}, nil
}

// pooled learns boosted trees of all actions together, in which the action is one more category, or if actions are
// numbers one more feature.
func pooled(ctx context.Context, t *table, rows []int, _ *tuning) ([]features.Layer, error) {
	o, d := t.boosting(rows), t.x.Width
	rows = t.grown(rows, 1)
	of, action, y := t.of(rows)
	wide := t.k
	if t.numeric != nil { // cliffs are where the number and features meet
		wide, o.Depth, o.Leaves = 1, 6, 24
	}
	x := regress.Matrix{Width: d + wide, Data: make([]float64, len(rows)*(d+wide))}
	for i := range rows {
		row := x.Data[i*x.Width : (i+1)*x.Width]
		of.Row64(i, row)
		if t.numeric != nil {
			row[d] = t.numeric.value[rows[i]]
		} else {
			row[d+int(action[i])] = 1
		}
	}
	own := make([]int32, t.k)
	for a := range own {
		own[a] = int32(d + a)
	}
	if t.numeric == nil {
		o.Groups, o.Sure = append(append([][]int32{}, o.Groups...), own), 1
	}
	got, err := regress.Boost(ctx, x, y, o)
	if err != nil {
		return nil, err
	}
	return []features.Layer{{Trees: apiece(got.Forest, d, t.k, t.numeric)}}, nil
}

// columns counts the numbers and the categories.
func (t *table) columns() int {
	columns := t.x.Width
	for _, group := range t.groups {
		columns -= len(group) - 1
	}
	return max(1, columns)
}

// grown are the rows that trees of so many outputs, each of all rows, are grown from.
func (t *table) grown(rows []int, outputs int) []int {
	return evenly(rows, min(mostGrown/outputs/t.columns(), mostTable/2/max(1, t.x.Width)))
}

// of are the contexts, actions and rewards of rows.
func (t *table) of(rows []int) (x regress.Matrix, action []int32, y []float64) {
	d := t.x.Width
	x = regress.Matrix{Width: d, Data: make([]float64, 0, len(rows)*d)}
	buf := make([]float64, d)
	for _, r := range rows {
		x.Data = append(x.Data, t.row(r, buf)...)
		action, y = append(action, t.action[r]), append(y, t.y[r])
	}
	return x, action, y
}

// boosting says how trees are grown. Where some rows of the table are held out already, the number of trees is that of
// one part of the rest, else it is chosen by folds and trees are grown on all rows.
func (t *table) boosting(rows []int) regress.BoostOptions {
	o := regress.BoostOptions{Groups: t.groups, Threads: t.threads, Depth: 4, Leaves: 12,
		Rate: .08, Rounds: 300, MinRows: 10, L2: 3, Bins: min(255, max(32, len(rows)/100, fewBins/t.columns()))}
	if len(rows) < len(t.y) {
		o.Folds = 1
	}
	return o
}

// apiece is a forest of features and k more, of which one is 1 and tells the action, or, of numbers, of one more
// that is the number, as a forest of k outputs and the features alone: for each action the splits by it are decided.
// An interval that a tree divides has its mean, as a tree for each part with a share of the values.
func apiece(f *features.Forest, d, k int, of *numbers) *features.Forest {
	out := &features.Forest{In: d}
	for a := range k {
		out.Base = append(out.Base, f.Base[0])
		first := 0
		for _, size := range f.Sizes {
			for _, part := range of.parts(a, f, first, int(size), d) {
				before := len(out.Feature)
				graft(out, f, first, d, part.share, func(j int) float64 { // feature j of action a
					if of != nil {
						return part.at
					} else if j == d+a {
						return 1
					}
					return 0
				})
				out.Outputs, out.Sizes = append(out.Outputs, int32(a)), append(out.Sizes, int32(len(out.Feature)-before))
			}
			first += int(size)
		}
	}
	return out
}

// part is a share of an action within which a tree does not split, and a number there.
type part struct{ at, share float64 }

// parts divides an action's interval where a tree splits by feature d, the number; others are one part.
func (n *numbers) parts(a int, f *features.Forest, first, size, d int) (parts []part) {
	if n == nil {
		return []part{{0, 1}}
	} else if a >= n.of.Bins() {
		return []part{{n.of.Center(a), 1}}
	}
	ends := []float64{n.of.Edges[a], n.of.Edges[a+1]}
	for i := first; i < first+size; i++ {
		if v := f.Value[i]; int(f.Feature[i]) == d && v > ends[0] && v < ends[1] {
			ends = append(ends, v)
		}
	}
	ends = slices.Compact(slices.Sorted(slices.Values(ends)))
	for p, end := range ends[1:] {
		parts = append(parts, part{ends[p] + (end-ends[p])/2, (end - ends[p]) / n.of.Width(a)})
	}
	return parts
}

// graft appends the tree of f at node i to out, with a share of its values, as it is where features from d on are own.
func graft(out, f *features.Forest, i, d int, share float64, own func(j int) float64) {
	left, right := i+1, i+int(f.Right[i])
	switch j := int(f.Feature[i]); {
	case j == -1:
		out.Feature, out.Right = append(out.Feature, -1), append(out.Right, 0)
		out.Value = append(out.Value, share*f.Value[i])
	case j >= d:
		if own(j) <= f.Value[i] {
			graft(out, f, left, d, share, own)
		} else {
			graft(out, f, right, d, share, own)
		}
	case j < -1 && int(f.Sets[-2-j][0]) >= d:
		to := right
		for _, s := range f.Sets[-2-j] {
			if own(int(s)) == 1 {
				to = left
			}
		}
		graft(out, f, to, d, share, own)
	default:
		at := len(out.Feature)
		if j < -1 {
			out.Sets = append(out.Sets, f.Sets[-2-j])
			j = -1 - len(out.Sets)
		}
		out.Feature, out.Right = append(out.Feature, int32(j)), append(out.Right, 0)
		out.Value = append(out.Value, f.Value[i])
		graft(out, f, left, d, share, own)
		out.Right[at] = int32(len(out.Feature) - at)
		graft(out, f, right, d, share, own)
	}
}

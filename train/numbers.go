package train

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/train/logs"
	"opl/train/regress"
)

// numbers is what a table knows of actions that are numbers.
type numbers struct {
	of    numeric.Actions
	value []float64 // of each row
}

// numbersOf reads the numbers of some rows; nil: the log's actions are names.
func numbersOf(log *logs.Log, rows []int) *numbers {
	if log.Numbers == nil {
		return nil
	}
	n := &numbers{of: log.Numbers.Of}
	for _, r := range rows {
		n.value = append(n.value, log.Numbers.Value[r])
	}
	return n
}

const (
	averaged    = 5    // numbers of a bin
	mostWaved   = 64   // features of the context that waves are of, at most
	fittedWaves = 200  // waves of the regression
	mostTuned   = 3000 // rows that lengths of waves are chosen on
	noLeaves    = 1000 // penalty of leaves from which on they say too little
)

// curves learns a logistic regression on waves of the context and the number, whose lengths are the most likely ones,
// and on the leaves of a tree of both: curves that bend, and cliffs. A bin has the mean over its numbers.
func curves() kind {
	return kind{"curves", "logistic regression on waves, and the leaves of a tree, of features and the number",
		func(t *table) bool { return t.numeric != nil && t.x.Width <= mostWaved }, tuneCurves, fitCurves}
}

// inputs are contexts and numbers, and rewards less their mean.
func (t *table) inputs(rows []int) (x *mat.Dense, y []float64, mean float64) {
	d := t.x.Width
	x = mat.NewDense(len(rows), d+1, nil)
	for i, r := range rows {
		copy(x.RawRowView(i), t.x.Data[r*d:(r+1)*d])
		x.Set(i, d, t.numeric.value[r])
		y = append(y, t.y[r])
	}
	mean = (stat.Mean(y, nil)*float64(len(y)) + .5) / float64(len(y)+1)
	for i := range y {
		y[i] -= mean
	}
	return x, y, mean
}

// tuneCurves chooses lengths and penalties. Of each half of the rows the leaves are those of a tree that the other half
// grew, so that they count for what they say of rows that they were not grown from.
func tuneCurves(ctx context.Context, t *table, rows []int) (*tuning, error) {
	var halves, tuned [2][]int
	for i, r := range rows {
		halves[i%2] = append(halves[i%2], r)
	}
	for f, half := range halves {
		tuned[f] = evenly(half, mostTuned/2)
	}
	x, y, mean := t.inputs(slices.Concat(tuned[:]...))
	more, from := regress.Matrix{}, 0
	var of [2]regress.Matrix
	for f, half := range tuned {
		tree, err := t.tree(ctx, halves[1-f])
		if err != nil {
			return nil, err
		}
		of[f] = entered(tree, mat.DenseCopyOf(x.Slice(from, from+len(half), 0, t.x.Width+1)))
		more.Width, from = more.Width+of[f].Width, from+len(half)
	}
	for f, half := range tuned {
		for i := range half {
			row := make([]float64, more.Width)
			copy(row[f*of[0].Width:], of[f].Data[i*of[f].Width:(i+1)*of[f].Width])
			more.Data = append(more.Data, row...)
		}
	}
	w := &regress.Waves{Penalties: [2]float64{5, 5}}
	place := map[int]int{}
	for j, s := range t.strata() {
		if _, has := place[s]; !has {
			place[s] = len(place)
			spread := stat.StdDev(mat.Col(nil, j, x), nil)
			if !(spread > 0) {
				spread = 1
			}
			w.Lengths = append(w.Lengths, 2*spread)
		}
		w.Stratum = append(w.Stratum, place[s])
	}
	for s := range w.Lengths {
		w.Lengths[s] *= math.Sqrt(float64(len(w.Lengths) + 1))
	}
	low, high := t.numeric.of.Range()
	w.Stratum, w.Lengths = append(w.Stratum, len(w.Lengths)), append(w.Lengths, (high-low)/4)
	return &tuning{waves: w}, w.Tune(x, more, y, mean*(1-mean))
}

// tree grows a tree of the context and the number.
func (t *table) tree(ctx context.Context, rows []int) (*features.Forest, error) {
	x, y, mean := t.inputs(rows)
	for i := range y {
		y[i] += mean
	}
	got, err := regress.Boost(ctx, regress.Matrix{Width: t.x.Width + 1, Data: x.RawMatrix().Data}, y, nil,
		regress.BoostOptions{Groups: t.groups, Rounds: 1, Depth: 6, Leaves: 16, Folds: 1,
			Fold: make([]uint8, len(rows)), Threads: t.threads})
	return got.Forest, err
}

// leaves are the nodes of a forest that are some.
func leaves(f *features.Forest) (nodes []int) {
	for i, j := range f.Feature {
		if j == -1 {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// entered are columns of a tree's leaves, 1 in the one that a row of x falls into.
func entered(tree *features.Forest, x *mat.Dense) regress.Matrix {
	nodes := leaves(tree)
	each := &features.Forest{In: tree.In, Base: make([]float64, len(nodes)), Sets: tree.Sets}
	for k, node := range nodes {
		from := len(each.Value)
		each.Outputs, each.Sizes = append(each.Outputs, int32(k)), append(each.Sizes, int32(len(tree.Feature)))
		each.Feature, each.Right = append(each.Feature, tree.Feature...), append(each.Right, tree.Right...)
		each.Value = append(each.Value, tree.Value...)
		for _, other := range nodes {
			each.Value[from+other] = 0
		}
		each.Value[from+node] = 1
	}
	n, _ := x.Dims()
	columns := regress.Matrix{Width: len(nodes), Data: make([]float64, n*len(nodes))}
	if len(nodes) == 0 {
		return columns
	}
	net := features.NewNet([]features.Layer{{Trees: each}})
	scratch := make([]float64, net.Scratch())
	for i := range n {
		net.Apply(columns.Data[i*len(nodes):(i+1)*len(nodes)], x.RawRowView(i), scratch)
	}
	return columns
}

func fitCurves(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
	rows = evenly(rows, mostTable/4/fittedWaves)
	x, y, mean := t.inputs(rows)
	tree := &features.Forest{In: t.x.Width + 1}
	if p.waves.Penalties[1] < noLeaves {
		var err error
		if tree, err = t.tree(ctx, rows); err != nil {
			return nil, err
		}
	}
	nodes, f, noise := leaves(tree), p.waves.Frequencies(fittedWaves), mean*(1-mean)
	h := regress.Columns(x, f, entered(tree, x))
	o := regress.Options{Offset: slices.Repeat([]float64{math.Log(mean / (1 - mean))}, len(rows)), Threads: t.threads,
		Iterations: 60, Penalties: slices.Repeat([]float64{noise * p.waves.Penalties[0]}, 2*fittedWaves)}
	for range nodes {
		o.Penalties = append(o.Penalties, noise*p.waves.Penalties[1])
	}
	for i := range y {
		y[i] += mean
	}
	theta, err := regress.Logistic(ctx, regress.Matrix{Width: len(o.Penalties), Data: h.RawMatrix().Data}, y, o)
	if err != nil {
		return nil, err
	}
	waves := t.waves(f, theta, o.Offset[0])
	if len(nodes) == 0 {
		return waves, nil
	}
	for k, node := range nodes {
		tree.Value[node] = theta[2*fittedWaves+k]
	}
	tree.Base[0] = 0
	sum := features.Layer{}
	for a := range t.k {
		row := make([]float64, 2*t.k)
		row[a], row[t.k+a] = 1, 1
		sum.Weights = append(sum.Weights, row)
	}
	return []features.Layer{{Branches: &features.Branches{In: t.x.Width, Chains: [][]features.Layer{waves,
		{{Trees: apiece(tree, t.x.Width, t.k, t.numeric)}}}}}, sum}, nil
}

// waves are the layers of a regression on waves: cosines and sines of the context, of which an action has the means
// over its numbers by cos(u + v) = cos u cos v − sin u sin v and its like.
func (t *table) waves(f *mat.Dense, theta []float64, bias float64) []features.Layer {
	m, d := f.Dims()
	d--
	first, last := features.Layer{Activation: features.Cos}, features.Layer{}
	for k := range 2 * m {
		first.Weights = append(first.Weights, slices.Clone(f.RawRowView(k % m)[:d]))
		first.Bias = append(first.Bias, -math.Pi/2*float64(k/m)) // a sine is a cosine that comes later
	}
	unit := 1 / math.Sqrt(float64(m))
	for a := range t.k {
		row, at := make([]float64, 2*m), t.numeric.within(a)
		for _, v := range at {
			for k := range m {
				sin, cos := math.Sincos(f.At(k, d) * v)
				row[k] += unit / float64(len(at)) * (theta[k]*cos + theta[m+k]*sin)
				row[m+k] += unit / float64(len(at)) * (theta[m+k]*cos - theta[k]*sin)
			}
		}
		last.Weights, last.Bias = append(last.Weights, row), append(last.Bias, bias)
	}
	return []features.Layer{first, last}
}

// within are numbers of an action, evenly spaced.
func (n *numbers) within(a int) (at []float64) {
	if a >= n.of.Bins() {
		return []float64{n.of.Center(a)}
	}
	for p := range averaged {
		at = append(at, n.of.Edges[a]+n.of.Width(a)*(float64(p)+.5)/averaged)
	}
	return at
}

package ope

import (
	"math"
	"runtime"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
	"opl/train/logs"
	"opl/train/regress"
)

const (
	mostGrown  = 1 << 22 // numbers that trees are grown from
	mostRows   = 4000    // rows of an action, and numbers, of which parts choose the number of trees in turn
	mostInTurn = 1 << 20
)

// Trees learns rewards by gradient boosted trees of each action, as [ModelOptions] say. In a log with
// choices all actions share trees, which read φ(x) and z(a) one after the other. Trees minimize
// the squared error of the rewards outside of the fold of row i. Three parts of these rows choose in
// turn how many trees there are. Where actions have more than 4,000 rows on average, or all rows more
// than 2²⁰ numbers, one part of nine does. No group is in two parts.
//
// The trees of an action start at its mean reward, shrunk towards that of all rows by five
// rows. Fewer than 40 rows of an action grow no trees. With a penalty of 1 a leaf counts three more
// rows without an effect. Splits of a category's values are sets of values. Predictions may leave
// [0, 1]. At most 2²² numbers teach: of a larger log evenly spaced rows do.
//
// Friedman (2001), Greedy function approximation.
func Trees(log *logs.Log, o ModelOptions) (Model, error) {
	t, fold, err := o.begin(log)
	if err != nil {
		return nil, err
	}
	g := grove{t: t, d: t.log.X.Dim(), k: t.k}
	if t.log.Choices != nil {
		if g.c, err = cross(t.log); err != nil {
			return nil, err
		}
		g.d, g.k = g.d+g.c.p, 1
	}
	g.o = regress.BoostOptions{Groups: o.on.groups, Threads: runtime.GOMAXPROCS(0), Squared: true,
		Depth: 4, Leaves: 12, Rate: .16, Rounds: 150, MinRows: 10, L2: 3 * o.Penalty, Folds: 3}
	if n := min(t.n, mostGrown/g.d); n/g.k > mostRows || n*g.d > mostInTurn {
		g.o.Folds, g.part = 1, t.folds(9, ^o.Seed)
	} else {
		g.part = t.folds(3, ^o.Seed)
	}
	type learned struct {
		net      *features.Net // nil: no row teaches
		mean, sd float64
	}
	of, wide := make([]learned, o.Folds), 0
	for f := range of {
		var rows []int
		for i, in := range fold {
			if int(in) != f && t.weight(i) > 0 {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		got, mean, sd, err := g.grow(o, rows)
		if err != nil {
			return nil, err
		}
		of[f] = learned{features.NewNet([]features.Layer{got.Layer()}), mean, sd}
		wide = max(wide, of[f].net.Scratch())
	}
	row, scratch := make([]float64, g.d), make([]float64, wide)
	return func(dst []float64, i int) {
		by := &of[fold[i]]
		dst = dst[:t.log.Options(i)]
		clear(dst)
		for a := 0; a < len(dst) && by.net != nil; a += g.k { // k outputs at a time
			g.read(row, i, a)
			by.net.Apply(dst[a:a+g.k], row, scratch)
		}
		for a, v := range dst {
			dst[a] = by.mean + by.sd*v
		}
	}, nil
}

// grove is what trees of all folds share.
type grove struct {
	t    *sample
	c    *crossed // of all actions together
	d, k int      // features and outputs
	part []uint8  // of each row, that chooses the number of trees
	o    regress.BoostOptions
}

// read writes φ(x) of a row, and of a log with choices z(a) of one of its options.
func (g *grove) read(dst []float64, i, a int) {
	log := g.t.log
	log.X.Row64(log.Context(i), dst[:log.X.Dim()])
	if g.c != nil {
		_, item := log.Option(i, a)
		g.c.z.Row64(item, dst[log.X.Dim():])
	}
}

// grow learns trees of (r − mean)/sd from rows. It returns their weighted mean and standard deviation, too.
func (g *grove) grow(o ModelOptions, rows []int) (_ regress.Boosted, mean, sd float64, err error) {
	n := min(len(rows), max(1, mostGrown/g.d))
	x := regress.Matrix{Width: g.d, Data: make([]float64, n*g.d)}
	y, action, b := make([]float64, n), make([]int32, n), g.o
	b.Weight, b.Fold = make([]float64, n), make([]uint8, n)
	for j := range y {
		i := rows[j*len(rows)/n]
		chosen := g.t.log.Chosen(i)
		if g.read(x.Data[j*g.d:(j+1)*g.d], i, chosen); g.c == nil {
			action[j] = int32(chosen)
		}
		y[j], b.Weight[j], b.Fold[j] = g.t.r[i], g.t.weight(i), g.part[i]
	}
	floats.Scale(1/floats.Max(b.Weight), b.Weight) // their sum may be too large
	floats.Scale(float64(n)/floats.Sum(b.Weight), b.Weight)
	mean, variance := stat.PopMeanVariance(y, b.Weight)
	if sd = math.Sqrt(variance); sd > 0 {
		for j, r := range y {
			y[j] = (r - mean) / sd
		}
	} else {
		clear(y)
	}
	got, err := regress.BoostByAction(o.context(), x, action, g.k, y, b)
	return got, mean, sd, err
}

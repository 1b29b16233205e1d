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

// mostGrown are the numbers that trees are grown from: of large logs some rows are left out.
const mostGrown = 1 << 22

// ownFolds are the rows of an action from which the number of trees is that of one part of them, not of three in turn.
const ownFolds = 4000

// Trees learns rewards by gradient boosted trees of each action, as [ModelOptions] say, or of a log
// with choices by trees of φ(x) and z(a) one after the other. Trees minimize the squared error of
// rewards in rows outside of the fold of row i. Parts of these rows, groups whole, say how many
// trees there are. Where an action begins is shrunk towards the mean of all rows by five rows
// of that, and an action of fewer than 40 rows stays there. Penalty is relative: with 1, three
// rows of no effect are added to each leaf. Predictions may leave [0, 1]. Of
// a log of more than 2²² numbers as many evenly spaced rows teach as have so many. Categories of
// named values are split by sets.
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
	if g.part = t.folds(3, ^o.Seed); t.n/g.k > ownFolds {
		g.o.Folds, g.part = 1, t.folds(9, ^o.Seed)
	}
	nets := make([]*features.Net, o.Folds) // nil: none of its rows is to be predicted, or no other teaches
	mean, sd := make([]float64, o.Folds), make([]float64, o.Folds)
	for f := range nets {
		var rows []int
		for i, of := range fold {
			if int(of) != f && t.weight(i) > 0 {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		var got regress.Boosted
		if got, mean[f], sd[f], err = g.grow(o, rows); err != nil {
			return nil, err
		}
		nets[f] = features.NewNet([]features.Layer{got.Layer()})
	}
	row, scratch, one := make([]float64, g.d), make([]float64, 2*g.k), make([]float64, 1)
	return func(dst []float64, i int) {
		f := int(fold[i])
		dst = dst[:g.t.log.Options(i)]
		for a := range dst {
			dst[a] = 0
			if nets[f] != nil && g.c != nil {
				g.read(row, i, a)
				nets[f].Apply(one, row, scratch)
				dst[a] = one[0]
			}
		}
		if nets[f] != nil && g.c == nil {
			g.read(row, i, 0)
			nets[f].Apply(dst, row, scratch)
		}
		for a, v := range dst {
			dst[a] = mean[f] + sd[f]*v
		}
	}, nil
}

// grove is what trees of all folds share.
type grove struct {
	t    *sample
	c    *crossed // of all actions together
	d, k int      // features and outputs
	part []uint8  // that a row is held out with
	o    regress.BoostOptions
}

// read writes what trees read of an option of a row.
func (g *grove) read(dst []float64, i, a int) {
	log := g.t.log
	log.X.Row64(log.Context(i), dst[:log.X.Dim()])
	if g.c != nil {
		_, item := log.Option(i, a)
		g.c.z.Row64(item, dst[log.X.Dim():])
	}
}

// grow learns trees of (r − mean)/sd from rows, whose weighted mean and standard deviation it returns.
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

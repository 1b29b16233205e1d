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
	return &numbers{log.Numbers.Of, logs.Pick(log.Numbers.Value, rows)}
}

const (
	averaged    = 5    // numbers of a bin
	fittedWaves = 200  // waves of the regression
	mostTuned   = 3000 // rows that lengths of waves are chosen on
	tunedSteps  = 25   // of them
)

// curves learns a logistic regression on waves of the context and the number, whose lengths are the most likely ones.
// A bin has the mean over its numbers.
func curves() kind {
	return kind{"curves", "logistic regression on waves of features and the number", "", false,
		func(t *table) bool { return t.numeric != nil && t.x.Width <= mostWaved }, tuneCurves, fitCurves}
}

// inputs are contexts and numbers, and rewards less their mean.
func (t *table) inputs(rows []int) (x *mat.Dense, y []float64, mean float64) {
	d := t.x.Width
	x = mat.NewDense(len(rows), d+1, nil)
	for i, r := range rows {
		copy(x.RawRowView(i), t.row(r, x.RawRowView(i)[:d]))
		x.Set(i, d, t.numeric.value[r])
		y = append(y, t.y[r])
	}
	mean = (stat.Mean(y, nil)*float64(len(y)) + .5) / float64(len(y)+1)
	for i := range y {
		y[i] -= mean
	}
	return x, y, mean
}

func tuneCurves(_ context.Context, t *table, rows []int, p *tuning) (*tuning, error) {
	if p != nil { // they are few
		return p, nil
	}
	x, y, mean := t.inputs(evenly(rows, mostTuned))
	w := t.lengths(x, 1)
	low, high := t.numeric.of.Range()
	w.Stratum, w.Lengths = append(w.Stratum, len(w.Lengths)), append(w.Lengths, (high-low)/4)
	return &tuning{waves: w}, w.Tune(tunedSteps, regress.Sample{X: x, Y: y, Noise: mean * (1 - mean)})
}

func fitCurves(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
	rows = evenly(rows, mostTable/4/fittedWaves)
	x, y, mean := t.inputs(rows)
	f := p.waves.Frequencies(fittedWaves)
	o := regress.Options{Offset: slices.Repeat([]float64{math.Log(mean / (1 - mean))}, len(rows)), Threads: t.threads,
		Iterations: 60, Penalties: slices.Repeat([]float64{mean * (1 - mean) * p.waves.Penalty}, 2*fittedWaves)}
	for i := range y {
		y[i] += mean
	}
	theta, err := regress.Logistic(ctx, regress.Matrix{Width: 2 * fittedWaves,
		Data: regress.Columns(x, f).RawMatrix().Data}, y, o)
	if err != nil {
		return nil, err
	}
	return t.curve(f, theta, o.Offset[0]), nil
}

// cliffs learns lines of the number that break where rewards fall or rise steeply, in each leaf of a tree of features.
func cliffs() kind {
	return kind{"cliffs", "a tree of features, with lines of the number that break anywhere", "", false,
		curves().fits, nil,
		func(_ context.Context, t *table, rows []int, _ *tuning) ([]features.Layer, error) {
			rows = t.grown(rows, 1)
			x, _, y := t.of(rows)
			low, high := t.numeric.of.Range()
			scaled := func(v []float64) (u []float64) {
				for _, w := range v {
					u = append(u, (w-low)/(high-low))
				}
				return u
			}
			v := logs.Pick(t.numeric.value, rows)
			var at [][]float64
			for a := range t.k {
				at = append(at, scaled(t.numeric.within(a)))
			}
			got, err := regress.Lines(x, t.groups, scaled(v), y, at, t.threads)
			return []features.Layer{{Trees: got}}, err
		}}
}

// curve is the layers of a regression on waves: cosines and sines of the context, of which an action has the means
// over its numbers by cos(u + v) = cos u cos v − sin u sin v and its like.
func (t *table) curve(f *mat.Dense, theta []float64, bias float64) []features.Layer {
	m, d := f.Dims()
	d--
	first, last := cosines(f, d), features.Layer{}
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

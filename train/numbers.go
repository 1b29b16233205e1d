package train

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
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

// curves learns a logistic regression on features, the number and their products, and then one on waves of the context
// and the number, whose lengths are the most likely ones. A bin has the mean over its numbers.
func curves() kind {
	return kind{curvesName, "logistic regression on waves of features and the number", "", false,
		func(t *table) bool { return t.numeric != nil && t.x.Width <= mostWaved }, tuneCurves, fitCurves}
}

// inputs are contexts and numbers.
func (t *table) inputs(rows []int) *mat.Dense {
	d := t.x.Width
	x := mat.NewDense(len(rows), d+1, nil)
	for i, r := range rows {
		copy(x.RawRowView(i), t.row(r, x.RawRowView(i)[:d]))
		x.Set(i, d, t.numeric.value[r])
	}
	return x
}

func tuneCurves(ctx context.Context, t *table, rows []int, p *tuning) (*tuning, error) {
	if p != nil { // they are few
		return p, nil
	}
	rows = evenly(rows, mostTuned)
	h, y := t.trend(rows)
	scales, err := h.Scales(ctx, y)
	if err != nil {
		return nil, err
	}
	theta, err := h.Fit(ctx, y, scales)
	if err != nil {
		return nil, err
	}
	noise := 0.
	for i, z := range trendOf(h, theta) {
		at := 1 / (1 + math.Exp(-z))
		y[i] -= at
		noise += at * (1 - at) / float64(len(y))
	}
	x := t.inputs(rows)
	w := t.lengths(x, 1)
	low, high := t.numeric.of.Range()
	w.Stratum, w.Lengths = append(w.Stratum, len(w.Lengths)), append(w.Lengths, (high-low)/4)
	return &tuning{scales: scales, waves: w}, w.Tune(tunedSteps, regress.Sample{X: x, Y: y, Noise: noise})
}

func fitCurves(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
	rows = evenly(rows, mostTable/4/fittedWaves)
	h, y := t.trend(rows)
	theta, err := h.Fit(ctx, y, p.scales)
	if err != nil {
		return nil, err
	}
	f, mean := p.waves.Frequencies(fittedWaves), stat.Mean(y, nil)
	o := regress.Options{Offset: trendOf(h, theta), Threads: t.threads,
		Iterations: 60, Penalties: slices.Repeat([]float64{mean * (1 - mean) * p.waves.Penalty}, 2*fittedWaves)}
	waved, err := regress.Logistic(ctx, regress.Matrix{Width: 2 * fittedWaves,
		Data: regress.Columns(t.inputs(rows), f).RawMatrix().Data}, y, o)
	if err != nil {
		return nil, err
	}
	return t.curve(f, waved, theta), nil
}

// trend is features, their products with the number, the number, its square, and 1, for a regression on them.
func (t *table) trend(rows []int) (*regress.Hierarchy, []float64) {
	d := t.x.Width
	h := &regress.Hierarchy{X: regress.Matrix{Width: 2*d + 3}, Group: make([]int32, len(rows)), Groups: 1,
		Threads: t.threads, Stratum: logs.Every(2*d + 3)}
	buf := make([]float64, d)
	for _, r := range rows {
		x, u := t.row(r, buf), t.centered(t.numeric.value[r])
		h.X.Data = append(h.X.Data, x...)
		for _, v := range x {
			h.X.Data = append(h.X.Data, u*v)
		}
		h.X.Data = append(h.X.Data, u, u*u, 1)
	}
	h.Family = append(slices.Repeat([]int{0}, d), append(slices.Repeat([]int{1}, d), 2, 2, 3)...)
	return h, logs.Pick(t.y, rows)
}

// trendOf gives the logits of the rows of a trend, and makes of θ, of all rows and of their one group, the sum.
func trendOf(h *regress.Hierarchy, theta []float64) []float64 {
	m := h.Dim()
	floats.Add(theta[:m], theta[m:])
	z := make([]float64, h.X.Len())
	for i := range z {
		z[i] = floats.Dot(theta[:m], h.X.Data[i*m:(i+1)*m])
	}
	return z
}

// centered is a number from −1 to 1.
func (t *table) centered(v float64) float64 {
	low, high := t.numeric.of.Range()
	return (2*v - low - high) / (high - low)
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

// curve is the layers of a trend and a regression on waves: features, cosines and sines of the context, of which an
// action has the means over its numbers by cos(u + v) = cos u cos v − sin u sin v and its like.
func (t *table) curve(f *mat.Dense, waved, trend []float64) []features.Layer {
	m, d := f.Dims()
	d--
	last := features.Layer{}
	unit := 1 / math.Sqrt(float64(m))
	for a := range t.k {
		row, at, bias := make([]float64, d+2*m), t.numeric.within(a), trend[2*d+2]
		each := 1 / float64(len(at))
		for _, v := range at {
			u := t.centered(v)
			bias += each * (trend[2*d]*u + trend[2*d+1]*u*u)
			for j := range d {
				row[j] += each * (trend[j] + u*trend[d+j])
			}
			for k := range m {
				sin, cos := math.Sincos(f.At(k, d) * v)
				row[d+k] += unit * each * (waved[k]*cos + waved[m+k]*sin)
				row[d+m+k] += unit * each * (waved[m+k]*cos - waved[k]*sin)
			}
		}
		last.Weights, last.Bias = append(last.Weights, row), append(last.Bias, bias)
	}
	both := &features.Branches{In: d, Chains: [][]features.Layer{nil, {cosines(f, d)}}}
	return []features.Layer{{Branches: both}, last}
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

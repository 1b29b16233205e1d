package train

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
	"opl/train/regress"
)

const (
	mostWaved    = 64   // features that waves are of, at most
	mixedWaves   = 32   // waves of a regression, of which each is two columns
	tunedBy      = 1000 // rows that lengths are chosen on: of 600 the turns of a spiral are missed
	tuningSteps  = 15   // of them
	mostByAction = 12   // actions whose rows they are
	leastTuned   = 20   // rows of such an action
	leastNoise   = 1e-6 // of rewards that are all alike
)

// waving reports that waves are of use: rewards may depend on two numbers together.
func waving(t *table) bool {
	return t.numeric == nil && len(t.numbers) > 1 && t.x.Width <= mostWaved && t.k <= 50 && len(t.y) >= max(200, 40*t.k)
}

// waves keeps all features. It adds waves of them, whose lengths are the most likely ones where each action has
// coefficients of its own.
func waves(t *table, rows []int) ([]features.Layer, []int) {
	d, strata := t.x.Width, t.strata()
	rows = evenly(rows, tunedBy)
	of := make([][]int, t.k)
	for _, r := range rows {
		of[t.action[r]] = append(of[t.action[r]], r)
	}
	slices.SortStableFunc(of, func(a, b []int) int { return len(b) - len(a) })
	w, samples := t.lengths(t.contexts(rows), .5), []regress.Sample{}
	for _, rows := range of[:min(len(of), mostByAction)] {
		if len(rows) < leastTuned {
			break
		}
		s := regress.Sample{X: t.contexts(rows)}
		for _, r := range rows {
			s.Y = append(s.Y, t.y[r])
		}
		mean, variance := stat.MeanVariance(s.Y, nil)
		floats.AddConst(-mean, s.Y)
		s.Noise = max(variance, leastNoise)
		samples = append(samples, s)
	}
	if err := w.Tune(tuningSteps, samples...); err != nil { // features alone
		return nil, strata
	}
	waved := cosines(w.Frequencies(mixedWaves), d)
	strata = append(strata, slices.Repeat([]int{d}, 2*mixedWaves)...)
	return []features.Layer{{Branches: &features.Branches{In: d, Chains: [][]features.Layer{nil, {waved}}}}}, strata
}

// cosines gives the cosines, and after them the sines, of the first d inputs of frequencies.
func cosines(f *mat.Dense, d int) features.Layer {
	m, _ := f.Dims()
	l := features.Layer{Activation: features.Cos}
	for k := range 2 * m {
		l.Weights = append(l.Weights, slices.Clone(f.RawRowView(k % m)[:d]))
		l.Bias = append(l.Bias, -math.Pi/2*float64(k/m)) // a sine is a cosine that comes later
	}
	return l
}

// contexts are the features of rows.
func (t *table) contexts(rows []int) *mat.Dense {
	x := mat.NewDense(len(rows), t.x.Width, nil)
	for i, r := range rows {
		copy(x.RawRowView(i), t.row(r, x.RawRowView(i)))
	}
	return x
}

// lengths gives waves of the features x their first lengths, which [regress.Waves.Tune] changes: some times the spread
// of a stratum, and longer where there are more strata.
func (t *table) lengths(x *mat.Dense, times float64) *regress.Waves {
	w, place := &regress.Waves{Penalty: 5}, map[int]int{}
	for j, s := range t.strata() {
		if _, has := place[s]; !has {
			place[s] = len(place)
			spread := stat.StdDev(mat.Col(nil, j, x), nil)
			if !(spread > 0) {
				spread = 1
			}
			w.Lengths = append(w.Lengths, 2*times*spread)
		}
		w.Stratum = append(w.Stratum, place[s])
	}
	for s := range w.Lengths {
		w.Lengths[s] *= math.Sqrt(float64(len(w.Lengths) + 1))
	}
	return w
}

package train

import (
	"context"
	"math"
	"slices"

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
	waves      = 10  // functions of the number
	averaged   = 5   // numbers of an interval
	bent       = 6   // pieces of a number of the context
	mostCurves = 800 // columns of a regression on products with functions of the number
)

// wave writes B(v) [waves], and 1 after them: B_b(v) = cos(π b u), b from 1, for the share u of the range below v. Their
// coefficients are shrunk the more, the faster they oscillate, as far as rewards say that curves are smooth.
func (n *numbers) wave(dst []float64, v float64) {
	low, high := n.of.Range()
	for b := range waves {
		dst[b] = math.Cos(math.Pi * float64(b+1) * (v - low) / (high - low))
	}
	dst[waves] = 1
}

// mean writes the mean of B over the numbers of an action.
func (n *numbers) mean(dst []float64, c int) {
	clear(dst)
	one := make([]float64, len(dst))
	for p := range averaged {
		v := n.of.Center(c)
		if c < n.of.Intervals() {
			v = n.of.Edges[c] + n.of.Width(c)*(float64(p)+.5)/averaged
		}
		n.wave(one, v)
		for j, u := range one {
			dst[j] += u / averaged
		}
	}
}

// curves learns a logistic regression on features of the context, among them products of two and pieces of numbers,
// times functions of the number,
//
//	s(x, v) = h(x)ᵀ(θ_0 + Σ_b B_b(v) θ_b) + b_0 + Σ_b B_b(v) b_b
//
// of which an interval has the mean over its numbers.
func curves() kind {
	return kind{"curves", "logistic regression on products of features and functions of the number",
		func(t *table) bool { return t.numeric != nil && (t.x.Width+1)*(waves+1) <= mostCurves }, tuneCurves, fitCurves}
}

// curved is the regression on what layers make of rows, times functions of the number, and their rewards.
func (t *table) curved(before []features.Layer, rows []int) (*regress.Hierarchy, []float64, error) {
	h, at, err := t.expand(before, rows)
	if err != nil {
		return nil, nil, err
	}
	m, b := h.Width, make([]float64, waves+1)
	all := &regress.Hierarchy{X: regress.Matrix{Width: m * (waves + 1)}, Groups: 1, Group: make([]int32, len(at)),
		Threads: t.threads}
	var y []float64
	for i, r := range at {
		y = append(y, t.y[r])
		t.numeric.wave(b, t.numeric.value[r])
		for _, v := range b {
			for _, u := range h.Data[i*m : (i+1)*m] {
				all.X.Data = append(all.X.Data, u*v)
			}
		}
	}
	return all, y, nil
}

// tuneCurves chooses the features of the context, products of two and pieces of numbers as far as these are not too many,
// and the scales of their coefficients.
func tuneCurves(ctx context.Context, t *table, rows []int) (*tuning, error) {
	var p tuning
	strata := t.strata()
	for _, most := range []int{bent, 1} {
		if before, of := t.quadratic(rows, most); (len(of)+1)*(waves+1) <= mostCurves {
			p.before, strata = before, of
			break
		}
	}
	all, y, err := t.curved(p.before, evenly(rows, mostTable/2/mostCurves))
	if err != nil {
		return nil, err
	}
	last := slices.Max(strata) + 1
	strata = append(strata, last)
	for k := range waves + 1 { // θ_b have scales of their own, the same for three neighbours b
		for _, s := range strata {
			if k < waves {
				s += (last + 1) * (1 + k/3)
			}
			all.Stratum, all.Family = append(all.Stratum, s), append(all.Family, min(1, waves-k))
		}
	}
	p.scales, err = all.Scales(ctx, y)
	return &p, err
}

func fitCurves(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
	all, y, err := t.curved(p.before, evenly(rows, mostTable/2/mostCurves))
	if err != nil {
		return nil, err
	}
	theta, err := all.Fit(ctx, y, p.scales)
	if err != nil {
		return nil, err
	}
	var l features.Layer
	m, b := all.X.Width/(waves+1), make([]float64, waves+1)
	for c := range t.k {
		t.numeric.mean(b, c)
		row := make([]float64, m)
		for i, v := range theta { // the shared part, and that of the one group
			row[i%m] += b[i%all.X.Width/m] * v
		}
		l.Weights, l.Bias = append(l.Weights, row[:m-1]), append(l.Bias, row[m-1])
	}
	return append(slices.Clone(p.before), l), nil
}

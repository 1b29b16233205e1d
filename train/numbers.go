package train

import (
	"context"
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
	hats       = 10  // functions of the number
	averaged   = 5   // numbers of a bin
	mostCurves = 800 // columns of a regression on products with functions of the number
)

// hat writes B(v) [hats], and 1 after them: piecewise linear functions of a number that sum to 1, each 1 at its own
// of evenly spaced knots.
func (n *numbers) hat(dst []float64, v float64) {
	low, high := n.of.Range()
	u := (v - low) / (high - low) * (hats - 1)
	b := min(int(u), hats-2)
	clear(dst)
	dst[b], dst[b+1], dst[hats] = 1-(u-float64(b)), u-float64(b), 1
}

// mean writes the mean of B over the numbers of an action.
func (n *numbers) mean(dst []float64, c int) {
	clear(dst)
	one := make([]float64, len(dst))
	for p := range averaged {
		v := n.of.Center(c)
		if c < n.of.Bins() {
			v = n.of.Edges[c] + n.of.Width(c)*(float64(p)+.5)/averaged
		}
		n.hat(one, v)
		for j, u := range one {
			dst[j] += u / averaged
		}
	}
}

// curves learns a logistic regression on features of the context, products of two among them, times functions of
// the number,
//
//	s(x, v) = h(x)ᵀ(θ_0 + Σ_b B_b(v) θ_b) + b_0 + Σ_b B_b(v) b_b
//
// of which a bin has the mean over its numbers.
func curves() kind {
	return kind{"curves", "logistic regression on products of features and functions of the number",
		func(t *table) bool { return t.numeric != nil && (t.x.Width+1)*(hats+1) <= mostCurves }, nil, fitCurves}
}

func fitCurves(ctx context.Context, t *table, rows []int, _ *tuning) ([]features.Layer, error) {
	var before []features.Layer
	strata := t.strata()
	if (t.x.Width+t.products()+1)*(hats+1) <= mostCurves {
		p := &features.Products{In: t.x.Width}
		t.pairs(func(j, i int32, of, with int) {
			p.Pairs, strata = append(p.Pairs, []int32{j, i}), append(strata, (1+of)*t.x.Width+with)
		})
		before = []features.Layer{{Products: p}}
	}
	h, at, err := t.expand(before, evenly(rows, mostTable/2/mostCurves))
	if err != nil {
		return nil, err
	}
	m, b := h.Width, make([]float64, hats+1)
	last := slices.Max(strata) + 1
	strata = append(strata, last)
	all := regress.Hierarchy{X: regress.Matrix{Width: m * (hats + 1)}, Groups: 1, Group: make([]int32, len(at)),
		Threads: t.threads}
	for k := range b { // θ_b have scales of their own
		for _, s := range strata {
			if k < hats {
				s += last + 1
			}
			all.Stratum, all.Family = append(all.Stratum, s), append(all.Family, min(1, hats-k))
		}
	}
	var y []float64
	for i, r := range at {
		y = append(y, t.y[r])
		t.numeric.hat(b, t.numeric.value[r])
		for _, v := range b {
			for _, u := range h.Data[i*m : (i+1)*m] {
				all.X.Data = append(all.X.Data, u*v)
			}
		}
	}
	scales, err := all.Scales(ctx, y)
	if err != nil {
		return nil, err
	}
	theta, err := all.Fit(ctx, y, scales)
	if err != nil {
		return nil, err
	}
	var l features.Layer
	for c := range t.k {
		t.numeric.mean(b, c)
		row := make([]float64, m)
		for i, v := range theta { // the shared part, and that of the one group
			row[i%m] += b[i%(m*(hats+1))/m] * v
		}
		l.Weights, l.Bias = append(l.Weights, row[:m-1]), append(l.Bias, row[m-1])
	}
	return append(before, l), nil
}

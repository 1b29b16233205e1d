package train

import (
	"context"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/train/regress"
)

// numbers is what a table of numbers knows of its actions.
type numbers struct {
	of    numeric.Actions
	value []float64 // of each row
}

const (
	hats       = 10  // functions of the number
	mostCurves = 800 // columns of a regression on products with them
)

// hat writes B(v) [hats], piecewise linear functions of a number that sum to 1, each 1 at its own of evenly spaced knots.
func (n *numbers) hat(dst []float64, v float64) {
	low, high := n.of.Range()
	u := (v - low) / (high - low) * (hats - 1)
	b := min(int(u), hats-2)
	clear(dst)
	dst[b], dst[b+1] = 1-(u-float64(b)), u-float64(b)
}

// curves learns a logistic regression on features of the context, products of two among them, times functions of the
// number,
//
//	s(x, v) = h(x)ᵀ(θ_0 + Σ_b B_b(v) θ_b) + b_0 + Σ_b B_b(v) b_b
//
// An interval has the mean score of its numbers.
func curves() kind {
	return kind{"curves", "logistic regression on products of features and functions of the number",
		func(t *table) bool { return t.numeric != nil }, nil,
		func(ctx context.Context, t *table, rows []int, _ *prior) ([]features.Layer, error) {
			var before []features.Layer
			strata := t.strata()
			if (t.x.Width+t.products())*(hats+1) <= mostCurves {
				p := &features.Products{In: t.x.Width}
				t.pairs(func(j, i int32, of, with int) {
					p.Pairs, strata = append(p.Pairs, []int32{j, i}), append(strata, (1+of)*t.x.Width+with)
				})
				before = []features.Layer{{Products: p}}
			}
			h, at, err := t.expand(before, rows)
			if err != nil {
				return nil, err
			}
			m, b := h.Width, make([]float64, hats)
			x := regress.Matrix{Width: m*(hats+1) - m + m, Data: make([]float64, 0, len(at)*m*(hats+1))}
			own := regress.Hierarchy{X: x, Groups: 1, Group: make([]int32, len(at)), Threads: t.threads}
			last := 0
			for _, s := range strata {
				last = max(last, s+1)
			}
			strata = append(strata, last)
			for k := range hats {
				for j := range m {
					own.Stratum, own.Family = append(own.Stratum, last+1+strata[j]), append(own.Family, 1)
				}
				_ = k
			}
			for j := range m {
				own.Stratum, own.Family = append(own.Stratum, strata[j]), append(own.Family, 0)
			}
			y := make([]float64, len(at))
			for i, r := range at {
				y[i] = t.y[r]
				t.numeric.hat(b, t.numeric.value[r])
				row := h.Data[i*m : (i+1)*m]
				for _, v := range b {
					for _, u := range row {
						own.X.Data = append(own.X.Data, u*v)
					}
				}
				own.X.Data = append(own.X.Data, row...)
			}
			scales, err := own.Scales(ctx, y)
			if err != nil {
				return nil, err
			}
			theta, err := own.Fit(ctx, y, scales)
			if err != nil {
				return nil, err
			}
			w, l := own.X.Width, features.Layer{}
			for c := range t.k {
				weights := make([]float64, m)
				of := t.numeric.of
				const points = 5
				for p := range points {
					v := of.Center(c)
					if c < of.Intervals() {
						v = of.Edges[c] + of.Width(c)*(float64(p)+.5)/points
					}
					t.numeric.hat(b, v)
					for j := range weights {
						for k, u := range append(b[:hats:hats], 1) {
							weights[j] += u / points * (theta[k*m+j] + theta[w+k*m+j])
						}
					}
				}
				l.Weights, l.Bias = append(l.Weights, weights[:m-1]), append(l.Bias, weights[m-1])
			}
			return append(before, l), nil
		}}
}

func pickOf(x []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = x[r]
	}
	return out
}

package train

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/policies/features"
	"opl/train/logs"
)

const (
	leastAlike    = 8   // numbers that may have one scale
	leastEmbedded = 100 // numbers that are taken for those of an embedding
)

// numbered reports that a table has so many numbers, and that actions have none.
func (t *table) numbered(least int) bool {
	return len(t.numbers) >= least && t.numeric == nil && t.context == 0
}

// embedded reports that a table has as many numbers as embeddings mostly have. Folds do not share its scales.
func (t *table) embedded() bool { return t.numbered(leastEmbedded) }

// grows reports that a table is narrow enough for trees to be worth their time.
func (t *table) grows() bool { return len(t.numbers) <= mostDense }

// alike is linear with one scale for all numbers, which embeddings need: each of them tells little, and they go
// together. The scale and what actions share are those under which scores of held-out rows, times a slope, have the
// least log-loss: a scale may be right though it makes scores too large. The slope is kept.
func alike(linear kind) kind {
	tune := func(ctx context.Context, t *table, rows []int, of *tuning) (best *tuning, err error) {
		if of != nil {
			return of, nil
		}
		rows = evenly(rows, min(mostTuning, mostScaling/t.wide()))
		y, z, scale, least := logs.Pick(t.y, rows), make([]float64, len(rows)), 0., math.Inf(1)
		try := func(s, shared, own float64) {
			p := t.alike(s*shared, s*own)
			if err == nil {
				err = t.heldOut(ctx, kind{fit: linear.fit}, p, rows, func(i int, scores []float64) {
					z[i] = scores[t.action[rows[i]]]
				})
			}
			if err != nil {
				return
			}
			var w []float64
			var loss float64
			if w, loss, err = stack(ctx, [][]float64{z}, []int{0}, nil, y); loss < least {
				best, scale, least = p, s, loss
				p.slope = max(w[0], leastSlope)
			}
		}
		for s := .5; s <= 16; s *= 2 {
			try(s, .3, .95)
		}
		for _, shared := range []float64{.1, .7, .95} {
			try(scale, shared, math.Sqrt(1-shared*shared))
		}
		return best, err
	}
	fit := func(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
		layers, err := linear.fit(ctx, t, rows, p)
		if err == nil {
			last := layers[len(layers)-1]
			for a, w := range last.Weights {
				floats.Scale(p.slope, w)
				last.Bias[a] *= p.slope
			}
		}
		return layers, err
	}
	return kind{"ridge", "logistic regression of 8 numbers or more, whose coefficients have one scale", "", true,
		func(t *table) bool { return t.numbered(leastAlike) }, tune, fit}
}

const (
	leastSlope = .01 // of scores that tell nothing
	freeScale  = 30  // of the shared intercept
)

// alike are scales by which a row's numbers together give logits of such standard deviations.
func (t *table) alike(shared, own float64) *tuning {
	p := &tuning{strata: t.strata()}
	p.scales.Shared = slices.Repeat([]float64{.5}, t.x.Width+1)
	p.scales.Own = slices.Clone(p.scales.Shared)
	p.scales.Shared[t.x.Width] = freeScale
	root := math.Sqrt(float64(len(t.numbers)))
	for _, j := range t.numbers {
		p.scales.Shared[j], p.scales.Own[j] = shared/root, own/root
	}
	return p
}

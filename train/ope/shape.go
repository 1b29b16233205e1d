package ope

import (
	"fmt"
	"math"
	"slices"

	"opl/train/logs"
)

// Shapes lists what the reward may be assumed to be as a function of the number that was done, the
// default first: it assumes nothing.
func Shapes() []string { return []string{"any", "increasing", "decreasing", "unimodal"} }

// Shaped makes the predictions for the bins of numbers the nearest ones that have a shape of
// [Shapes],
//
//	argmin_q Σ_c |I_c| (q_c − r̂(x_i, c))²,   q of the shape,
//
// by pooling adjacent violators; a unimodal q rises up to some bin, and falls after it. So
// bins of few rows borrow from their neighbours. Atoms keep what is predicted of them. Doubly
// robust estimates stay unbiased if the shape is wrong, the direct one does not. Errors: an unknown
// shape, a log whose actions are names.
//
// Barlow et al. (1972), Statistical inference under order restrictions.
func (m Model) Shaped(shape string, log *logs.Log) (Model, error) {
	switch {
	case !slices.Contains(Shapes(), shape):
		return nil, fmt.Errorf("setting reward-shape %s: want one of %v", shape, Shapes())
	case shape == Shapes()[0]:
		return m, nil
	case log.Numbers == nil:
		return nil, fmt.Errorf("setting reward-shape %s: actions are names: setting action-range says that they are numbers",
			shape)
	}
	n := log.Numbers.Of.Bins()
	width := make([]float64, n)
	for c := range width {
		width[c] = log.Numbers.Of.Width(c)
	}
	return func(dst []float64, i int) {
		m(dst, i)
		if shape != "unimodal" {
			copy(dst, monotone(dst[:n], width, shape == "decreasing"))
			return
		}
		var best []float64
		least := math.Inf(1)
		for peak := range n {
			q := append(monotone(dst[:peak], width[:peak], false), monotone(dst[peak:n], width[peak:], true)...)
			loss := 0.0
			for c, v := range q {
				loss += width[c] * (v - dst[c]) * (v - dst[c])
			}
			if loss < least {
				best, least = q, loss
			}
		}
		copy(dst, best)
	}, nil
}

// monotone is the nearest sequence that nowhere falls, or nowhere rises.
func monotone(v, width []float64, falls bool) []float64 {
	type block struct {
		mean, width float64
		n           int
	}
	var blocks []block
	for c := range v {
		b := block{v[c], width[c], 1}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.mean <= b.mean && !falls || last.mean >= b.mean && falls {
				break
			}
			blocks = blocks[:len(blocks)-1]
			all := last.width + b.width
			b = block{(last.mean*last.width + b.mean*b.width) / all, all, last.n + b.n}
		}
		blocks = append(blocks, b)
	}
	out := make([]float64, 0, len(v))
	for _, b := range blocks {
		out = append(out, slices.Repeat([]float64{b.mean}, b.n)...)
	}
	return out
}

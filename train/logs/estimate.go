package logs

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/optimize"

	"opl/graph/kernel"
)

const (
	estimateRows = 50_000 // at most, that teach a model
	estimateMin  = 20     // rows, at least
	leastGuess   = 1e-6   // of an estimated propensity
)

// estimate fills the propensities of all actions by multinomial logistic regression of
// the action on the context,
//
//	π̂(a|x) ∝ exp(w_aᵀφ(x)),  min_W −Σ_i log π̂(a_i|x_i) + ½‖W‖²,
//
// φ of values divided by their largest, and an intercept. It is cross-fitted: the model
// of each half of the rows (by group if there is one, else by ID) has seen only the
// other half, at most 50,000 of it. No π̂ is below 1e-6/K.
func (l *Log) estimate(ctx context.Context) error {
	if l.n < estimateMin {
		return fmt.Errorf("%s: %d rows are too few to estimate propensities from, want %d", l.path, l.n, estimateMin)
	}
	half := func(i int) int {
		key := l.Keys[i]
		if l.Group != nil {
			key = uint64(l.Group[i]) + 1
		}
		return int(mix(key) & 1)
	}
	var models [2]*logistic
	var size [2]int
	for i := range l.n {
		size[half(i)]++
	}
	for fold := range models {
		every := max(1, (size[1-fold]+estimateRows-1)/estimateRows)
		rows, at := make([]int, 0, size[1-fold]/every+1), 0
		for i := range l.n {
			if half(i) == fold {
				continue
			}
			if at%every == 0 {
				rows = append(rows, i)
			}
			at++
		}
		if len(rows) == 0 {
			return fmt.Errorf("%s: all rows are of one group: propensities cannot be estimated from others", l.path)
		}
		var err error
		if models[fold], err = l.regress(ctx, rows); err != nil {
			return err
		}
	}
	err := l.known(ctx, "the estimate", func(i int, pi []float64) error {
		models[half(i)].propensities(i, pi)
		for a, p := range pi {
			pi[a] = p*(1-leastGuess) + leastGuess/float64(len(pi))
		}
		return nil
	})
	l.Estimated = err == nil
	return err
}

// logistic is a model of the action: W is [K×(names+1)], the last of each row the
// intercept, on values times scale.
type logistic struct {
	log    *Log
	scale  []float64 // of each name; 0: not seen
	w      []float64
	scores []float64
}

// regress fits a model on rows.
func (l *Log) regress(ctx context.Context, rows []int) (*logistic, error) {
	d, k := len(l.names)+1, len(l.Actions)
	m := &logistic{log: l, scale: make([]float64, len(l.names)), scores: make([]float64, k)}
	for _, i := range rows {
		ids, values := l.context(i, nil)
		for j, id := range ids {
			m.scale[id] = max(m.scale[id], math.Abs(values[j]))
		}
	}
	for id, s := range m.scale {
		if s > 0 {
			m.scale[id] = min(1/s, math.MaxFloat64)
		}
	}
	pi := make([]float64, k)
	// loss is the objective over the number of rows, and its gradient if asked for.
	loss := func(w, grad []float64) float64 {
		m.w = w
		var f float64
		clear(grad)
		for _, i := range rows {
			m.propensities(i, pi)
			f -= math.Log(max(pi[l.Action[i]], math.SmallestNonzeroFloat64))
			if grad == nil {
				continue
			}
			pi[l.Action[i]]--
			ids, values := l.context(i, nil)
			for a, g := range pi {
				row := grad[a*d : a*d+d]
				for j, id := range ids {
					row[id] += g * values[j] * m.scale[id]
				}
				row[d-1] += g
			}
		}
		for j, v := range w {
			f += v * v / 2
			if grad != nil {
				grad[j] = (grad[j] + v) / float64(len(rows))
			}
		}
		return f / float64(len(rows))
	}
	problem := optimize.Problem{
		Func:   func(w []float64) float64 { return loss(w, nil) },
		Grad:   func(grad, w []float64) { loss(w, grad) },
		Status: func() (optimize.Status, error) { return optimize.NotTerminated, ctx.Err() },
	}
	// It may stop short of the tolerance: what counts is that the loss has fallen.
	result, err := optimize.Minimize(problem, make([]float64, d*k), &optimize.Settings{GradientThreshold: 1e-6, MajorIterations: 100}, &optimize.LBFGS{})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if result == nil {
		return nil, fmt.Errorf("%s: propensities cannot be estimated: %w", l.path, err)
	}
	m.w = result.X
	return m, nil
}

// propensities writes π̂(·|x_i).
func (m *logistic) propensities(i int, dst []float64) {
	ids, values := m.log.context(i, nil)
	d := len(m.scale) + 1
	for a := range m.scores {
		row := m.w[a*d : a*d+d]
		s := row[d-1]
		for j, id := range ids {
			s += row[id] * values[j] * m.scale[id]
		}
		m.scores[a] = s
	}
	kernel.Softmax(dst, m.scores, len(m.scores))
}

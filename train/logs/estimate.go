package logs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"opl/graph/kernel"
)

const (
	estimateRows = 50_000 // at most, that teach a model
	estimateMin  = 20     // rows, at least
	leastGuess   = 1e-6   // of an estimated propensity
)

// Estimates says how good estimated propensities are, by rows that did not teach them.
type Estimates struct {
	Rows int // that have estimates
	// Error is the expected calibration error, Σ_b n_b |p̄_b − f_b|/Σ_b n_b over bins b of pairs of such a row and an
	// action in the order of π̂, at most ten of equal size: p̄ is the mean of π̂, f the share of
	// actions that were taken.
	Error float64
	// Predicted and Observed are p̄ and f of the bin that is most standard errors √Σ π̂(1 − π̂)/n_b off, and Z how many.
	Predicted, Observed, Z float64
	// Known rows have a propensity, and nine in ten of these are within the factor Within of what would have been
	// estimated; 0: there are none.
	Known  int
	Within float64
}

// String is a sentence.
func (e *Estimates) String() string {
	s := fmt.Sprintf("%d propensities are estimates; where they say %.3g, %.3g of the actions were taken (z = %.1f, the most of ten bins), expected calibration error %.2g",
		e.Rows, e.Predicted, e.Observed, e.Z, e.Error)
	if e.Known > 0 {
		s += fmt.Sprintf("; of %d that are logged 9 in 10 are within the factor %.3g of their estimate", e.Known, e.Within)
	}
	return s
}

// gap reports that the propensities of all actions of row i, of a log that has them, are not there.
func (l *Log) gap(i int) bool {
	return slices.Max(l.Pi0(i)) == 0
}

// every is 0 … n−1.
func (l *Log) every() []int {
	rows := make([]int, l.n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// estimate fills propensities that are not there by multinomial logistic regression of
// the action on the context,
//
//	π̂(a|x) ∝ exp(w_aᵀφ(x)),  min_W −Σ_i log π̂(a_i|x_i) + ½‖W‖²,
//
// φ of values divided by their largest, and an intercept. It is cross-fitted: the model
// of each half of the rows (by group if there is one, else by ID) has seen only the
// other half, at most 50,000 of it, of rows with a propensity, too: it takes for granted that one policy logged all. No π̂ is below
// 1e-6/K. A row whose logged action's propensity p alone is there gets (1 − p)π̂(a|x)/(1 − π̂(a_i|x)) for the others, if other rows have those of
// all; if other rows have a propensity, and none those of all, only the logged action's is filled.
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
	k := len(l.Actions)
	wide := l.Propensities != nil || l.Propensity == nil // all actions are filled
	drawn, err := l.scratch(l.n)
	if err != nil {
		return err
	}
	var all []float64
	if wide {
		if all, err = l.scratch(l.n * k); err != nil {
			return err
		}
	}
	c := calibration{}
	pi := make([]float64, k)
	for i := range l.n {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		models[half(i)].propensities(i, pi)
		for a, p := range pi {
			pi[a] = p*(1-leastGuess) + leastGuess/float64(k)
		}
		a := l.Action[i]
		switch p := l.propensity(i); {
		case p == 0:
			c.add(pi, a)
			drawn[i] = pi[a]
		default:
			c.ratios = append(c.ratios, math.Abs(math.Log(p/pi[a])))
			if drawn[i] = p; wide && !l.gap(i) {
				copy(pi, l.Pi0(i))
			} else if wide {
				rest := (1 - p) / (1 - pi[a])
				for b := range pi {
					pi[b] *= rest
				}
				pi[a] = p
				c.estimated++
			}
		}
		if wide {
			copy(all[i*k:], pi)
		}
	}
	l.Propensity, l.Propensities, l.Estimated, l.Estimates = drawn, all, true, c.estimates()
	return nil
}

// propensity is that of the logged action, 0 if it is not there.
func (l *Log) propensity(i int) float64 {
	if l.Propensity == nil {
		return 0
	}
	return l.Propensity[i]
}

// calibration gathers what estimates say and what came.
type calibration struct {
	said      []float64 // π̂ of pairs of a row and an action
	came      []bool
	ratios    []float64 // |log p/π̂| of rows that have p
	estimated int
}

// calibrated is how many pairs are kept at most, of the first rows.
const calibrated = 1 << 22

func (c *calibration) add(pi []float64, action int32) {
	if c.estimated++; len(c.said)+len(pi) > calibrated {
		return
	}
	for a, p := range pi {
		c.said, c.came = append(c.said, p), append(c.came, int32(a) == action)
	}
}

func (c *calibration) estimates() *Estimates {
	e := &Estimates{Rows: c.estimated, Known: len(c.ratios)}
	order := make([]int, len(c.said))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.said[a], c.said[b]) })
	bins := max(1, min(10, len(order)/50))
	for b := range bins {
		of := order[b*len(order)/bins : (b+1)*len(order)/bins]
		var said, came, variance float64
		for _, i := range of {
			said += c.said[i]
			variance += c.said[i] * (1 - c.said[i])
			if c.came[i] {
				came++
			}
		}
		if variance == 0 {
			continue
		}
		e.Error += math.Abs(came-said) / float64(len(order))
		if z := (came - said) / math.Sqrt(variance); math.Abs(z) >= math.Abs(e.Z) {
			e.Predicted, e.Observed, e.Z = said/float64(len(of)), came/float64(len(of)), z
		}
	}
	if slices.Sort(c.ratios); len(c.ratios) > 0 {
		e.Within = math.Exp(c.ratios[len(c.ratios)*9/10])
	}
	return e
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

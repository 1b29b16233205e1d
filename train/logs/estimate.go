package logs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"opl/graph/kernel"
	"opl/train/regress"
)

const (
	estimateRows = 50_000 // at most, that teach a model
	estimateMin  = 20     // rows, at least
	leastGuess   = 1e-6   // of an estimated propensity
)

// Estimates says how good estimated propensities are, by rows that did not teach them.
type Estimates struct {
	Rows int // that have estimates
	// Error is the expected calibration error, Σ_b n_b |p̄_b − f_b|/Σ_b n_b over bins b of pairs of
	// such a row and an action in the order of π̂, at most ten of equal size: p̄ is the mean of π̂,
	// f the share of actions that were taken.
	Error float64
	// Predicted and Observed are p̄ and f of the bin that is most standard errors √Σ π̂(1 − π̂)/n_b
	// off, and Z how many.
	Predicted, Observed, Z float64
	// Known rows have a propensity, and nine in ten of these are within the factor Within of what would have been
	// estimated; 0: there are none.
	Known  int
	Within float64
}

// String is a sentence.
func (e *Estimates) String() string {
	s := fmt.Sprintf("%d propensities are estimates; where they say %.3g, %.3g of the actions were taken (z = "+
		"%.1f, the most of ten bins), expected calibration error %.2g",
		e.Rows, e.Predicted, e.Observed, e.Z, e.Error)
	if e.Known > 0 {
		s += fmt.Sprintf("; of %d that are logged 9 in 10 are within the factor %.3g of their estimate", e.Known,
			e.Within)
	}
	return s
}

// gap reports that the propensities of all actions of row i, of a log that has them, are not there.
func (l *Log) gap(i int) bool { return slices.Max(l.Pi0(i)) == 0 }

// gaps reports whether some row has a gap.
func (l *Log) gaps() bool {
	for i := range l.n {
		if l.Propensities != nil && l.gap(i) {
			return true
		}
	}
	return false
}

// estimate fills propensities that are not there by multinomial logistic regression of
// the action on the context,
//
//	π̂(a|x) ∝ exp(w_aᵀφ(x)),  min_W −Σ_i log π̂(a_i|x_i) + ½‖W‖²,
//
// φ of values divided by their largest, and an intercept. It is cross-fitted: the model
// of each half of the rows (by group if there is one, else by ID) has seen only the
// other half, at most 50,000 of it, of rows with a propensity, too: it takes for granted that one
// policy logged all. No π̂ is below 1e-6/K. If some rows have the propensities of all actions, a row with
// the logged action's p alone gets (1 − p)π̂(a|x)/(1 − π̂(a_i|x)) for the others. If rows have the
// logged action's propensity at most, only the logged action's is filled.
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
	drawn := l.Scratch(l.n)
	var all []float64
	if wide {
		all = l.Scratch(l.n * k)
	}
	c := calibration{}
	pi := make([]float64, k)
	for i := range l.n {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ids, values := l.context(i)
		m := models[half(i)]
		m.x.Scores(pi, m.w, ids, values)
		kernel.Softmax(pi, pi, k)
		for a, p := range pi {
			pi[a] = p*(1-leastGuess) + leastGuess/float64(k)
		}
		a := l.Action[i]
		switch p := at(l.Propensity, i, 0); {
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

// calibration gathers estimated propensities and the actions that were taken.
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
	order := Every(len(c.said))
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

// logistic is a model of the action on values times scale, and an intercept: W is [K×(names+1)].
type logistic struct {
	x regress.Sparse
	w []float64
}

// regress fits a model on rows.
func (l *Log) regress(ctx context.Context, rows []int) (*logistic, error) {
	scale, class := make([]float64, len(l.names)), make([]int32, len(rows)) // 0: not seen
	for r, i := range rows {
		class[r] = l.Action[i]
		ids, values := l.context(i)
		for j, id := range ids {
			scale[id] = max(scale[id], math.Abs(values[j]))
		}
	}
	for id, s := range scale {
		if s > 0 {
			scale[id] = min(1/s, math.MaxFloat64)
		}
	}
	m := &logistic{x: regress.Sparse{N: len(rows), Scale: scale, Row: func(i int) ([]uint32, []float64) {
		return l.context(rows[i])
	}}}
	var err error
	m.w, err = regress.Multinomial(ctx, &m.x, class, len(l.Actions), regress.Options{Penalties: []float64{1}})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: propensities cannot be estimated: %w", l.path, err)
	}
	return m, err
}

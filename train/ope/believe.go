package ope

import (
	"fmt"
	"math"
	"slices"

	"opl/graph/kernel"
	"opl/train/logs"
)

// few is the effective sample size below which, heavy the share of one row and long the shape of
// the tail from which on an estimate rests on a handful of rows.
const (
	few   = 50
	heavy = 0.1
	long  = 0.7
)

// spread is what the weights of a target are like.
type spread struct {
	Sum     float64 `json:"sum"`     // Σωw
	Square  float64 `json:"square"`  // Σ(ωw)²
	Largest float64 `json:"largest"` // max w
	Paid    int     `json:"paid"`    // rows of weight with a reward above 0
	// Σω of the probability of actions that the log could not take, or never took
	Uncovered float64   `json:"uncovered"`
	Alone     bool      `json:"logged_only"` // no row has the propensities of all actions
	Top       []float64 `json:"top"`         // the largest ωw, in order, see top
}

// spread describes the weights of the rows in the sample, which are some of whole rows. It leaves Uncovered at 0:
// that describes the whole log.
func (t *sample) spread(d *Data, whole int) (s spread) {
	var sum, square kernel.Sum
	w := make([]float64, t.n) // ωw
	for i, v := range d.W {
		w[i] = t.weight(i) * v
		sum.Add(w[i])
		square.Add(w[i] * w[i])
		s.Largest = max(s.Largest, v)
		if w[i] > 0 && t.r[i] > 0 {
			s.Paid++
		}
	}
	s.Alone = t.log.LoggedOnly()
	s.Sum, s.Square, s.Top = sum.Value(), square.Value(), top(w, whole)
	return s
}

// add adds that of other rows of the same whole.
func (s *spread) add(other spread, whole int) {
	*s = spread{s.Sum + other.Sum, s.Square + other.Square, max(s.Largest, other.Largest), s.Paid + other.Paid,
		s.Uncovered + other.Uncovered, s.Alone,
		top(slices.Concat(s.Top, other.Top), whole)}
}

// say puts into p what the spread of n rows of total weight Σω says, and warns where estimates rest
// on a handful of rows, and where weights do not average to 1.
func (s spread) say(p *Policy, total float64, n, groups int) {
	most := s.Top[len(s.Top)-1]
	// Probabilities that were rounded are off by chance, and not on average.
	p.Same = s.Largest <= 1+logs.Agreement &&
		math.Abs(p.MeanWeight-1) <= min(logs.Agreement, max(logs.Exact, 4*p.MeanWeightSE))
	p.Largest, p.Uncovered, p.Tail = s.Largest, s.Uncovered/total, tail(slices.Clone(s.Top), n)
	add := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	// Actions that were not seen in few rows may have been possible: weights that average more than
	// what is left of the target say so.
	if p.Uncovered > 0.01 && !(s.Alone && p.MeanWeight-3*p.MeanWeightSE > 1-p.Uncovered) {
		add("%.2g of what it does are actions that the log could not take, or never took: what they earn is not "+
			"known", p.Uncovered)
	}
	if s.Sum == 0 {
		add("the target never takes a logged action: nothing is known of it")
		return
	}
	p.ESS, p.Share = s.Sum*s.Sum/s.Square, most/s.Sum
	if p.ESS < few {
		add("the estimate rests on %.1f effective rows of %d", p.ESS, n)
	}
	if p.Share > heavy {
		add("one row carries %.0f %% of the weight", 100*p.Share)
	}
	if p.Tail >= long {
		add("the largest weights have the tail k = %.2f: from %v on no interval is to be trusted", p.Tail, long)
	}
	if s.Paid < 20 {
		add("only %d rows of weight have a reward above 0", s.Paid)
	}
	if d := p.MeanWeight - 1; math.Abs(d) > 4*p.MeanWeightSE && math.Abs(d) > 0.01 {
		add("weights average %.3g, not 1: propensities are wrong, or the target takes actions that the log could "+
			"not", p.MeanWeight)
	}
	if groups < 30 && groups < n {
		add("%d groups are too few for a normal interval", groups)
	}
}

// uncovered is the probability that π(·|x_i) gives to actions that the log could not take: of
// propensity 0 where those of all are known, else that no row has.
func (t *sample) uncovered(target Target, row []float64, i int) (mass float64) {
	if target.Row == nil {
		return 0
	}
	pi0 := t.log.Pi0(i)
	for j, p := range row[:t.log.Options(i)] {
		if a, _ := t.log.Option(i, j); pi0 == nil && !t.taken[a] || pi0 != nil && pi0[j] <= logs.LeastPropensity {
			mass += p
		}
	}
	return mass
}

// most is the largest weight that a target can have in rows that are logged, at least 1; given is
// the user's word, 0: none.
func (t *sample) most(d *Data, target Target, given float64) (float64, error) {
	if i := slices.IndexFunc(d.W, func(w float64) bool { return w > given }); given > 0 && i >= 0 {
		return 0, fmt.Errorf("ope: setting max-weight: target %s, row %d: the weight is %.4g, above %v",
			target.Name, i+1, d.W[i], given)
	}
	if given > 0 {
		return max(1, given), nil
	}
	if t.log.LoggedOnly() || target.Row == nil {
		return 0, fmt.Errorf("ope: setting interval: %s asks for the largest weight that target %s can have, "+
			"which a log or a target with probabilities of logged actions alone does not show: set max-weight "+
			"(setting max-weight), or take normal or bootstrap", t.method.Name, target.Name)
	}
	most, scratch := max(1, slices.Max(d.W)), make([]float64, t.log.MostOptions())
	for i := range t.n {
		row, pi0 := scratch[:t.log.Options(i)], t.log.Pi0(i)
		if err := target.Row(row, i); err != nil {
			return 0, err
		}
		for a, p := range row {
			if pi0[a] > logs.LeastPropensity { // else it is never logged: no weight, but uncovered
				most = max(most, p/pi0[a])
			}
		}
	}
	return most, nil
}

// believe names the estimator to believe, and how many rows would do for half an interval of half, or of a
// tenth of the logging policy's value, of n rows; z is the quantile of the intervals.
func (p *Policy) believe(logging, half, z float64, n int) {
	find := func(name string) int {
		return slices.IndexFunc(p.Estimates, func(e Estimate) bool { return e.Estimator == name })
	}
	best, plain := find("sndr"), find("snips")
	if plain >= 0 && (best < 0 || p.Same || p.Estimates[plain].SE+1e-12 < p.Estimates[best].SE) {
		best = plain // a model without skill makes sndr vary more than snips
	}
	if best < 0 {
		best = slices.IndexFunc(p.Estimates, func(e Estimate) bool { return !e.Biased })
	}
	if best < 0 || p.ESS == 0 || p.Learned {
		return
	}
	if p.HalfWidth = half; half == 0 {
		p.HalfWidth = logging / 10
	}
	if p.HalfWidth > 0 && p.MeanWeight >= 0.5 { // else rows like these hardly show what it does
		ratio := z * p.Estimates[best].SE / p.HalfWidth
		p.RowsNeeded = math.Ceil(float64(n) * max(ratio*ratio, few/p.ESS))
	}
	if p.Warnings == nil {
		p.Recommended = p.Estimates[best].Estimator
	}
}

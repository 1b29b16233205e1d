package ope

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/train/certify"
	"opl/train/logs"
)

// few is the effective sample size below which, and heavy the share of one row from which on an estimate rests on a
// handful of rows.
const (
	few   = certify.Few
	heavy = 0.1
)

// spread is what the weights of a target are like.
type spread struct {
	Sum     float64 `json:"sum"`     // Σωw
	Square  float64 `json:"square"`  // Σ(ωw)²
	Largest float64 `json:"largest"` // max w
	Paid    int     `json:"paid"`    // rows of weight with a reward above 0
	Rewards carried `json:"rewards"` // of rows of weight
	// Σω of the probability of actions that the log could not take, or never took
	Uncovered float64   `json:"uncovered"`
	Alone     bool      `json:"logged_only"` // no row has the propensities of all actions
	Top       []float64 `json:"top"`         // the largest ωw, in order, see top
}

// spread describes the weights of the rows in the sample, which are some of whole rows. It leaves Uncovered at 0:
// that describes the whole log.
func (t *sample) spread(d *Data, whole int) (s spread) {
	var sum, square kernel.Sum
	w, rewards := make([]float64, t.n), make([]float64, 0, t.n) // ωw
	for i, v := range d.W {
		w[i] = t.weight(i) * v
		sum.Add(w[i])
		square.Add(w[i] * w[i])
		s.Largest = max(s.Largest, v)
		if w[i] > 0 {
			rewards = append(rewards, t.r[i])
		}
		if w[i] > 0 && t.r[i] > 0 {
			s.Paid++
		}
	}
	s.Rewards = carriedBy(rewards)
	s.Alone = t.log.LoggedOnly()
	s.Sum, s.Square, s.Top = sum.Value(), square.Value(), certify.Top(slices.Values(w), whole)
	return s
}

// add adds that of other rows of the same whole.
func (s *spread) add(other spread, whole int) {
	*s = spread{s.Sum + other.Sum, s.Square + other.Square, max(s.Largest, other.Largest), s.Paid + other.Paid,
		s.Rewards.add(other.Rewards), s.Uncovered + other.Uncovered, s.Alone,
		certify.Top(slices.Values(slices.Concat(s.Top, other.Top)), whole)}
}

// say puts into p what the spread of n rows of total weight Σω says, and warns where estimates rest
// on a handful of rows, and where weights do not average to 1.
func (s spread) say(p *Policy, total float64, n, groups int) {
	most := s.Top[len(s.Top)-1]
	// Probabilities that were rounded are off by chance, and not on average.
	p.Same = s.Largest <= 1+logs.Agreement &&
		math.Abs(p.MeanWeight-1) <= min(logs.Agreement, max(logs.Exact, 4*p.MeanWeightSE))
	p.Largest, p.Uncovered, p.Tail = s.Largest, s.Uncovered/total, certify.Tail(slices.Clone(s.Top), n)
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
	tail, off := certify.Untrusted(p.Tail, p.MeanWeight, p.MeanWeightSE)
	if tail != "" {
		add("%s", tail)
	}
	if s.Paid < 20 {
		add("only %d rows of weight have a reward above 0", s.Paid)
	} else if rows := s.Rewards.rows(); rows == 1 {
		add("one row carries 95 %% of the variance of the rewards")
	} else if rows > 0 {
		add("%d rows carry 95 %% of the variance of the rewards", rows)
	}
	if off != "" {
		add("%s", off)
	}
	if groups < 30 && groups < n {
		add("%d groups are too few for a normal interval", groups)
	}
}

// mostCarried is how many rows may carry 95 % of the variance of rewards, so that an estimate rests on them: as
// where few rows fail, or one earns a thousand times what others do. It does not change with the unit of rewards.
const mostCarried = 19

// carried says which rewards carry their variance.
type carried struct {
	N      int       `json:"n"`
	Sum    float64   `json:"sum"`    // Σr
	Square float64   `json:"square"` // Σ(r − mean)²
	Ends   []float64 `json:"ends"`   // the mostCarried least and largest of them, in order; all of fewer than twice as many
}

func carriedBy(r []float64) (c carried) {
	if c.N = len(r); c.N == 0 {
		return c
	}
	c.Sum = floats.Sum(r)
	mean := c.Sum / float64(c.N)
	for _, v := range r {
		c.Square += (v - mean) * (v - mean)
	}
	c.Ends = ends(slices.Sorted(slices.Values(r)))
	return c
}

// ends are the least and the largest of some values in order.
func ends(r []float64) []float64 {
	if len(r) <= 2*mostCarried {
		return r
	}
	return slices.Concat(r[:mostCarried], r[len(r)-mostCarried:])
}

// add is what carries the variance of both.
func (c carried) add(other carried) carried {
	switch {
	case c.N == 0:
		return other
	case other.N == 0:
		return c
	}
	n, m := float64(c.N), float64(other.N)
	apart := c.Sum/n - other.Sum/m
	return carried{c.N + other.N, c.Sum + other.Sum, c.Square + other.Square + apart*apart*n*m/(n+m),
		ends(slices.Sorted(slices.Values(slices.Concat(c.Ends, other.Ends))))}
}

// rows is how many rows carry 95 % of the variance, 0: more than mostCarried, or there are too few to say.
func (c carried) rows() int {
	if c.N <= 2*mostCarried || c.Square <= 1e-24*float64(c.N) { // all are the same, but for rounding
		return 0
	}
	mean := c.Sum / float64(c.N)
	d := make([]float64, 0, len(c.Ends))
	for _, v := range c.Ends {
		d = append(d, (v-mean)*(v-mean))
	}
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 0.
	for i, v := range d[:mostCarried] {
		if sum += v; sum >= .95*c.Square {
			return i + 1
		}
	}
	return 0
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

package certify

import (
	"cmp"
	"math"

	"opl/graph/kernel"
	"opl/policies/propensity"
)

// Few is the effective sample size below which an estimate has no normal interval: if all of its rows earn alike, the
// standard error says nothing.
const Few = 50

// Estimate is what rows of a log say about a policy by the weights w = π/π₀ of their
// actions. If the policy was learned from these rows it flatters.
type Estimate struct {
	Rows      int     `json:"rows"`      // that were read
	Reward    float64 `json:"reward"`    // Σ w r/Σ w, in [0, 1]
	SE        float64 `json:"se"`        // √Σ w²(r − reward)²/Σ w, see Widen
	Effective float64 `json:"effective"` // effective sample size, (Σ w)²/Σ w² rows
	// Weight is the mean of w, whose expectation is 1. Where it is small these rows lack what the policy mostly does,
	// and the rest is of what it does beside.
	Weight float64 `json:"mean_weight"`
	// Tail is the shape k of the largest w, see [Tail]; 0: there is no tail.
	Tail float64 `json:"pareto_k,omitempty"`
}

// Tells says that the rows play at least half of what the policy does, by the mean weight: of another, such as one of
// few rows among very many actions, Reward is hardly an estimate.
func (e Estimate) Tells() bool { return e.Weight >= 0.5 }

// Doubt says why Reward has no normal interval; empty: it has one.
func (e Estimate) Doubt() string {
	if e.Effective < Few {
		return "too few for an interval"
	}
	return cmp.Or(e.untrusted())
}

// untrusted is [Untrusted] of the weights. Of n of mean m, which are worth ess rows, the variance is m²(n/ess − 1).
func (e Estimate) untrusted() (tail, off string) {
	return Untrusted(e.Tail, e.Weight, e.Weight*math.Sqrt(max(0, 1/e.Effective-1/float64(e.Rows))))
}

// TooHeavy says that independent weights average more than 1 beyond chance, so that propensities are wrong; empty: they
// do not. Less than 1 may be a policy whose actions the rows hardly have.
func (e Estimate) TooHeavy() (off string) {
	if e.Weight > 1 && e.Effective > 0 {
		_, off = e.untrusted()
	}
	return off
}

// SelfNormalized estimates a reward from π(a_i|x_i), π₀(a_i|x_i) and c_i of n rows.
func SelfNormalized(pi, pi0, cost []float64) Estimate {
	return SelfNormalizedRows(len(pi), func(i int) (w, c float64) { return pi[i] / pi0[i], cost[i] })
}

// SelfNormalizedRows is SelfNormalized for rows of a function: the weight π(a_i|x_i)/π₀(a_i|x_i)
// and c_i.
func SelfNormalizedRows(n int, row func(i int) (w, cost float64)) Estimate {
	var sums, squares, rewards, spread kernel.Sum
	binary := true
	for i := range n {
		w, c := row(i)
		sums.Add(w)
		squares.Add(w * w)
		rewards.Add(-w * c)
		binary = binary && c*(c+1) == 0
	}
	weights := func(yield func(float64) bool) {
		for i := range n {
			if w, _ := row(i); !yield(w) {
				return
			}
		}
	}
	e := Estimate{Rows: n}
	sum, square, reward := sums.Value(), squares.Value(), rewards.Value()
	if !(sum > 0) {
		return e
	}
	e.Reward, e.Effective, e.Weight, e.Tail = reward/sum, sum*sum/square, sum/float64(n), Tail(Top(weights, n), n)
	for i := range n {
		w, c := row(i)
		d := w * (-c - e.Reward)
		spread.Add(d * d)
	}
	e.SE = math.Sqrt(spread.Value()) / sum
	e.Widen(binary)
	return e
}

// Widen makes the standard error, of rewards that are 0 or 1, at least that of a share of Effective rows with two more
// of each: √(p(1 − p)/(n + 4)), p = (n·reward + 2)/(n + 4). That of the rows alone is too small near 0 and 1.
//
// Agresti & Coull (1998), Approximate is better than "exact" for interval estimation of binomial proportions.
func (e *Estimate) Widen(binary bool) {
	if n := e.Effective + 4; binary {
		p := (e.Effective*e.Reward + 2) / n
		e.SE = max(e.SE, math.Sqrt(p*(1-p)/n))
	}
}

// Logged computes π_Q(a_i|x_i), of a family that has an exact form, and π₀(a_i|x_i) and
// c_i beside it, of some rows of an encoded log. Where the log has choices, the family is of point policies.
func Logged(pol propensity.Family, q propensity.Posterior, log Encoded, rows []int) (pi, pi0, cost []float64) {
	costs, propensities, _ := log.Columns()
	pi, pi0, cost = make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		pi0[i], cost[i] = propensities[r], costs[r]
	}
	all := make([]float64, log.MostOptions())
	log.ScoreRows(rows, q.Mu, func(i int, scores []float64) {
		sigma := 0.
		if !log.Choosing() {
			sigma = q.Sigma * log.Norm(rows[i])
		}
		pol.At(all[:len(scores)], scores, sigma, nil)
		pi[i] = all[log.Chosen(rows[i])]
	})
	return pi, pi0, cost
}

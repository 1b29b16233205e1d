package propensity

import (
	"cmp"
	"math"
)

// Prior is P = N(mean, scale²·I), fixed before the rows of a bound are seen.
// Point policies use its mean alone: it is θ₀, where learning starts and what
// penalties measure the distance from.
type Prior struct {
	Mean  []float64 // [K×d], the parameters of an action next to each other
	Scale float64   // s > 0; 0 means 1
	// Taught are the rows of the log that the prior was learned from. A bound
	// holds on the others alone.
	Taught RowSet
	// Fixed is the word of the caller that no row of a log that certifies had a part in
	// the mean, such as one that was learned elsewhere. A mean that is not 0, was not
	// taught by known rows and is not fixed certifies nothing.
	Fixed bool
}

// Posterior is a learned Q = N(μ, σ²I) and the prior that it is measured
// against; for a point policy θ = μ and σ = 0.
type Posterior struct {
	Actions, Dim int       // K, d; of actions with features p, the number of these, and d
	Mu           []float64 // [K×d], or W [p×d]
	Sigma        float64   // scale of the Gaussian
	Prior        Prior     // that KL is measured from
}

// KL returns the divergence of the posterior from its prior, in nats:
//
//	KL(Q‖P) = ½[Kd(σ²/s² − 1 − log σ²/s²) + ‖μ − μ_P‖²/s²]
//
// It is infinite for σ = 0.
func (q Posterior) KL() float64 {
	s := cmp.Or(q.Prior.Scale, 1)
	rho := math.Log(q.Sigma / s)
	scales := max(0, math.Expm1(2*rho)-2*rho) // rounding takes it below 0 where σ is nearly s
	return 0.5 * (float64(len(q.Mu))*scales + q.SquaredDistance()/(s*s))
}

// SquaredDistance returns ‖μ − μ_P‖².
func (q Posterior) SquaredDistance() float64 {
	var d float64
	for i, m := range q.Mu {
		d += (m - q.Prior.Mean[i]) * (m - q.Prior.Mean[i])
	}
	return d
}

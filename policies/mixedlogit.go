package policies

import (
	"opl/graph"
	"opl/policies/propensity"
)

// DefaultSamples is S where none is given.
const DefaultSamples = 32

// SoftmaxPosterior is the family of softmax policies under a Gaussian
// posterior, one row of probabilities for each draw of the parameter:
//
//	π_s(a|x) = softmax(φ(x)ᵀμ + σ‖φ(x)‖ε_s)_a,   ε_s ~ N(0, I_K)
//
// This is θ ~ N(μ, σ²I) by local reparameterization. The noise is independent
// for each example, draw and action: noise shared by the actions cancels in a
// softmax. Expectations over draws are the objective's business, as Theorem 1
// has them outside of the weight.
type SoftmaxPosterior struct {
	propensity.SoftmaxPosterior
	Samples int   // S; 0 means DefaultSamples
	Noise   Noise // nil means LowDiscrepancy
}

// Draws returns S, the number of draws of the noise.
func (p SoftmaxPosterior) Draws() int {
	if p.Samples <= 0 {
		return DefaultSamples
	}
	return p.Samples
}

// Probs builds π [B·S×K].
func (p SoftmaxPosterior) Probs(s Scores) graph.Expr {
	b, k, err := s.rows()
	if err != nil {
		return s.Mean
	}
	n := p.Draws()
	eps := noise(s.Mean.Graph(), p.Noise, b, n, k)               // [B·S×K]
	scale := s.Norm.Mul(s.Sigma).RepeatRows(n)                   // [B·S] σ‖φ(x)‖
	scores := s.Mean.RepeatRows(n).Add(eps.Mul(scale.Across(k))) // [B·S×K]
	return scores.Softmax()
}

// MixedLogit is the average of the softmax policies under a Gaussian posterior,
//
//	π_Q(a|x) = E_ε[softmax(φ(x)ᵀμ + σ‖φ(x)‖ε)_a],   ε ~ N(0, I_K)
//
// estimated by the mean over S draws. As a softmax is an argmax under Gumbel
// noise, it is a mixture of deterministic policies too: the noise has no
// parameter and joins θ at no KL.
type MixedLogit struct {
	propensity.MixedLogit
	Samples int   // S; 0 means DefaultSamples
	Noise   Noise // nil means LowDiscrepancy
}

// Draws returns 1: Probs averages over its samples.
func (MixedLogit) Draws() int { return 1 }

// Probs builds π_Q [B×K].
func (p MixedLogit) Probs(s Scores) graph.Expr {
	q := SoftmaxPosterior{Samples: p.Samples, Noise: p.Noise}
	return q.Probs(s).MeanGroups(q.Draws())
}

package policies

import (
	"opl/graph"
	"opl/graph/kernel"
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
	Samples int   // S; 0 means DefaultSamples
	Noise   Noise // nil means LowDiscrepancy
}

var _ Policy = SoftmaxPosterior{}

func (SoftmaxPosterior) Name() string       { return "softmax-posterior" }
func (SoftmaxPosterior) HasPosterior() bool { return true }
func (SoftmaxPosterior) Mixture() bool      { return false }
func (SoftmaxPosterior) Noisy() bool        { return true }

// Draws is S.
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

// Given writes softmax(scores + scale·eps) to dst.
func (SoftmaxPosterior) Given(dst, scores []float64, scale float64, eps []float64) {
	var buf [64]float64
	z := append(buf[:0], scores...)
	for a := range z {
		z[a] += scale * eps[a]
	}
	kernel.Softmax(dst, z, len(z))
}

// AtMean writes softmax(scores) to dst.
func (SoftmaxPosterior) AtMean(dst, scores []float64) { kernel.Softmax(dst, scores, len(scores)) }

// MixedLogit is the average of the softmax policies under a Gaussian posterior,
//
//	π_Q(a|x) = E_ε[softmax(φ(x)ᵀμ + σ‖φ(x)‖ε)_a],   ε ~ N(0, I_K)
//
// estimated by the mean over S draws. As a softmax is an argmax under Gumbel
// noise, it is a mixture of deterministic policies too: the noise has no
// parameter and joins θ at no KL.
type MixedLogit struct {
	Samples int   // S; 0 means DefaultSamples
	Noise   Noise // nil means LowDiscrepancy
}

var _ Policy = MixedLogit{}

func (MixedLogit) Name() string       { return "mixedlogit" }
func (MixedLogit) HasPosterior() bool { return true }
func (MixedLogit) Mixture() bool      { return true }
func (MixedLogit) Draws() int         { return 1 }
func (MixedLogit) Noisy() bool        { return true }

// Probs builds π_Q [B×K].
func (p MixedLogit) Probs(s Scores) graph.Expr {
	q := SoftmaxPosterior(p)
	return q.Probs(s).MeanGroups(q.Draws())
}

// Given writes softmax(scores + scale·eps) to dst; π_Q is its mean over eps.
func (MixedLogit) Given(dst, scores []float64, scale float64, eps []float64) {
	SoftmaxPosterior{}.Given(dst, scores, scale, eps)
}

// AtMean writes softmax(scores) to dst.
func (MixedLogit) AtMean(dst, scores []float64) { kernel.Softmax(dst, scores, len(scores)) }

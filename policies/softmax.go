package policies

import (
	"opl/graph"
	"opl/graph/kernel"
)

// Softmax is the point policy
//
//	π_θ(a|x) = exp(φ(x)ᵀθ_a) / Σ_k exp(φ(x)ᵀθ_k)
//
// computed from differences to the largest score. It has no posterior.
type Softmax struct{}

var _ Policy = Softmax{}

func (Softmax) Name() string       { return "softmax" }
func (Softmax) HasPosterior() bool { return false }
func (Softmax) Mixture() bool      { return false }
func (Softmax) Draws() int         { return 1 }
func (Softmax) Noisy() bool        { return false }

// Probs builds π [B×K].
func (Softmax) Probs(s Scores) graph.Expr { return s.Mean.Softmax() }

// LogProbs builds log π [B×K], finite where π underflows.
func (Softmax) LogProbs(s Scores) graph.Expr { return s.Mean.LogSoftmax() }

// Given writes softmax(scores) to dst.
func (Softmax) Given(dst, scores []float64, _ float64, _ []float64) {
	kernel.Softmax(dst, scores, len(scores))
}

// AtMean is Given.
func (Softmax) AtMean(dst, scores []float64) { kernel.Softmax(dst, scores, len(scores)) }

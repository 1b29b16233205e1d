package policies

import "opl/graph"

// Policy is a family of policies with linear scores. B examples, K actions, d
// features; R = B·Draws() rows, the draws of one example next to each other.
type Policy interface {
	// Name is the family's name in flags and tables.
	Name() string

	// HasPosterior reports whether the family is one of distributions
	// Q = N(μ, σ²I) over parameters, with a KL divergence to a prior, and not of
	// single parameters θ.
	HasPosterior() bool

	// Mixture reports whether Probs gives π_Q itself, as a mixture of
	// deterministic policies under Q: what Corollary 1 asks for.
	Mixture() bool

	// Draws is S, the rows of Probs for each example: 1, unless the expectation
	// over θ ~ Q is left to the objective.
	Draws() int

	// Probs builds the probabilities of all actions, [R×K].
	Probs(s Scores) graph.Expr

	// Noisy reports whether Given depends on its noise.
	Noisy() bool

	// Given writes to dst [K] the probabilities of all actions for one context,
	// from its scores φ(x)ᵀμ [K], scale = σ‖φ(x)‖, and for noisy families one draw
	// of standard normal noise eps [K]. π_Q is its mean over draws. Float64,
	// exact where the family has an exact form, whatever form Probs uses.
	Given(dst, scores []float64, scale float64, eps []float64)

	// AtMean writes to dst [K] the probabilities of the single policy at θ = μ.
	AtMean(dst, scores []float64)
}

// Scores are what a policy is made of.
type Scores struct {
	Mean  graph.Expr // φ(x)ᵀμ_a [B×K]
	Norm  graph.Expr // ‖φ(x)‖ [B]
	Sigma graph.Expr // σ (), of families with a posterior
}

// rows returns B and K.
func (s Scores) rows() (b, k int, err error) {
	if err := s.Mean.Err(); err != nil {
		return 0, 0, err
	}
	shape := s.Mean.Shape()
	return shape[0], shape[1], nil
}

package policies

import (
	"opl/graph"
	"opl/policies/propensity"
)

// Policy is a family of policies with linear scores, as a graph for learning and in
// numbers for all else. B examples, K actions, d features; R = B·Draws() rows, the
// draws of one example next to each other.
type Policy interface {
	propensity.Family

	// Draws is S, the rows of Probs for each example: 1, unless the expectation
	// over θ ~ Q is left to the objective.
	Draws() int

	// Probs builds the probabilities of all actions, [R×K].
	Probs(s Scores) graph.Expr
}

// What is learned, see package propensity.
type (
	Prior     = propensity.Prior
	Posterior = propensity.Posterior
)

// Scores are what a policy is made of.
type Scores struct {
	Mean  graph.Expr // φ(x)ᵀμ_a [B×K], −Inf where a set offers no action
	Norm  graph.Expr // ‖φ(x)‖ [B]
	Sigma graph.Expr // σ (), of families with a posterior
	Share graph.Expr // of sets: 1/|offered| at each action offered, 0 beyond [B×K]; empty: all K are
}

// rows returns B and K.
func (s Scores) rows() (b, k int, err error) {
	if err = s.Mean.Err(); err == nil {
		b, k = s.Mean.Shape()[0], s.Mean.Shape()[1]
	}
	return b, k, err
}

package policies

import (
	"opl/graph"
	"opl/policies/propensity"
)

// ArgMax is the point policy [propensity.ArgMax]. It is played, and not learned: it has no
// gradient.
type ArgMax struct{ propensity.ArgMax }

var _ Policy = ArgMax{}

// Draws returns 1: the probabilities are exact.
func (ArgMax) Draws() int { return 1 }

// Probs fails, because argmax has no gradient.
func (ArgMax) Probs(Scores) graph.Expr {
	return graph.Fail("an argmax policy has no gradient: learn a softmax, and play its argmax")
}

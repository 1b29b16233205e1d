package policies

import (
	"opl/graph"
	"opl/policies/propensity"
)

// Softmax is the point policy [propensity.Softmax].
type Softmax struct{ propensity.Softmax }

// Draws returns 1: the probabilities are exact.
func (Softmax) Draws() int { return 1 }

// Probs builds π [B×K].
func (Softmax) Probs(s Scores) graph.Expr { return s.Mean.Softmax() }

// LogProbs builds log π [B×K], finite where π underflows.
func (Softmax) LogProbs(s Scores) graph.Expr { return s.Mean.LogSoftmax() }

package policies

import (
	"opl/graph"
	"opl/policies/propensity"
)

// Floor keeps the propensities of a policy away from 0, see [propensity.Floor].
type Floor struct {
	Policy          // π'
	Epsilon float64 // ε
}

func (p Floor) numbers() propensity.Floor {
	return propensity.Floor{Family: p.Policy, Epsilon: p.Epsilon}
}

// Name adds the floor to the policy's name.
func (p Floor) Name() string { return p.numbers().Name() }

// Probs builds π [R×K].
func (p Floor) Probs(s Scores) graph.Expr {
	pi := p.Policy.Probs(s)
	_, k, err := s.rows()
	if err != nil || p.Epsilon == 0 {
		return pi
	}
	if s.Share.Err() == nil {
		return pi.Scale(1 - p.Epsilon).Add(s.Share.Scale(p.Epsilon))
	}
	return pi.Scale(1 - p.Epsilon).Plus(p.Epsilon / float64(k))
}

// At writes π of the policy's At to dst.
func (p Floor) At(dst, scores []float64, scale float64, eps []float64) {
	p.numbers().At(dst, scores, scale, eps)
}

// AtMean writes π of the policy's AtMean to dst.
func (p Floor) AtMean(dst, scores []float64) { p.numbers().AtMean(dst, scores) }

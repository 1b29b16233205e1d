package policies

import (
	"fmt"

	"opl/graph"
)

// Floor keeps the propensities of a policy away from 0:
//
//	π(a|x) = (1 − ε)·π'(a|x) + ε/K
//
// for ε in [0, 1), so that a log of π can judge any other policy with weights of
// at most K/ε. It plays an action at random with probability ε; as this takes no
// parameter it joins θ at no KL, and a mixture of deterministic policies stays
// one. The zero ε is the policy itself.
type Floor struct {
	Policy          // π'
	Epsilon float64 // ε
}

var _ Policy = Floor{}

// Name adds the floor to the policy's name.
func (p Floor) Name() string {
	if p.Epsilon == 0 {
		return p.Policy.Name()
	}
	return fmt.Sprintf("%s, floor %v", p.Policy.Name(), p.Epsilon)
}

// Probs builds π [R×K].
func (p Floor) Probs(s Scores) graph.Expr {
	pi := p.Policy.Probs(s)
	_, k, err := s.rows()
	if err != nil || p.Epsilon == 0 {
		return pi
	}
	return pi.Scale(1 - p.Epsilon).Plus(p.Epsilon / float64(k))
}

// Given writes π of the policy's Given to dst.
func (p Floor) Given(dst, scores []float64, scale float64, eps []float64) {
	p.Policy.Given(dst, scores, scale, eps)
	p.mix(dst)
}

// AtMean writes π of the policy's AtMean to dst.
func (p Floor) AtMean(dst, scores []float64) {
	p.Policy.AtMean(dst, scores)
	p.mix(dst)
}

func (p Floor) mix(dst []float64) {
	for a, v := range dst {
		dst[a] = (1-p.Epsilon)*v + p.Epsilon/float64(len(dst))
	}
}

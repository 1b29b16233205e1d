package ope

import (
	"errors"
	"fmt"

	"opl/train/certify"
	"opl/train/provenance"
)

// guarantee states what the judge says of a target with probability 1 − delta, or why
// nothing is guaranteed. pi is π(a_i|x_i).
func (t *sample) guarantee(p *Policy, target Target, pi []float64, delta float64) error {
	c, err := t.judge.Probabilities(pi, target.Origin, certify.Options{Delta: delta})
	var withheld *provenance.Withheld
	switch {
	case errors.As(err, &withheld):
		p.Uncertified = withheld.Reason
	case err != nil:
		return fmt.Errorf("ope: target %s: %w", p.Name, err)
	default:
		s := c.Statement()
		p.Guarantee = &s
	}
	return nil
}

package ope

import (
	"fmt"
	"slices"

	"opl/train/certify"
)

// guarantee states what holds of a target with probability 1 − delta, or why nothing
// does. pi is π(a_i|x_i).
func (t *sample) guarantee(p *Policy, target Target, pi []float64, delta float64) error {
	switch {
	case target.Uncertified != "":
		p.Uncertified = target.Uncertified
	case t.log.Estimated:
		p.Uncertified = "the propensities are estimates"
	case t.place != nil:
		p.Uncertified = "rows share groups, and a guarantee needs independent rows"
	case t.log.Weight != nil && slices.Min(t.log.Weight) != slices.Max(t.log.Weight):
		p.Uncertified = "rows have different weights, and a guarantee needs identically distributed rows"
	default:
		c, err := certify.Fixed(pi, t.log.Propensity, t.log.Cost, delta)
		if err != nil {
			return fmt.Errorf("ope: target %s: %w", p.Name, err)
		}
		p.Guarantee = &c
	}
	return nil
}

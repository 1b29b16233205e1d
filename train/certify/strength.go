package certify

import (
	"math"

	"opl/train/logs"
)

const (
	// Strongest is the largest Γ that [Strength] looks for.
	Strongest = 10.0
	bracket   = 1.1     // ratio of the ends of two brackets
	kept      = 1 << 22 // probabilities, or predictions, that are kept from one Γ to the next
)

// Strength is the largest Γ, to 0.1 % below and 10 at most, at which the upper bound on the gain of a
// fixed policy is below 0, as of [Fixed]; 0 where it is not at the Γ of the options.
//
// It may be read off the rows: with probability 1 − δ/2 there is no gain that it is wrong about, whatever
// the true Γ. The Γ are cut at 1.1, 1.1², … times the first. In a bracket models are
// shrunk as for its upper end, so that X at each row increases in Γ, and with it the bound: if it is below
// 0 at a Γ of the bracket, so it is at all smaller ones of it. A bracket is looked at only where the
// bound is below 0 at the upper end of the one before. So whatever the true Γ, the strength is
// above it only if one bound fails, that of its bracket.
func Strength(pi func(dst []float64, i int) error, logged []float64, log *logs.Log, rows []int, o Options) (float64, error) {
	o, err := o.check()
	if err != nil {
		return 0, err
	}
	b, err := Fixed(pi, logged, log, rows, o)
	if err != nil || !b.Better() {
		return 0, err
	}
	if k := log.K(); len(rows)*k <= kept && pi != nil {
		if pi, o.Models, err = keep(pi, o.Models, log, rows); err != nil {
			return 0, err
		}
	}
	better := func(gamma, clip float64) bool {
		if err != nil {
			return false
		}
		o := o
		o.Gamma, o.clip = gamma, clip
		var s *sums
		if s, err = fixed(pi, logged, log, rows, o); err != nil {
			return false
		}
		_, gain, delta := s.mixtures()
		return gain.log(0) > -math.Log(delta)
	}
	low := o.Gamma
	for low < Strongest {
		high := min(low*bracket, Strongest)
		if clip := high; !better(high, clip) {
			for high-low > 1e-3*low {
				if mid := (low + high) / 2; better(mid, clip) {
					low = mid
				} else {
					high = mid
				}
			}
			break
		}
		low = high
	}
	return low, err
}

// keep computes probabilities and predictions once.
func keep(pi func(dst []float64, i int) error, models []*RewardModel, log *logs.Log, rows []int) (func(dst []float64, i int) error, []*RewardModel, error) {
	k := log.K()
	place := make([]int, log.Len())
	all := make([]float64, len(rows)*k)
	for j, r := range rows {
		place[r] = j * k
		if err := pi(all[j*k:(j+1)*k], r); err != nil {
			return nil, nil, err
		}
	}
	read := func(from []float64) func(dst []float64, i int) {
		return func(dst []float64, i int) { copy(dst[:k], from[place[i]:]) }
	}
	var known []*RewardModel
	if !log.LoggedOnly() {
		for _, m := range models {
			of, predicted := *m, make([]float64, len(rows)*k)
			for j, r := range rows {
				if m.Of != nil {
					m.Of(predicted[j*k:(j+1)*k], all[j*k:(j+1)*k], r)
				} else {
					m.Predict(predicted[j*k:(j+1)*k], r)
				}
			}
			of.Predict, of.Of = read(predicted), nil
			known = append(known, &of)
		}
	}
	played := read(all)
	return func(dst []float64, i int) error { played(dst, i); return nil }, known, nil
}

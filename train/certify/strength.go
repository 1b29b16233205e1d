package certify

import (
	"cmp"
	"math"

	"opl/policies/propensity"
)

const (
	// Strongest is the largest Γ that [Strength] looks for.
	Strongest = 10.0
	kept      = 1 << 22 // probabilities, or predictions, that are kept from one Γ to the next
)

// bracket is the end of the bracket that Γ is in, where models are shrunk as for it.
func bracket(gamma float64) float64 {
	switch {
	case gamma == 1:
		return 1
	case gamma <= propensity.Rounded:
		return propensity.Rounded
	}
	end := 1.1
	for end < gamma {
		end *= 1.1
	}
	return end
}

// Strength returns the largest Γ, rounded down to .001 and at most 10, at which [Fixed] shows that a fixed policy is
// better: its upper bound on the gain in risk is below 0. It returns 0 if [Fixed] does not show it at the options' Γ.
//
// It may be read off the rows: whatever the true Γ is, with probability 1 − δ/2 the strength is below it, or
// the policy better. In a bracket (see the package comment) X of each row increases in Γ, and with it the bound:
// where it is below 0 at one Γ, so it is at the smaller ones of its bracket. A bracket is looked at only where the
// bound is below 0 at the end of the one before. So a strength above the true Γ of a policy that is not better needs
// the bound of the true Γ to fail.
func Strength(pi Policy, logged []float64, log Log, rows []int, o Options) (float64, error) {
	o, err := o.check()
	if err != nil {
		return 0, err
	}
	b, err := Fixed(pi, logged, log, rows, o)
	if err != nil || !b.Better() {
		return 0, err
	}
	if k := log.MostOptions(); len(rows)*k <= kept && pi != nil {
		if pi, o.Models, err = keep(pi, o, log, rows); err != nil {
			return 0, err
		}
	}
	better := func(gamma float64) bool {
		o := o
		o.Gamma = gamma
		b, e := Fixed(pi, logged, log, rows, o)
		err = cmp.Or(err, e)
		return e == nil && b.Better()
	}
	low := o.Gamma
	next := func() float64 { return min(bracket(math.Nextafter(low, 2*low)), Strongest) }
	high := next()
	for low < Strongest && better(high) {
		low = high
		high = next()
	}
	for high-low > 1e-3 {
		if mid := (low + high) / 2; better(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return max(o.Gamma, math.Floor(low*1000)/1000), err
}

// keep computes probabilities and predictions once.
func keep(pi Policy, o Options, log Log, rows []int) (Policy, []*RewardModel, error) {
	k := log.MostOptions()
	place := make([]int, log.Len())
	all := make([]float64, len(rows)*k)
	for j, r := range rows {
		place[r] = j * k
		if err := pi(all[j*k:][:log.Options(r)], r); err != nil {
			return nil, nil, err
		}
	}
	read := func(from []float64) func(dst []float64, i int) {
		return func(dst []float64, i int) { copy(dst[:log.Options(i)], from[place[i]:]) }
	}
	var known []*RewardModel
	if !o.LoggedOnly(log) {
		for _, m := range o.Models {
			of, predicted := *m, make([]float64, len(rows)*k)
			for j, r := range rows {
				if m.Of != nil {
					m.Of(predicted[j*k:][:log.Options(r)], all[j*k:][:log.Options(r)], r)
				} else {
					m.Predict(predicted[j*k:][:log.Options(r)], r)
				}
			}
			of.Predict, of.Of = read(predicted), nil
			known = append(known, &of)
		}
	}
	played := read(all)
	return func(dst []float64, i int) error { played(dst, i); return nil }, known, nil
}

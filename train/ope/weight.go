package ope

import (
	"opl/objectives/weights"
)

// FromWeight is the mean of r ŵ for a regularized importance weight ŵ(π, π₀), of
// which about is the formula. ipsAt is the hyperparameter, 0 or 1, at which ŵ = π/π₀;
// the hyperparameter is in (0, 1], by default [weights.DefaultHyper]. NaN: it has none.
// A weight that is 0/0 where π = 0 is 0 there.
func FromWeight(name, about string, ipsAt float64, of func(hyper float64) weights.Weight) Estimator {
	e := Estimator{Name: name, About: "mean of r ŵ, ŵ = " + about, Biased: true,
		check: func(hyper float64) error { return of(hyper).Check() },
		Of: func(d *Data, hyper float64) Value {
			w := of(hyper).Value(weights.Column(d.Pi), weights.Column(d.Pi0)).(weights.Column)
			return d.Mean(func(i int) float64 {
				if d.Pi[i] == 0 && w[i] != w[i] {
					return 0
				}
				return d.R[i] * w[i]
			})
		}}
	if ipsAt == ipsAt {
		e.Hyper = &Hyper{Default: func(n int) float64 { return weights.DefaultHyper(n, ipsAt) }, High: 1}
	}
	return e
}

package ope

import (
	"math"

	"opl/objectives/weights"
)

// IPS is inverse propensity scoring, the mean of w r. Horvitz & Thompson (1952);
// unbiased.
func IPS() Estimator {
	return Estimator{Name: "ips", About: "mean of w r, w = π/π₀; unbiased", Bounded: true,
		Of: func(d *Data, _ float64) Value {
			return d.Mean(func(i int) float64 { return d.W[i] * d.R[i] })
		}}
}

// SNIPS is IPS divided by the mean of w. Swaminathan & Joachims (2015); its bias is
// of order 1/n. A target without weight in any row has none.
func SNIPS() Estimator {
	return Estimator{Name: "snips", About: "Σ w r/Σ w, self-normalized", Of: func(d *Data, _ float64) Value {
		return d.Ratio(func(i int) float64 { return d.W[i] * d.R[i] }, func(i int) float64 { return d.W[i] })
	}}
}

// LS is logarithmic smoothing, the mean of log(1 + ℓ w r)/ℓ, ℓ in (0, 1], by default
// 1/√n. Sakhi et al. (2024); it errs below.
func LS() Estimator {
	return Estimator{Name: "ls", About: "mean of log(1 + ℓ w r)/ℓ, logarithmic smoothing; ℓ = 1/√n", Biased: true,
		OnRequest: true, Bounded: true,
		Hyper: &Hyper{Default: func(d *Data) float64 { return 1 / math.Sqrt(float64(d.N)) }, High: 1,
			ByCount: true},
		Of: func(d *Data, ell float64) Value {
			return d.Mean(func(i int) float64 { return math.Log1p(ell*d.W[i]*d.R[i]) / ell })
		}}
}

// FromWeight returns the mean of r ŵ for a regularized importance weight ŵ(π, π₀), of
// which about is the formula. ipsAt is the hyperparameter, 0 or 1, at which ŵ = π/π₀; the
// hyperparameter is in (0, 1], by default [weights.DefaultHyper]. NaN: it has none. A
// weight that is 0/0 where π = 0 is 0 there.
func FromWeight(name, about string, ipsAt float64, of func(hyper float64) weights.Weight) Estimator {
	e := Estimator{Name: name, About: "mean of r ŵ, ŵ = " + about, Biased: true, OnRequest: true, Bounded: true,
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
		e.Hyper = &Hyper{Default: func(d *Data) float64 { return weights.DefaultHyper(d.N, ipsAt) }, High: 1,
			ByCount: true}
	}
	return e
}

// DM is the direct method, the mean of Σ_a π(a|x) r̂(x,a). It is biased as r̂ is, and
// its standard error does not know that.
func DM() Estimator {
	return Estimator{Name: "dm", About: "mean of Σ_a π r̂, the direct method", Biased: true, OnRequest: true,
		Model: true, Of: func(d *Data, _ float64) Value {
			return d.Mean(func(i int) float64 { return d.Direct[i] })
		}}
}

// DR is the doubly robust estimate, the mean of Σ_a π(a|x) r̂(x,a) + w(r − r̂(x,a_i)).
// Dudík et al. (2011); unbiased.
func DR() Estimator {
	return Estimator{Name: "dr", About: "mean of Σ_a π r̂ + w(r − r̂), doubly robust; unbiased", Model: true,
		Of: func(d *Data, _ float64) Value {
			return d.Mean(func(i int) float64 { return d.Direct[i] + d.W[i]*(d.R[i]-d.Predicted[i]) })
		}}
}

// SNDR is the self-normalized doubly robust estimate, the mean of Σ_a π(a|x) r̂(x,a) plus
// Σ w(r − r̂)/Σ w. Thomas & Brunskill (2016), weighted doubly robust of one step; its bias is of
// order 1/n. A target without weight in any row has none.
func SNDR() Estimator {
	return Estimator{Name: "sndr", About: "mean of Σ_a π r̂, + Σ w(r − r̂)/Σ w, self-normalized dr", Model: true,
		Of: func(d *Data, _ float64) Value {
			return d.Mean(func(i int) float64 { return d.Direct[i] }).Plus(d.Ratio(
				func(i int) float64 { return d.W[i] * (d.R[i] - d.Predicted[i]) },
				func(i int) float64 { return d.W[i] }))
		}}
}

// MRDR is the more robust doubly robust estimate: dr with a model of the reward that is learned for
// the least variance of the estimate, by Σ w²(1 − π₀)(r − r̂)² over the logged actions in place of
// Σ(r − r̂)². Farajtabar, Chow & Ghavamzadeh (2018), whose objective this is for deterministic
// targets; of others it leaves out the products of two actions' errors, which no log shows.
// Unbiased.
func MRDR() Estimator {
	e := DR()
	e.Name, e.About, e.OnRequest = "mrdr", "dr, its r̂ learned with weights w²(1 − π₀); unbiased", true
	e.Teach = func(w, pi0 float64) float64 { return w * w * (1 - pi0) }
	return e
}

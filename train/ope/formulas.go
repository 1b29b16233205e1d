package ope

import (
	"math"

	"opl/objectives/weights"
	"opl/train/certify"
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

// Shrunk is the doubly robust estimate with a smaller weight ŵ(w, h) ≥ 0 of the rows' own errors,
//
//	mean of Σ_a π(a|x) r̂(x,a) + ŵ(r − r̂(x,a_i))
//
// of which about is the formula of ŵ. The hyperparameter h > 0 goes to w as it grows; by default it
// is, of 2⁻¹⁰, 2⁻⁹ … 2⁴⁰, the one of the least estimated mean squared error,
//
//	se² + b²,   b = mean of (ŵ − w)(r − r̂)
//
// and the largest of those that are alike. b² counts its own variance, too, and so errs towards dr.
func Shrunk(name, about string, weight func(w, h float64) float64) Estimator {
	of := func(d *Data, h float64) Value {
		return d.Mean(func(i int) float64 { return d.Direct[i] + weight(d.W[i], h)*(d.R[i]-d.Predicted[i]) })
	}
	return Estimator{Name: name, About: "mean of Σ_a π r̂ + ŵ(r − r̂), ŵ = " + about, Biased: true, OnRequest: true,
		Model: true, Of: of,
		Hyper: &Hyper{High: math.MaxFloat64, Default: func(d *Data) (best float64) {
			least := math.Inf(1)
			for j := 40; j >= -10; j-- {
				h := math.Ldexp(1, j)
				se := d.SE(of(d, h))
				b := d.Mean(func(i int) float64 {
					return (weight(d.W[i], h) - d.W[i]) * (d.R[i] - d.Predicted[i])
				}).Value
				if e := se*se + b*b; e < least {
					least, best = e, h
				}
			}
			return best
		}}}
}

// SwitchDR leaves weights above τ to the model. Wang, Agarwal & Dudík (2017), eq. 7.
func SwitchDR() Estimator {
	return Shrunk("switch", "w where w ≤ τ, else 0; τ by its error", func(w, tau float64) float64 {
		if w <= tau {
			return w
		}
		return 0
	})
}

// DRos is doubly robust with optimistic shrinkage, ŵ = λw/(w² + λ). Su et al. (2020).
func DRos() Estimator {
	return Shrunk("dros", "λw/(w² + λ); λ by its error",
		func(w, lambda float64) float64 { return w / (w/lambda*w + 1) })
}

// SubGaussian is the mean of r w/(1 − λ + λw), λ in (0, 1]: weights that are smoothed by a harmonic mean
// with 1, so that errors are sub-Gaussian. Metelli, Russo & Restelli (2021), whose choice
// λ = √(2 log(1/δ)/(3nI)), I the second moment of the weights, is the default; I is that of the smoothed
// weights, as they propose where it is not known: λ is the root of
//
//	λ² mean of (w/(1 − λ + λw))² = 2 log(1/δ)/(3n)
//
// and 1 where there is none. It is [weights.Har] with λ for 1 − λ, bounded by 1/λ.
func SubGaussian() Estimator {
	smooth := func(w, lambda float64) float64 {
		if w == 0 {
			return 0
		}
		return w / (1 - lambda + lambda*w)
	}
	return Estimator{Name: "sg", About: "mean of r w/(1−λ+λw), sub-Gaussian; λ by n, δ and w", Biased: true,
		OnRequest: true, Bounded: true,
		Hyper: &Hyper{High: 1, Default: func(d *Data) float64 {
			want := 2 * math.Log(1/d.Delta) / (3 * float64(d.N))
			_, root := certify.Bisect(0, 1, 60, func(l float64) bool { // the left side grows with λ
				return d.Mean(func(i int) float64 { s := l * smooth(d.W[i], l); return s * s }).Value < want
			})
			return root
		}},
		Of: func(d *Data, lambda float64) Value {
			return d.Mean(func(i int) float64 { return d.R[i] * smooth(d.W[i], lambda) })
		}}
}

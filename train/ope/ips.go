package ope

import "math"

// IPS is inverse propensity scoring, the mean of w r. Horvitz & Thompson (1952);
// unbiased.
func IPS() Estimator {
	return Estimator{Name: "ips", About: "mean of w r, w = π/π₀; unbiased", Of: func(d *Data, _ float64) Value {
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
		Hyper: &Hyper{Default: func(n int) float64 { return 1 / math.Sqrt(float64(n)) }, High: 1},
		Of: func(d *Data, ell float64) Value {
			return d.Mean(func(i int) float64 { return math.Log1p(ell*d.W[i]*d.R[i]) / ell })
		}}
}

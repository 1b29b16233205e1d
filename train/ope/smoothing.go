package ope

import "math"

// LS is logarithmic smoothing, the mean of log(1 + ℓ w r)/ℓ, ℓ in (0, 1], by default
// 1/√n. Sakhi et al. (2024); it errs below.
func LS() Estimator {
	return Estimator{Name: "ls", About: "mean of log(1 + ℓ w r)/ℓ, logarithmic smoothing; ℓ = 1/√n", Biased: true,
		Hyper: &Hyper{Default: func(n int) float64 { return 1 / math.Sqrt(float64(n)) }, High: 1},
		Of: func(d *Data, ell float64) Value {
			return d.Mean(func(i int) float64 { return math.Log1p(ell*d.W[i]*d.R[i]) / ell })
		}}
}

package ope

import "math"

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
			low, high := 0.0, 1.0 // the left side grows with λ
			for range 60 {
				at := (low + high) / 2
				if d.Mean(func(i int) float64 { s := at * smooth(d.W[i], at); return s * s }).Value < want {
					low = at
				} else {
					high = at
				}
			}
			return high
		}},
		Of: func(d *Data, lambda float64) Value {
			return d.Mean(func(i int) float64 { return d.R[i] * smooth(d.W[i], lambda) })
		}}
}

package ope

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

package ope

// Model predicts rewards: it writes r̂(x_i, ·) to dst [K]. A model that has seen row
// i makes the direct and doubly robust estimates optimistic; see [Ridge].
type Model func(dst []float64, i int)

// DM is the direct method, the mean of Σ_a π(a|x) r̂(x,a). It is biased as r̂ is, and
// its standard error does not know that.
func DM() Estimator {
	return Estimator{Name: "dm", About: "mean of Σ_a π r̂, the direct method", Biased: true, Model: true, Of: func(d *Data, _ float64) Value {
		return d.Mean(func(i int) float64 { return d.Direct[i] })
	}}
}

// DR is the doubly robust estimate, the mean of Σ_a π(a|x) r̂(x,a) + w(r − r̂(x,a_i)).
// Dudík et al. (2011); unbiased.
func DR() Estimator {
	return Estimator{Name: "dr", About: "mean of Σ_a π r̂ + w(r − r̂), doubly robust; unbiased", Model: true, Of: func(d *Data, _ float64) Value {
		return d.Mean(func(i int) float64 { return d.Direct[i] + d.W[i]*(d.R[i]-d.Predicted[i]) })
	}}
}

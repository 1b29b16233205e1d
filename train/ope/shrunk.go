package ope

import "math"

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

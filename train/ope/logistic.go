package ope

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"opl/train/logs"
	"opl/train/regress"
)

// Logistic learns rewards by one logistic regression an action, as [ModelOptions] say: over the rows of
// action a outside of the fold of row i,
//
//	r̂(x,a) = σ(logit m + θ_aᵀφ(x)),   θ_a = argmin −Σ ω(r log r̂ + (1 − r) log(1 − r̂)) + λ/2 ‖θ‖²
//
// where m is the mean reward outside of the fold, kept 1e-9 away from 0 and 1. Rewards may be fractions.
// Predictions are in (0, 1).
func Logistic(log *logs.Log, o ModelOptions) (Model, error) {
	return crossFit(log, o, func(mean, score float64) float64 { return 1 / (1 + math.Exp(-logit(mean)-score)) },
		system.logistic, math.MaxInt)
}

func logit(p float64) float64 {
	p = min(max(p, 1e-9), 1-1e-9)
	return math.Log(p) - math.Log1p(-p)
}

// logistic minimizes for each fold, whose rows have weight 0 there.
func (s system) logistic(mean []float64, at func(f int) []float64) error {
	n := len(s.mine)
	y, offset, weight := make([]float64, n), make([]float64, n), make([]float64, n)
	x := regress.Matrix{Width: s.d, Data: s.phi}
	for j, i := range s.mine {
		y[j] = s.t.r[i]
		if root := math.Sqrt(s.t.weight(i)); root > 0 && root != 1 { // by which phi is multiplied
			floats.Scale(1/root, s.phi[j*s.d:(j+1)*s.d])
		}
	}
	for f := range mean {
		for j, i := range s.mine {
			offset[j], weight[j] = logit(mean[f]), s.t.weight(i)
			if int(s.fold[i]) == f {
				weight[j] = 0
			}
		}
		theta, err := regress.Logistic(context.Background(), x, y,
			regress.Options{Offset: offset, Weight: weight, Penalties: []float64{s.penalty}})
		if err != nil {
			return err
		}
		copy(at(f), theta)
	}
	return nil
}

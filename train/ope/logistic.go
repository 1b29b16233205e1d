package ope

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/optimize"

	"opl/train/logs"
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

// logistic minimizes for each fold.
func (s system) logistic(mean []float64, at func(f int) []float64) error {
	d, root := s.d, make([]float64, len(s.mine)) // √ω, by which phi is multiplied
	for j, i := range s.mine {
		root[j] = math.Sqrt(s.t.weight(i))
	}
	for f := range mean {
		base := logit(mean[f])
		rows := 0
		for _, i := range s.mine {
			if int(s.fold[i]) != f && s.t.weight(i) > 0 {
				rows++
			}
		}
		if rows == 0 {
			continue
		}
		// loss is the objective over the number of rows, and its gradient if asked for.
		loss := func(theta, grad []float64) (sum float64) {
			clear(grad)
			for j, i := range s.mine {
				if int(s.fold[i]) == f || root[j] == 0 {
					continue
				}
				row, score := s.phi[j*d:j*d+d], 0.0
				for c, v := range row {
					score += theta[c] * v
				}
				score = base + score/root[j]
				// −r log σ(z) − (1 − r) log σ(−z) = log(1 + e^z) − rz
				sum += root[j] * root[j] * (max(score, 0) + math.Log1p(math.Exp(-math.Abs(score))) - s.t.r[i]*score)
				if grad != nil {
					g := root[j] * (1/(1+math.Exp(-score)) - s.t.r[i])
					for c, v := range row {
						grad[c] += g * v
					}
				}
			}
			for c, v := range theta {
				sum += s.penalty / 2 * v * v
				if grad != nil {
					grad[c] = (grad[c] + s.penalty*v) / float64(rows)
				}
			}
			return sum / float64(rows)
		}
		// It may stop short of the tolerance, where the loss no longer falls in its last digits.
		result, _ := optimize.Minimize(optimize.Problem{
			Func: func(theta []float64) float64 { return loss(theta, nil) },
			Grad: func(grad, theta []float64) { loss(theta, grad) },
		}, make([]float64, d), &optimize.Settings{GradientThreshold: 1e-10, MajorIterations: 200}, &optimize.LBFGS{})
		if result == nil || math.IsNaN(result.F) || math.IsInf(result.F, 0) {
			return errors.New("the logistic regression has no solution; are features finite?")
		}
		copy(at(f), result.X)
	}
	return nil
}

package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"opl/graph/kernel/workers"
	"opl/train/logs"
)

// Logistic learns a model of the reward from some rows of a log: θ [K×d] of
// r̂(x, a) = 1/(1 + exp(−φ(x)ᵀθ_a)), one logistic regression an action on the rows that played
// it,
//
//	minimize Σ_{i: a_i = a} −r_i log r̂_i − (1 − r_i) log(1 − r̂_i) + ‖θ_a‖²/20
//
// by L-BFGS, in at most 100 iterations. Rewards are any in [0, 1]; propensities are not read. An
// action that no row played has θ_a = 0.
func Logistic(ctx context.Context, log *logs.Log, rows []int, threads int) ([]float64, error) {
	return logistic(ctx, log, rows, threads, 256<<20)
}

// logistic is Logistic, which may hold contexts in room bytes, in place of making them for each iteration.
func logistic(ctx context.Context, log *logs.Log, rows []int, threads, room int) ([]float64, error) {
	const penalty = 0.1
	k, d := log.K(), log.Dim()
	of := make([][]int, k) // rows by action
	for _, r := range rows {
		of[log.Action[r]] = append(of[log.Action[r]], r)
	}
	theta, errs := make([]float64, k*d), make([]error, k)
	workers.Do(max(1, threads), k, func(_, a int) {
		if len(of[a]) == 0 || ctx.Err() != nil {
			return
		}
		x := make([]float64, d)
		var held []float64 // [rows×d]
		if d > 0 && len(of[a]) <= room/8/d/max(1, min(threads, k)) {
			held = make([]float64, len(of[a])*d)
			for i, r := range of[a] {
				log.X.Row64(log.Context(r), held[i*d:(i+1)*d])
			}
		}
		eval := func(grad, at []float64) (loss float64) {
			if ctx.Err() != nil {
				return math.NaN()
			}
			loss = penalty / 2 * floats.Dot(at, at)
			if grad != nil {
				floats.ScaleTo(grad, penalty, at)
			}
			for i, r := range of[a] {
				if held != nil {
					x = held[i*d : (i+1)*d]
				} else {
					log.X.Row64(log.Context(r), x)
				}
				z, y := floats.Dot(x, at), -log.Cost[r]
				// log(1 + e^z) − y z, without overflow.
				loss += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - y*z
				if grad != nil {
					floats.AddScaled(grad, 1/(1+math.Exp(-z))-y, x)
				}
			}
			return loss
		}
		var last struct{ at, grad []float64 } // where the loss was asked for: the gradient is asked for next
		p := optimize.Problem{Func: func(at []float64) float64 {
			last.at, last.grad = append(last.at[:0], at...), slices.Grow(last.grad, d)[:d]
			return eval(last.grad, at)
		}, Grad: func(grad, at []float64) {
			if slices.Equal(last.at, at) {
				copy(grad, last.grad)
			} else {
				eval(grad, at)
			}
		}}
		res, err := optimize.Minimize(p, make([]float64, d), &optimize.Settings{MajorIterations: 100, GradientThreshold: 1e-5 * float64(len(of[a]))}, &optimize.LBFGS{})
		if res == nil || !(res.F <= eval(nil, make([]float64, d))) {
			errs[a] = fmt.Errorf("train: the reward model of action %s: %v", log.Actions[a], err)
			return
		}
		copy(theta[a*d:(a+1)*d], res.X)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return theta, nil
}

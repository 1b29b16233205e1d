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
	return logistic(ctx, log, rows, threads, 1<<23)
}

// logistic is Logistic, of which each thread holds so many elements of contexts in memory: what is beyond is read
// anew each time.
func logistic(ctx context.Context, log *logs.Log, rows []int, threads, room int) ([]float64, error) {
	const penalty = 0.1
	k, d := log.K(), log.Dim()
	of := make([][]int, k) // rows by action
	for _, r := range rows {
		of[log.Action[r]] = append(of[log.Action[r]], r)
	}
	theta, errs := make([]float64, k*d), make([]error, k)
	held := make([][]float64, max(1, threads)) // φ(x) of rows, by seat
	workers.Do(max(1, threads), k, func(seat, a int) {
		if len(of[a]) == 0 || ctx.Err() != nil {
			return
		}
		n := min(len(of[a]), room/max(1, d))
		data := slices.Grow(held[seat][:0], n*d)[:n*d]
		for i, r := range of[a][:n] {
			log.X.Row64(log.Context(r), data[i*d:(i+1)*d])
		}
		held[seat] = data
		x := make([]float64, d)
		eval := func(grad, at []float64) (loss float64) {
			if ctx.Err() != nil {
				return math.NaN()
			}
			loss = penalty / 2 * floats.Dot(at, at)
			floats.ScaleTo(grad, penalty, at)
			for i, r := range of[a] {
				x := x
				if i < n {
					x = data[i*d : (i+1)*d]
				} else {
					log.X.Row64(log.Context(r), x)
				}
				z, y := floats.Dot(x, at), -log.Cost[r]
				e := math.Exp(-math.Abs(z))
				// log(1 + e^z) − y z, without overflow.
				loss += max(z, 0) + math.Log1p(e) - y*z
				if z < 0 {
					e = math.Exp(-z)
				}
				floats.AddScaled(grad, 1/(1+e)-y, x)
			}
			return loss
		}
		zero := make([]float64, d)
		was, slope := make([]float64, d), make([]float64, d)
		value := eval(slope, was) // and gradient, of the place asked for last: each is asked for both
		least := value            // at 0
		visit := func(at []float64) {
			if !floats.Equal(at, was) || ctx.Err() != nil {
				value = eval(slope, at)
				copy(was, at)
			}
		}
		p := optimize.Problem{Func: func(at []float64) float64 { visit(at); return value }, Grad: func(grad, at []float64) { visit(at); copy(grad, slope) }}
		res, err := optimize.Minimize(p, zero, &optimize.Settings{MajorIterations: 100, GradientThreshold: 1e-5 * float64(len(of[a]))}, &optimize.LBFGS{})
		if res == nil || !(res.F <= least) {
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

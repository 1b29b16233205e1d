package train

import (
	"context"
	"errors"
	"fmt"

	"opl/graph/kernel/workers"
	"opl/train/logs"
	"opl/train/regress"
)

// Logistic learns a model of the reward from some rows of a log: θ [K×d] of
// r̂(x, a) = 1/(1 + exp(−φ(x)ᵀθ_a)), one logistic regression an action on the rows that played
// it,
//
//	minimize Σ_{i: a_i = a} −r_i log r̂_i − (1 − r_i) log(1 − r̂_i) + ‖θ_a‖²/20
//
// Rewards are any in [0, 1]; propensities are not read. An action that no row played has θ_a = 0.
func Logistic(ctx context.Context, log *logs.Log, rows []int, threads int) ([]float64, error) {
	return logistic(ctx, log, rows, threads, 1<<23)
}

// logistic is Logistic, of which each thread holds so many elements of contexts in memory and reads the rest anew
// each time.
func logistic(ctx context.Context, log *logs.Log, rows []int, threads, room int) ([]float64, error) {
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
		contexts, y := make([]int, len(of[a])), make([]float64, len(of[a]))
		for i, r := range of[a] {
			contexts[i], y[i] = log.Context(r), -log.Cost[r]
		}
		own, err := regress.Logistic(ctx, regress.Read(log.X, contexts, room), y,
			regress.Options{Penalties: []float64{0.1}, Threads: threads})
		if err != nil {
			errs[a] = fmt.Errorf("train: the reward model of action %s: %w", log.Actions[a], err)
		}
		copy(theta[a*d:(a+1)*d], own)
	})
	return theta, errors.Join(errs...)
}

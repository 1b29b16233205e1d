package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"opl/objectives"
	"opl/policies"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/ope"
)

// LayeredModel is a way to learn a model of the reward through a representation: r̂(x, a) = σ(h(x)ᵀθ_a),
// layers and θ together by [objectives.Logistic], in 15 epochs (2,000 steps or 100 epochs where
// there are few rows), with the settings of [Fit] but for a learning rate that falls linearly to 0.
// It is cross-fitted as [ope.Ridge] is: each row is predicted by what was learned from the other
// folds, layers and all. Errors, beside those of Fit: weights of rows, which Fit does not know;
// actions with features.
func LayeredModel(ctx context.Context, name string, h objectives.Representation) ope.RewardModel {
	return ope.RewardModel{Name: name, About: "logistic regression an action, through " + name,
		Learn: func(log *logs.Log, o ope.ModelOptions) (ope.Model, error) {
			switch {
			case o.Weight != nil:
				return nil, errors.New("train: a layered model of the reward does not know weights of rows")
			case log.Choices != nil:
				return nil, errors.New("train: a layered model of the reward is of a fixed list of actions: take " +
					"that of a policy file for actions with features")
			}
			if log.X == nil {
				var err error
				if log, _, err = log.Encoded(nil, logs.Scaling{Kind: "standard", Intercept: true}); err != nil {
					return nil, err
				}
			}
			fold, err := ope.Folds(log, cmp.Or(o.Folds, 5), o.Seed)
			if err != nil {
				return nil, err
			}
			k := log.K()
			predicted := make([]float64, log.Len()*k)
			for f := range cmp.Or(o.Folds, 5) {
				var others, rows []int
				for i, g := range fold {
					if int(g) == f {
						rows = append(rows, i)
					} else {
						others = append(others, i)
					}
				}
				if len(rows) == 0 {
					continue
				}
				res, err := Fit(ctx, log.Subset(others), Config{Objective: objectives.Logistic(0),
					Policy:         policies.Softmax{},
					Representation: h, Epochs: max(15, min(100, 256_000/len(others))), Schedule: Linear, Seed: o.Seed})
				if err != nil {
					return nil, fmt.Errorf("model of the reward through %s: %w", name, err)
				}
				view, err := res.Represented.View(log, rows, runtime.GOMAXPROCS(0))
				if err != nil {
					return nil, err
				}
				view.ScoreRows(rows, res.Posterior.Mu, func(i int, scores []float64) {
					certify.LogisticLink(predicted[rows[i]*k:][:k], scores)
				})
			}
			return func(dst []float64, i int) { copy(dst, predicted[i*k:(i+1)*k]) }, nil
		}}
}

package train

import (
	"context"
	"fmt"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/policies"
	"opl/train/logs"
)

// Split divides n rows at random into those that the logging policy is fitted
// on, a share of 5 %, and those that become the log. limit, if positive, keeps
// that many rows of a random order. It is an error if a part is left empty.
func Split(n, limit int, seed uint64) (logging, log []int, err error) {
	order := Stream(seed, "split").Perm(n)
	if limit > 0 && limit < n {
		order = order[:limit]
	}
	m := len(order) / 20
	if m == 0 || m == len(order) {
		return nil, nil, fmt.Errorf("train: %d examples leave %d for the logging policy and %d for the log: use at "+
			"least 20", len(order), m, len(order)-m)
	}
	return order[:m], order[m:], nil
}

// FitLogging fits the parameters μ₀ [K×d] of a softmax policy to labels by
// cross-entropy, as the paper's logging policies are: Adam with learning rate
// 0.1 and weight decay 1e-6, minibatches of 128, 10 epochs, from 0, in float64.
func FitLogging(ctx context.Context, x logs.Contexts, labels []uint8, rows []int, k int, seed uint64) ([]float64,
	error) {
	// The labels are the actions; cross-entropy reads neither cost nor propensity.
	l := &logs.Log{X: x, Rows: rows, Actions: logs.Numbered(k), Action: make([]int32, len(rows)),
		Cost: make([]float64, len(rows)), Propensity: make([]float64, len(rows))}
	for i, r := range rows {
		l.Action[i], l.Propensity[i] = int32(labels[r]), 1
	}
	res, err := Fit(ctx, l, Config{
		Objective: objectives.CrossEntropy(), Policy: policies.Softmax{},
		Epochs: 10, WeightDecay: 1e-6, Seed: seed, Dtype: tensor.Float64,
	})
	if err != nil {
		return nil, fmt.Errorf("fitting the logging policy: %w", err)
	}
	return res.Posterior.Mu, nil
}

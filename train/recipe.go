package train

import (
	"context"
	"fmt"

	"opl/objectives"
	"opl/policies"
	"opl/train/bandit"
	"opl/train/certify"
)

// PriorScales is the grid that the scale s of a learned prior is chosen from. It
// is fixed in advance, and the choice paid for by a union bound.
func PriorScales() []float64 { return []float64{1, .5, .3, .2, .1, .05} }

// Learned is a policy with its certificate.
type Learned struct {
	Posterior   policies.Posterior
	Certificate certify.Certificate
	Seconds     float64
}

// LearnPrior learns the mean of a prior from some rows of a log, by the heuristic
// objective at the rate c.LearningRate falling linearly to 0, starting at c's
// prior, and notes the rows in it. Its scale is left to be chosen.
func LearnPrior(ctx context.Context, log *bandit.Log, rows []int, c Config) (policies.Prior, float64, error) {
	c.Objective = objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5})
	if log.LoggedOnly() {
		c.Objective = objectives.L2(1e-5)
	}
	c.Policy, c.Schedule = policies.Softmax{}, Linear
	c.Weight = objectives.Clip(objectives.DefaultHyper(len(rows), 0))
	res, err := Fit(ctx, log.Subset(rows), c)
	if err != nil {
		return policies.Prior{}, 0, fmt.Errorf("learning the prior: %w", err)
	}
	return policies.Prior{Mean: res.Posterior.Mu, Taught: policies.NewRowSet(log.Hashes(rows))}, res.Seconds, nil
}

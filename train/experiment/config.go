package experiment

import (
	"gorgonia.org/tensor"

	"opl/train"
)

// Config is what [train.Fit] takes for a run on a log of n rows, but for the prior;
// the run comes back with the hyperparameter of its weight settled. Objective is
// nil for recipes. Names that are not known are errors.
func (l Library) Config(r train.Run, n int) (train.Config, train.Run, error) {
	hyper, err := l.hyper(r, n)
	if err != nil {
		return train.Config{}, r, err
	}
	r.Hyper = hyper
	c, err := l.parts(r)
	if err != nil {
		return c, r, err
	}
	c.Delta, c.Epochs, c.BatchSize, c.LearningRate, c.Seed = r.Delta, r.Epochs, r.BatchSize, r.LearningRate, r.Seed
	c.Dtype = tensor.Float32
	if r.Dtype == "float64" {
		c.Dtype = tensor.Float64
	}
	if r.Schedule == "linear" {
		c.Schedule = train.Linear
	}
	return c, r, nil
}

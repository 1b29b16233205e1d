package train_test

import (
	"context"
	"testing"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/bandit"
)

// task is a small random log of unit contexts, for benchmarks of a step.
func task(n, k, d int) *bandit.Log {
	r := train.Stream(1, "bench")
	x := bandit.Rows64{Width: d, Data: make([]float64, n*d)}
	for i := range n {
		row := x.Data[i*d : (i+1)*d]
		row[i%d] = 1
		for j := range row {
			if r.Float64() < 0.2 {
				row[j] = r.Float64()
			}
		}
		norm := x.Norm(i)
		for j := range row {
			row[j] /= norm
		}
	}
	labels, rows := make([]uint8, n), make([]int, n)
	theta := make([]float64, k*d)
	for i := range rows {
		rows[i], labels[i] = i, uint8(r.IntN(min(k, 256)))
	}
	for i := range theta {
		theta[i] = r.NormFloat64()
	}
	return bandit.FromLabels(x, labels, rows, theta, k, r)
}

// BenchmarkStep measures one training step, B = 128, d = 784: feed, forward,
// backward, Adam.
func BenchmarkStep(b *testing.B) {
	clip := objectives.Clip(0.1)
	for _, c := range []struct {
		name string
		k    int
		o    objectives.Objective
		p    policies.Policy
	}{
		{"heuristic/K=10", 10, objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5}), policies.Softmax{}},
		{"heuristic/K=100", 100, objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5}), policies.Softmax{}},
		{"theorem1/K=10", 10, objectives.Theorem1(objectives.LambdaStar), policies.SoftmaxPosterior{}},
		{"theorem1/K=100", 100, objectives.Theorem1(objectives.LambdaStar), policies.SoftmaxPosterior{}},
		{"corollary1/K=10", 10, objectives.Corollary1(objectives.LambdaStar), policies.Gaussian{}},
		{"corollary1/K=100", 100, objectives.Corollary1(objectives.LambdaStar), policies.Gaussian{}},
	} {
		log := task(128*8, c.k, 784)
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			b.Run(c.name+"/"+dt.String(), func(b *testing.B) {
				b.ReportAllocs()
				_, err := train.Fit(context.Background(), log, train.Config{
					Objective: c.o, Policy: c.p, Weight: clip, Dtype: dt, Epochs: b.N/8 + 1, Seed: 1,
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

package train_test

import (
	"context"
	"fmt"
	"testing"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/logs"
)

// task is a small random log of unit contexts, for benchmarks of a step.
func task(n, k, d int) *logs.Log {
	r := train.Stream(1, "bench")
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
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
	return logs.FromLabels(x, labels, rows, theta, k, r)
}

// BenchmarkStep measures one training step, B = 128, d = 784: feed, forward,
// backward, Adam.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name string
		o    objectives.Objective
		p    policies.Policy
	}{
		{"heuristic", objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5}), policies.Softmax{}},
		{"theorem1", objectives.Theorem1(objectives.LambdaStar), policies.SoftmaxPosterior{}},
		{"corollary1", objectives.Corollary1(objectives.LambdaStar), policies.Gaussian{}},
	} {
		for _, k := range []int{10, 100, 1000} {
			var log *logs.Log
			for _, v := range []struct {
				name    string
				dt      tensor.Dtype
				threads int
			}{{"float32", tensor.Float32, 0}, {"float32/threads=1", tensor.Float32, 1}, {"float64", tensor.Float64, 0}} {
				if k == 1000 && v.dt == tensor.Float64 {
					continue
				}
				b.Run(fmt.Sprintf("%s/K=%d/%s", c.name, k, v.name), func(b *testing.B) {
					if log == nil {
						log = task(128*8, k, 784)
					}
					steps(b, log, train.Config{Objective: c.o, Policy: c.p, Dtype: v.dt, Threads: v.threads})
				})
			}
		}
	}
}

// steps measures b.N steps of a training, without what comes before the first.
func steps(b *testing.B, log *logs.Log, c train.Config) {
	b.ReportAllocs()
	b.StopTimer()
	if c.BatchSize == 0 {
		c.BatchSize = 128
	}
	perEpoch := log.Len() / c.BatchSize
	c.Weight, c.Seed, c.Epochs = objectives.Clip(0.1), 1, (b.N+1+perEpoch-1)/perEpoch
	ctx, stop := context.WithCancel(context.Background())
	c.Progress = func(p train.Progress) {
		switch p.Step {
		case 1:
			b.StartTimer()
		case b.N + 1:
			b.StopTimer()
			stop()
		}
	}
	if _, err := train.Fit(ctx, log, c); err != nil && ctx.Err() == nil {
		b.Fatal(err)
	}
	stop()
}

// BenchmarkGrowth measures a step against each of its sizes, by doubling one at a
// time: time should grow no faster.
func BenchmarkGrowth(b *testing.B) {
	for _, c := range []struct {
		name       string
		b, k, d, s int
	}{
		{"base", 128, 100, 784, 32},
		{"2B", 256, 100, 784, 32}, {"2K", 128, 200, 784, 32}, {"2d", 128, 100, 1568, 32}, {"2S", 128, 100, 784, 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			steps(b, task(c.b*8, c.k, c.d), train.Config{BatchSize: c.b, Threads: 1,
				Objective: objectives.Theorem1(objectives.LambdaStar), Policy: policies.SoftmaxPosterior{Samples: c.s}})
		})
	}
}

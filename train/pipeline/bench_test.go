package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
	"opl/train"
	"opl/train/logs"
)

// BenchmarkSource trains an epoch of the logarithmic-smoothing bound on 20,000 rows of
// 50 features and 20 actions, from a matrix in memory, from contexts as Learn holds
// them, and from the cache of a file, as it does where there is no room.
func BenchmarkSource(b *testing.B) {
	const n, d, k = 20_000, 50, 20
	path := filepath.Join(b.TempDir(), "log.parquet")
	var o logs.WriterOptions
	for j := range d {
		o.Names = append(o.Names, fmt.Sprint("x_", j))
	}
	for a := range k {
		o.Actions = append(o.Actions, fmt.Sprint(a))
	}
	w, err := logs.Create(path, o)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	x, pi := make([]features.Value, d), make([]float64, k)
	for a := range pi {
		pi[a] = 1. / k
	}
	for range n {
		for j := range x {
			x[j] = features.Value{Name: o.Names[j], Number: r.NormFloat64()}
		}
		if err := w.Write(&logs.Decision{Context: x, Action: r.IntN(k), Cost: -float64(r.IntN(2)), Propensity: 1. / k, Propensities: pi, Weight: 1}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	log, err := logs.Open(context.Background(), path, logs.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	e, err := log.FitEncoder(nil, logs.Scaling{Intercept: true, Unit: true})
	if err != nil {
		b.Fatal(err)
	}
	cached, err := log.Encode(e)
	if err != nil {
		b.Fatal(err)
	}
	kept, tight, matrix := *cached, *cached, *cached
	kept.X, tight.X = logs.Hold(cached.X, room), logs.Hold(cached.X, 0)
	m := logs.Rows64{Width: e.Dim(), Data: make([]float64, n*e.Dim())}
	for i := range n {
		cached.X.Row64(i, m.Data[i*m.Width:(i+1)*m.Width])
	}
	matrix.X = m
	for _, c := range []struct {
		name string
		log  *logs.Log
	}{{"memory", &matrix}, {"held", &kept}, {"cache", &tight}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := train.Fit(context.Background(), c.log, train.Config{Objective: objectives.LogSmoothing(), Policy: policies.Gaussian{}, Epochs: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

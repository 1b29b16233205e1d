package main

import (
	"context"
	"fmt"
	"io"

	"opl/graph"
	"opl/policies/propensity"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/ope"
)

// evaluation prints the processor time of certificates and of estimates by n and K, on one thread.
func (b *bench) evaluation(ctx context.Context, w io.Writer) error {
	const d = 50
	r := train.Stream(seed, "evaluation")
	fmt.Fprint(w, "Processor time, one thread, 50 features; a linear model of the reward.\n\n")
	fmt.Fprint(w, "| n | K | certify, Gaussian posterior | certify, argmax | evaluate | µs a row and action |\n|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range [][2]int{{1000, 10}, {10000, 10}, {100000, 10}, {10000, 2}, {10000, 100}, {2000, 1000}} {
		n, k := s[0], s[1]
		if err := ctx.Err(); err != nil {
			return err
		}
		prior, theta := make([]float64, k*d), make([]float64, k*d)
		graph.Gaussian(r, prior)
		for i, v := range prior {
			theta[i] = v + r.NormFloat64()
		}
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		x := unitRows(r, n, d)
		log := logs.FromLabels(x, make([]uint8, n), rows, prior, k, r)
		for i := range log.Cost {
			log.Cost[i] = -float64(r.IntN(2))
		}
		model := certify.Linear("linear", theta, log, certify.SoftmaxLink)
		model.Fixed = true
		var failed error
		keep := func(err error) {
			if err != nil {
				failed = err
			}
		}
		o := certify.Options{Models: []*certify.RewardModel{model}}
		q := propensity.Posterior{Actions: k, Dim: d, Mu: theta, Sigma: 1, Prior: propensity.Prior{Mean: prior}}
		posterior := cost(func() { _, err := certify.Posterior(propensity.Gaussian{}, q, log, rows, o); keep(err) }, b.budget)
		fixed := cost(func() {
			_, err := certify.Fixed(certify.Play(propensity.ArgMax{}, theta, log), nil, log, rows, o)
			keep(err)
		}, b.budget)
		target := ope.Target{Name: "target", Row: certify.Play(propensity.Softmax{}, theta, log)}
		estimates := cost(func() {
			_, err := ope.Evaluate(log, []ope.Target{target}, ope.Options{EstimatesAlone: true})
			keep(err)
		}, b.budget)
		if failed != nil {
			return failed
		}
		fmt.Fprintf(w, "| %d | %d | %.3g ms | %.3g ms | %.3g ms | %.3g |\n", n, k, posterior/1e3, fixed/1e3, estimates/1e3, posterior/float64(n*k))
	}
	return nil
}

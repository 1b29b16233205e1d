package objectives_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
)

// BenchmarkNoise is what the default source and number of draws are chosen by:
// the error of value and gradient, against the number of draws, of the Theorem 1
// bound with a softmax posterior and of Corollary 1 with the gaussian policy's
// Monte Carlo form, on 32 rows of 10 actions; ns/op is one refill and run. Errors
// are root mean squares, of the gradient relative to its norm. The references are
// quadrature, for the gaussian policy, and the error that taking 32 other rows
// makes, which no source can mend.
//
//	go test ./objectives -run '^$' -bench Noise -benchtime 200x
func BenchmarkNoise(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	s := spec{n: 57_000, prior: policies.Prior{Mean: normals(r, 100, 2)}, sigma: .7}
	s.mu = normals(r, 100, 1)
	for i, m := range s.prior.Mean {
		s.mu[i] += m
	}
	log := loggedBy(r, 32, s.prior.Mean, 10, 10)
	for _, c := range []struct {
		name      string
		objective objectives.Objective
		weight    objectives.Weight
		policy    func(draws int, source policies.Noise) policies.Policy
		exact     policies.Policy
	}{
		{"theorem1/clip", objectives.Theorem1(objectives.LambdaStar), objectives.Clip(.065), softmaxPosterior, nil},
		{"theorem1/har", objectives.Theorem1(objectives.LambdaStar), objectives.Har(.5), softmaxPosterior, nil},
		{"corollary1/clip", objectives.Corollary1(objectives.LambdaStar), objectives.Clip(.065), gaussianMC, policies.Gaussian{}},
	} {
		s.objective, s.weight = c.objective, c.weight
		// The truth: the mean of many good estimates, or the quadrature.
		s.policy = c.policy(1024, policies.LowDiscrepancy{})
		repeats := 20
		if c.exact != nil {
			s.policy, repeats = policies.Gaussian{Nodes: 129}, 1
		}
		truth := make([]float64, 101)
		p, ps := s.program(b, log)
		for i := range repeats {
			for j, v := range estimate(b, p, ps, uint64(i)) {
				truth[j] += v / float64(repeats)
			}
		}
		bench := func(name string, pol policies.Policy, prepare func(p *graph.Program, i int)) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				s.policy = pol
				p, ps := s.program(b, log)
				var value, grad, norm float64
				n := 0
				for b.Loop() {
					prepare(p, n)
					got := estimate(b, p, ps, uint64(1000+n))
					value += (got[0] - truth[0]) * (got[0] - truth[0])
					for j, g := range got[1:] {
						grad += (g - truth[j+1]) * (g - truth[j+1])
					}
					n++
				}
				for _, g := range truth[1:] {
					norm += g * g
				}
				b.ReportMetric(math.Sqrt(value/float64(n)), "value-error")
				b.ReportMetric(math.Sqrt(grad/float64(n)/norm), "gradient-error")
			})
		}
		keep := func(*graph.Program, int) {}
		for _, draws := range []int{2, 4, 8, 16, 32, 64, 128, 256} {
			for _, source := range []policies.Noise{policies.IID{}, policies.Antithetic{}, policies.LowDiscrepancy{}} {
				bench(fmt.Sprintf("draws=%d/%s", draws, source.Name()), c.policy(draws, source), keep)
			}
		}
		exact := c.policy(256, policies.LowDiscrepancy{})
		if c.exact != nil {
			exact = c.exact
			bench("reference=quadrature", exact, keep)
		}
		bench("reference=other-rows", exact, func(p *graph.Program, i int) {
			refeed(b, p, loggedBy(rand.New(rand.NewPCG(uint64(i), 3)), 32, s.prior.Mean, 10, 10))
		})
	}
}

func softmaxPosterior(draws int, source policies.Noise) policies.Policy {
	return policies.SoftmaxPosterior{Samples: draws, Noise: source}
}

func gaussianMC(draws int, source policies.Noise) policies.Policy {
	return policies.Gaussian{Samples: draws, Noise: source}
}

// loggedBy is a log of the softmax policy at theta [K×d], on random contexts of
// norm 1; the best action of a row earns 1.
func loggedBy(r *rand.Rand, n int, theta []float64, k, d int) *batch {
	b := randomBatch(r, n, k, d)
	for i := range n {
		x, pi0 := b.x[i*d:(i+1)*d], b.pi0[i*k:(i+1)*k]
		norm, sum, best := 0.0, 0.0, 0
		for _, v := range x {
			norm += v * v
		}
		for j := range x {
			x[j] /= math.Sqrt(norm)
		}
		for a := range pi0 {
			score := 0.0
			for j, v := range x {
				score += v * theta[a*d+j]
			}
			pi0[a] = math.Exp(score)
			sum += pi0[a]
			if pi0[a] > pi0[best] {
				best = a
			}
		}
		at, u := 0, r.Float64()*sum
		for ; at < k-1 && u > pi0[at]; at++ {
			u -= pi0[at]
		}
		for a := range pi0 {
			pi0[a] /= sum
		}
		b.action[i], b.cost[i] = float64(at), 0
		if at == best {
			b.cost[i] = -1
		}
	}
	return b
}

// estimate refills the noise and returns the value, then the gradient in mu.
func estimate(tb testing.TB, p *graph.Program, ps *objectives.Params, seed uint64) []float64 {
	p.Refill(rand.New(rand.NewPCG(seed, 1)))
	if err := p.Run(); err != nil {
		tb.Fatal(err)
	}
	return append([]float64{p.Cost()}, p.Grad(ps.Mu).Float64s()...)
}

package policies_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel"
	"opl/policies"
)

// probs runs a policy's graph on scores [B×K] of contexts of the given norms,
// with the noise fed, or from a fixed seed if it is nil.
func probs(t *testing.T, pol policies.Policy, dt tensor.Dtype, scores []float64, k int, norm []float64, sigma float64, eps []float64) []float64 {
	t.Helper()
	p := compile(t, pol, dt, scores, k, norm, sigma)
	p.Refill(rand.New(rand.NewPCG(1, 2)))
	if eps != nil {
		if err := p.Feed(policies.NoiseName, eps); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p.Read("pi")
}

func compile(t *testing.T, pol policies.Policy, dt tensor.Dtype, scores []float64, k int, norm []float64, sigma float64) *graph.Program {
	t.Helper()
	g := graph.New(dt)
	pi := pol.Probs(policies.Scores{
		Mean:  g.Const("scores", scores, len(norm), k),
		Norm:  g.Const("norm", norm, len(norm)),
		Sigma: g.Const("sigma", []float64{sigma}),
	}).Named("pi")
	p, err := g.Compile(pi.Sum())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func normals(r *rand.Rand, n int, scale float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = scale * r.NormFloat64()
	}
	return xs
}

// close reports the first entry that is off by more than tol.
func close(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s[%d] = %.17g, want %.17g", what, i, got[i], want[i])
			return
		}
	}
}

// What a policy builds as a graph and what it computes in plain float64 agree,
// draw by draw where it samples.
func TestPolicies_GraphEqualsPlainNumbers(t *testing.T) {
	for _, k := range []int{2, 5, 47} {
		r := rand.New(rand.NewPCG(uint64(k), 1))
		const b, draws, sigma = 3, 4, .6
		scores, norm := normals(r, b*k, 2), []float64{1, .4, 2.5}
		for _, c := range []struct {
			pol  policies.Policy
			rows int // of eps an example
			tol  float64
		}{
			{policies.Softmax{}, 0, 1e-15},
			{policies.Gaussian{}, 0, 1e-6}, // Given has 65 nodes or more
			{policies.Gaussian{Nodes: 129}, 0, 1e-14},
			{policies.Gaussian{Nodes: 65}, 0, 1e-14},
			{policies.SoftmaxPosterior{Samples: draws}, draws, 1e-14},
			{policies.MixedLogit{Samples: draws}, draws, 1e-14},
			{policies.Floor{Policy: policies.Softmax{}}, 0, 1e-15},
			{policies.Floor{Policy: policies.Gaussian{Nodes: 65}, Epsilon: .2}, 0, 1e-14},
			{policies.Floor{Policy: policies.MixedLogit{Samples: draws}, Epsilon: .9}, draws, 1e-14},
		} {
			var eps []float64
			if c.rows > 0 {
				eps = normals(r, b*draws*k, 1)
			}
			if c.pol.Noisy() != (c.rows > 0) {
				t.Errorf("%s: Noisy %v", c.pol.Name(), c.pol.Noisy())
			}
			got := probs(t, c.pol, tensor.Float64, scores, k, norm, sigma, eps)
			var want []float64
			for i := range b {
				var example []float64 // rows of the example
				for s := range max(1, c.rows) {
					dst := make([]float64, k)
					var e []float64
					if c.rows > 0 {
						e = eps[(i*draws+s)*k:][:k]
					}
					c.pol.At(dst, scores[i*k:(i+1)*k], sigma*norm[i], e)
					example = append(example, dst...)
				}
				if rows := len(example) / k; c.pol.Draws() == 1 && rows > 1 { // π_Q is their mean
					mean := make([]float64, k)
					for j, p := range example {
						mean[j%k] += p / float64(rows)
					}
					example = mean
				}
				want = append(want, example...)
			}
			close(t, fmt.Sprintf("%+v, K=%d", c.pol, k), got, want, c.tol)
			close(t, fmt.Sprintf("%+v, K=%d, float32", c.pol, k), probs(t, c.pol, tensor.Float32, scores, k, norm, sigma, eps), want, c.tol+1e-6)
		}
	}
}

func TestPolicies_ProbabilitiesSumToOne(t *testing.T) {
	for _, k := range []int{2, 3, 10, 12, 13, 47, 100, 333, 1000} {
		for _, spread := range []float64{0, .1, 1, 10, 1e4} {
			r := rand.New(rand.NewPCG(uint64(k), 3))
			scores := normals(r, 2*k, spread)
			for _, sigma := range []float64{1e-3, .5, 1e3} {
				for _, pol := range []policies.Policy{
					policies.Softmax{}, policies.Gaussian{}, policies.SoftmaxPosterior{Samples: 2}, policies.MixedLogit{Samples: 2},
				} {
					pi := probs(t, pol, tensor.Float64, scores, k, []float64{1, 1}, sigma, nil)
					dst := make([]float64, k)
					pol.At(dst, scores[:k], sigma, normals(r, k, 1))
					for i := 0; i <= len(pi); i += k {
						row := dst
						if i < len(pi) {
							row = pi[i : i+k]
						}
						sum := 0.0
						for _, p := range row {
							if !(p >= 0 && p <= 1+1e-6) {
								t.Fatalf("%s, K=%d, spread %v, σ %v: probability %v", pol.Name(), k, spread, sigma, p)
							}
							sum += p
						}
						if math.Abs(sum-1) > 1e-6 {
							t.Errorf("%s, K=%d, spread %v, σ %v: row sums to 1%+.1e", pol.Name(), k, spread, sigma, sum-1)
						}
					}
				}
			}
		}
	}
}

// A row of zeros ties all actions, exactly, whatever the policy.
func TestPolicies_TieAllActionsOnARowOfZeros(t *testing.T) {
	for _, k := range []int{2, 7} {
		for _, pol := range []policies.Policy{
			policies.Softmax{}, policies.Gaussian{}, policies.Gaussian{Samples: 3}, policies.SoftmaxPosterior{Samples: 3}, policies.MixedLogit{Samples: 3},
		} {
			scores := append(normals(rand.New(rand.NewPCG(1, 1)), k, 1), make([]float64, k)...)
			pi := probs(t, pol, tensor.Float64, scores, k, []float64{1, 0}, .7, nil)
			want := slices.Repeat([]float64{1 / float64(k)}, len(pi)/2)
			close(t, fmt.Sprintf("%+v", pol), pi[len(pi)/2:], want, 1e-16)
			dst := make([]float64, k)
			pol.At(dst, make([]float64, k), 0, normals(rand.New(rand.NewPCG(1, 1)), k, 1))
			close(t, fmt.Sprintf("%+v, Given", pol), dst, want[:k], 1e-16)
		}
	}
}

// With two actions π_Q(1|x) = Φ((z_1 − z_0)/√2), z the scores over σ‖φ(x)‖.
func TestGaussian_OfTwoActionsIsTheNormalCDF(t *testing.T) {
	const sigma = .6
	gaps, norm := []float64{-6, -1, -.01, 0, .3, 2, 5}, []float64{1, .4, 2.5, 1, 1, .1, 1}
	var scores, want []float64
	for i, gap := range gaps {
		scores = append(scores, 3, 3+gap)
		want = append(want, kernel.NormCDF(-gap/(math.Sqrt2*sigma*norm[i])), kernel.NormCDF(gap/(math.Sqrt2*sigma*norm[i])))
	}
	close(t, "129 nodes", probs(t, policies.Gaussian{Nodes: 129}, tensor.Float64, scores, 2, norm, sigma, nil), want, 1e-14)
	close(t, "default", probs(t, policies.Gaussian{}, tensor.Float64, scores, 2, norm, sigma, nil), want, 2e-9)
	mc := probs(t, policies.Gaussian{Samples: 4096, Noise: policies.LowDiscrepancy{}}, tensor.Float64, scores, 2, norm, sigma, nil)
	close(t, "Monte Carlo", mc, want, 1e-3)
}

// σ → 0: what is uncertain becomes the argmax, or softmax at the mean.
func TestPolicies_WithSmallSigmaActAtTheMean(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const k = 6
	scores := normals(r, 2*k, 1)
	for _, pol := range []policies.Policy{
		policies.Softmax{}, policies.Gaussian{}, policies.Gaussian{Samples: 3}, policies.SoftmaxPosterior{Samples: 1}, policies.MixedLogit{Samples: 3},
	} {
		want := make([]float64, 2*k)
		pol.AtMean(want[:k], scores[:k])
		pol.AtMean(want[k:], scores[k:])
		for _, sigma := range []float64{1e-3, 1e-8} {
			got := probs(t, pol, tensor.Float64, scores, k, []float64{1, 1}, sigma, nil)
			close(t, fmt.Sprintf("%+v, σ %g", pol, sigma), got, want, max(3*sigma, 2e-9))
		}
	}
}

func TestAtMean_IsArgmaxOrSoftmax(t *testing.T) {
	scores := []float64{1, 3, 3, -2}
	dst := []float64{9, 9, 9, 9}
	policies.Gaussian{}.AtMean(dst, scores)
	close(t, "gaussian", dst, []float64{0, 1, 0, 0}, 0) // the first of equals
	z := math.Exp(1) + 2*math.Exp(3) + math.Exp(-2)
	want := []float64{math.Exp(1) / z, math.Exp(3) / z, math.Exp(3) / z, math.Exp(-2) / z}
	for _, pol := range []policies.Policy{policies.Softmax{}, policies.SoftmaxPosterior{}, policies.MixedLogit{}} {
		pol.AtMean(dst, scores)
		close(t, pol.Name(), dst, want, 1e-15)
	}
}

// The noise of a softmax posterior is one number for each example, draw and
// action: another value there changes that row of probabilities, by that action,
// and no other row. Shared noise would cancel.
func TestPosteriorNoise_ChangesOnlyItsRow(t *testing.T) {
	const b, draws, k = 3, 4, 5
	r := rand.New(rand.NewPCG(6, 6))
	scores, norm := normals(r, b*k, 1), []float64{1, .5, 2}
	eps := normals(r, b*draws*k, 1)
	pol := policies.SoftmaxPosterior{Samples: draws}
	before := probs(t, pol, tensor.Float64, scores, k, norm, .7, eps)
	if len(before) != b*draws*k {
		t.Fatalf("%d probabilities, want %d", len(before), b*draws*k)
	}
	for e := range eps {
		changed := slices.Clone(eps)
		changed[e]++
		after := probs(t, pol, tensor.Float64, scores, k, norm, .7, changed)
		for i := range after {
			switch inRow := i/k == e/k; {
			case inRow && i == e && !(after[i] > before[i]), inRow && i != e && !(after[i] < before[i]), !inRow && after[i] != before[i]:
				t.Fatalf("noise %d raised: probability %d went from %v to %v", e, i, before[i], after[i])
			}
		}
	}
}

// Everything of one example's draws lies next to each other, also from a source.
func TestNoise_IsRefilledBySeed(t *testing.T) {
	scores, norm := []float64{1, 2, 0, 0}, []float64{1, 1}
	for _, pol := range []policies.Policy{
		policies.Gaussian{Samples: 4, Noise: policies.LowDiscrepancy{}},
		policies.SoftmaxPosterior{Samples: 4, Noise: policies.Antithetic{}},
		policies.MixedLogit{Samples: 4},
	} {
		p := compile(t, pol, tensor.Float64, scores, 2, norm, 1)
		run := func(seed uint64) []float64 {
			p.Refill(rand.New(rand.NewPCG(seed, 0)))
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			return p.Read("pi")
		}
		one, two, again := run(1), run(2), run(1)
		if slices.Equal(one, two) || !slices.Equal(one, again) {
			t.Errorf("%s: seeds 1, 2, 1 give %v, %v, %v", pol.Name(), one, two, again)
		}
	}
}

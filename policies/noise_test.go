package policies_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/graph/kernel"
	"opl/policies"
)

var sources = []policies.Noise{policies.IID{}, policies.Antithetic{}, policies.LowDiscrepancy{}}

// fill returns the noise of many examples, [examples·draws×dim].
func fill(source policies.Noise, examples, draws, dim int, seed uint64) []float64 {
	dst := make([]float64, examples*draws*dim)
	source.New(draws, dim).Fill(rand.New(rand.NewPCG(seed, 0)), dst)
	return dst
}

// Each draw of an example is standard normal by itself, in each dimension, and
// dimensions and examples are uncorrelated.
func TestNoise_IsStandardNormalAndUncorrelated(t *testing.T) {
	const examples = 20_000
	for _, s := range sources {
		for _, size := range [][2]int{{1, 1}, {2, 3}, {5, 2}, {8, 21}, {7, 22}, {32, 2}} {
			draws, dim := size[0], size[1]
			eps := fill(s, examples, draws, dim, 1)
			for _, at := range [][2]int{{0, 0}, {draws - 1, dim - 1}, {draws / 2, 0}} {
				xs := make([]float64, examples)
				for i := range xs {
					xs[i] = eps[(i*draws+at[0])*dim+at[1]]
				}
				name := fmt.Sprintf("%s, %d draws, %d dimensions, %v", s.Name(), draws, dim, at)
				checkNormal(t, name, xs)
				var next, across float64 // products with the next example and dimension
				for i := range examples - 1 {
					next += xs[i] * xs[i+1]
					across += xs[i] * eps[(i*draws+at[0])*dim+(at[1]+1)%dim]
				}
				if math.Abs(next) > 4.5*math.Sqrt(examples) || dim > 1 && math.Abs(across) > 4.5*math.Sqrt(examples) {
					t.Errorf("%s: correlation of %v with the next example, %v with another dimension", name, next/examples, across/examples)
				}
			}
		}
	}
}

// checkNormal tests four moments and the whole distribution (Kolmogorov's
// statistic; 1.95/√n is passed by chance once in a thousand).
func checkNormal(t *testing.T, name string, xs []float64) {
	t.Helper()
	n := float64(len(xs))
	var m [5]float64
	for _, x := range xs {
		for k := range m {
			m[k] += math.Pow(x, float64(k)) / n
		}
	}
	for k, want := range [5]float64{1, 0, 1, 0, 3} {
		se := [5]float64{0, 1, math.Sqrt(2), math.Sqrt(15), math.Sqrt(96)}[k] / math.Sqrt(n)
		if math.Abs(m[k]-want) > 4.5*se+1e-12 {
			t.Errorf("%s: moment %d is %v, want %v ± %v", name, k, m[k], want, se)
		}
	}
	xs = slices.Clone(xs)
	slices.Sort(xs)
	var d float64
	for i, x := range xs {
		p := kernel.NormCDF(x)
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	if d > 2.2/math.Sqrt(n) {
		t.Errorf("%s: Kolmogorov's statistic %v, want below %v", name, d, 2.2/math.Sqrt(n))
	}
}

func TestAntithetic_PairsDrawsWithTheirNegatives(t *testing.T) {
	for _, draws := range []int{1, 2, 5, 6} {
		const examples, dim = 4, 3
		eps := fill(policies.Antithetic{}, examples, draws, dim, 2)
		seen := map[float64]bool{}
		for i := range examples {
			for s := range draws {
				for j := range dim {
					x := eps[(i*draws+s)*dim+j]
					switch other := s ^ 1; {
					case other >= draws && (seen[x] || seen[-x]):
						t.Errorf("%d draws: the last is no draw of its own", draws)
					case other < draws && eps[(i*draws+other)*dim+j] != -x:
						t.Errorf("%d draws: draws %d and %d of example %d are %v and %v", draws, s, other, i, x, eps[(i*draws+other)*dim+j])
					case s%2 == 0 && (seen[x] || seen[-x]):
						t.Errorf("%v comes twice", x)
					}
					seen[x] = true
				}
			}
		}
	}
}

// In each dimension the low-discrepancy draws of one example lie one in each of
// as many equally likely intervals as there are draws: for powers of two in up
// to 21 dimensions, always above. In the first two, also one in each of 4×8 boxes
// of 32.
func TestLowDiscrepancy_HasADrawInEachInterval(t *testing.T) {
	const examples = 3
	for _, size := range [][2]int{{2, 1}, {32, 1}, {32, 10}, {256, 21}, {32, 22}, {7, 30}, {100, 22}, {3, 1000}} {
		draws, dim := size[0], size[1]
		eps := fill(policies.LowDiscrepancy{}, examples, draws, dim, 3)
		for i := range examples {
			for j := range dim {
				seen := make([]bool, draws)
				for s := range draws {
					// The edges of intervals are rounded by 1e-8.
					seen[min(draws-1, int((kernel.NormCDF(eps[(i*draws+s)*dim+j])+2e-9)*float64(draws)))] = true
				}
				if slices.Contains(seen, false) {
					t.Errorf("%d draws, dimension %d of %d: an interval is empty", draws, j, dim)
				}
			}
		}
	}
	eps := fill(policies.LowDiscrepancy{}, 1, 32, 2, 4)
	boxes := map[[2]int]bool{}
	for s := range 32 {
		boxes[[2]int{int(4 * kernel.NormCDF(eps[2*s])), int(8 * kernel.NormCDF(eps[2*s+1]))}] = true
	}
	if len(boxes) != 32 {
		t.Errorf("%d of 32 boxes have a draw", len(boxes))
	}
}

// Averages over draws are unbiased, and for what is smooth vary less than those
// of independent draws.
func TestNoise_AveragesAreUnbiasedAndVaryLess(t *testing.T) {
	const examples = 4000
	for _, c := range []struct {
		draws, dim int
		antithetic float64 // at most this share of the iid variance
		low        float64
	}{{32, 1, .2, .01}, {32, 10, .5, .15}, {8, 10, .5, .4}, {7, 10, .7, .5}, {32, 40, .5, .2}, {1, 3, 1.2, 1.2}} {
		// The probability of the first action under a softmax of spread scores.
		share := func(e []float64) float64 {
			var sum float64
			for j, x := range e {
				sum += math.Exp(x*.7 - math.Abs(float64(j)-1)/3)
			}
			return math.Exp(e[0]*.7-1./3) / (1 + sum)
		}
		variances, means := make([]float64, len(sources)), make([]float64, len(sources))
		for n, s := range sources {
			eps := fill(s, examples, c.draws, c.dim, 5)
			var sum, squares float64
			for i := range examples {
				var mean float64
				for d := range c.draws {
					mean += share(eps[(i*c.draws+d)*c.dim:][:c.dim]) / float64(c.draws)
				}
				sum += mean / examples
				squares += mean * mean / examples
			}
			means[n], variances[n] = sum, squares-sum*sum
		}
		for n, s := range sources {
			se := math.Sqrt((variances[0] + variances[n]) / examples)
			if math.Abs(means[n]-means[0]) > 4.5*se {
				t.Errorf("%s, %d×%d: mean %v, of iid %v, ± %v", s.Name(), c.draws, c.dim, means[n], means[0], se)
			}
			most := 1.2 // of any other
			switch s.(type) {
			case policies.Antithetic:
				most = c.antithetic
			case policies.LowDiscrepancy:
				most = c.low
			}
			if share := variances[n] / variances[0]; share > most {
				t.Errorf("%s, %d×%d: %.3f of the iid variance, want at most %v", s.Name(), c.draws, c.dim, share, most)
			}
		}
	}
}

// Equal seeds give equal noise, from one filler or from two, and a refill is
// scrambled anew.
func TestNoise_IsDeterministicBySeed(t *testing.T) {
	for _, s := range sources {
		for _, dim := range []int{1, 4, 30} {
			const draws, n = 6, 3
			one, two := s.New(draws, dim), s.New(draws, dim)
			a, b := make([]float64, n*draws*dim), make([]float64, n*draws*dim)
			one.Fill(rand.New(rand.NewPCG(9, 0)), a)
			two.Fill(rand.New(rand.NewPCG(8, 0)), b) // leaves its state
			if slices.Equal(a, b) {
				t.Errorf("%s: two seeds give one noise", s.Name())
			}
			r := rand.New(rand.NewPCG(9, 0))
			two.Fill(r, b)
			if !slices.Equal(a, b) {
				t.Errorf("%s: one seed gives two noises", s.Name())
			}
			two.Fill(r, b)
			if slices.Equal(a, b) || slices.Equal(b[:draws*dim], b[draws*dim:2*draws*dim]) {
				t.Errorf("%s: noise repeats itself", s.Name())
			}
			for _, x := range b {
				if math.IsInf(x, 0) || math.IsNaN(x) {
					t.Errorf("%s: %v", s.Name(), x)
				}
			}
		}
	}
}

// BenchmarkFill is the noise of one training step: 128 examples, 32 draws, 10
// actions. iid is the reference.
func BenchmarkFill(b *testing.B) {
	for _, dim := range []int{10, 100} {
		for _, s := range sources {
			b.Run(fmt.Sprintf("%s/dim=%d", s.Name(), dim), func(b *testing.B) {
				dst := make([]float64, 128*32*dim)
				f, r := s.New(32, dim), rand.New(rand.NewPCG(1, 1))
				for b.Loop() {
					f.Fill(r, dst)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/value")
			})
		}
	}
}

// In float32 independent draws are standard normal and uncorrelated too.
func TestGaussian32_IsStandardNormalAndUncorrelated(t *testing.T) {
	const n = 1 << 18
	noise := make([]float32, n)
	policies.IID{}.New(1, 1).(policies.FastPoints).Fill32(rand.New(rand.NewPCG(1, 1)), noise, 1)
	xs := make([]float64, n)
	for i, x := range noise {
		xs[i] = float64(x)
	}
	checkNormal(t, "float32", xs)
	for _, lag := range []int{1, 2, 8} {
		var sum float64
		for i := range n - lag {
			sum += xs[i] * xs[i+lag]
		}
		if math.Abs(sum) > 4.5*math.Sqrt(n) {
			t.Errorf("correlation %v at a distance of %d", sum/n, lag)
		}
	}
}

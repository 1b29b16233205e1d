package train_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/policies"
	"opl/testdata/long"
	"opl/train"
	"opl/train/logs"
)

// shop is a simulated shop: items of p features, of which some were never in a set while the log was
// made, visitors of d features, and a click with probability σ(b + c·xᵀAz).
type shop struct {
	d, p, k int
	z       []float64 // [k×(p+1)], with an intercept
	a       []float64 // [d×p]
	bias    float64
	q       []float64 // of items, that no feature says; nil: none
	sharp   float64
}

func newShop(r *rand.Rand, d, p, k int) *shop {
	s := &shop{d: d, p: p, k: k, bias: -2, sharp: 3}
	for range d * p {
		s.a = append(s.a, r.NormFloat64()/math.Sqrt(float64(d)*float64(p)))
	}
	for range k {
		for range p {
			s.z = append(s.z, r.NormFloat64())
		}
		s.z = append(s.z, 1)
	}
	return s
}

// visitor is x, with an intercept.
func (s *shop) visitor(r *rand.Rand, x []float64) {
	for j := range s.d {
		x[j] = r.NormFloat64()
	}
	x[s.d] = 1
}

// click is the probability of a click on an item.
func (s *shop) click(x []float64, item int) float64 {
	var v float64
	if s.q != nil {
		v = s.q[item] / s.sharp
	}
	z := s.z[item*(s.p+1):]
	for i := range s.d {
		for j := range s.p {
			v += x[i] * s.a[i*s.p+j] * z[j]
		}
	}
	return 1 / (1 + math.Exp(-s.bias-s.sharp*v))
}

// log is n decisions of the uniform policy over sets of items below most; 0: over all of them, with logged propensities alone.
func (s *shop) log(r *rand.Rand, n, set, most int) *logs.Log {
	l := &logs.Log{Actions: logs.Numbered(s.k), Choices: &logs.Choices{Z: logs.Rows64{Width: s.p + 1, Data: s.z}}}
	x := make([]float64, n*(s.d+1))
	for i := range n {
		xi := x[i*(s.d+1) : (i+1)*(s.d+1)]
		s.visitor(r, xi)
		k, offered := most, []int(nil)
		if set > 0 {
			k = 1 + r.IntN(set)
			if i%2 == 0 {
				k = set
			}
			seen := map[int]bool{}
			for len(offered) < k {
				if a := r.IntN(most); !seen[a] {
					seen[a], offered = true, append(offered, a)
				}
			}
			c := l.Choices
			c.First, c.Count = append(c.First, int64(len(c.Actions))), append(c.Count, int32(k))
			for _, a := range offered {
				c.Actions = append(c.Actions, int32(a))
				l.Propensities = append(l.Propensities, 1/float64(k))
			}
		}
		a := r.IntN(k)
		if set > 0 {
			l.Choices.At = append(l.Choices.At, int32(a))
			a = offered[a]
		}
		l.Action, l.Propensity = append(l.Action, int32(a)), append(l.Propensity, 1/float64(k))
		cost := 0.0
		if r.Float64() < s.click(xi, a) {
			cost = -1
		}
		l.Cost = append(l.Cost, cost)
	}
	l.X = logs.Rows64{Width: s.d + 1, Data: x}
	return l
}

// earn is what the argmax of W earns of visitors to whom sets of all items are offered, beside the best and the uniform policy, and
// how often it, and the best, play an item from most on.
func (s *shop) earn(of *train.Result, seed uint64, visitors, set, most int) (policy, best, uniform, fresh, bestFresh float64) {
	r := rand.New(rand.NewPCG(seed, 99))
	wide := s.d + 1
	all := logs.Rows64{Width: wide, Data: make([]float64, visitors*wide)}
	for i := range visitors {
		s.visitor(r, all.Data[i*wide:(i+1)*wide])
	}
	seen, err := of.Represented.Of(all, 1)
	if err != nil {
		panic(err)
	}
	w, m := of.Posterior.Mu, seen.Dim()
	h, u := make([]float64, m), make([]float64, s.p+1)
	for i := range visitors {
		x := all.Data[i*wide : (i+1)*wide]
		seen.Row64(i, h)
		for j := range u {
			u[j] = 0
			for i, v := range h {
				u[j] += w[j*m+i] * v
			}
		}
		top, chosen, most64 := math.Inf(-1), 0, 0.0
		bestItem := 0
		var sum float64
		for range set {
			a := r.IntN(s.k)
			var score float64
			for j, v := range s.z[a*(s.p+1) : (a+1)*(s.p+1)] {
				score += u[j] * v
			}
			if score > top {
				top, chosen = score, a
			}
			p := s.click(x, a)
			if sum += p; p > most64 {
				most64, bestItem = p, a
			}
		}
		policy, best, uniform = policy+s.click(x, chosen), best+most64, uniform+sum/float64(set)
		if chosen >= most {
			fresh++
		}
		if bestItem >= most {
			bestFresh++
		}
	}
	n := float64(visitors)
	return policy / n, best / n, uniform / n, fresh / n, bestFresh / n
}

// Every learner of many actions earns at least 97 % of what can be had, of sets and of a catalogue with logged propensities alone, and plays items that
// no row offered about as often as the best policy does.
func TestFit_OfItemsEarnsNearlyTheBest(t *testing.T) {
	long.Test(t)
	for _, set := range []int{20, 0} {
		s := newShop(rand.New(rand.NewPCG(1, 1)), 8, 6, 400)
		l := s.log(rand.New(rand.NewPCG(2, 1)), 30_000, set, 200)
		for name, o := range map[string]objectives.Objective{"weighted": objectives.WeightedLikelihood(1e-6), "likelihood": objectives.Likelihood(1e-6), "logistic": objectives.Logistic(1e-6)} {
			for _, h := range []objectives.Representation{nil, objectives.MLP("relu", 0, 32)} {
				res, err := train.Fit(context.Background(), l, train.Config{Objective: o, Weight: objectives.Clip(.05), Epochs: 5, Schedule: train.Linear, Representation: h, Seed: 1})
				if err != nil {
					t.Fatal(name, err)
				}
				policy, best, uniform, fresh, bestFresh := s.earn(res, 5, 2000, 20, 200)
				if policy < .97*best || fresh < .9*bestFresh {
					t.Errorf("sets of %d, %s: earns %.3f of %.3f (uniform %.3f), plays new items %.3f of the time, the best policy %.3f", set, name, policy, best, uniform, fresh, bestFresh)
				}
			}
		}
	}
}

// With a row of its own for every action and nothing else a log of a catalogue learns what one without learns.
func TestFit_OfItemsWithARowEachEqualsATable(t *testing.T) {
	plain := task(600, 4, 5)
	own := make([]float64, 16)
	for a := range 4 {
		own[5*a] = 1
	}
	choices := *plain
	choices.Choices = &logs.Choices{Z: logs.Rows64{Width: 4, Data: own}}
	for name, o := range map[string]objectives.Objective{"heuristic": objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: .01, Bias: .01}), "implicit": objectives.Implicit(.1), "weighted": objectives.WeightedLikelihood(1e-3), "logistic": objectives.Logistic(1e-3)} {
		t.Run(name, func(t *testing.T) {
			c := train.Config{Objective: o, Weight: objectives.Clip(.1), Epochs: 2, Seed: 3, Dtype: tensor.Float64}
			want, err := train.Fit(context.Background(), plain, c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := train.Fit(context.Background(), &choices, c)
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range want.Posterior.Mu {
				if math.Abs(got.Posterior.Mu[j]-v) > 1e-8 {
					t.Fatalf("W %v, want θ %v", got.Posterior.Mu, want.Posterior.Mu)
				}
			}
			value, err := got.ObjectiveValue(&choices, c)
			if err != nil {
				t.Fatal(err)
			}
			if of, err := want.ObjectiveValue(plain, c); err != nil || math.Abs(of.Objective-value.Objective) > 1e-8 {
				t.Errorf("value %v, want %v (%v)", value.Objective, of.Objective, err)
			}
		})
	}
}

// Neither threads nor a second run change a bit, of sets or a catalogue with rows of their own, with layers or without.
func TestFit_OfItemsIsTheSameForAnyNumberOfThreads(t *testing.T) {
	s := newShop(rand.New(rand.NewPCG(4, 1)), 5, 4, 700)
	for _, set := range []int{7, 0} {
		l := s.log(rand.New(rand.NewPCG(5, 1)), 1000, set, 700)
		own, wide := 300, s.p+1
		z := make([]float64, s.k*(wide+own))
		for a := range s.k {
			copy(z[a*(wide+own):], s.z[a*wide:(a+1)*wide])
			if a < own {
				z[a*(wide+own)+wide+a] = 1
			}
		}
		l.Choices.Z = logs.Rows64{Width: wide + own, Data: z}
		for _, h := range []objectives.Representation{nil, objectives.MLP("relu", .2, 8)} {
			var first []float64
			for _, threads := range []int{1, 2, 5} {
				res, err := train.Fit(context.Background(), l, train.Config{Objective: objectives.WeightedLikelihood(1e-4), Weight: objectives.Clip(.05), Epochs: 2, Representation: h, Seed: 1, Threads: threads})
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = res.Posterior.Mu
				} else if !slices.Equal(first, res.Posterior.Mu) {
					t.Errorf("sets of %d: %d threads change the result", set, threads)
				}
			}
		}
	}
}

// W is in the units of z(a), rows of actions' own too: what is learned is what scores by it say, and learning starts at the prior's mean.
func TestFit_OfItemsScoresInTheUnitsOfTheirFeatures(t *testing.T) {
	s := newShop(rand.New(rand.NewPCG(4, 1)), 3, 2, 20)
	r := rand.New(rand.NewPCG(5, 1))
	for _, set := range []int{6, 0} {
		l := s.log(r, 300, set, 20)
		own := make([]int32, s.k)
		for a := range own {
			own[a] = int32(s.p + 1 + a)
			if a%3 == 0 {
				own[a] = -1
			}
		}
		width := s.p + 1 + s.k
		l.Choices.Z = logs.ItemRows{Values: l.Choices.Z, Own: own, Width: width}
		mean := make([]float64, width*(s.d+1))
		for i := range mean {
			mean[i] = r.NormFloat64()
		}
		for _, epochs := range []int{0, 3} {
			c := train.Config{Objective: objectives.Logistic(0), Epochs: epochs, Prior: policies.Prior{Mean: mean}, Dtype: tensor.Float64, Seed: 1}
			res, err := train.Fit(context.Background(), l, c)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range res.Posterior.Mu {
				if epochs == 0 && math.Abs(v-mean[i]) > 1e-12 {
					t.Fatalf("starts at %v, want %v", v, mean[i])
				}
			}
			var want float64
			l.ScoreRows(nil, res.Posterior.Mu, func(i int, scores []float64) {
				v := scores[l.Chosen(i)]
				want += (math.Log1p(math.Exp(v)) + l.Cost[i]*v) / float64(l.Len())
			})
			if got, err := res.ObjectiveValue(l, c); err != nil || math.Abs(got.Objective-want) > 1e-9 {
				t.Errorf("%d epochs: the objective is %v, by the scores %v (%v)", epochs, got.Objective, want, err)
			}
		}
	}
}

// Posteriors, actions that are not encoded and objectives that lack propensities are refused with the reason.
func TestFit_OfItemsRefusesPosteriorsAndMissingPropensities(t *testing.T) {
	s := newShop(rand.New(rand.NewPCG(4, 1)), 2, 2, 5)
	l := s.log(rand.New(rand.NewPCG(5, 1)), 50, 0, 5)
	bare := *l
	bare.Choices = &logs.Choices{}
	for want, c := range map[string]struct {
		log *logs.Log
		c   train.Config
	}{
		objectives.Correlated:      {l, train.Config{Objective: objectives.LogSmoothing(), Policy: policies.Gaussian{}}},
		"EncodeItems":              {&bare, train.Config{Objective: objectives.Risk()}},
		"of the logged ones":       {l, train.Config{Objective: objectives.PseudoLoss(.1)}},
		"12 numbers for 3 actions": {l, train.Config{Objective: objectives.Risk(), Prior: policies.Prior{Mean: make([]float64, 12)}}},
	} {
		t.Run(want, func(t *testing.T) {
			c.c.Epochs = 1
			if _, err := train.Fit(context.Background(), c.log, c.c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", want, err)
			}
		})
	}
}

// BenchmarkFitItems is an epoch in float32 on sets of 20 with 30 features, and on a catalogue of 10⁵ with 64 features a side.
func BenchmarkFitItems(b *testing.B) {
	for _, c := range []struct {
		name            string
		n, set, k, d, p int
	}{{"sets of 20", 100_000, 20, 10_000, 29, 29}, {"catalogue of 100000", 100_000, 0, 100_000, 63, 63}} {
		var l *logs.Log
		for name, o := range map[string]objectives.Objective{"weighted": objectives.WeightedLikelihood(0), "logistic": objectives.Logistic(0)} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				if l == nil {
					s := newShop(rand.New(rand.NewPCG(1, 1)), c.d, c.p, c.k)
					l = s.log(rand.New(rand.NewPCG(2, 1)), c.n, c.set, c.k)
				}
				for b.Loop() {
					if _, err := train.Fit(context.Background(), l, train.Config{Objective: o, Weight: objectives.Clip(.05), Epochs: 1, Seed: 1}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(c.n*b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

package train_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/objectives/weights"
	"opl/policies"
	"opl/train"
	"opl/train/logs"
)

// digits are labelled examples of k classes in d features.
func digits(n, k, d int, seed uint64) (x logs.Rows64, labels []uint8) {
	r := rand.New(rand.NewPCG(seed, 35))
	x = logs.Rows64{Width: d, Data: make([]float64, n*d)}
	for i := range n {
		y := r.IntN(k)
		labels = append(labels, uint8(y))
		for j := range d {
			x.Data[i*d+j] = .5 * r.NormFloat64()
		}
		x.Data[i*d+y%d] += 1
	}
	return x, labels
}

// listLog is a log of lists that a policy with parameters theta filled.
func listLog(n, k, slots int, seed uint64) (log *logs.Log, x logs.Rows64, labels []uint8, theta []float64) {
	const d = 6
	x, labels = digits(n, k, d, seed)
	r := rand.New(rand.NewPCG(seed, 36))
	theta = make([]float64, k*d)
	for i := range theta {
		theta[i] = .3 * r.NormFloat64()
	}
	return logs.ListsFromLabels(x, labels, logs.Every(n), theta, k, slots, r), x, labels, theta
}

// A step on lists, whose slots are filled by one operation, is the step on slots that offer sets of their own: reversed
// sets are learned from as such.
func TestFit_TakesTheSameStepsOnListsAsOnTheirSlots(t *testing.T) {
	for _, o := range []struct {
		name string
		of   objectives.Objective
	}{{"risk", objectives.Risk()}, {"l2", objectives.L2(1e-3)}, {"variance", objectives.SampleVariance(.5)}, {"likelihood", objectives.Likelihood(1e-4)},
		{"weighted", objectives.WeightedLikelihood(1e-4)}, {"implicit", objectives.Implicit(.1)}, {"logistic", objectives.Logistic(1e-4)},
		{"heuristic", objectives.Heuristic(objectives.Penalties{Distance: 1e-3, Variance: .1, Bias: .1})}} {
		t.Run(o.name, func(t *testing.T) {
			log, _, _, theta := listLog(50, 5, 3, 4)
			apart := *log
			c := *log.Choices
			c.Actions, c.At = slices.Clone(c.Actions), slices.Clone(c.At)
			apart.Choices, apart.Propensities = &c, slices.Clone(log.Propensities)
			for i := range apart.Len() {
				if apart.Lists.Slot[i] == 2 {
					to := c.First[i] + int64(c.Count[i])
					slices.Reverse(c.Actions[c.First[i]:to])
					slices.Reverse(apart.Propensities[c.First[i]:to])
					c.At[i] = c.Count[i] - 1 - c.At[i]
				}
			}
			var learned [][]float64
			for _, l := range []*logs.Log{log, &apart} {
				res, err := train.Fit(t.Context(), l, train.Config{Objective: o.of, Weight: weights.Clip(.05), Epochs: 4, BatchSize: l.Len(),
					Prior: policies.Prior{Mean: theta}, Dtype: tensor.Float64, Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				learned = append(learned, res.Posterior.Mu)
			}
			for i, v := range learned[0] {
				if math.Abs(v-learned[1][i]) > 1e-9 || v == theta[i] {
					t.Fatalf("θ_%d = %v by lists, %v by slots, from %v", i, v, learned[1][i], theta[i])
				}
			}
		})
	}
}

// Lists of lengths of their own are learned from slot by slot.
func TestFit_LearnsFromListsOfSeveralLengths(t *testing.T) {
	log, _, _, _ := listLog(40, 5, 3, 5)
	short := log.Subset(slices.DeleteFunc(logs.Every(log.Len()), func(i int) bool { return i%9 == 8 }))
	if _, err := train.Fit(t.Context(), short, train.Config{Objective: objectives.Likelihood(0), Epochs: 1, BatchSize: 7}); err != nil {
		t.Fatal(err)
	}
}

// What lists earn is what all of them earn, weighed by their probabilities, and on average what a log of them says.
func TestEvaluateLists_EqualsAllListsEnumerated(t *testing.T) {
	for _, pol := range []policies.Policy{policies.Softmax{}, policies.Floor{Policy: policies.ArgMax{}, Epsilon: .1}} {
		for _, slots := range []int{2, 4} {
			t.Run(fmt.Sprint(pol.Name(), slots), func(t *testing.T) {
				const k = 5
				_, x, labels, theta := listLog(60, k, slots, 6)
				var lists func(scores []float64, left []int, y, slot int) float64
				lists = func(scores []float64, left []int, y, slot int) (v float64) {
					if slot > slots {
						return 0
					}
					s, pi := make([]float64, len(left)), make([]float64, len(left))
					for j, a := range left {
						s[j] = scores[a]
					}
					pol.At(pi, s, 0, nil)
					for j, a := range left {
						if a == y {
							v += pi[j] / float64(slot)
							continue
						}
						v += pi[j] * lists(scores, slices.Delete(slices.Clone(left), j, j+1), y, slot+1)
					}
					return v
				}
				want := 0.
				logs.Scores(x, nil, theta, k, func(i int, scores []float64) {
					want += lists(scores, []int{0, 1, 2, 3, 4}, int(labels[i]), 1) / float64(x.Len())
				})
				q := policies.Posterior{Actions: k, Dim: 6, Mu: theta}
				got := train.EvaluateLists(pol, q, x, labels, slots, 1)
				if math.Abs(got.Mean-want) > 1e-12 {
					t.Errorf("%v, want %v", got.Mean, want)
				}
				if math.Abs(got.Sampled-want) > .25 {
					t.Errorf("one draw of each list earns %v, and they %v on average", got.Sampled, want)
				}
				if _, ok := pol.(policies.Softmax); !ok {
					return
				}
				const draws = 400
				mean, clicks := 0., 0
				for seed := range uint64(draws) {
					log := logs.ListsFromLabels(x, labels, logs.Every(60), theta, k, slots, rand.New(rand.NewPCG(seed, 1)))
					for _, c := range log.Cost {
						mean -= c / 60 / draws
						clicks -= int(c)
					}
				}
				if se := math.Sqrt(want * (1 - want) / 60 / draws); math.Abs(mean-want) > 4*se {
					t.Errorf("%d clicks in %d logs, %v a list, want %v ± %v", clicks, draws, mean, want, se)
				}
			})
		}
	}
}

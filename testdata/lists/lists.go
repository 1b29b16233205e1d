// Package lists draws logs of lists whose true value is known, for tests of what estimates and guarantees assume.
package lists

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"opl/policies/features"
)

// World is a population of contexts in which lists of Slots of K items are shown, whose true value is known.
type World struct {
	Name, About string
	K, Slots    int
	// Uniform says that lists are logged in random order; else by a Plackett–Luce policy of the context.
	Uniform bool
	// Click is the probability of a click on slot l of a list of items of attractions by slot.
	Click func(attraction []float64, l int) float64
}

// examined is how often people look at a slot.
func examined(l int) float64 { return 1 / float64(l+1) }

// All lists worlds, one for each assumption that an estimator may make of rewards of slots.
func All() []World {
	return []World{
		{Name: "independence", About: "a click depends on the item and its slot", K: 5, Slots: 3, Uniform: true,
			Click: func(u []float64, l int) float64 { return examined(l) * u[l] }},
		{Name: "cascade", About: "who has clicked above mostly leaves", K: 5, Slots: 3,
			Click: func(u []float64, l int) float64 {
				stays := 1.
				for _, above := range u[:l] {
					stays *= 1 - 0.8*above
				}
				return stays * u[l]
			}},
		{Name: "interaction", About: "a better item anywhere in the list draws clicks away", K: 5, Slots: 3,
			Click: func(u []float64, l int) float64 {
				best := 0.
				for j, other := range u {
					if j != l {
						best = max(best, other)
					}
				}
				return examined(l) * u[l] * (1 - 0.8*best)
			}},
	}
}

// Visit is a context with what is true of it.
type Visit struct {
	Context    []features.Value
	Attraction []float64 // of each item, in (0, 1)
	Scores     []float64 // of the logging policy
}

// Visit draws a context.
func (w World) Visit(r *rand.Rand) Visit {
	x := []float64{r.NormFloat64(), r.NormFloat64()}
	v := Visit{Context: []features.Value{{Name: "x0", Number: x[0]}, {Name: "x1", Number: x[1]}}}
	v.Attraction = w.Attractions(x[0], x[1])
	for a := range w.K {
		score := 0.
		if !w.Uniform {
			score = v.Attraction[a] - 0.5
		}
		v.Scores = append(v.Scores, score)
	}
	return v
}

// Attractions are those of items in a context.
func (w World) Attractions(x0, x1 float64) (all []float64) {
	for a := range w.K {
		side := float64(2*(a%2) - 1)
		all = append(all, 1/(1+math.Exp(-1.5*side*x0-0.5*float64(a-w.K/2)*x1)))
	}
	return all
}

// Write writes n decisions as JSON Lines.
func (w World) Write(to io.Writer, n int, seed uint64) error {
	r, out := rand.New(rand.NewPCG(seed, 11)), json.NewEncoder(to)
	type line struct {
		ID         string             `json:"decision_id"`
		Context    map[string]float64 `json:"context"`
		Offered    []string           `json:"offered"`
		Slots      []string           `json:"slots"`
		Propensity []float64          `json:"slot_propensities"`
		Rewards    []float64          `json:"slot_rewards"`
	}
	for i := range n {
		v, d := w.Visit(r), line{ID: fmt.Sprintf("%d-%d", seed, i), Context: map[string]float64{}}
		for _, c := range v.Context {
			d.Context[c.Name] = c.Number
		}
		for a := range w.K {
			d.Offered = append(d.Offered, fmt.Sprint("i", a))
		}
		left, list := numbered(w.K), []float64(nil)
		for range w.Slots {
			p := remaining(v.Scores, left)
			j := draw(p, r.Float64())
			d.Slots, d.Propensity = append(d.Slots, fmt.Sprint("i", left[j])), append(d.Propensity, p[j])
			list, left = append(list, v.Attraction[left[j]]), slices.Delete(left, j, j+1)
		}
		for l := range list {
			reward := 0.
			if r.Float64() < w.Click(list, l) {
				reward = 1
			}
			d.Rewards = append(d.Rewards, reward)
		}
		if err := out.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

func numbered(k int) []int {
	all := make([]int, k)
	for a := range all {
		all[a] = a
	}
	return all
}

// remaining are the probabilities of items that are left, a softmax of their scores.
func remaining(scores []float64, left []int) []float64 {
	p, most, sum := make([]float64, len(left)), math.Inf(-1), 0.
	for _, a := range left {
		most = max(most, scores[a])
	}
	for j, a := range left {
		p[j] = math.Exp(scores[a] - most)
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}

// draw returns the place at which the sum of probabilities passes u.
func draw(p []float64, u float64) int {
	for a, q := range p {
		if u -= q; u < 0 {
			return a
		}
	}
	return len(p) - 1
}

// Value is the mean over slots of the true probability of a click, over m visits, under a policy that gives the
// probabilities of the items that are left, and under the logging policy: every list is enumerated.
func (w World) Value(m int, seed uint64, policy func(v Visit, left []int, slot int) []float64) (value,
	logging float64) {
	r := rand.New(rand.NewPCG(seed, 12))
	var sum func(v Visit, left []int, list []float64, of func(v Visit, left []int, slot int) []float64) float64
	sum = func(v Visit, left []int, list []float64, of func(v Visit, left []int, slot int) []float64) (s float64) {
		if len(list) == w.Slots {
			for l := range list {
				s += w.Click(list, l) / float64(w.Slots)
			}
			return s
		}
		for j, p := range of(v, left, len(list)) {
			rest := slices.Delete(slices.Clone(left), j, j+1)
			s += p * sum(v, rest, append(list[:len(list):len(list)], v.Attraction[left[j]]), of)
		}
		return s
	}
	for range m {
		v := w.Visit(r)
		value += sum(v, numbered(w.K), nil, policy) / float64(m)
		logging += sum(v, numbered(w.K), nil, func(v Visit, left []int, _ int) []float64 {
			return remaining(v.Scores, left)
		}) / float64(m)
	}
	return value, logging
}

// Best is the mean over the same visits of what the best list of each earns.
func (w World) Best(m int, seed uint64) (value float64) {
	r := rand.New(rand.NewPCG(seed, 12))
	var most func(v Visit, left []int, list []float64) float64
	most = func(v Visit, left []int, list []float64) (best float64) {
		if len(list) == w.Slots {
			for l := range list {
				best += w.Click(list, l) / float64(w.Slots)
			}
			return best
		}
		for j := range left {
			rest := slices.Delete(slices.Clone(left), j, j+1)
			best = max(best, most(v, rest, append(list[:len(list):len(list)], v.Attraction[left[j]])))
		}
		return best
	}
	for range m {
		value += most(w.Visit(r), numbered(w.K), nil) / float64(m)
	}
	return value
}

package certify_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"opl/train/certify"
	"opl/train/logs"
)

// greedy is, by context, the action of the largest sum of rewards over π₀ in some rows, the first of
// equals; and a model of the reward from the same rows.
func greedy(l *logs.Log, rows []int) (pi [][]float64, model *certify.RewardModel) {
	k := l.K()
	sum, seen := [2][]float64{make([]float64, k), make([]float64, k)}, [2][]float64{make([]float64, k), make([]float64, k)}
	x := make([]float64, 2)
	for _, r := range rows {
		l.X.Row64(r, x)
		c, a := int(x[1]), l.Action[r]
		sum[c][a] -= l.Cost[r] / l.Propensity[r]
		seen[c][a]++
	}
	for c := range sum {
		p := make([]float64, k)
		p[slices.Index(sum[c], slices.Max(sum[c]))] = 1
		pi = append(pi, p)
	}
	return pi, &certify.RewardModel{Name: "sum", Predict: func(dst []float64, i int) {
		x := make([]float64, 2)
		l.X.Row64(i, x)
		for a := range dst {
			dst[a] = min(1, (sum[int(x[1])][a]+.5)/(seen[int(x[1])][a]+1))
		}
	}}
}

// Policies and models that were learned from earlier chunks: the e-values of the mixture, at its
// true risk and gain, have at most the mean 1 over all logs there are. It is above 1 for policies that saw
// their own chunk, for two chunks that taught each other's policy, and for weights that are not those of the clusters.
func TestChunks_HaveMeanOneAtMost(t *testing.T) {
	w := two()
	for _, c := range []struct {
		name   string
		sizes  []int // of the chunks in draws, after those that only teach
		taught int
		saw    func(rows [][]int, k int) []int // what taught the policy of chunk k
		weigh  func(w []float64)
		copies int
		holds  bool
	}{
		{name: "earlier chunks", sizes: []int{2, 1}, taught: 1, holds: true},
		{name: "groups", sizes: []int{1, 1, 1}, taught: 1, copies: 2, holds: true},
		{name: "nothing before the first", sizes: []int{1, 3}, holds: true},
		{name: "a large chunk first", sizes: []int{3, 1}, holds: true},
		{name: "its own chunk", sizes: []int{2, 1}, taught: 1, saw: func(rows [][]int, k int) []int { return rows[k] }},
		{name: "a later chunk", sizes: []int{2, 2}, saw: func(rows [][]int, k int) []int { return rows[1-k] }},
		{name: "equal weights", sizes: []int{1, 3}, weigh: func(w []float64) { w[0], w[1] = .5, .5 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mean, gain, total float64
			n := c.taught
			for _, s := range c.sizes {
				n += s
			}
			copies := max(1, c.copies)
			w.logs(n, copies, copies > 1, func(p float64, l *logs.Log, all []int) {
				var rows [][]int
				at := c.taught * copies
				for _, s := range c.sizes {
					rows = append(rows, all[at:at+s*copies])
					at += s * copies
				}
				var chunks []certify.Chunk
				var risks []float64
				var logging float64
				for k := range rows {
					var from []int
					if from = all[:rows[k][0]]; c.saw != nil {
						from = c.saw(rows, k)
					}
					pi, model := greedy(l, from)
					var r float64
					r, logging = w.risks(pi)
					risks = append(risks, r)
					chunks = append(chunks, certify.Chunk{Policy: play(l, pi), Models: []*certify.RewardModel{model}, Rows: rows[k]})
				}
				risk := func(weights []float64) (r float64) {
					if c.weigh != nil {
						c.weigh(weights)
					}
					for k, v := range weights {
						r += v * risks[k]
					}
					return r
				}
				e, err := certify.ChunksAt(chunks, l, certify.Options{Delta: .2}, risk, func(weights []float64) float64 { return risk(weights) - logging })
				if err != nil {
					t.Fatal(err)
				}
				total += p
				mean += p * math.Exp(e.Risk)
				gain += p * math.Exp(e.Gain)
			})
			near(t, c.name+": probabilities", total, 1)
			if c.holds && !(mean <= 1+1e-12 && gain <= 1+1e-12 && mean > .9) {
				t.Errorf("mean e-value of the risk %v, of the gain %v, want at most 1, and not much less", mean, gain)
			}
			if !c.holds && !(mean > 1.001) {
				t.Errorf("mean e-value of the risk %v, want above 1", mean)
			}
		})
	}
}

// Weights are the shares of clusters, a single chunk is a fixed policy, and what cannot be is refused.
func TestChunks_WeighClusters(t *testing.T) {
	w := two()
	pi := [][]float64{{1, 0}, {0, 1}}
	done := false
	w.logs(3, 2, true, func(_ float64, l *logs.Log, rows []int) {
		if done {
			return
		}
		done = true
		l.Group[5] = 7 // a group of 2, one of 2, two of 1
		l.Group[4] = 8
		chunk := func(rows ...int) certify.Chunk {
			return certify.Chunk{Policy: play(l, pi), Models: models(l), Rows: rows}
		}
		b, weights, err := certify.Chunks([]certify.Chunk{chunk(0, 1), chunk(2, 3, 4, 5)}, l, certify.Options{})
		if err != nil || !slices.Equal(weights, []float64{.25, .75}) || b.Chunks != 2 || b.Groups != 4 || b.N != 6 {
			t.Errorf("%v, weights %v, %+v", err, weights, b)
		}
		one, _, err := certify.Chunks([]certify.Chunk{chunk(rows...)}, l, certify.Options{})
		fixed, _ := certify.Fixed(play(l, pi), nil, l, rows, certify.Options{Models: models(l)})
		if err != nil || one.Reward() != fixed.Reward() || one.GainAtLeast() != fixed.GainAtLeast() || one.Chunks != 0 {
			t.Errorf("one chunk: %v, %v and %v", err, one, fixed)
		}
		at := func(r float64) func([]float64) float64 { return func([]float64) float64 { return r } }
		e, err := certify.ChunksAt([]certify.Chunk{chunk(rows...)}, l, certify.Options{}, at(-.5), at(-.1))
		if want, _ := certify.FixedAt(play(l, pi), l, rows, certify.Options{Models: models(l)}, -.5, -.1); err != nil || e != want {
			t.Errorf("one chunk: %v, e-values %v, of a fixed policy %v", err, e, want)
		}
		short := chunk(4)
		short.Models = nil
		for want, chunks := range map[string][]certify.Chunk{
			"no chunks":              nil,
			"chunk 2 has no rows":    {chunk(0, 1), chunk()},
			"depend on one another":  {chunk(0, 2), chunk(1, 3)},
			"given twice":            {chunk(0, 1), chunk(1)},
			"no row 6":               {chunk(6)},
			"has 0 models of the re": {chunk(0, 1), short},
		} {
			if _, _, err := certify.Chunks(chunks, l, certify.Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	})
}

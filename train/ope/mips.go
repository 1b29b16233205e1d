package ope

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"opl/train/logs"
)

// MIPS is the marginalized inverse propensity score, the mean of w(x,e) r, e what the action is an example of
// and not the action itself:
//
//	w(x,e) = Σ_a π(a|x) p(e|a) / Σ_a π₀(a|x) p(e|a)
//
// over the actions that the row offers. e is the class of the action by its features, p(e|a) 0 or 1:
// of C classes by k-means of the features, or the features themselves where there are no more than
// C that differ. It is biased as rewards depend on actions beyond e, and varies less than ips as e
// takes fewer values. C in (1, 10000], by default 100. Saito & Joachims (2022), eq. 6. It asks for
// π₀ of all that is offered.
func MIPS() Estimator {
	return Estimator{Name: "mips", About: "mean of w r, w = Σ_a π 1{a in e}/Σ_a π₀ 1{a in e}, e the logged " +
		"action's class by its features, of C", Biased: true, OnRequest: true, Marginal: true,
		Hyper: &Hyper{Default: func(*Data) float64 { return 100 }, Low: 1, High: 1e4, ByCount: true},
		Of: func(d *Data, classes float64) Value {
			w := d.Marginal(int(classes))
			return d.Mean(func(i int) float64 { return w[i] * d.R[i] })
		}}
}

// marginal gives the weights w(x_i, e_i) of a target for a number of classes.
func (t *sample) marginal(target Target) func(classes int) []float64 {
	made := map[int][]float64{}
	return func(classes int) []float64 {
		if w, ok := made[classes]; ok {
			return w
		}
		of, w, scratch := t.classes(classes), make([]float64, t.n), make([]float64, t.log.MostOptions())
		for i := range w {
			row, pi0, chosen := scratch[:t.log.Options(i)], t.log.Pi0(i), t.log.Chosen(i)
			if err := target.Row(row, i); err != nil { // it was read before
				w[i] = math.NaN()
				continue
			}
			_, item := t.log.Option(i, chosen)
			e, above, below := of[item], 0., 0.
			for j, p := range row {
				if _, item := t.log.Option(i, j); of[item] == e {
					above, below = above+p, below+pi0[j]
				}
			}
			w[i] = above / below
		}
		made[classes] = w
		return w
	}
}

const lloyd = 20 // iterations of k-means at most

// classes is e of each item, from 0. They are learned by k-means++ and Lloyd's iterations from 20,000 items.
func (t *sample) classes(most int) []int32 {
	if of, ok := t.of[most]; ok {
		return of
	}
	z := t.items
	n, p := z.Len(), z.Dim()
	x, same := make([]float64, n*p), map[string]int32{}
	of, distinct := make([]int32, n), []int{}
	key := make([]byte, 0, 8*p)
	for i := range n {
		row := x[i*p : (i+1)*p]
		z.Row64(i, row)
		key = key[:0]
		for _, v := range row {
			key = fmt.Appendf(key, "%x,", math.Float64bits(v))
		}
		e, seen := same[string(key)]
		if !seen {
			e = int32(len(distinct))
			same[string(key)], distinct = e, append(distinct, i)
		}
		of[i] = e
	}
	if len(distinct) > most {
		of = kmeans(x, p, of, distinct, most, rand.New(rand.NewPCG(t.seed, 0x3195)))
	}
	if t.of == nil {
		t.of = map[int][]int32{}
	}
	t.of[most] = of
	return of
}

// kmeans returns the class of each row of x [n×p]; same is which of the distinct rows a row is.
func kmeans(x []float64, p int, same []int32, distinct []int, k int, r *rand.Rand) []int32 {
	row := func(d int) []float64 { return x[distinct[d]*p : distinct[d]*p+p] }
	far := func(a, b []float64) (s float64) {
		for j, v := range a {
			s += (v - b[j]) * (v - b[j])
		}
		return s
	}
	some := r.Perm(len(distinct))
	some = some[:min(len(some), max(20_000, k))]
	centres, least := make([]float64, 0, k*p), slices.Repeat([]float64{math.Inf(1)}, len(some))
	for at := 0; len(centres) < k*p; {
		c := row(some[at])
		centres = append(centres, c...)
		sum := 0.
		for i, d := range some {
			least[i] = min(least[i], far(row(d), c))
			sum += least[i]
		}
		for u := r.Float64() * sum; u >= 0 && sum > 0; at = (at + 1) % len(some) {
			if u -= least[at]; u < 0 {
				break
			}
		}
	}
	nearest := func(d int) (best int) {
		most := math.Inf(1)
		for c := range k {
			if v := far(row(d), centres[c*p:c*p+p]); v < most {
				best, most = c, v
			}
		}
		return best
	}
	in := make([]int, len(some))
	for range lloyd {
		moved, sum, size := false, make([]float64, k*p), make([]float64, k)
		for i, d := range some {
			c := nearest(d)
			moved = moved || c != in[i]
			in[i] = c
			size[c]++
			for j, v := range row(d) {
				sum[c*p+j] += v
			}
		}
		if !moved {
			break
		}
		for c, n := range size {
			for j := range p {
				if n > 0 {
					centres[c*p+j] = sum[c*p+j] / n
				}
			}
		}
	}
	of := make([]int32, len(distinct))
	for d := range of {
		of[d] = int32(nearest(d))
	}
	out := make([]int32, len(same))
	for i, d := range same {
		out[i] = of[d]
	}
	return out
}

// described reports why a log has nothing for MIPS, or sets what its actions are described by.
func (t *sample) described() string {
	switch {
	case t.log.Choices == nil || t.log.Choices.Z == nil && t.log.ItemNames() == nil:
		return "the log does not say what actions are described by, by setting catalogue or in its rows"
	case t.log.LoggedOnly():
		return "it needs the propensities of all actions that a row offers"
	case t.items == nil:
		z, err := vectors(t.log, false)
		if err != nil {
			return err.Error()
		}
		if parts, ok := z.(logs.ItemRows); ok { // a 1 of its own makes an action its only example
			z = parts.Values
		}
		t.items = z
	}
	return ""
}

package train

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
)

// sales are rewards that an action earns all or nothing of, such as a price that is paid or not: low, or worth_a.
type sales struct {
	low   float64
	worth []float64 // [K], not low
}

const (
	leastSales = 20   // rows that earn, beyond those that tell what actions are worth
	mostSold   = 64   // actions: the layers of link take K² numbers
	exactly    = 2e-3 // of what is earned: prices may be rounded
	doubted    = 40   // rows for each that doubts
	nearly     = 1e-6 // the least that rewards are from the ends of their range
)

// sell replaces rewards y by 1 where a row earned what its action is worth, and 0 where it earned nothing, if all rows
// did either, and actions are worth different amounts. Models of the reward then are r̂ = low + (worth_a − low) σ(s_a):
// how often something sells is learned apart from what it costs.
func (t *table) sell() {
	if t.k > mostSold {
		return
	}
	s := &sales{low: mode(t.y), worth: make([]float64, t.k)}
	earned := make([]int, 0, len(t.y))
	for i, y := range t.y {
		if y != s.low {
			earned = append(earned, i)
		}
	}
	free := t.k // amounts that rows say, so that as many rows agree in any case
	if t.numeric != nil {
		free = 2
	}
	if len(earned) < leastSales+free {
		return
	}
	worth := func(i int) float64 { return s.worth[t.action[i]] }
	if t.numeric == nil {
		var of [mostSold][]float64
		for _, i := range earned {
			of[t.action[i]] = append(of[t.action[i]], t.y[i])
		}
		for a := range s.worth {
			if len(of[a]) == 0 {
				return
			}
			s.worth[a] = stat.Mean(of[a], nil)
		}
	} else {
		v, y := make([]float64, len(earned)), make([]float64, len(earned))
		for at, i := range earned {
			v[at], y[at] = t.numeric.value[i], t.y[i]
		}
		from, each := stat.LinearRegression(v, y, nil, false)
		for a := range s.worth {
			s.worth[a] = from + each*t.numeric.of.Center(a)
		}
		worth = func(i int) float64 { return from + each*t.numeric.value[i] }
	}
	for _, i := range earned {
		if !(math.Abs(t.y[i]-worth(i)) <= exactly*math.Abs(worth(i)-s.low)+1e-9) {
			return
		}
	}
	high, least := slices.Max(s.worth), slices.Min(s.worth)
	if high-least <= exactly*max(math.Abs(high-s.low), math.Abs(least-s.low)) { // rewards of two values
		return
	}
	clear(t.y)
	for _, i := range earned {
		t.y[i] = 1
	}
	t.sales, t.oneRight = s, math.Inf(-1)
	if t.numeric != nil {
		t.doubt()
	}
}

// doubt adds rows that did not sell, a few for all numbers: where no price was tried, none is taken to be paid.
func (t *table) doubt() {
	low, high := t.numeric.of.Range()
	n := len(t.y)
	m := n / doubted
	t.rows = slices.Clip(t.rows)
	for j := range m {
		v := low + (high-low)*(float64(j)+.5)/float64(m)
		t.rows = append(t.rows, t.rows[j*n/m])
		t.y, t.fold = append(t.y, 0), append(t.fold, t.fold[j*n/m])
		t.action, t.numeric.value = append(t.action, int32(t.numeric.of.Bin(v))), append(t.numeric.value, v)
	}
}

// mode is the value that comes most often.
func mode(of []float64) (most float64) {
	sorted := slices.Sorted(slices.Values(of))
	often := 0
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		if j-i > often {
			most, often = sorted[i], j-i
		}
		i = j
	}
	return most
}

// link makes scores of rewards from those of sales, z_a = hᵀθ_a:
//
//	logit r̂_a = logit low + softplus(z_a + log(worth_a/low)) − softplus(z_a + log((1−worth_a)/(1−low))),
//
// where −softplus(z) are the odds of the first of three outputs 0, z, 0.
func (s *sales) link(theta []float64) []features.Layer {
	inside := func(p float64) float64 { return min(max(p, nearly), 1-nearly) }
	k, low := len(s.worth), inside(s.low)
	m := len(theta) / k
	first, both, sum := features.Layer{}, &features.Branches{In: k}, features.Layer{}
	for a, w := range s.worth {
		w = inside(w)
		first.Weights = append(first.Weights, theta[a*m:(a+1)*m])
		own, row := make([]float64, k), make([]float64, 6*k)
		own[a], row[6*a], row[6*a+3] = 1, -1, 1
		for _, shift := range []float64{math.Log(w / low), math.Log((1 - w) / (1 - low))} {
			both.Chains = append(both.Chains, []features.Layer{{Activation: features.Odds,
				Weights: [][]float64{make([]float64, k), own, make([]float64, k)}, Bias: []float64{0, shift, 0}}})
		}
		sum.Weights, sum.Bias = append(sum.Weights, row), append(sum.Bias, math.Log(low/(1-low)))
	}
	return []features.Layer{first, {Branches: both}, sum}
}

package train

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
	"opl/train/logs"
)

// sales are rewards that an action earns all or nothing of, such as a price that is paid or not: low, or worth_a, of
// actions with features worth(z) = worthᵀ(z, 1), as of a price less its cost.
type sales struct {
	low         float64
	worth       []float64 // [K], not low; of actions with features [p+1]
	least, most float64   // of worth in the rows, of actions with features
}

const (
	leastSales = 20   // rows that earn, beyond those that tell what actions are worth
	mostSold   = 64   // actions: the layers of link take K² numbers
	mostPriced = 32   // features of actions that tell what these are worth
	bends      = 64   // pieces of the logarithm of what they are worth
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
	earned := t.earned(s.low)
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
	if t.sold(s, earned, worth) && t.numeric != nil {
		t.doubt()
	}
}

// earned are the rows whose reward is not low.
func (t *table) earned(low float64) (rows []int) {
	for i, y := range t.y {
		if y != low {
			rows = append(rows, i)
		}
	}
	return rows
}

// sold takes rewards for sales if all that earned did so what their action is worth, and not all of them the same.
func (t *table) sold(s *sales, earned []int, worth func(i int) float64) bool {
	s.least, s.most = math.Inf(1), math.Inf(-1)
	for _, i := range earned {
		w := worth(i)
		if !(math.Abs(t.y[i]-w) <= exactly*math.Abs(w-s.low)+1e-9) {
			return false
		}
		s.least, s.most = min(s.least, w), max(s.most, w)
	}
	if s.most-s.least <= exactly*max(math.Abs(s.most-s.low), math.Abs(s.least-s.low)) { // rewards of two values
		return false
	}
	clear(t.y)
	for _, i := range earned {
		t.y[i] = 1
	}
	t.sales, t.oneRight = s, math.Inf(-1)
	return true
}

// sellPairs is sell of actions with features, whose numbers tell what they are worth.
func (t *table) sellPairs() {
	var of []int
	for _, j := range t.numbers {
		if int(j) >= t.context {
			of = append(of, int(j))
		}
	}
	s := &sales{low: mode(t.y), worth: make([]float64, t.x.Width-t.context+1)}
	earned, p := t.earned(s.low), len(of)
	if p == 0 || p > mostPriced || len(earned) < leastSales+p+1 {
		return
	}
	x, y := mat.NewDense(len(earned), p+1, nil), mat.NewVecDense(len(earned), logs.Pick(t.y, earned))
	for at, i := range earned {
		for c, j := range of {
			x.Set(at, c, t.x.Data[i*t.x.Width+j])
		}
		x.Set(at, p, 1)
	}
	var theta mat.VecDense
	if theta.SolveVec(x, y) != nil { // features that tell the same
		return
	}
	for c, j := range of {
		s.worth[j-t.context] = theta.AtVec(c)
	}
	s.worth[len(s.worth)-1] = theta.AtVec(p)
	t.sold(s, earned, func(i int) float64 { return s.of(t.x.Data[i*t.x.Width+t.context : (i+1)*t.x.Width]) })
}

// of is what an action with features z is worth.
func (s *sales) of(z []float64) float64 { return floats.Dot(s.worth[:len(z)], z) + s.worth[len(z)] }

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

// linkPairs is link of actions with features: layers of [φ(x), z(a)], from those that give h and θ. Logarithms of what an
// action is worth are piecewise linear, between knots that are as many times each other.
func (s *sales) linkPairs(layers []features.Layer, theta []float64, context int) []features.Layer {
	inside := func(p float64) float64 { return min(max(p, nearly), 1-nearly) }
	in, low := context+len(s.worth)-1, inside(s.low)
	worth := features.Layer{Weights: [][]float64{append(make([]float64, context), s.worth[:in-context]...)},
		Bias: s.worth[in-context:]}
	p := &features.Pieces{In: 1, Keep: []int32{}, Features: []int32{0}, Knots: [][]float64{nil}}
	shifts := features.Layer{Weights: [][]float64{nil, nil}, Bias: []float64{0, 0}}
	from, to := inside(s.least/4), inside(4*s.most)
	var before [2]float64
	for b := range bends + 1 {
		w := from * math.Pow(to/from, float64(b)/bends)
		p.Knots[0] = append(p.Knots[0], w)
		for i, v := range []float64{math.Log(w / low), math.Log((1 - w) / (1 - low))} {
			if b == 0 {
				shifts.Bias[i] = v
			} else {
				shifts.Weights[i] = append(shifts.Weights[i], v-before[i])
			}
			before[i] = v
		}
	}
	odds := func(shift int) []features.Layer {
		own := []float64{1, 0, 0}
		own[shift] = 1
		return []features.Layer{{Activation: features.Odds, Weights: [][]float64{{0, 0, 0}, own, {0, 0, 0}}}}
	}
	return []features.Layer{
		{Branches: &features.Branches{In: in, Chains: [][]features.Layer{
			append(slices.Clip(layers), features.Layer{Weights: [][]float64{theta}}), {worth, {Pieces: p}, shifts}}}},
		{Branches: &features.Branches{In: 3, Chains: [][]features.Layer{odds(1), odds(2)}}},
		{Weights: [][]float64{{-1, 0, 0, 1, 0, 0}}, Bias: []float64{math.Log(low / (1 - low))}}}
}

package ope_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// store is a simulated catalogue of k items of 3 features with 10 values each, from whose values, their 1s of 30, and the
// visitor's 5 numbers rewards come, as those of Saito & Joachims (2022) do; direct is what an item earns beside.
type store struct {
	k      int
	z      []float64 // [k×30]
	q      []float64 // [30×5] of features and context
	own    []float64
	direct float64
	smooth bool // features are numbers, none like another
}

func newStore(r *rand.Rand, k int, direct float64, smooth bool) *store {
	s := &store{k: k, z: make([]float64, 30*k), q: make([]float64, 150), own: make([]float64, k), direct: direct, smooth: smooth}
	for a := range k {
		for c := range 3 {
			s.z[30*a+10*c+r.IntN(10)] = 1
		}
		for j := range 30 {
			if smooth {
				s.z[30*a+j] += .05 * r.NormFloat64()
			}
		}
		s.own[a] = r.NormFloat64()
	}
	for j := range s.q {
		s.q[j] = .5 * r.NormFloat64()
	}
	return s
}

// rewards writes the mean reward of all items.
func (s *store) rewards(x, dst []float64) {
	var g [30]float64
	for j := range g {
		for i, v := range x {
			g[j] += v * s.q[5*j+i]
		}
	}
	for a := range dst {
		v := s.direct * s.own[a]
		for j, z := range s.z[30*a : 30*a+30] {
			v += g[j] * z
		}
		dst[a] = 1 / (1 + math.Exp(-v))
	}
}

// log is n decisions of a softmax of the mean rewards, which plays the best less often, and beside it the target's
// probabilities, which plays the best with .95 more often, its value in these contexts, and the mean squared error of ips there.
func (s *store) log(r *rand.Rand, n int) (l *logs.Log, target []float64, value, ips float64) {
	l = &logs.Log{Actions: logs.Numbered(s.k), Choices: &logs.Choices{Z: logs.Rows64{Width: 30, Data: s.z}}}
	data, q := make([]float64, 5*n), make([]float64, s.k)
	l.Propensities, target = make([]float64, n*s.k), make([]float64, n*s.k)
	for i := range n {
		x := data[5*i : 5*i+5]
		normals(r, x)
		s.rewards(x, q)
		pi0, pi, sum, best := l.Propensities[i*s.k:(i+1)*s.k], target[i*s.k:(i+1)*s.k], 0., 0
		for a, v := range q {
			pi0[a] = math.Exp(-v)
			sum += pi0[a]
			if v > q[best] {
				best = a
			}
		}
		for a := range pi0 {
			pi0[a] /= sum
			pi[a] = .05 / float64(s.k)
		}
		pi[best] += .95
		a := propensity.Draw(pi0, r)
		c := 0.
		if r.Float64() < q[a] {
			c = -1
		}
		l.Action, l.Cost, l.Propensity = append(l.Action, int32(a)), append(l.Cost, c), append(l.Propensity, pi0[a])
		var mean, square float64
		for a, p := range pi {
			mean, square = mean+p*q[a], square+p*p/pi0[a]*q[a]
		}
		value, ips = value+mean/float64(n), ips+(square-mean*mean)/float64(n*n)
	}
	l.X = logs.Rows64{Width: 5, Data: data}
	return l, target, value, ips
}

func normals(r *rand.Rand, x []float64) {
	for j := range x {
		x[j] = r.NormFloat64()
	}
}

// The mean squared error of mips is at most a tenth of that of ips, which is computed exactly (of few logs it is
// a matter of luck), of 5,000 items, where the features say
// all, where items earn what no feature says, and where no two items are alike. OPL_LONG=1 draws 100 logs of each by the
// seed OPL_SEED, or OPL_LOGS of each, of 500 and 5,000 items, and has other estimators beside.
func TestMIPS_HasATenthOfTheErrorOfIPS(t *testing.T) {
	long.Test(t)
	count, seed, sizes, list := 3, uint64(1), []int{5000}, []ope.Estimator{ope.MIPS()}
	if os.Getenv("OPL_LONG") != "" {
		count, sizes, list = 100, []int{500, 5000}, append(list, ope.IPS(), ope.SNIPS(), ope.DM(), ope.DR())
	}
	if n, err := strconv.Atoi(os.Getenv("OPL_LOGS")); err == nil {
		count = n
	}
	if n, err := strconv.ParseUint(os.Getenv("OPL_SEED"), 10, 64); err == nil {
		seed = n
	}
	for _, k := range sizes {
		for name, s := range map[string]struct {
			direct float64
			smooth bool
		}{"features say all": {}, "items have merits of their own": {direct: .5}, "no two alike": {smooth: true}} {
			mse, exact := map[string]float64{}, 0.
			for i := range count {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				w := newStore(r, k, s.direct, s.smooth)
				l, pi, value, ips := w.log(r, 1000)
				exact += ips / float64(count)
				var m ope.Model
				if len(list) > 1 {
					var err error
					if m, err = ope.Ridge(l, ope.ModelOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				d := ope.Target{Name: "best", Row: func(dst []float64, i int) error { copy(dst, pi[i*k:]); return nil }}
				judge := provenance.New(&logs.Log{Actions: logs.Numbered(2), Action: []int32{0, 1}, Cost: []float64{0, 0}})
				res, err := ope.Evaluate(l, []ope.Target{d}, ope.Options{Estimators: list, Model: m, Judge: judge})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range res.Policies[0].Estimates {
					mse[e.Estimator] += (e.Value - value) * (e.Value - value) / float64(count)
				}
			}
			text := fmt.Sprintf(" ips %.2g exactly;", exact)
			for _, e := range list {
				text += fmt.Sprintf(" %s %.2g", e.Name, mse[e.Name])
			}
			t.Logf("%d items, %s, %d logs of 1000 rows, seed %d: mean squared errors%s", k, name, count, seed, text)
			if k == 5000 && !(mse["mips"] <= exact/10) {
				t.Errorf("%s: the error of mips is %v, of ips %v", name, mse["mips"], exact)
			}
		}
	}
}

// Where rows offer sets, with the last shown first, estimates are those of the same log whose rows offer all, with 0 for
// what they do not; mips of as many classes as items is ips, and of one feature for all the mean reward.
func TestSets_GiveTheEstimatesOfRowsThatOfferAll(t *testing.T) {
	const k, n = 5, 400
	r := rand.New(rand.NewPCG(8, 2))
	z := logs.Rows64{Width: 2, Data: []float64{0, 1, 1, 0, 2, 2, -1, 3, 0, -2}}
	all := &logs.Log{Actions: logs.Numbered(k)}
	sets := &logs.Log{Actions: all.Actions, Choices: &logs.Choices{Z: z}}
	data := make([]float64, 0, n)
	var wide, ragged [][]float64
	for range n {
		data = append(data, r.NormFloat64())
		set := r.Perm(k)[:2+r.IntN(3)]
		pi0, pi := make([]float64, len(set)), make([]float64, len(set))
		for j := range set {
			pi0[j], pi[j] = 1/float64(len(set)), 2*float64(j)/float64(len(set)*(len(set)-1))
		}
		at := r.IntN(len(set))
		full, of := make([]float64, k), make([]float64, k)
		c := sets.Choices
		c.First, c.Count, c.At = append(c.First, int64(len(c.Actions))), append(c.Count, int32(len(set))), append(c.At, int32(at))
		for j, a := range set {
			c.Actions = append(c.Actions, int32(a))
			full[a], of[a] = pi0[j], pi[j]
		}
		cost := -float64(r.IntN(2))
		for _, l := range []*logs.Log{all, sets} {
			l.Action, l.Cost, l.Propensity = append(l.Action, int32(set[at])), append(l.Cost, cost), append(l.Propensity, pi0[at])
		}
		all.Propensities, sets.Propensities = append(all.Propensities, full...), append(sets.Propensities, pi0...)
		wide, ragged = append(wide, of), append(ragged, pi)
	}
	all.X, sets.X = logs.Rows64{Width: 1, Data: data}, logs.Rows64{Width: 1, Data: data}
	target := func(pi [][]float64) []ope.Target {
		return []ope.Target{{Name: "t", Origin: provenance.FixedBefore(), Row: func(dst []float64, i int) error { copy(dst, pi[i]); return nil }}}
	}
	model := func(l *logs.Log) ope.Model {
		return func(dst []float64, i int) {
			for j := range dst {
				a, _ := l.Option(i, j)
				dst[j] = .1 * float64(a)
			}
		}
	}
	a := evaluate(t, all, target(wide), ope.Options{Estimators: ope.Estimators(), Model: model(all)}).Policies[0]
	b := evaluate(t, sets, target(ragged), ope.Options{Estimators: ope.Estimators(), Model: model(sets)}).Policies[0]
	for i, e := range a.Estimates {
		if f := b.Estimates[i]; e.Estimator != f.Estimator || math.Abs(e.Value-f.Value) > 1e-12 || math.Abs(e.SE-f.SE) > 1e-12 {
			t.Errorf("%+v of all, %+v of sets", e, f)
		}
	}
	if len(b.Estimates) != len(a.Estimates)+1 || b.Estimates[len(a.Estimates)].Estimator != "mips" || a.Uncovered != b.Uncovered {
		t.Fatalf("%d and %d estimates", len(a.Estimates), len(b.Estimates))
	}
	if m := b.Estimates[len(a.Estimates)]; math.Abs(m.Value-a.Estimates[0].Value) > 1e-12 {
		t.Errorf("mips %v of clusters of one, ips %v", m.Value, a.Estimates[0].Value)
	}
	sets.Choices.Z = logs.Rows64{Width: 1, Data: make([]float64, k)}
	b = evaluate(t, sets, target(ragged), ope.Options{Estimators: []ope.Estimator{ope.MIPS()}}).Policies[0]
	mean := 0.
	for _, c := range sets.Cost {
		mean -= c / n
	}
	if math.Abs(b.Estimates[0].Value-mean) > 1e-12 {
		t.Errorf("mips %v of items that are alike, mean reward %v", b.Estimates[0].Value, mean)
	}
	if b.Guarantee == nil {
		t.Errorf("no guarantee: %s", b.Uncertified)
	}
}

package objectives_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/testdata/long"
)

// offering is a batch whose rows offer items: those of at, wide for each row, −1 beyond; nil: all.
type offering struct {
	*batch
	z    []float64 // [items×p]
	p    int
	at   [][]int
	wide int
}

func (o *offering) Feed(p *graph.Program, rows []int) error {
	if o.at == nil {
		return o.batch.Feed(p, rows)
	}
	sub := &batch{k: o.wide, d: o.d}
	var offered []float64
	for _, i := range rows {
		sub.x = append(sub.x, o.x[i*o.d:(i+1)*o.d]...)
		sub.cost, sub.action = append(sub.cost, o.cost[i]), append(sub.action, float64(slices.Index(o.at[i], int(o.action[i]))))
		for j := range o.wide {
			if j < len(o.at[i]) {
				offered, sub.pi0 = append(offered, float64(o.at[i][j])), append(sub.pi0, o.pi0[i*o.k+o.at[i][j]])
			} else {
				offered, sub.pi0 = append(offered, -1), append(sub.pi0, objectives.Beyond)
			}
		}
	}
	if p.Has(objectives.InputOffered) {
		if err := p.Feed(objectives.InputOffered, offered); err != nil {
			return err
		}
	}
	all := make([]int, len(rows))
	for i := range all {
		all[i] = i
	}
	return sub.Feed(p, all)
}

// setup is that of s with the parameters w [p×d].
func (o *offering) setup(s spec, w []float64) objectives.Setup {
	prior := policies.Prior{Mean: make([]float64, o.p*o.d)}
	if s.prior.Mean != nil {
		prior = s.prior
	}
	if s.dtype == (tensor.Dtype{}) {
		s.dtype = tensor.Float64
	}
	ps := objectives.NewParams(s.dtype, s.policy, prior, o.p, o.d)
	ps.Mu.Set(w)
	n := len(o.z) / o.p
	out := objectives.Setup{N: 500, Policy: s.policy, Weight: s.weight, Prior: prior, Params: ps, Actions: n, Dim: o.d,
		Items: graph.NewItems(n, o.p, func(a int, dst []float64) { copy(dst, o.z[a*o.p:]) })}
	if o.at != nil {
		out.Sets, out.Actions = true, o.wide
	}
	return out
}

// run is the objective and its gradient in w.
func (o *offering) run(t *testing.T, s spec, w []float64) (float64, []float64) {
	t.Helper()
	setup := o.setup(s, w)
	p, err := objectives.New(setup, o.Len())
	if err != nil {
		t.Fatal(err)
	}
	prog, err := p.Graph().Compile(s.objective(p))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, o.Len())
	for i := range rows {
		rows[i] = i
	}
	if err := o.Feed(prog, rows); err != nil {
		t.Fatal(err)
	}
	if err := prog.Run(); err != nil {
		t.Fatal(err)
	}
	return prog.Cost(), floats(prog.Grad(setup.Params.Mu))
}

// everyPoint calls f with every objective and weight that a softmax, with and without a floor, has a meaning for.
func everyPoint(f func(name string, s spec)) {
	for _, pol := range []policies.Policy{policies.Softmax{}, policies.Floor{Policy: policies.Softmax{}, Epsilon: .1}} {
		for _, o := range everyObjective {
			for i, w := range everyWeight {
				if o.own && i > 0 || objectives.Check(o.objective, w, pol) != nil {
					continue
				}
				f(fmt.Sprint(o.name, " ", w, " ", pol.Name()), spec{objective: o.objective, weight: w, policy: pol})
			}
		}
	}
}

func near(t *testing.T, name string, tol, value, want float64, gradient, wantGradient []float64) {
	t.Helper()
	if math.Abs(value-want) > tol*(1+math.Abs(want)) {
		t.Errorf("%s: %v, want %v", name, value, want)
	}
	for j, v := range wantGradient {
		if !(math.Abs(gradient[j]-v) <= tol*(1+math.Abs(v))) {
			t.Errorf("%s: gradient %v, want %v", name, gradient, wantGradient)
			break
		}
	}
}

// With a row of its own for every action and nothing else, a catalogue, and sets that offer all of it in other orders and
// with places left over, are the policy that has parameters by action, for every objective and weight.
func TestItems_WithARowEachEqualParametersByAction(t *testing.T) {
	const k, d = 4, 3
	r := rand.New(rand.NewPCG(16, 5))
	b := randomBatch(r, 7, k, d)
	mu := normals(r, k*d, 1)
	own := make([]float64, k*k)
	for a := range k {
		own[a*k+a] = 1
	}
	prior := policies.Prior{Mean: normals(r, k*d, 1)}
	everyPoint(func(name string, s spec) {
		s.prior, s.mu = prior, mu
		want, g := s.gradient(t, b)
		catalogue := &offering{batch: b, z: own, p: k}
		value, gradient := catalogue.run(t, s, mu)
		near(t, name+", catalogue", 1e-10, value, want, gradient, g)
		sets := &offering{batch: b, z: own, p: k, wide: k + 2}
		for range b.Len() {
			sets.at = append(sets.at, r.Perm(k))
		}
		value, gradient = sets.run(t, s, mu)
		near(t, name+", sets", 1e-10, value, want, gradient, g)
	})
}

// A set is a small log of its own: the objective is the mean of those of rows with as many actions as they offer.
func TestSets_OfSeveralSizesAverageTheirObjectives(t *testing.T) {
	const n, d, p = 6, 3, 2
	r := rand.New(rand.NewPCG(16, 6))
	b := randomBatch(r, 5, n, d)
	z, w := normals(r, n*p, 1), normals(r, p*d, 1)
	sets := &offering{batch: b, z: z, p: p, wide: 5}
	for i := range b.Len() {
		at := r.Perm(n)[:1+i]
		if !slices.Contains(at, int(b.action[i])) {
			at[0] = int(b.action[i])
		}
		sets.at = append(sets.at, at)
	}
	everyPoint(func(name string, s spec) {
		if name[:8] == "variance" { // is no mean of rows
			return
		}
		value, gradient := sets.run(t, s, w)
		var want float64
		g := make([]float64, p*d)
		for i, at := range sets.at {
			if len(at) == 1 { // one action has no softmax to compare with: beside one that is never played
				at = append(slices.Clone(at), (at[0]+1)%n)
			}
			one := &batch{k: len(at), d: d, x: b.x[i*d : (i+1)*d], cost: b.cost[i : i+1], action: []float64{float64(slices.Index(at, int(b.action[i])))}}
			zs := []float64{}
			for _, a := range at {
				zs, one.pi0 = append(zs, z[a*p:(a+1)*p]...), append(one.pi0, b.pi0[i*n+a])
			}
			o := &offering{batch: one, z: zs, p: p}
			if len(sets.at[i]) == 1 {
				o.wide, o.at = 1, [][]int{{0}}
			}
			v, gi := o.run(t, s, w)
			want += v / float64(b.Len())
			for j := range g {
				g[j] += gi[j] / float64(b.Len())
			}
		}
		near(t, name, 1e-10, value, want, gradient, g)
	})
}

// Scores far apart, propensities near 0 and sets of one leave every objective and its gradient finite, in float32, too.
func TestItems_StayFiniteAtExtremes(t *testing.T) {
	long.Test(t)
	const n, d, p = 5, 2, 2
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := randomBatch(r, 4, n, d)
		for i := range b.pi0 {
			if r.IntN(2) == 0 {
				b.pi0[i] = 1e-6
			}
		}
		z := normals(r, n*p, 1)
		sets := [][]int{{0, 1, 2, 3, 4}, {2}, {4, 1}, {3, 0, 1}}
		for i, at := range sets {
			b.action[i] = float64(at[r.IntN(len(at))])
		}
		for _, scale := range []float64{0, 1, 1e4} {
			for _, at := range [][][]int{nil, sets} {
				o := &offering{batch: b, z: z, p: p, at: at, wide: n}
				everyPoint(func(name string, s spec) {
					for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
						s.dtype = dt
						value, gradient := o.run(t, s, normals(r, p*d, scale))
						for _, v := range append(gradient, value) {
							if math.IsNaN(v) || math.IsInf(v, 0) {
								t.Errorf("%s, scale %v: %v, gradient %v", name, scale, value, gradient)
							}
						}
					}
				})
			}
		}
	}
}

// On a whole log, in passes, the objective is that of one graph over all rows.
func TestEvaluate_OfItemsInPiecesEqualsOneBatch(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 8))
	b := randomBatch(r, 9, 4, 3)
	z, w := normals(r, 4*2, 1), normals(r, 2*3, 1)
	for _, at := range [][][]int{nil, slices.Repeat([][]int{{2, 0, 3, 1}}, 9)} {
		o := &offering{batch: b, z: z, p: 2, at: at, wide: 5}
		everyPoint(func(name string, s spec) {
			s.n = 9
			want, _ := o.run(t, s, w)
			v, err := objectives.Evaluate(s.objective, o.setup(s, w), o, 1)
			if err != nil {
				t.Fatal(name, err)
			}
			if math.Abs(v.Objective-want) > 1e-10*(1+math.Abs(want)) && name[:8] != "variance" {
				t.Errorf("%s: %v, want %v", name, v.Objective, want)
			}
		})
	}
}

// Posteriors of actions with features, and catalogues whose other propensities are not known, are refused with the reason.
func TestItems_RefusePosteriorsAndUnknownPropensities(t *testing.T) {
	b := randomBatch(rand.New(rand.NewPCG(1, 1)), 2, 3, 2)
	o := &offering{batch: b, z: make([]float64, 6), p: 2}
	for _, p := range everyPolicy {
		if !p.policy.HasPosterior() {
			continue
		}
		_, err := objectives.New(o.setup(spec{policy: p.policy, weight: objectives.IPS()}, make([]float64, 4)), 2)
		var unfit *objectives.UnfitError
		if !errors.As(err, &unfit) || unfit.Reason != objectives.Correlated {
			t.Errorf("%s: %v", p.name, err)
		}
	}
	s := o.setup(spec{policy: policies.Softmax{}, weight: objectives.IPS()}, make([]float64, 4))
	s.LoggedOnly = true
	for _, e := range everyObjective {
		p, err := objectives.New(s, 2)
		if err != nil {
			t.Fatal(err)
		}
		needs := objectives.Check(e.objective, objectives.IPS(), policies.Softmax{}) == nil && (e.name == "heuristic" || e.name == "pseudoloss")
		if err := e.objective(p).Err(); needs && err == nil {
			t.Errorf("%s needs no propensities of others", e.name)
		}
	}
}

// The weighted likelihood is its formula, for a softmax of two actions by hand.
func TestWeightedLikelihood_EqualsItsFormula(t *testing.T) {
	b := &batch{k: 2, d: 1, x: []float64{1, 2}, action: []float64{0, 1}, cost: []float64{-1, -.5}, pi0: []float64{.2, .8, .5, .5}}
	for _, c := range []struct {
		weight objectives.Weight
		h      func(p0 float64) float64
	}{
		{objectives.IPS(), func(p float64) float64 { return p }},
		{objectives.Clip(.4), func(p float64) float64 { return max(p, .4) }},
		{objectives.IX(.3), func(p float64) float64 { return p + .3 }},
		{objectives.ES(.5), math.Sqrt},
	} {
		s := spec{objective: objectives.WeightedLikelihood(.1), weight: c.weight, policy: policies.Softmax{}, mu: []float64{.7, -.4}}
		logistic := func(x float64) float64 { return -math.Log1p(math.Exp(-x)) }
		want := -(1/c.h(.2)*logistic(1.1)+.5/c.h(.5)*logistic(-2.2))/2 + .1*(.49+.16)
		if got := s.value(t, b); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.weight, got, want)
		}
	}
	var unfit *objectives.UnfitError
	if err := objectives.Check(objectives.WeightedLikelihood(0), objectives.Har(.5), policies.Softmax{}); !errors.As(err, &unfit) {
		t.Errorf("har: %v", err)
	}
}

package objectives_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
)

// some returns the rows of the given numbers.
func (b *batch) some(rows []int) *batch {
	s := &batch{k: b.k, d: b.d}
	for _, i := range rows {
		s.x = append(s.x, b.x[i*b.d:(i+1)*b.d]...)
		s.pi0 = append(s.pi0, b.pi0[i*b.k:(i+1)*b.k]...)
		s.action, s.cost = append(s.action, b.action[i]), append(s.cost, b.cost[i])
	}
	return s
}

// A log piece by piece has the value and the terms of one graph over all its rows,
// in whatever order the rows come.
func TestEvaluate_InPiecesEqualsOneBatch(t *testing.T) {
	log := randomBatch(rand.New(rand.NewPCG(1, 2)), 1100, 4, 3)
	for _, o := range everyObjective {
		for _, pol := range []policies.Policy{policies.Softmax{}, policies.Gaussian{Nodes: 33}} {
			weight := objectives.Clip(.3)
			if objectives.Check(o.objective, weight, pol) != nil {
				continue
			}
			t.Run(o.name+" "+pol.Name(), func(t *testing.T) {
				t.Parallel()
				for _, n := range []int{1, 511, 512, 513, 1100} {
					r := rand.New(rand.NewPCG(3, 4))
					rows := r.Perm(n)
					b := log.some(rows)
					s := spec{objective: o.objective, weight: weight, policy: pol, n: n, mu: normals(r, 12, 1), sigma: .8}
					p, _ := s.program(t, b)
					if err := p.Run(); err != nil {
						t.Fatal(err)
					}
					got, err := objectives.Evaluate(o.objective, s.setup(b), b, 1)
					if err != nil {
						t.Fatal(err)
					}
					close(t, fmt.Sprintf("%d rows: objective", n), got.Objective, p.Cost(), 1e-12)
					var names []string
					for _, term := range got.Terms {
						names = append(names, term.Name)
						close(t, fmt.Sprintf("%d rows: %s", n, term.Name), term.Value, p.Read(term.Name)[0], 1e-12)
					}
					want := slices.DeleteFunc(p.Terms(), func(name string) bool { return len(p.Read(name)) > 1 })
					if !slices.Equal(names, want) {
						t.Errorf("terms %q, want %q", names, want)
					}
					slices.Sort(rows)
					again, err := objectives.Evaluate(o.objective, s.setup(b), log.some(rows), 2)
					if err != nil {
						t.Fatal(err)
					}
					close(t, fmt.Sprintf("%d rows in order", n), again.Objective, got.Objective, 1e-12)
				}
			})
		}
	}
}

// close reports numbers that differ by more than tol·max(1, |want|).
func close(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Max(1, math.Abs(want))) {
		t.Errorf("%s = %.17g, want %.17g (off by %.1e)", what, got, want, math.Abs(got-want))
	}
}

// Sampled policies: other chunks are other noise, equal in distribution. Means
// that need others see the noise that those saw.
func TestEvaluate_OfSampledPoliciesAgreesInDistribution(t *testing.T) {
	log := randomBatch(rand.New(rand.NewPCG(1, 2)), 1100, 4, 3)
	mu := normals(rand.New(rand.NewPCG(3, 4)), 12, 1)
	for _, o := range everyObjective {
		for _, pol := range []policies.Policy{policies.SoftmaxPosterior{Samples: 8}, policies.MixedLogit{Samples: 8, Noise: policies.LowDiscrepancy{}}} {
			w := objectives.Clip(.3)
			if objectives.Check(o.objective, w, pol) != nil {
				continue
			}
			t.Run(o.name+" "+pol.Name(), func(t *testing.T) {
				t.Parallel()
				s := spec{objective: o.objective, weight: w, policy: pol, n: 1100, mu: mu, sigma: .8}
				want := s.value(t, log)
				var sum, squares float64
				const seeds = 8
				for seed := range uint64(seeds) {
					v, err := objectives.Evaluate(o.objective, s.setup(log), log, seed)
					if err != nil {
						t.Fatal(err)
					}
					sum += v.Objective / seeds
					squares += v.Objective * v.Objective / seeds
					if seed > 0 {
						continue
					}
					again, err := objectives.Evaluate(o.objective, s.setup(log), log, seed)
					if err != nil || v.Objective != again.Objective {
						t.Errorf("%v, then %v from the same seed (%v)", v.Objective, again.Objective, err)
					}
				}
				sd := math.Sqrt(squares - sum*sum)
				if sd < 1e-6 || sd > .1 || math.Abs(want-sum) > 6*sd {
					t.Errorf("objective %v ± %v, in one batch %v", sum, sd, want)
				}
			})
		}
	}
	// A mean that needs another's is taken under the same noise, pass by pass.
	s := spec{policy: policies.SoftmaxPosterior{Samples: 1}, weight: objectives.IPS(), mu: mu, sigma: 2}
	nothing := func(p objectives.Problem) graph.Expr {
		w := p.Weight()
		first := p.Mean("first", w)
		return p.Mean("second", w.Sub(first))
	}
	v, err := objectives.Evaluate(nothing, s.setup(log), log, 3)
	if err != nil {
		t.Fatal(err)
	}
	close(t, "the mean deviation from the mean", v.Objective, 0, 1e-14)
}

func TestEvaluate_RefusesReadsOutsideOfMeans(t *testing.T) {
	log := randomBatch(rand.New(rand.NewPCG(1, 2)), 600, 4, 3)
	for _, c := range []struct {
		name, want string
		objective  objectives.Objective
		policy     policies.Policy
	}{
		{"costs outside of Mean", "uses cost outside of Problem.Mean", func(p objectives.Problem) graph.Expr {
			return p.Mean("risk", p.Loss()).Add(p.Cost.Mean())
		}, nil},
		{"losses outside of Mean", "outside of Problem.Mean", func(p objectives.Problem) graph.Expr { return p.Loss().Mean() }, nil},
		{"probabilities outside of Mean", "uses context outside of Problem.Mean", func(p objectives.Problem) graph.Expr { return p.Pi().Sum() }, nil},
		{"a term of rows", "uses context outside of Problem.Mean", func(p objectives.Problem) graph.Expr {
			p.Term("entropy", p.Pi().Mul(p.Pi().Log()).Sum())
			return p.Mean("risk", p.Loss())
		}, nil},
		{"noise alone outside of Mean", `"extra" was not fed`, func(p objectives.Problem) graph.Expr {
			return p.Mean("risk", p.Loss()).Add(p.Graph().Noise("extra", graph.Gaussian, 3).Mean())
		}, nil},
		{"two means of a name", `two means are named "risk"`, func(p objectives.Problem) graph.Expr {
			return p.Mean("risk", p.Loss()).Add(p.Mean("risk", p.Cost))
		}, nil},
		{"two means of a name, one after the other", `two means are named "risk"`, func(p objectives.Problem) graph.Expr {
			return p.Mean("risk", p.Loss().Sub(p.Mean("risk", p.Cost)))
		}, nil},
		{"an unfit policy", "needs a posterior", objectives.LogSmoothing(), nil},
		{"no objective", "empty", func(objectives.Problem) graph.Expr { return graph.Expr{} }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec{objective: c.objective, weight: objectives.IPS(), policy: policies.Softmax{}}
			_, err := objectives.Evaluate(c.objective, s.setup(log), log, 1)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// A non-finite row is an error that says where it is.
func TestEvaluate_LocatesANonFiniteRow(t *testing.T) {
	log := randomBatch(rand.New(rand.NewPCG(1, 2)), 1100, 4, 3)
	log.cost[1050] = math.NaN()
	s := spec{objective: objectives.Risk(), weight: objectives.IPS(), policy: policies.Softmax{}}
	_, err := objectives.Evaluate(s.objective, s.setup(log), log, 1)
	if err == nil || !strings.Contains(err.Error(), "rows 1024 to 1099") || !strings.Contains(err.Error(), "risk") {
		t.Errorf("error %v, want one that names rows 1024 to 1099 and risk", err)
	}
}

// An empty log has no value.
func TestEvaluate_RefusesAnEmptyLog(t *testing.T) {
	s := spec{objective: objectives.Risk(), weight: objectives.IPS(), policy: policies.Softmax{}}
	b := &batch{k: 2, d: 2}
	if _, err := objectives.Evaluate(s.objective, s.setup(b), b, 1); err == nil {
		t.Error("no error")
	}
}

// The parameters of training are not touched, those of an objective's own are
// read, and float32 parameters are evaluated in float64.
func TestEvaluate_LeavesParametersAndReadsAnObjectivesOwn(t *testing.T) {
	log := randomBatch(rand.New(rand.NewPCG(1, 2)), 20, 4, 3)
	s := spec{objective: objectives.Sakhi1(), weight: objectives.Clip(.3), policy: policies.Gaussian{}}
	setup := s.setup(log)
	before, err := objectives.Evaluate(s.objective, setup, log, 1)
	if err != nil || len(setup.Params.Own) != 0 {
		t.Fatal(err, setup.Params.Own)
	}
	_, ps := s.program(t, log)
	setup.Params = ps
	ps.Own[0].Set([]float64{-1})
	after, err := objectives.Evaluate(s.objective, setup, log, 1)
	if err != nil || after.Objective == before.Objective || ps.Own[0].Float64s()[0] != -1 {
		t.Errorf("%v, then %v (%v)", before, after, err)
	}
}

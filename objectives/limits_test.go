package objectives_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/graph"
	"opl/graph/kernel"
	"opl/objectives"
	"opl/policies"
	"opl/testdata/long"
)

// limitProblem is a batch and a point away from the prior.
func limitProblem(rows int) (*batch, spec) {
	r := rand.New(rand.NewPCG(8, 9))
	b := randomBatch(r, rows, 4, 3)
	return b, spec{
		prior: policies.Prior{Mean: normals(r, 12, 1)}, mu: normals(r, 12, 1), sigma: .7,
		objective: objectives.Risk(), weight: objectives.IPS(), policy: policies.Gaussian{},
	}
}

// all runs the objective and returns its value, its gradient in mu and its named
// terms, of vectors the first entry.
func (s spec) all(t *testing.T, b *batch) (value float64, grad []float64, terms map[string]float64) {
	t.Helper()
	p, ps := s.program(t, b)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	terms = map[string]float64{}
	for _, name := range p.Terms() {
		terms[name] = p.Read(name)[0]
	}
	return p.Cost(), floats(p.Grad(ps.Mu)), terms
}

// At their unregularized ends the weights are IPS in every objective: value,
// gradient, and a bias of 0 (for corollary1, 1 − Σπ_Q).
func TestWeights_AreIPSWithoutRegularization(t *testing.T) {
	b, s := limitProblem(5)
	for _, pol := range everyPolicy {
		for _, o := range everyObjective {
			s.objective, s.policy, s.weight = o.objective, pol.policy, objectives.IPS()
			if objectives.Check(o.objective, s.weight, pol.policy) != nil {
				continue
			}
			want, grad := s.gradient(t, b)
			for _, w := range everyWeight {
				if !unregularized(w) || objectives.Check(o.objective, w, pol.policy) != nil {
					continue
				}
				s.weight = w
				got, slope, terms := s.all(t, b)
				at := fmt.Sprintf("%s, %s, %s", o.name, pol.name, w)
				close(t, at, got, want, 1e-12)
				for i := range grad {
					close(t, at+": gradient", slope[i], grad[i], 1e-11)
				}
				exact := w.H != nil || w.Residual != nil
				if bias := math.Abs(terms["bias"]); (exact && bias > 0 || bias > 1e-15) && !(strings.HasPrefix(o.name, "corollary1") && (math.Abs(terms["bias"]) < 1e-8 || pol.name == "gaussian mc")) {
					t.Errorf("%s: bias %g", at, terms["bias"])
				}
			}
		}
	}
}

// With the smallest ℓ of the grid, 1/√n, the two one-sided bounds estimate the
// risk as IPS does, and for n → ∞, which takes κ/ℓ to 0, they are the IPS risk:
// no other ℓ gives less.
func TestOneSidedBounds_TendToIPS(t *testing.T) {
	b, s := limitProblem(5)
	ips := s.value(t, b)
	for _, o := range []struct {
		name      string
		objective objectives.Objective
	}{{"ixbound", objectives.IXBound()}, {"ls", objectives.LogSmoothing()}} {
		s.objective = o.objective
		for _, n := range []int{1e8, 1e12, 1e16} {
			s.n = n
			l := 1 / math.Sqrt(float64(n))
			value, _, terms := s.all(t, b)
			close(t, fmt.Sprintf("%s: risk at ℓ = %g", o.name, l), terms["risk"], ips, 1e3*l)
			close(t, fmt.Sprintf("%s: n = %d", o.name, n), value, ips, 1e3*l)
			if value < ips {
				t.Errorf("%s: n = %d: %v is below the IPS risk %v", o.name, n, value, ips)
			}
		}
	}
}

func TestHeuristic_WithoutPenaltiesIsTheRisk(t *testing.T) {
	b, s := limitProblem(5)
	for _, pol := range everyPolicy {
		for _, w := range everyWeight {
			s.policy, s.weight = pol.policy, w
			s.objective = objectives.Risk()
			want, grad := s.gradient(t, b)
			s.objective = objectives.Heuristic(objectives.Penalties{})
			got, slope := s.gradient(t, b)
			s.objective = objectives.L2(0)
			l2, _ := s.gradient(t, b)
			if got != want || l2 != want || !slices.Equal(slope, grad) {
				t.Errorf("%s, %s: risk %v, heuristic %v, l2 %v", pol.name, w, want, got, l2)
			}
		}
	}
}

// A posterior that is its prior has KL 0, at any scale; the bounds' excess is
// then that of δ alone.
func TestKL_IsZeroAtThePrior(t *testing.T) {
	b, s := limitProblem(5)
	s.mu = s.prior.Mean
	for _, scale := range []float64{0, 1, .1, 30} {
		s.prior.Scale, s.sigma = scale, scale
		s.objective = objectives.London()
		s.weight = objectives.Clip(.3)
		value, _, terms := s.all(t, b)
		if math.Abs(terms["KL"]) > 1e-14 {
			t.Errorf("prior scale %v: KL %g", scale, terms["KL"])
		}
		kappa := math.Log(2*math.Sqrt(500)/.05) / 500
		close(t, "kappa", terms["kappa"], kappa, 1e-14)
		r := terms["risk"]
		close(t, "london", value, r+2*kappa/.3+math.Sqrt(2*(r+1/.3)*kappa/.3), 1e-13)
	}
}

// One-sided or two-sided, at fixed batch means a bound falls as n grows and
// rises as KL does. τ is fixed. The grids of sakhi2, ixbound and ls move with n,
// their lower end like 1/√n. For sakhi2 every point of the grid falls with n:
// its ℓ falls, so ℓG(ℓ/τ) does, and nℓ rises, so κ/ℓ falls. For the other two the
// grid only becomes finer where the best ℓ moves to.
func TestBounds_FallWithRowsAndRiseWithKL(t *testing.T) {
	long.Test(t)
	b, s := limitProblem(5)
	for _, o := range everyObjective {
		for _, pol := range everyPolicy {
			s.objective, s.policy, s.weight = o.objective, pol.policy, objectives.Clip(.3)
			if !o.bound || objectives.Check(s.objective, s.weight, s.policy) != nil {
				continue
			}
			last := math.Inf(1)
			for _, n := range []int{10, 100, 1000, 1e5, 1e7, 1e10} {
				s.n = n
				v := s.value(t, b)
				if !(v < last) {
					t.Errorf("%s, %s: %v at n = %d, %v before", o.name, pol.name, v, n, last)
				}
				last = v
			}
			for _, n := range []int{100, 1e5} {
				s.n = n
				near, last := s.prior, math.Inf(-1)
				for _, far := range []float64{0, .01, 1, 30} {
					moved := slices.Clone(s.mu)
					moved[5] += far
					s.prior = policies.Prior{Mean: moved}
					v := s.value(t, b)
					// exp(−KL/n) rounds to 0 where sakhi1, ixbound and ls are at their top.
					if !(v > last) && (v < last || far < 10) {
						t.Errorf("%s, %s, n = %d: %v at distance %v, %v nearer", o.name, pol.name, n, v, far, last)
					}
					last = v
				}
				s.prior = near
			}
			s.n = 0
		}
	}
}

// Renaming the actions renames the gradient's rows and changes nothing else.
func TestActions_RenamedPermuteOnlyTheGradient(t *testing.T) {
	perm := []int{2, 0, 3, 1}
	everyFit(t, func(t *testing.T, name string, s spec) {
		if s.weight.Hyper == 0 || s.weight.Hyper == 1 {
			return // the others say as much
		}
		b, at := limitProblem(5)
		s.prior, s.mu, s.sigma = at.prior, at.mu, at.sigma
		p, ps := s.program(t, b)
		eps := make([]float64, 5*3*4) // draws of one number an action: 15 rows of 4
		graph.Gaussian(rand.New(rand.NewPCG(11, 0)), eps)
		noisy := s.policy.Noisy() && p.Has(policies.NoiseName)
		if noisy {
			if err := p.Feed(policies.NoiseName, eps); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		value, grad := p.Cost(), p.Grad(ps.Mu).Float64s()

		rows := func(x []float64) []float64 { // of actions
			y := make([]float64, len(x))
			for a, to := range perm {
				copy(y[to*3:to*3+3], x[a*3:a*3+3])
			}
			return y
		}
		columns := func(x []float64) []float64 {
			y := make([]float64, len(x))
			for i := 0; i < len(x); i += 4 {
				for a, to := range perm {
					y[i+to] = x[i+a]
				}
			}
			return y
		}
		c := *b
		c.pi0, c.action = columns(b.pi0), make([]float64, 5)
		for i, a := range b.action {
			c.action[i] = float64(perm[int(a)])
		}
		s.prior.Mean, s.mu = rows(s.prior.Mean), rows(s.mu)
		q, qs := s.program(t, &c)
		if noisy {
			if err := q.Feed(policies.NoiseName, columns(eps)); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.Run(); err != nil {
			t.Fatal(err)
		}
		close(t, name, q.Cost(), value, 1e-12)
		for i, g := range rows(grad) {
			close(t, name+": gradient", q.Grad(qs.Mu).Float64s()[i], g, 1e-11)
		}
	})
}

// For linear weights the expectation of Theorem 1 over argmax policies has
// Corollary 1's form.
func TestTheorem1_OfArgmaxIsCorollary1(t *testing.T) {
	b, s := limitProblem(5)
	for _, c := range []struct {
		name   string
		lambda objectives.Lambda
	}{{"star", objectives.LambdaStar}, {"authors", objectives.LambdaAuthors}, {"fixed", objectives.LambdaFixed(.2)}} {
		for _, w := range everyWeight {
			if !w.Linear() {
				continue
			}
			for _, pol := range []policies.Policy{policies.Gaussian{Nodes: 129}, policies.MixedLogit{Samples: 3}} {
				s.weight, s.policy = w, pol
				s.objective = objectives.Theorem1(c.lambda)
				v1, g1 := s.gradient(t, b)
				s.objective = objectives.Corollary1(c.lambda)
				v2, g2 := s.gradient(t, b)
				at := fmt.Sprintf("%s, %s, λ %s", w, pol.Name(), c.name)
				close(t, at, v1, v2, 1e-12)
				for i := range g1 {
					close(t, at+": gradient", g1[i], g2[i], 1e-11)
				}
			}
		}
	}
}

// For Har the closed form over argmax policies is the average over many of them.
func TestTheorem1_OfArgmaxEqualsMonteCarlo(t *testing.T) {
	b, s := limitProblem(3)
	s.objective = objectives.Theorem1(objectives.LambdaStar)
	for _, lambda := range []float64{0, .3, 1} {
		s.weight = objectives.Har(lambda)
		_, _, terms := s.all(t, b)

		w := func(pi, pi0 float64) float64 {
			if lambda == 0 {
				return 1
			}
			return pi / ((1-lambda)*pi + lambda*pi0)
		}
		const draws = 100_000
		r := rand.New(rand.NewPCG(1, 1))
		names := []string{"risk", "variance", "bias"}
		sum, squares := make([]float64, 3), make([]float64, 3)
		theta, scores := make([]float64, 12), make([]float64, 4)
		for range draws {
			for i := range theta {
				theta[i] = s.mu[i] + s.sigma*r.NormFloat64()
			}
			var v [3]float64
			for i := range b.Len() {
				for a := range scores {
					scores[a] = 0
					for j := range b.d {
						scores[a] += b.x[i*b.d+j] * theta[a*b.d+j]
					}
				}
				best, logged := kernel.ArgMax(scores), int(b.action[i])
				for a := range scores {
					pi, pi0 := 0.0, b.pi0[i*b.k+a]
					if a == best {
						pi = 1
					}
					if a == logged {
						v[0] += w(pi, pi0) * b.cost[i]
						v[1] += math.Pow(w(pi, pi0)*b.cost[i], 2)
					}
					v[1] += pi0 * math.Pow(w(pi, pi0), 2)
					v[2] += math.Abs(pi - pi0*w(pi, pi0))
				}
			}
			for j := range v {
				m := v[j] / float64(b.Len())
				sum[j] += m / draws
				squares[j] += m * m / draws
			}
		}
		for j, name := range names {
			se := math.Sqrt(math.Max(0, squares[j]-sum[j]*sum[j]) / draws)
			if d := math.Abs(sum[j] - terms[name]); !(d <= 4.5*se+1e-8) {
				t.Errorf("har=%v: %s %v, Monte Carlo %v ± %v", lambda, name, terms[name], sum[j], se)
			}
		}
	}
}

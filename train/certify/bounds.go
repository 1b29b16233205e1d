package certify

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/train/bandit"
)

// gridSize is Λ, the points of each grid.
const gridSize = 100

// sample is what bounds are computed from: the rows and π_Q on them.
type sample struct {
	rows  []int
	cost  []float64 // c_i
	pi0   []float64 // π₀(a_i|x_i)
	pi    []float64 // π_Q(a_i|x_i), or its estimate from draws
	all   []float64 // π_Q(·|x_i) [n×K], of policies with an exact form
	draws int       // a row; 0: π_Q is exact
	// each hands over π [K] of every row and draw, the same ones at each call.
	each func(use func(i int, pi []float64))
}

// measure computes π_Q on the rows. Draws are independent over rows.
func measure(pol policies.Policy, q policies.Posterior, log *bandit.Log, rows []int, o Options) sample {
	n, k := len(rows), q.Actions
	s := sample{rows: rows, cost: make([]float64, n), pi0: make([]float64, n), pi: make([]float64, n)}
	draws := 1
	if pol.Noisy() {
		s.draws, draws = o.Draws, o.Draws
	} else {
		s.all = make([]float64, n*k)
	}
	contexts := make([]int, n)
	for i, r := range rows {
		contexts[i], s.cost[i], s.pi0[i] = log.Context(r), log.Cost[r], log.Propensity[r]
	}
	s.each = func(use func(i int, pi []float64)) {
		r := rand.New(rand.NewPCG(o.Seed, 0xce27))
		pi, eps := make([]float64, k), make([]float64, k)
		bandit.Scores(log.X, contexts, q.Mu, k, func(i int, scores []float64) {
			for range draws {
				if s.draws > 0 {
					graph.Gaussian(r, eps)
				}
				pol.Given(pi, scores, q.Sigma*log.X.Norm(contexts[i]), eps)
				use(i, pi)
			}
		})
	}
	s.each(func(i int, pi []float64) {
		s.pi[i] += pi[log.Action[rows[i]]] / float64(draws)
		if s.all != nil {
			copy(s.all[i*k:], pi)
		}
	})
	return s
}

// smoothed and explored are the losses of one unit of π at the logged action,
// ≤ 0: logarithmic smoothing and implicit exploration with γ = ℓ/2.
func smoothed(l, c, pi0 float64) float64 { return -math.Log1p(-l*c/pi0) / l }
func explored(l, c, pi0 float64) float64 { return c / (pi0 + l/2) }

// oneSided is the tightest of the bounds, over ℓ in a grid of Λ values spaced
// linearly from 1/√n to 1,
//
//	R(π_Q) ≤ ψ_ℓ(mean_i π_Q(a_i|x_i)·loss_ℓ(c_i, π₀(a_i|x_i)) + κ/ℓ)
//	κ = (KL + log(Λ/δ))/n,   ψ_ℓ(u) = (1 − e^(−ℓu))/ℓ
//
// by logarithmic smoothing (Sakhi et al. 2024) or implicit exploration
// (Gabbianelli et al. 2023). For a π_Q known by S draws a row, half of δ pays for
// the sampling: by Hoeffding's inequality over rows and draws the mean exceeds its
// estimate by at most √(log(2Λ/δ) Σ_i loss_i²/(2n²S)), for all ℓ of the grid.
func (s sample) oneSided(kl, delta float64, loss func(l, c, pi0 float64) float64) Bound {
	n := float64(len(s.rows))
	if s.draws > 0 {
		delta /= 2
	}
	best := Bound{Risk: math.Inf(1)}
	kappa := (kl + math.Log(gridSize/delta)) / n
	for g := range gridSize {
		l := 1/math.Sqrt(n) + (1-1/math.Sqrt(n))*float64(g)/(gridSize-1)
		var mean, square float64
		for i, c := range s.cost {
			if c == 0 {
				continue
			}
			u := loss(l, c, s.pi0[i])
			mean += s.pi[i] * u / n
			square += u * u
		}
		var sampling float64
		if s.draws > 0 {
			sampling = math.Sqrt(math.Log(gridSize/delta) * square / (2 * n * n * float64(s.draws)))
		}
		if r := -math.Expm1(-(l*(mean+sampling) + kappa)) / l; r < best.Risk {
			best = Bound{Risk: r, Lambda: l, Terms: []objectives.Term{
				{Name: "risk", Value: mean}, {Name: "sampling", Value: sampling}, {Name: "KL", Value: kl}, {Name: "kappa", Value: kappa},
			}}
		}
	}
	return best
}

// corollary1Fits reports why Corollary 1 is no candidate.
func corollary1Fits(pol policies.Policy, log *bandit.Log, w objectives.Weight) error {
	switch {
	case !pol.Mixture():
		return fmt.Errorf("policy %s is no mixture of deterministic policies", pol.Name())
	case pol.Noisy():
		return fmt.Errorf("policy %s is known by sampling alone", pol.Name())
	case !w.Linear():
		return fmt.Errorf("weight %s is not linear in π", w.Name)
	case log.LoggedOnly():
		return errors.New("the log has no propensities of all actions")
	}
	return nil
}

// geometric is point g of the grid of λ, from 1e-4 to 1.
func geometric(g int) float64 { return math.Pow(10, -4+4*float64(g)/(gridSize-1)) }

// corollary1 is the tightest of the bounds of Corollary 1 over λ in a grid of
// Λ = 100 values, geometric from 1e-4 to 1. Two-sided, as in the paper with a
// union bound over the grid,
//
//	R̂ + √(KL₁/(2n)) + Bₙ + KL₂/(nλ) + (λ/2)V̄ₙ
//	KL₁ = KL + log(4√n/δ),   KL₂ = KL + log(4Λ/δ)
//
// or one-sided: as c ≤ 0 and h(p) ≥ p the estimate errs upwards, so Bₙ falls away
// and KL₂ = KL + log(2Λ/δ). It needs an exact π_Q, a linear weight, and the
// propensities of all actions.
func (s sample) corollary1(log *bandit.Log, w objectives.Weight, kl, delta float64, oneSided bool) (Bound, error) {
	n, k := float64(len(s.rows)), log.Actions()
	h, err := denominators(w, log, s.rows)
	if err != nil {
		return Bound{}, err
	}
	var risk, v, kept float64
	for i, r := range s.rows {
		for a := range k {
			h, pi, pi0 := h[i*k+a], s.all[i*k+a], log.Propensities[r*k+a]
			if h < pi0*(1-1e-12) {
				return Bound{}, fmt.Errorf("weight %s: h(%v) = %v, want h(p) ≥ p", w, pi0, h)
			}
			kept += pi0 / h * pi / n
			v += pi0 / h * pi / h / n
		}
		ha := h[i*k+int(log.Action[r])]
		risk += s.pi[i] / ha * s.cost[i] / n
		v += s.pi[i] / ha * s.cost[i] * s.cost[i] / ha / n
	}
	kl1, kl2, b := kl+math.Log(4*math.Sqrt(n)/delta), kl+math.Log(4*gridSize/delta), 1-kept
	if oneSided {
		kl2, b = kl+math.Log(2*gridSize/delta), 0
	}
	best := Bound{Risk: math.Inf(1)}
	for g := range gridSize {
		l := geometric(g)
		if r := risk + math.Sqrt(kl1/(2*n)) + b + kl2/(n*l) + l/2*v; r < best.Risk {
			best = Bound{Risk: r, Lambda: l}
		}
	}
	best.Terms = []objectives.Term{{Name: "risk", Value: risk}, {Name: "bias", Value: b}, {Name: "variance", Value: v}, {Name: "KL", Value: kl}}
	return best, nil
}

// denominators computes h(π₀) of a linear weight for the rows, [n×K].
func denominators(w objectives.Weight, log *bandit.Log, rows []int) ([]float64, error) {
	const chunk = 4096
	k := log.Actions()
	out := make([]float64, 0, len(rows)*k)
	var prog *graph.Program
	size := 0
	for from := 0; from < len(rows); from += size {
		if m := min(chunk, len(rows)-from); m != size {
			size = m
			g := graph.New(tensor.Float64)
			h := w.H(g.Input("pi0", m, k)).Named("h")
			var err error
			if prog, err = g.Compile(h.Sum(), graph.WithoutGradients()); err != nil {
				return nil, err
			}
			defer prog.Close()
		}
		in := graph.Buffer[float64](prog, "pi0")
		for i, r := range rows[from : from+size] {
			if in == nil { // h is constant
				break
			}
			copy(in[i*k:], log.Propensities[r*k:(r+1)*k])
		}
		if err := prog.Run(); err != nil {
			return nil, err
		}
		out = append(out, prog.Read("h")...)
	}
	return out, nil
}

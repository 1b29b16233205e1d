package certify

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"opl/objectives/weights"
	"opl/policies/propensity"
	"opl/train/logs"
)

// gridSize is Λ, the points of each grid.
const gridSize = 100

// sample is what bounds are computed from: the rows, π_Q on them, and sums over them.
type sample struct {
	rows  []int
	cost  []float64 // c_i
	pi0   []float64 // π₀(a_i|x_i)
	pi    []float64 // π_Q(a_i|x_i), or its estimate from draws
	draws int       // a row; 0: π_Q is exact
	// each hands over π [K] of every row and draw, the same ones at each call, and
	// φ(x_i)ᵀθ_a for parameters θ [K×d] besides, if not nil.
	each func(theta []float64, use func(i int, pi, scores []float64))

	robust *robustSums // nil: the doubly robust bound does not fit
	linear *linearSums // nil: those of Corollary 1 do not
}

// measure computes π_Q on the rows, and sums in the same pass. Draws are independent
// over rows.
func measure(pol propensity.Family, q propensity.Posterior, log *logs.Log, rows []int, o Options) sample {
	n, k := len(rows), q.Actions
	s := sample{rows: rows, cost: make([]float64, n), pi0: make([]float64, n), pi: make([]float64, n)}
	draws := 1
	if pol.Noisy() {
		s.draws, draws = o.Draws, o.Draws
	}
	contexts := make([]int, n)
	for i, r := range rows {
		contexts[i], s.cost[i], s.pi0[i] = log.Context(r), log.Cost[r], log.Propensity[r]
	}
	s.each = func(theta []float64, use func(i int, pi, scores []float64)) {
		r := rand.New(rand.NewPCG(o.Seed, 0xce27))
		pi, eps := make([]float64, k), make([]float64, k)
		all := slices.Concat(q.Mu, theta)
		logs.Scores(log.X, contexts, all, len(all)/q.Dim, func(i int, scores []float64) {
			for range draws {
				if s.draws > 0 {
					propensity.Gauss(r, eps)
				}
				pol.At(pi, scores[:k], q.Sigma*log.X.Norm(contexts[i]), eps)
				use(i, pi, scores[k:])
			}
		})
	}
	var theta []float64
	if robustFits(pol, log, o.RewardModel) == nil {
		s.robust, theta = newRobustSums(n, k, o.Threads), o.RewardModel.Theta
	}
	if corollary1Fits(pol, log, o.Weight) == nil {
		s.linear = newLinearSums(o.Weight, log, rows)
	}
	s.each(theta, func(i int, pi, scores []float64) {
		r := rows[i]
		s.pi[i] += pi[log.Action[r]] / float64(draws)
		if s.robust != nil {
			s.robust.add(pi, scores, log.Propensities[r*k:(r+1)*k], int(log.Action[r]), s.cost[i])
		}
		if s.linear != nil {
			s.linear.add(i, pi, s.cost[i])
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
			best = Bound{Risk: r, Lambda: l, Terms: []weights.Term{
				{Name: "risk", Value: mean}, {Name: "sampling", Value: sampling}, {Name: "KL", Value: kl}, {Name: "kappa", Value: kappa},
			}}
		}
	}
	return best
}

// corollary1Fits reports why Corollary 1 is no candidate.
func corollary1Fits(pol propensity.Family, log *logs.Log, w weights.Weight) error {
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
func (s sample) corollary1(kl, delta float64, oneSided bool) (Bound, error) {
	n, m := float64(len(s.rows)), s.linear
	if m.err != nil {
		return Bound{}, m.err
	}
	kl1, kl2, b := kl+math.Log(4*math.Sqrt(n)/delta), kl+math.Log(4*gridSize/delta), 1-m.kept
	if oneSided {
		kl2, b = kl+math.Log(2*gridSize/delta), 0
	}
	best := Bound{Risk: math.Inf(1)}
	for g := range gridSize {
		l := geometric(g)
		if r := m.risk + math.Sqrt(kl1/(2*n)) + b + kl2/(n*l) + l/2*m.variance; r < best.Risk {
			best = Bound{Risk: r, Lambda: l}
		}
	}
	best.Terms = []weights.Term{{Name: "risk", Value: m.risk}, {Name: "bias", Value: b}, {Name: "variance", Value: m.variance}, {Name: "KL", Value: kl}}
	return best, nil
}

// linearSums are what Corollary 1 needs of a linear weight, as means over rows: R̂,
// 1 − Bₙ and V̄ₙ. Rows are added in order.
type linearSums struct {
	risk, kept, variance float64
	err                  error // what went wrong

	weight weights.Weight
	log    *logs.Log
	rows   []int
}

func newLinearSums(w weights.Weight, log *logs.Log, rows []int) *linearSums {
	return &linearSums{weight: w, log: log, rows: rows, err: w.Check()}
}

// add adds row i.
func (m *linearSums) add(i int, pi []float64, cost float64) {
	if m.err != nil {
		return
	}
	n, k, r := float64(len(m.rows)), m.log.K(), m.rows[i]
	h := m.weight.H(weights.Column(m.log.Propensities[r*k : (r+1)*k])).(weights.Column)
	for a, pi0 := range m.log.Propensities[r*k : (r+1)*k] {
		if h[a] < pi0*(1-1e-12) {
			m.err = fmt.Errorf("weight %s: h(%v) = %v, want h(p) ≥ p", m.weight, pi0, h[a])
			return
		}
		m.kept += pi0 / h[a] * pi[a] / n
		m.variance += pi0 / h[a] * pi[a] / h[a] / n
	}
	a := m.log.Action[r]
	m.risk += pi[a] / h[a] * cost / n
	m.variance += pi[a] / h[a] * cost * cost / h[a] / n
}

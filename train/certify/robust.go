package certify

import (
	"errors"
	"fmt"
	"math"

	"opl/graph/kernel"
	"opl/graph/kernel/workers"
	"opl/objectives/weights"
	"opl/policies/propensity"
	"opl/train/logs"
)

// RewardModel is a model of the reward, r̂(x,a) = softmax(φ(x)ᵀθ)_a in [0, 1], that
// makes a bound tighter the better it predicts, and never false: it may be any
// function of context and action that is fixed before the certifying rows are
// seen.
type RewardModel struct {
	Theta  []float64         // [K×d]
	Taught propensity.RowSet // rows that it was learned from, which may not certify
	Fixed  bool              // the caller's word that no row of a log that certifies taught it
}

// doublyRobust is logarithmic smoothing of the doubly robust estimate of the risk, for
// mixtures of deterministic policies π_θ:
//
//	R(π_Q) ≤ ψ_ℓ(mean_i Σ_a π_Q(a|x_i)·(−1/ℓ)log(1 − ℓX_ia) + κ/ℓ)
//	X_ia = q_ia + 1{a = a_i}(c_i − q_ia)/π₀(a|x_i),   κ = (KL + log(Λ/δ))/n
//	q_ia = −r̂(x_i,a)·min(1, π₀(a|x_i)/(2ℓ))
//
// with ψ_ℓ(u) = (1 − e^(−ℓu))/ℓ and ℓ the best of Λ = 100 values, geometric from
// 0.1/√n to 1. With q = 0 it is logarithmic smoothing. It needs an exact π_Q and
// the propensities of all actions.
//
// Why it holds: X_ia is an unbiased estimate of the cost of playing a in x_i, as q
// is fixed in advance, and X_ia ≤ |q_ia|/π₀ ≤ 1/(2ℓ), so 1 − ℓX_ia ≥ 1/2. For a
// deterministic π_θ that plays a_θ(x), E ∏_i (1 − ℓX_{i,a_θ(x_i)}) = (1 − ℓR(π_θ))ⁿ;
// change of measure from P to Q, Markov's inequality and Jensen's, for
// log(1 − ℓR), give the bound, and a union over ℓ the Λ.
func (s sample) doublyRobust(kl, delta float64) Bound {
	n := float64(len(s.rows))
	kappa := (kl + math.Log(gridSize/delta)) / n
	best := Bound{Risk: math.Inf(1)}
	for g, l := range s.robust.grid {
		mean := s.robust.mean[g]
		if b := -math.Expm1(mean-kappa) / l; b < best.Risk {
			best = Bound{Risk: b, Lambda: l, Terms: []weights.Term{
				{Name: "risk", Value: -mean / l}, {Name: "unbiased risk", Value: s.robust.risk[g]}, {Name: "KL", Value: kl}, {Name: "kappa", Value: kappa},
			}}
		}
	}
	return best
}

// robustSums are what the doubly robust bound needs, for every ℓ of its grid, as means
// over n rows.
type robustSums struct {
	n     float64
	grid  [gridSize]float64
	mean  [gridSize]float64 // Σ_a π_Q log(1 − ℓX)
	risk  [gridSize]float64 // the doubly robust estimate
	model []float64         // r̂(x, ·)

	threads int
	row     struct { // the one that is added
		pi, pi0 []float64
		logged  int
		cost    float64
	}
	share func(seat, part int)
}

func newRobustSums(n, k, threads int) *robustSums {
	s := &robustSums{n: float64(n), model: make([]float64, k), threads: max(1, threads)}
	for g := range s.grid {
		s.grid[g] = math.Pow(0.1/math.Sqrt(s.n), 1-float64(g)/(gridSize-1))
	}
	s.share = func(_, part int) {
		for g := gridSize * part / s.threads; g < gridSize*(part+1)/s.threads; g++ {
			s.at(g)
		}
	}
	return s
}

// add adds a row: π_Q and π₀ of all actions, the scores of the model, a_i and c_i.
func (s *robustSums) add(pi, scores, pi0 []float64, logged int, cost float64) {
	kernel.Softmax(s.model, scores, len(scores))
	s.row.pi, s.row.pi0, s.row.logged, s.row.cost = pi, pi0, logged, cost
	workers.Do(s.threads, s.threads, s.share)
}

// at adds the row to the sums of one ℓ.
func (s *robustSums) at(g int) {
	l, mean, risk := s.grid[g], s.mean[g], s.risk[g]
	for a, pi := range s.row.pi {
		p0 := s.row.pi0[a]
		x := -s.model[a] * min(1, p0/(2*l)) // q_ia
		if a == s.row.logged {
			x += (s.row.cost - x) / p0
		}
		if pi > 0 {
			mean += pi * math.Log1p(-l*x) / s.n
			risk += pi * x / s.n
		}
	}
	s.mean[g], s.risk[g] = mean, risk
}

// robustFits says why the doubly robust bound cannot be had, nil if it can.
func robustFits(pol propensity.Family, log *logs.Log, base *RewardModel) error {
	switch {
	case base == nil:
		return errors.New("no model of the reward was given")
	case len(base.Theta) != log.K()*log.Dim():
		return fmt.Errorf("the model of the reward has %d parameters, want %d×%d", len(base.Theta), log.K(), log.Dim())
	case !pol.Mixture() || pol.Noisy():
		return fmt.Errorf("policy %s is no mixture of deterministic policies in an exact form", pol.Name())
	case log.LoggedOnly():
		return errors.New("the log has no propensities of all actions")
	}
	for _, v := range base.Theta {
		if v-v != 0 {
			return fmt.Errorf("the model of the reward has a parameter %v", v)
		}
	}
	return nil
}

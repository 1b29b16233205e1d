package policies

import (
	"opl/graph"
	"opl/policies/propensity"
)

// Gaussian is the mixture of argmax policies under a Gaussian posterior
// (Sakhi et al. 2022; the paper's eq. for Gaussian policies),
//
//	π_Q(a|x) = P(a = argmax_k φ(x)ᵀθ_k),   θ ~ N(μ, σ²I)
//	         = E_ε[∏_{k≠a} Φ(ε + φ(x)ᵀ(μ_a − μ_k)/(σ‖φ(x)‖))],   ε ~ N(0, 1)
//
// by quadrature, which is exact to rounding and the default, or by the paper's
// Monte Carlo estimator. A context of zeros ties all actions: 1/K each.
type Gaussian struct {
	// Nodes of the quadrature; 0 means 33 up to K = 12 and 65 above.
	Nodes int
	// Samples, if positive, replaces the quadrature in graphs by the Monte Carlo
	// estimator with that many draws of ε an example, shared by its actions. The
	// estimated propensities of a context need not sum to 1.
	Samples int
	// Noise is where the draws come from; nil means LowDiscrepancy.
	Noise Noise
}

func (Gaussian) Name() string       { return propensity.Gaussian{}.Name() }
func (Gaussian) HasPosterior() bool { return true }
func (Gaussian) Mixture() bool      { return true }
func (Gaussian) Draws() int         { return 1 }
func (Gaussian) Noisy() bool        { return false }

// Probs builds π_Q [B×K].
func (p Gaussian) Probs(s Scores) graph.Expr {
	b, k, err := s.rows()
	if err != nil {
		return s.Mean
	}
	some := s.Norm.Above(0)                              // [B] 0 where φ(x) = 0
	scale := s.Norm.Add(some.Neg().Plus(1)).Mul(s.Sigma) // [B] σ‖φ(x)‖, σ where φ(x) = 0
	z := s.Mean.Div(scale.Across(k))                     // [B×K]
	if p.Samples <= 0 {
		return z.GaussianQuadrature(p.Nodes)
	}
	eps := noise(s.Mean.Graph(), p.Noise, b, p.Samples, 1).Reshape(b, p.Samples)
	pi := z.GaussianMonteCarlo(eps)
	some = some.Across(k)
	return pi.Mul(some).Add(some.Neg().Plus(1).Scale(1 / float64(k)))
}

// At writes π_Q(·|x) by quadrature with at least 65 nodes.
func (p Gaussian) At(dst, scores []float64, scale float64, eps []float64) {
	propensity.Gaussian{Nodes: p.Nodes}.At(dst, scores, scale, eps)
}

// AtMean gives probability 1 to the action of the largest score, the first of
// equals.
func (Gaussian) AtMean(dst, scores []float64) { propensity.Gaussian{}.AtMean(dst, scores) }

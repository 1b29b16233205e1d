package propensity

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"opl/graph/kernel"
)

// Family is a family of policies with linear scores, in numbers. K actions, d
// features.
type Family interface {
	// Name is the family's name in settings and tables.
	Name() string

	// HasPosterior reports whether the family is one of distributions
	// Q = N(μ, σ²I) over parameters, with a KL divergence to a prior, and not of
	// single parameters θ.
	HasPosterior() bool

	// Mixture reports whether its propensities are those of π_Q itself, a mixture of
	// deterministic policies under Q: what Corollary 1 asks for.
	Mixture() bool

	// Noisy reports whether At depends on its noise.
	Noisy() bool

	// At writes to dst [K] the propensities of all actions for one context, from its
	// scores φ(x)ᵀμ [K], scale = σ‖φ(x)‖, and for noisy families one draw of standard
	// normal noise eps [K]. π_Q is its mean over draws. Exact where the family has an
	// exact form, whatever form learning uses.
	At(dst, scores []float64, scale float64, eps []float64)

	// AtMean writes to dst [K] the propensities of the single policy at θ = μ.
	AtMean(dst, scores []float64)
}

// Softmax is the point policy
//
//	π_θ(a|x) = exp(φ(x)ᵀθ_a) / Σ_k exp(φ(x)ᵀθ_k)
//
// computed from differences to the largest score. It has no posterior.
type Softmax struct{}

var _ Family = Softmax{}

func (Softmax) Name() string       { return "softmax" }
func (Softmax) HasPosterior() bool { return false }
func (Softmax) Mixture() bool      { return false }
func (Softmax) Noisy() bool        { return false }

// At writes softmax(scores) to dst.
func (Softmax) At(dst, scores []float64, _ float64, _ []float64) {
	kernel.Softmax(dst, scores, len(scores))
}

// AtMean is At.
func (Softmax) AtMean(dst, scores []float64) { kernel.Softmax(dst, scores, len(scores)) }

// leastNodes is the number of nodes that exact propensities have at least.
const leastNodes = 65

// Gaussian is the mixture of argmax policies under a Gaussian posterior,
//
//	π_Q(a|x) = P(a = argmax_k φ(x)ᵀθ_k),   θ ~ N(μ, σ²I)
//
// by quadrature with at least 65 nodes. A context of zeros ties all actions: 1/K
// each.
type Gaussian struct {
	Nodes int // of the quadrature, where more than 65 are wanted
}

var _ Family = Gaussian{}

func (Gaussian) Name() string       { return "gaussian" }
func (Gaussian) HasPosterior() bool { return true }
func (Gaussian) Mixture() bool      { return true }
func (Gaussian) Noisy() bool        { return false }

// At writes π_Q(·|x) by quadrature.
func (p Gaussian) At(dst, scores []float64, scale float64, _ []float64) {
	k := len(scores)
	for a, s := range scores {
		dst[a] = 1 / float64(k)
		if scale > 0 {
			dst[a] = s / scale
		}
	}
	if scale > 0 {
		buffer := buffers.Get().(*[]float64)
		z := append((*buffer)[:0], dst...)
		kernel.GaussianPropensities(dst, z, k, max(leastNodes, p.Nodes, kernel.DefaultNodes(k)))
		*buffer = z
		buffers.Put(buffer)
	}
}

// buffers keeps memory for scores.
var buffers = sync.Pool{New: func() any { return new([]float64) }}

// AtMean gives probability 1 to the action of the largest score, the first of
// equals.
func (Gaussian) AtMean(dst, scores []float64) {
	clear(dst)
	dst[kernel.ArgMax(scores)] = 1
}

// SoftmaxPosterior is the family of softmax policies under a Gaussian posterior,
// draw by draw: π(a|x) = softmax(φ(x)ᵀμ + σ‖φ(x)‖ε)_a, ε ~ N(0, I_K).
type SoftmaxPosterior struct{}

var _ Family = SoftmaxPosterior{}

func (SoftmaxPosterior) Name() string       { return "softmax-posterior" }
func (SoftmaxPosterior) HasPosterior() bool { return true }
func (SoftmaxPosterior) Mixture() bool      { return false }
func (SoftmaxPosterior) Noisy() bool        { return true }

// At writes softmax(scores + scale·eps) to dst.
func (SoftmaxPosterior) At(dst, scores []float64, scale float64, eps []float64) {
	for a, s := range scores {
		dst[a] = s + scale*eps[a]
	}
	kernel.Softmax(dst, dst, len(dst))
}

// AtExps is At for S draws that many contexts share, given as exps = exp(scale·eps) [K×S], each in [e⁻³⁰⁰,
// e³⁰⁰]: draw s has the propensities weight_a·exps_as·share_s. It takes K exponentials in place of S·K. Scores
// are finite. It differs from At by rounding, and where a propensity is below e⁻¹⁰⁰.
func (SoftmaxPosterior) AtExps(weight, share, scores, exps []float64) {
	top := slices.Max(scores)
	clear(share)
	for a, s := range scores {
		w := math.Exp(s - top)
		for s, e := range exps[a*len(share) : (a+1)*len(share)] {
			share[s] += w * e
		}
		weight[a] = w
	}
	for s, sum := range share {
		share[s] = 1 / sum
	}
}

// AtMean writes softmax(scores) to dst.
func (SoftmaxPosterior) AtMean(dst, scores []float64) { kernel.Softmax(dst, scores, len(scores)) }

// MixedLogit is the average of the softmax policies under a Gaussian posterior. As a
// softmax is an argmax under Gumbel noise, it is a mixture of deterministic policies
// too: the noise has no parameter and joins θ at no KL.
type MixedLogit struct{ SoftmaxPosterior }

var _ Family = MixedLogit{}

func (MixedLogit) Name() string  { return "mixedlogit" }
func (MixedLogit) Mixture() bool { return true }

// Floor keeps the propensities of a family away from 0:
//
//	π(a|x) = (1 − ε)·π'(a|x) + ε/K
//
// for ε in [0, 1), so that a log of π can judge any other policy with weights of
// at most K/ε. It plays an action at random with probability ε; as this takes no
// parameter it joins θ at no KL, and a mixture of deterministic policies stays
// one. The zero ε is the policy itself.
type Floor struct {
	Family          // π'
	Epsilon float64 // ε
}

var _ Family = Floor{}

// Name adds the floor to the family's name.
func (p Floor) Name() string {
	if p.Epsilon == 0 {
		return p.Family.Name()
	}
	return fmt.Sprintf("%s, floor %v", p.Family.Name(), p.Epsilon)
}

// At writes π of the family's At to dst.
func (p Floor) At(dst, scores []float64, scale float64, eps []float64) {
	p.Family.At(dst, scores, scale, eps)
	AddFloor(dst, p.Epsilon)
}

// AtMean writes π of the family's AtMean to dst.
func (p Floor) AtMean(dst, scores []float64) {
	p.Family.AtMean(dst, scores)
	AddFloor(dst, p.Epsilon)
}

// AddFloor replaces propensities π by (1 − ε)π + ε/K.
func AddFloor(pi []float64, epsilon float64) {
	least := epsilon / float64(len(pi))
	for a, v := range pi {
		pi[a] = (1-epsilon)*v + least
	}
}

// ArgMax is the point policy that plays the action of the largest score, the first of
// equals: the limit of a gaussian as σ → 0. It has no posterior and no gradient.
//
// With a Window w > 1 the first Bins actions are neighbours in order. It then plays evenly the w neighbours whose
// mean score is the largest, or the one other action whose score is larger than that.
type ArgMax struct{ Window, Bins int }

var _ Family = ArgMax{}

func (ArgMax) Name() string       { return "argmax" }
func (ArgMax) HasPosterior() bool { return false }
func (ArgMax) Mixture() bool      { return false }
func (ArgMax) Noisy() bool        { return false }

// At gives probability 1 to the action of the largest score, or 1/w to each of a window.
func (p ArgMax) At(dst, scores []float64, _ float64, _ []float64) { p.AtMean(dst, scores) }

// AtMean is At.
func (p ArgMax) AtMean(dst, scores []float64) {
	if p.Window < 2 {
		Gaussian{}.AtMean(dst, scores)
		return
	}
	best, from, to := math.Inf(-1), 0, 0
	for a := range scores {
		end := a + 1
		if a < p.Bins {
			end = a + p.Window
		}
		if a < p.Bins && end > p.Bins {
			continue
		}
		mean := 0.
		for _, s := range scores[a:end] {
			mean += s
		}
		if mean /= float64(end - a); mean > best {
			best, from, to = mean, a, end
		}
	}
	clear(dst)
	for a := from; a < to; a++ {
		dst[a] = 1 / float64(to-from)
	}
}

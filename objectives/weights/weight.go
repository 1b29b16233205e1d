// Package weights holds regularized importance weights ŵ = g(π, π₀). A formula is written once,
// over [Value], and serves learning, where values are expressions of a graph, as well as
// certificates and evaluation, where they are columns of numbers. Use it to pick the weight of an
// objective or an estimator, or to write one of your own.
package weights

import (
	"fmt"
	"math"
)

// Weight is a regularized importance weight ŵ(x,a) = g(π(a|x), π₀(a|x)), a
// function of the two propensities, elementwise. Give H if the weight is linear
// in π, Of otherwise.
type Weight struct {
	// Name in tables.
	Name string
	// Hyper is the hyperparameter in tables; NaN if there is none.
	Hyper float64
	// H is h(π₀) of a linear weight ŵ = π/h(π₀). The bounds ask for h(p) ≥ p.
	H func(pi0 Value) Value
	// Of is ŵ of a weight that is not linear.
	Of func(pi, pi0 Value) Value
	// Tau is the τ of ŵ = π/max(π₀, τ) for [Clip], 0 for other weights: some
	// bounds were proved for clipping alone.
	Tau float64
	// Residual is π − π₀ŵ where it has a form better than the difference. It may
	// be nil, and is ignored for linear weights.
	Residual func(pi, pi0 Value) Value

	err error // the hyperparameter is outside of its domain
}

// Check reports why the weight has no value: its hyperparameter is outside of its
// domain, or it has no formula.
func (w Weight) Check() error {
	if w.err == nil && w.H == nil && w.Of == nil {
		return fmt.Errorf("weight %q has neither H nor Of", w.Name)
	}
	return w.err
}

// None reports that no weight is given.
func (w Weight) None() bool { return w.Name == "" && w.H == nil && w.Of == nil }

// Linear reports whether ŵ is linear in π.
func (w Weight) Linear() bool { return w.H != nil }

// Value is ŵ(x,a), of a weight that passes Check.
func (w Weight) Value(pi, pi0 Value) Value {
	switch {
	case w.H != nil:
		return pi.Div(w.H(pi0))
	case w.Of != nil:
		return w.Of(pi, pi0)
	}
	panic("weights: a weight that Check refuses is used")
}

// SecondMoment is π₀ŵ², the term of E_{a~π₀}[ŵ²]. For linear weights it is
// (π/h)·π(π₀/h), which overflows in float32 at π₀ = 1e-30 neither in value nor in
// gradient.
func (w Weight) SecondMoment(pi, pi0 Value) Value {
	if w.H != nil {
		h := w.H(pi0)
		return pi.Div(h).Mul(pi.Mul(pi0.Div(h)))
	}
	v := w.Value(pi, pi0)
	return v.Mul(pi0.Mul(v))
}

// Bias is |π − π₀ŵ|, the term of Bₙ. For linear weights it is (π/h)|h − π₀|,
// exactly 0 where h = π₀.
func (w Weight) Bias(pi, pi0 Value) Value {
	switch {
	case w.H != nil:
		h := w.H(pi0)
		return pi.Div(h).Mul(h.Sub(pi0).Abs())
	case w.Residual != nil:
		return w.Residual(pi, pi0).Abs()
	}
	return pi.Sub(pi0.Mul(w.Value(pi, pi0))).Abs()
}

// String gives name and hyperparameter, such as "clip=0.1".
func (w Weight) String() string {
	if math.IsNaN(w.Hyper) {
		return w.Name
	}
	return fmt.Sprintf("%s=%.4g", w.Name, w.Hyper)
}

// DefaultHyper returns the hyperparameter of a weight where none is given, for
// a log of n rows: n^(−1/4) for weights that are unregularized at 0 (clip, ix),
// 1 − n^(−1/4) for those that are at 1 (es, har). For clip it is the paper's
// choice (after Ionides 2008).
func DefaultHyper(n int, unregularizedAt float64) float64 {
	t := math.Pow(float64(n), -0.25)
	if unregularizedAt == 1 {
		return 1 - t
	}
	return t
}

// IPS is the importance weight itself, ŵ = π/π₀. Horvitz & Thompson (1952).
func IPS() Weight {
	return Weight{Name: "ips", Hyper: math.NaN(), H: func(pi0 Value) Value { return pi0 }}
}

// Clip is ŵ = π/max(π₀, τ), τ in [0, 1]; IPS at τ = 0. London & Sandler (2019).
func Clip(tau float64) Weight {
	w := linear("clip", tau, func(pi0 Value) Value { return pi0.AtLeast(tau) })
	w.Tau = tau
	return w
}

// ES is exponential smoothing, ŵ = π/max(π₀, π₀^α), α in [0, 1]; IPS at α = 1. π₀ is above 1 where it is
// a density times a width, of actions that are numbers. Aouali et al. (2023).
func ES(alpha float64) Weight {
	return linear("es", alpha, func(pi0 Value) Value { return pi0.AtMost(1).Pow(alpha).Mul(pi0.AtLeast(1)) })
}

// IX is implicit exploration, ŵ = π/(π₀ + γ), γ in [0, 1]; IPS at γ = 0.
// Gabbianelli et al. (2023).
func IX(gamma float64) Weight {
	return linear("ix", gamma, func(pi0 Value) Value { return pi0.Plus(gamma) })
}

// Har is the harmonic weight, with w = π/π₀ and λ in [0, 1],
//
//	ŵ = w/((1−λ)w + λ) = π/((1−λ)π + λπ₀)
//
// IPS at λ = 1, constant 1 at λ = 0. It is not linear in π. Metelli et al.
// (2021), whose λ is 1 − λ here.
func Har(lambda float64) Weight {
	below := func(pi, pi0 Value) Value { // (1−λ)π + λπ₀
		return pi.Scale(1 - lambda).Add(pi0.Scale(lambda))
	}
	w := Weight{Name: "har", Hyper: lambda, err: outside("har", lambda)}
	w.Of = func(pi, pi0 Value) Value {
		switch lambda {
		case 0: // at π = 0 too
			return pi.Scale(0).Plus(1)
		case 1: // no derivative in the denominator, which would be w/π₀
			return pi.Div(pi0)
		}
		return pi.Div(below(pi, pi0))
	}
	w.Residual = func(pi, pi0 Value) Value { // (1−λ)π(π−π₀)/((1−λ)π + λπ₀)
		switch lambda {
		case 0:
			return pi.Sub(pi0)
		case 1:
			return pi.Scale(0)
		}
		return pi.Div(below(pi, pi0)).Mul(pi.Sub(pi0).Scale(1 - lambda))
	}
	return w
}

func linear(name string, hyper float64, h func(Value) Value) Weight {
	return Weight{Name: name, Hyper: hyper, H: h, err: outside(name, hyper)}
}

// outside returns an error if a hyperparameter is not in [0, 1]: a weight that
// has it fails wherever it is used.
func outside(name string, hyper float64) error {
	if hyper >= 0 && hyper <= 1 {
		return nil
	}
	return fmt.Errorf("%s: hyperparameter %v is outside [0, 1]", name, hyper)
}

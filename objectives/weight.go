package objectives

import (
	"opl/graph"
	"opl/objectives/weights"
)

// Weight is a regularized importance weight ŵ(x,a) = g(π(a|x), π₀(a|x)), see package
// weights.
type Weight = weights.Weight

// IPS is the weight π/π₀, see [weights.IPS].
func IPS() Weight { return weights.IPS() }

// Clip is π/max(π₀, τ), see [weights.Clip].
func Clip(tau float64) Weight { return weights.Clip(tau) }

// ES is π/π₀^α, see [weights.ES].
func ES(alpha float64) Weight { return weights.ES(alpha) }

// IX is π/(π₀ + γ), see [weights.IX].
func IX(gamma float64) Weight { return weights.IX(gamma) }

// Har is w/((1 − λ)w + λ) of w = π/π₀, see [weights.Har].
func Har(lambda float64) Weight { return weights.Har(lambda) }

// DefaultHyper returns the hyperparameter of a weight where none is given, see [weights.DefaultHyper].
func DefaultHyper(n int, unregularizedAt float64) float64 {
	return weights.DefaultHyper(n, unregularizedAt)
}

// GraphWeight is a weight on expressions of a graph.
type GraphWeight struct{ Weight }

// H builds h(π₀) of a linear weight.
func (w GraphWeight) H(pi0 graph.Expr) graph.Expr { return w.Weight.H(value{pi0}).(value).Expr }

// Value builds ŵ(x,a).
func (w GraphWeight) Value(pi, pi0 graph.Expr) graph.Expr { return w.of(Weight.Value, pi, pi0) }

// SecondMoment builds π₀ŵ².
func (w GraphWeight) SecondMoment(pi, pi0 graph.Expr) graph.Expr {
	return w.of(Weight.SecondMoment, pi, pi0)
}

// Bias builds |π − π₀ŵ|.
func (w GraphWeight) Bias(pi, pi0 graph.Expr) graph.Expr { return w.of(Weight.Bias, pi, pi0) }

func (w GraphWeight) of(f func(w Weight, pi, pi0 weights.Value) weights.Value, pi, pi0 graph.Expr) graph.Expr {
	if err := w.Check(); err != nil {
		return graph.Fail("%w", err)
	}
	return f(w.Weight, value{pi}, value{pi0}).(value).Expr
}

// value is an expression as a weights.Value.
type value struct{ graph.Expr }

var _ weights.Value = value{}

func (x value) Add(y weights.Value) weights.Value { return value{x.Expr.Add(y.(value).Expr)} }
func (x value) Sub(y weights.Value) weights.Value { return value{x.Expr.Sub(y.(value).Expr)} }
func (x value) Mul(y weights.Value) weights.Value { return value{x.Expr.Mul(y.(value).Expr)} }
func (x value) Div(y weights.Value) weights.Value { return value{x.Expr.Div(y.(value).Expr)} }
func (x value) Scale(c float64) weights.Value     { return value{x.Expr.Scale(c)} }
func (x value) Plus(c float64) weights.Value      { return value{x.Expr.Plus(c)} }
func (x value) Pow(c float64) weights.Value       { return value{x.Expr.Pow(c)} }
func (x value) AtLeast(c float64) weights.Value   { return value{x.Expr.AtLeast(c)} }
func (x value) AtMost(c float64) weights.Value    { return value{x.Expr.AtMost(c)} }
func (x value) Neg() weights.Value                { return value{x.Expr.Neg()} }
func (x value) Abs() weights.Value                { return value{x.Expr.Abs()} }
func (x value) Square() weights.Value             { return value{x.Expr.Square()} }
func (x value) Sqrt() weights.Value               { return value{x.Expr.Sqrt()} }
func (x value) Exp() weights.Value                { return value{x.Expr.Exp()} }
func (x value) Log1p() weights.Value              { return value{x.Expr.Log1p()} }

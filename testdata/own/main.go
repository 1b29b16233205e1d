// Command own is opl with an objective, a weight, a representation and an estimator of one's own.
package main

import (
	"math"
	"os"

	"opl/cmd/cli"
	"opl/graph"
	"opl/objectives"
	"opl/objectives/weights"
	"opl/train/library"
	"opl/train/ope"
)

// Entropic is the entropic risk (1/t)·log mean exp(t·ŵc), t > 0: the larger t,
// the more it fears rows that earn little.
func Entropic(t float64) objectives.Objective {
	return func(p objectives.Problem) graph.Expr {
		e := p.Loss().Scale(t).Exp()             // [R] exp(t·ŵc)
		return p.Mean("e", e).Log().Scale(1 / t) // ()
	}
}

// Truncated is ŵ = min(π/π₀, 1/h), h in [0, 1].
func Truncated(h float64) objectives.Weight {
	return objectives.Weight{Name: "truncated", Hyper: h,
		Of: func(pi, pi0 weights.Value) weights.Value { return pi.Div(pi0).AtMost(1 / h) }}
}

// Gated is m features h(x) = (W·φ(x)) ⊙ σ(V·φ(x)), learned along with the policy.
func Gated(m int) objectives.Representation {
	return func(p objectives.Problem, x graph.Expr) graph.Expr {
		d := x.Shape()[1]
		w := p.Learned("values", objectives.Spread(1/math.Sqrt(float64(d))), m, d) // [m×d]
		v := p.Learned("gates", objectives.Spread(1/math.Sqrt(float64(d))), m, d)
		return x.MatMulT(w).Mul(x.MatMulT(v).Sigmoid()) // [B×m]
	}
}

func main() {
	lib := library.Standard()
	lib.Objectives = append(lib.Objectives, library.Objective{
		Name: "entropic", Policy: "softmax", About: "the entropic risk at t = 1",
		Make: func(library.Args) objectives.Objective { return Entropic(1) }})
	lib.Weights = append(lib.Weights, library.Weight{
		Name: "truncated", IPSAt: 0, Make: Truncated, About: "min(π/π₀, 1/h)"})
	lib.Representations = append(lib.Representations, library.Representation{
		Name: "gated", About: "256 gated features",
		Make: func([]string) (objectives.Representation, error) { return Gated(256), nil }})
	lib.Estimators = append(lib.Estimators, ope.Estimator{
		Name: "capped", About: "mean of min(w, 2) r", Biased: true,
		Of: func(d *ope.Data, _ float64) ope.Value {
			return d.Mean(func(i int) float64 { return min(d.W[i], 2) * d.R[i] })
		}})
	os.Exit(cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr))
}

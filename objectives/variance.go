package objectives

import "opl/graph"

// SampleVariance penalizes the risk by λ standard errors,
//
//	R̂ + λ√(Var(ŵc)/n)
//
// λ ≥ 0. It needs the propensity of the logged action alone. Swaminathan &
// Joachims (2015), eq. 9.
func SampleVariance(lambda float64) Objective {
	return func(p Problem) graph.Expr {
		loss := p.Loss()                                 // [R]
		risk := p.Mean("risk", loss)                     // ()
		v := p.Mean("variance", loss.Sub(risk).Square()) // ()
		return risk.Add(v.Scale(1 / p.N).Sqrt().Scale(lambda))
	}
}

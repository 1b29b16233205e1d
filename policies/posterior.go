package policies

import (
	"math"

	"opl/graph"
)

// KL builds KL(N(μ, σ²I)‖N(mean, s²I)) for μ, mean [K×d] and log σ (), in nats;
// see [Posterior.KL].
func KL(mu, logSigma, mean graph.Expr, s float64) graph.Expr {
	shape := mu.Shape()
	if mu.Err() != nil {
		return mu
	}
	rho := logSigma.Plus(-math.Log(s))               // () log σ/s
	spread := rho.Scale(2).Expm1().Sub(rho.Scale(2)) // () σ²/s² − 1 − log σ²/s²
	dist := mu.Sub(mean).Square().Sum()              // () ‖μ − μ_P‖²
	return spread.Scale(float64(shape[0] * shape[1])).Add(dist.Scale(1 / (s * s))).Scale(0.5)
}

package graph

import (
	"cmp"

	"opl/graph/kernel"
)

// GaussianQuadrature returns the probabilities that each action of a row has
// the largest score, when the scores are independent normal with means z [r×K]
// and unit variance, by quadrature with the given number of nodes (0: the
// default for K):
//
//	π_a = h Σ_j φ(t_j − z_a) ∏_{k≠a} Φ(t_j − z_k)
//
// See [kernel.GaussianPropensities]. It is one operation with its own
// derivative; its cost is r·nodes·K.
func (z Expr) GaussianQuadrature(nodes int) Expr {
	if bad, ok := z.rank("GaussianQuadrature", 2); ok {
		return bad
	}
	if nodes != 0 && nodes < 2 {
		return Fail("graph: GaussianQuadrature with %d nodes, want at least 2, or 0 for the default", nodes)
	}
	k := z.n.Shape()[1]
	nodes = cmp.Or(nodes, kernel.DefaultNodes(k))
	return apply("gaussian quadrature", z.n.Shape(), of1(
		func(dst, z []float64) { kernel.GaussianPropensities(dst, z, k, nodes) },
		func(dst, z []float32) { kernel.GaussianPropensities(dst, z, k, nodes) }).by(byRows).times(nodes),
		func(in []Expr, _, g Expr, _ []bool) []Expr {
			return []Expr{apply("gaussian quadrature gradient", in[0].n.Shape(), of2(
				func(dst, z, g []float64) { kernel.GaussianPropensitiesGrad(dst, z, g, k, nodes) },
				func(dst, z, g []float32) {
					kernel.GaussianPropensitiesGrad(dst, z, g, k, nodes)
				}).by(byRows).times(nodes), nil, in[0], g)}
		}, z)
}

// GaussianMonteCarlo estimates the same probabilities from standard normal
// noise eps [r×S], one draw shared by all actions of a row (Sakhi et al. 2022):
//
//	π_a ≈ 1/S Σ_s ∏_{k≠a} Φ(ε_s + z_a − z_k)
//
// The estimates of a row need not sum to 1. No derivative flows to the noise.
// Its cost is r·S·K². See [kernel.GaussianMC].
func (z Expr) GaussianMonteCarlo(eps Expr) Expr {
	if bad, ok := z.rank("GaussianMonteCarlo", 2); ok {
		return bad
	}
	if bad, ok := eps.rank("GaussianMonteCarlo noise", 2); ok {
		return bad
	}
	if z.n.Shape()[0] != eps.n.Shape()[0] {
		return Fail("graph: GaussianMonteCarlo of %s with noise %s: the numbers of rows differ", z, eps)
	}
	k, s := z.n.Shape()[1], eps.n.Shape()[1]
	return apply("gaussian monte carlo", z.n.Shape(), of2(
		func(dst, z, eps []float64) { kernel.GaussianMC(dst, z, eps, k, s) },
		func(dst, z, eps []float32) { kernel.GaussianMC(dst, z, eps, k, s) }).by(byRows).times(k*s),
		func(in []Expr, _, g Expr, _ []bool) []Expr {
			return []Expr{apply("gaussian monte carlo gradient", in[0].n.Shape(), run{
				f64: func(dst []float64, src [][]float64, _ int) {
					kernel.GaussianMCGrad(dst, src[0], src[1], src[2], k, s)
				},
				f32: func(dst []float32, src [][]float32, _ int) {
					kernel.GaussianMCGrad(dst, src[0], src[1], src[2], k, s)
				},
			}.by(byRows).times(k*s), nil, in[0], in[1], g), {}}
		}, z, eps).except(1)
}

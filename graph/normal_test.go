package graph

import "opl/graph/kernel"

// The two operations that the fused ones of package graph are composed of again, in
// TestGaussianQuadrature_EqualsComposedOperations and TestGaussianMonteCarlo_EqualsComposedOperations.

// LogNormCDF returns log Φ(x), accurate in the lower tail. Its derivative is
// the inverse Mills ratio φ(x)/Φ(x).
func (x Expr) LogNormCDF() Expr {
	return x.unary("log Φ", each(kernel.LogNormCDF), func(x, _, g Expr) Expr { return g.Mul(x.InvMills()) })
}

// InvMills returns r(x) = φ(x)/Φ(x), with derivative −r·(x + r).
func (x Expr) InvMills() Expr {
	return x.unary("φ/Φ", each(kernel.InvMills), func(x, _, g Expr) Expr {
		return g.Mul(x.unary("φ/Φ slope", each(invMillsSlope), nil))
	})
}

// invMillsSlope returns −r·(x + r), far in the lower tail, where x and r cancel,
// by its series in 1/x.
func invMillsSlope(x float64) float64 {
	if x < -100 {
		v := 1 / (x * x)
		return -(1 - v*(1-v*(6-50*v)))
	}
	r := kernel.InvMills(x)
	return -r * (x + r)
}

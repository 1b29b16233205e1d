package graph

import "opl/graph/kernel"

// NormCDF returns Φ(x), the distribution function of the standard normal.
func (x Expr) NormCDF() Expr {
	return x.unary("Φ", each(kernel.NormCDF), func(x, _, g Expr) Expr { return g.Mul(x.NormPDF()) })
}

// NormPDF returns φ(x) = exp(−x²/2)/√(2π).
func (x Expr) NormPDF() Expr {
	return x.unary("φ", each(kernel.NormPDF), func(x, y, g Expr) Expr { return g.Mul(x).Mul(y).Neg() })
}

// LogNormCDF returns log Φ(x), accurate in the lower tail. Its derivative is
// the inverse Mills ratio φ(x)/Φ(x).
func (x Expr) LogNormCDF() Expr {
	return x.unary("log Φ", each(kernel.LogNormCDF), func(x, _, g Expr) Expr { return g.Mul(x.InvMills()) })
}

// InvMills returns r(x) = φ(x)/Φ(x), with derivative −r·(x + r).
func (x Expr) InvMills() Expr {
	return x.unary("φ/Φ", each(kernel.InvMills), func(x, r, g Expr) Expr { return g.Mul(r).Mul(x.Add(r)).Neg() })
}

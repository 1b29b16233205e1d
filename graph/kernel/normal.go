package kernel

import "math"

// The standard normal distribution:
//
//	φ(x) = exp(−x²/2)/√(2π)      Φ(x) = ∫ φ over (−∞, x]
//
// Between tableLow and tableHigh both come from one table of Taylor
// polynomials. Below it, Φ = φ·M with Mills' ratio M as a continued fraction;
// above it, Φ rounds to 1.

const (
	sqrt2Pi    = 2.50662827463100050241576528481104525300698674060993831662992357634 // √(2π)
	logSqrt2Pi = 0.918938533204672741780329736405617639861397473637783412817151540   // log √(2π)
)

// NormPDF returns the density of the standard normal distribution.
//
//	φ(x) = exp(−x²/2)/√(2π)
//
// x is any real number; the relative error is about 1e-15 wherever φ(x) is a
// normal number (|x| < 37.5). φ(±Inf) = 0.
func NormPDF(x float64) float64 {
	if math.Abs(x) > 39 {
		return 0
	}
	// Rounding x² would cost x²/2 ulp. With x = hi + lo and hi a multiple of
	// 1/32, hi² is exact and x² − hi² = lo(x + hi) is small.
	hi := math.Trunc(x*32) / 32
	lo := x - hi
	return math.Exp(-hi*hi/2) * math.Exp(-lo*(x+hi)/2) / sqrt2Pi
}

// LogNormPDF returns the logarithm of the standard normal density.
//
//	log φ(x) = −x²/2 − log √(2π)
func LogNormPDF(x float64) float64 { return -x*x/2 - logSqrt2Pi }

// NormCDF returns the standard normal distribution function Φ.
//
// x is any real number; the relative error is about 1e-15 wherever Φ(x) is a
// normal number (x > −37.5). Φ(−Inf) = 0, Φ(+Inf) = 1.
func NormCDF(x float64) float64 {
	switch {
	case tableLow <= x && x <= tableHigh:
		cdf, _ := normal(x)
		return cdf
	case x < tableLow:
		return NormPDF(x) * mills(-x)
	case x > tableHigh:
		return 1
	}
	return x // NaN
}

// LogNormCDF returns the logarithm of the standard normal distribution function.
//
//	log Φ(x) = log1p(−Φ(−x))            x > 0
//	           log Φ(x)                 −6 ≤ x ≤ 0
//	           log φ(x) + log M(−x)     x < −6, M = Mills' ratio
//
// x is any real number; the relative error is below 1e-14 wherever the result
// is a normal number. log Φ(−Inf) = −Inf, log Φ(+Inf) = 0.
func LogNormCDF(x float64) float64 {
	switch {
	case x > 0:
		return math.Log1p(-NormCDF(-x))
	case x >= tableLow:
		cdf, _ := normal(x)
		return math.Log(cdf)
	case math.IsInf(x, -1):
		return x
	}
	return LogNormPDF(x) + math.Log(mills(-x))
}

// InvMills returns the inverse of Mills' ratio at −x, the derivative of log Φ.
//
//	r(x) = φ(x)/Φ(x)
//
// x is any real number; r falls from −x − 1/x + … on the left to φ(x) on the
// right, with a relative error of about 1e-15. Its own derivative is −r(x + r).
// r(−Inf) = +Inf, r(+Inf) = 0.
func InvMills(x float64) float64 {
	switch {
	case tableLow <= x && x <= -tableLow:
		cdf, pdf := normal(x)
		return pdf / cdf
	case x < tableLow:
		return 1 / mills(-x)
	}
	return NormPDF(x) / NormCDF(x)
}

// mills is Mills' ratio for v ≥ 6 (or NaN), by Laplace's continued fraction.
//
//	M(v) = (1 − Φ(v))/φ(v) = 1/(v + 1/(v + 2/(v + 3/(v + …))))
//
// The number of terms leaves an error below 1e-16 (found by comparison with
// erfc in 60 digits: 20 terms at v = 6, 12 at 10, 9 at 16).
func mills(v float64) float64 {
	f := v
	for n := math.Trunc(8 + 450/(v*v)); n > 0; n-- {
		f = v + n/f
	}
	return 1 / f
}

// The table covers [tableLow, tableHigh] by cells of width 1/tableRate around
// multiples of that width.
const (
	tableLow  = -6.0
	tableHigh = 8.5 // Φ rounds to 1 from 8.3 on
	tableRate = 64
)

// A cell holds Φ(c) and the Taylor coefficients of Φ(c+δ) − Φ(c) from δ¹ to
// δ⁸ at its centre c. Their derivative is the series of φ(c+δ): one set of
// numbers serves both. With |δ| ≤ 1/128 the first term left out of φ is below
// 6e-16 φ(c) for |c| ≤ 6 and 6e-15 φ(c) at 8.5.
type cell [9]float64

var cells = newCells()

func newCells() *[(tableHigh-tableLow)*tableRate + 1]cell {
	var t [(tableHigh-tableLow)*tableRate + 1]cell
	for i := range t {
		t[i] = taylor(tableLow + float64(i)/tableRate)
	}
	return &t
}

// taylor returns the cell around c ≥ −9.
func taylor(c float64) (t cell) {
	// Φ(−v) = erfc(v/√2)/2, where rounding v/√2 would cost v² ulp: e is what
	// the rounding took away, √2 φ(v) the slope.
	const hi, lo = 1 / math.Sqrt2, -4.8336466567264565e-17 // hi (as a float64) + lo = 1/√2
	lower := func(v float64) float64 {
		a := v * hi
		e := math.FMA(v, hi, -a) + v*lo
		return math.Erfc(a)/2 - e*math.Sqrt2*NormPDF(v)
	}
	if c <= 0 {
		t[0] = lower(-c)
	} else {
		t[0] = 1 - lower(c)
	}
	// φ(c+δ) = Σ a_n δⁿ, and φ' = −xφ gives (n+1) a_{n+1} = −c a_n − a_{n−1}.
	before, a := 0.0, NormPDF(c)
	for n := 1; n < len(t); n++ {
		t[n] = a / float64(n)
		before, a = a, -(c*a+before)/float64(n)
	}
	return t
}

// normal returns Φ(x) and φ(x) for tableLow ≤ x ≤ tableHigh.
func normal(x float64) (cdf, pdf float64) {
	i := int((x-tableLow)*tableRate + 0.5)
	c := &cells[i]
	δ := x - (tableLow + float64(i)*(1.0/tableRate))
	// Horner's rule for p = c₁ + c₂δ + … + c₈δ⁷ and its derivative d.
	p := c[8]
	d := p
	p = p*δ + c[7]
	d = d*δ + p
	p = p*δ + c[6]
	d = d*δ + p
	p = p*δ + c[5]
	d = d*δ + p
	p = p*δ + c[4]
	d = d*δ + p
	p = p*δ + c[3]
	d = d*δ + p
	p = p*δ + c[2]
	d = d*δ + p
	p = p*δ + c[1]
	return c[0] + δ*p, p + δ*d
}

package graph

import (
	"math"
	"slices"

	"opl/graph/kernel/simd"
)

// Add returns x + y, elementwise.
func (x Expr) Add(y Expr) Expr {
	return binary2("add", x, y, of2(simd.Add[float64], simd.Add[float32]).by(byRows).simple("add"),
		func(_ []Expr, _, g Expr, _ []bool) []Expr { return []Expr{g, g} })
}

// Sub returns x − y, elementwise.
func (x Expr) Sub(y Expr) Expr {
	return binary2("sub", x, y, of2(simd.Sub[float64], simd.Sub[float32]).by(byRows).simple("sub"),
		func(_ []Expr, _, g Expr, need []bool) []Expr {
			return []Expr{g, when(need[1], func() Expr { return g.Neg() })}
		})
}

// Mul returns x·y, elementwise.
func (x Expr) Mul(y Expr) Expr {
	return binary2("mul", x, y, of2(simd.Mul[float64], simd.Mul[float32]).by(byRows).simple("mul"),
		func(in []Expr, _, g Expr, need []bool) []Expr {
			return []Expr{
				when(need[0], func() Expr { return g.Mul(in[1]) }),
				when(need[1], func() Expr { return g.Mul(in[0]) }),
			}
		})
}

// Div returns x/y, elementwise. Dividing by 0 gives what IEEE 754 says.
func (x Expr) Div(y Expr) Expr {
	return binary2("div", x, y, of2(simd.Div[float64], simd.Div[float32]).by(byRows).simple("div"),
		func(in []Expr, out, g Expr, need []bool) []Expr {
			dx := g.Div(in[1])
			return []Expr{dx, when(need[1], func() Expr { return dx.Mul(out).Neg() })}
		})
}

// Scale returns c·x.
func (x Expr) Scale(c float64) Expr {
	return x.unary("scale", affine(c, 0), func(_, _, g Expr) Expr { return g.Scale(c) })
}

// Plus returns x + c.
func (x Expr) Plus(c float64) Expr {
	return x.unary("plus", affine(1, c), func(_, _, g Expr) Expr { return g })
}

// Neg returns −x.
func (x Expr) Neg() Expr { return x.Scale(-1) }

// Square returns x².
func (x Expr) Square() Expr { return x.Mul(x) }

// Sqrt returns √x, whose derivative at 0 is taken as 0. x < 0 gives NaN.
func (x Expr) Sqrt() Expr {
	return x.unary("sqrt", each(math.Sqrt).as("sqrt"), func(_, y, g Expr) Expr {
		return g.Mul(y.unary("half over", each(halfOver).as("half over"), nil))
	})
}

func halfOver(y float64) float64 {
	if y == 0 {
		return 0
	}
	return 0.5 / y
}

// Abs returns |x|, whose derivative at 0 is 0.
func (x Expr) Abs() Expr {
	return x.unary("abs", of1(simd.Abs[float64], simd.Abs[float32]).by(byRows).simple("abs"), func(x, _, g Expr) Expr {
		return g.Mul(x.unary("sign", of1(simd.Sign[float64], simd.Sign[float32]).by(byRows).simple("sign"), nil))
	})
}

// AtLeast returns max(x, c). The derivative is 1 where x > c, 0 elsewhere.
func (x Expr) AtLeast(c float64) Expr {
	return x.unary("at least", of1(
		func(dst, x []float64) { simd.AtLeast(dst, x, c) },
		func(dst, x []float32) { simd.AtLeast(dst, x, float32(c)) }).by(byRows).simple("at least ", c),
		func(x, _, g Expr) Expr { return g.Mul(x.Above(c)) })
}

// AtMost returns min(x, c). The derivative is 1 where x < c, 0 elsewhere.
func (x Expr) AtMost(c float64) Expr { return x.Neg().AtLeast(-c).Neg() }

// Above returns 1 where x > c and 0 elsewhere, constant for differentiation.
func (x Expr) Above(c float64) Expr {
	return x.unary("above", of1(
		func(dst, x []float64) { simd.Above(dst, x, c) },
		func(dst, x []float32) { simd.Above(dst, x, c) }).by(byRows).simple("above ", c), nil)
}

// Exp returns eˣ.
func (x Expr) Exp() Expr {
	return x.unary("exp", of1(eachOf[float64](math.Exp), simd.Exp32).by(byRows).as("exp"), func(_, y, g Expr) Expr {
		return g.Mul(y)
	})
}

// Log returns the natural logarithm of x.
func (x Expr) Log() Expr {
	return x.unary("log", each(math.Log).as("log"), func(x, _, g Expr) Expr { return g.Div(x) })
}

// Log1p returns log(1 + x), accurate near 0.
func (x Expr) Log1p() Expr {
	return x.unary("log1p", each(math.Log1p).as("log1p"), func(x, _, g Expr) Expr { return g.Div(x.Plus(1)) })
}

// Expm1 returns eˣ − 1, accurate near 0.
func (x Expr) Expm1() Expr {
	return x.unary("expm1", each(math.Expm1).as("expm1"), func(_, y, g Expr) Expr { return g.Mul(y.Plus(1)) })
}

// Softplus returns log(1 + eˣ), without overflow.
func (x Expr) Softplus() Expr {
	return x.unary("softplus", each(softplus), func(x, _, g Expr) Expr { return g.Mul(x.Sigmoid()) })
}

func softplus(x float64) float64 {
	return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

// Sigmoid returns 1/(1 + e⁻ˣ).
func (x Expr) Sigmoid() Expr {
	return x.unary("sigmoid", each(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), func(_, y, g Expr) Expr {
		return g.Mul(y).Mul(y.Neg().Plus(1))
	})
}

// Pow returns xᶜ for x ≥ 0 and a constant c, computed as exp(c·log x); 0⁰ is 1.
// Its derivative is c·xᶜ⁻¹, taken as 0 at x = 0 where that is infinite.
func (x Expr) Pow(c float64) Expr {
	return x.unary("pow", each(func(x float64) float64 { return math.Pow(x, c) }), func(x, _, g Expr) Expr {
		return g.Mul(x.unary("pow slope", each(func(x float64) float64 {
			if x == 0 && c < 1 {
				return 0
			}
			return c * math.Pow(x, c-1)
		}), nil))
	})
}

// StopGradient returns x as a constant for differentiation.
func (x Expr) StopGradient() Expr {
	if bad, ok := first(x); ok {
		return bad
	}
	var held64 []float64
	var held32 []float32
	g := x.g
	return x.unary("stop", of1(
		func(dst, x []float64) { hold(g, &held64, dst, x) },
		func(dst, x []float32) { hold(g, &held32, dst, x) }), nil)
}

// hold copies src to dst, or what it held before while g is frozen: central
// differences must not see a constant move.
func hold[T float](g *Graph, held *[]T, dst, src []T) {
	if !g.frozen || *held == nil {
		*held = append((*held)[:0], src...)
	}
	copy(dst, *held)
}

// copy returns x in a buffer of its own, constant for differentiation.
func (x Expr) copy() Expr {
	r := of1(copyTo[float64], copyTo[float32])
	r.copies = true
	return apply("copy", x.n.Shape(), r, nil, x)
}

// when builds a derivative only if it is asked for.
func when(need bool, build func() Expr) Expr {
	if !need {
		return Expr{}
	}
	return build()
}

// unary applies an elementwise operation with derivative d(x, y, grad) for
// y = f(x); a nil d makes y constant for differentiation.
func (x Expr) unary(name string, r run, d func(x, y, g Expr) Expr) Expr {
	if bad, ok := first(x); ok {
		return bad
	}
	// What is the same for all draws of an example is computed once an example.
	if src, s, ok := x.repeated(); ok {
		return src.unary(name, r, d).RepeatRows(s)
	}
	var df diff
	if d != nil {
		df = func(in []Expr, out, g Expr, _ []bool) []Expr { return []Expr{d(in[0], out, g)} }
	}
	if r.slow && len(x.n.Shape()) > 0 && x.given() {
		r = x.g.remembering(r, x.n.Shape())
	}
	return apply(name, x.n.Shape(), r, df, x)
}

// binary2 applies an elementwise operation to operands of one shape; a scalar
// operand is first expanded.
func binary2(name string, x, y Expr, r run, d diff) Expr {
	if bad, ok := first(x, y); ok {
		return bad
	}
	sx, sy := x.n.Shape(), y.n.Shape()
	switch {
	case len(sx) == 0 && len(sy) > 0:
		x = x.fill(sy)
	case len(sy) == 0 && len(sx) > 0:
		y = y.fill(sx)
	case !slices.Equal(sx, sy):
		return Fail("graph: %s of %s and %s: the shapes differ; Across or Down expands a vector along an axis", name,
			x, y)
	}
	u, s, repeated := x.repeated() // as for unary
	v, t, repeated2 := y.repeated()
	switch {
	case repeated && repeated2 && s == t:
		return apply(name, u.n.Shape(), r, d, u, v).RepeatRows(s)
	case repeated:
		if c, ok := y.uniform(); ok {
			return apply(name, u.n.Shape(), r, d, u, c.fill(u.n.Shape())).RepeatRows(s)
		}
	case repeated2:
		if c, ok := x.uniform(); ok {
			return apply(name, v.n.Shape(), r, d, c.fill(v.n.Shape()), v).RepeatRows(t)
		}
	}
	return apply(name, x.n.Shape(), r, d, x, y)
}

// each makes an elementwise operation of a function of one number. In float32
// the function still computes in float64.
func each(f func(float64) float64) run {
	r := of1(eachOf[float64](f), eachOf[float32](f)).by(byRows)
	r.slow = true
	return r
}

func eachOf[T float](f func(float64) float64) func(dst, xs []T) {
	return func(dst, xs []T) {
		for i, x := range xs {
			dst[i] = T(f(float64(x)))
		}
	}
}

// affine makes c·x + b.
func affine(c, b float64) run {
	return of1(
		func(dst, x []float64) { simd.Affine(dst, x, c, b) },
		func(dst, x []float32) { simd.Affine(dst, x, float32(c), float32(b)) }).by(byRows).simple("affine ", c, b)
}

package graph

import (
	"math"
	"math/rand/v2"
)

// AddRow adds a vector [c] to each row of a matrix [r×c]: the bias of a layer.
func (x Expr) AddRow(b Expr) Expr {
	if bad, ok := x.rank("AddRow", 2); ok {
		return bad
	}
	if bad, ok := b.rank("AddRow", 1); ok {
		return bad
	}
	if c := x.n.Shape()[1]; b.n.Shape()[0] != c {
		return Fail("graph: AddRow of %s to rows of %d", b, c)
	}
	return x.Add(b.Down(x.n.Shape()[0]))
}

// ReLU returns max(0, x). The derivative is 1 where x > 0, 0 elsewhere.
func (x Expr) ReLU() Expr { return x.AtLeast(0) }

// Tanh returns the hyperbolic tangent of x.
func (x Expr) Tanh() Expr {
	return x.unary("tanh", each(math.Tanh).as("tanh"), func(_, y, g Expr) Expr {
		return g.Mul(y.Square().Neg().Plus(1))
	})
}

// Cos returns the cosine of x, in radians.
func (x Expr) Cos() Expr {
	return x.unary("cos", each(math.Cos).as("cos"), func(x, _, g Expr) Expr { return g.Mul(x.Sin().Neg()) })
}

// Sin returns the sine of x, in radians.
func (x Expr) Sin() Expr {
	return x.unary("sin", each(math.Sin).as("sin"), func(x, _, g Expr) Expr { return g.Mul(x.Cos()) })
}

// Dropout multiplies x by a noise node of its shape and of this name, whose entries are 0
// with probability rate, in [0, 1), and 1/(1 − rate) else, so that their mean is 1.
// Srivastava et al. (2014). It belongs into programs of training alone: others are built
// without it.
func (x Expr) Dropout(name string, rate float64) Expr {
	if bad, ok := first(x); ok {
		return bad
	}
	if !(rate >= 0 && rate < 1) {
		return x.g.fail("graph: dropout of %v, want a rate in [0, 1)", rate)
	}
	if rate == 0 {
		return x
	}
	mask := x.g.Noise32(name, func(r *rand.Rand, dst []float64) { drop(r, dst, rate) },
		func(r *rand.Rand, dst []float32, _ int) { drop(r, dst, rate) }, x.n.Shape()...)
	return x.Mul(mask)
}

// drop draws what Dropout multiplies by, with 16 random bits an element.
func drop[T float](r *rand.Rand, dst []T, rate float64) {
	bound := min(uint64(math.Round(rate*(1<<16))), 1<<16-1)
	values := [2]T{T(1 / (1 - float64(bound)/(1<<16))), 0}
	var bits uint64
	for i := range dst {
		if i%4 == 0 {
			bits = r.Uint64()
		}
		// 1 where the 16 bits are below the bound.
		dst[i] = values[(bits&0xffff-bound)>>63]
		bits >>= 16
	}
}

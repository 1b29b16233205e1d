package weights

import "math"

// Value is what a formula of a weight is written in: in learning an expression of a
// graph, elsewhere a column of numbers. Both operands of a formula are of one kind.
type Value interface {
	Add(y Value) Value
	Sub(y Value) Value
	Mul(y Value) Value
	Div(y Value) Value
	Scale(c float64) Value   // c·x
	Plus(c float64) Value    // x + c
	Pow(c float64) Value     // x^c, x ≥ 0
	AtLeast(c float64) Value // max(x, c)
	AtMost(c float64) Value  // min(x, c)
	Neg() Value
	Abs() Value
	Square() Value
	Sqrt() Value
	Exp() Value
	Log1p() Value
}

// Column is a Value of numbers, of any length.
type Column []float64

var _ Value = Column(nil)

func (x Column) each(f func(v float64) float64) Value {
	z := make(Column, len(x))
	for i, v := range x {
		z[i] = f(v)
	}
	return z
}

func (x Column) with(y Value, f func(v, w float64) float64) Value {
	z, w := make(Column, len(x)), y.(Column)
	for i, v := range x {
		z[i] = f(v, w[i])
	}
	return z
}

func (x Column) Add(y Value) Value { return x.with(y, func(v, w float64) float64 { return v + w }) }
func (x Column) Sub(y Value) Value { return x.with(y, func(v, w float64) float64 { return v - w }) }
func (x Column) Mul(y Value) Value { return x.with(y, func(v, w float64) float64 { return v * w }) }
func (x Column) Div(y Value) Value { return x.with(y, func(v, w float64) float64 { return v / w }) }

func (x Column) Scale(c float64) Value { return x.each(func(v float64) float64 { return c * v }) }
func (x Column) Plus(c float64) Value  { return x.each(func(v float64) float64 { return v + c }) }
func (x Column) Pow(c float64) Value {
	return x.each(func(v float64) float64 { return math.Pow(v, c) })
}
func (x Column) AtLeast(c float64) Value {
	return x.each(func(v float64) float64 { return max(v, c) })
}
func (x Column) AtMost(c float64) Value { return x.each(func(v float64) float64 { return min(v, c) }) }
func (x Column) Neg() Value             { return x.Scale(-1) }
func (x Column) Abs() Value             { return x.each(math.Abs) }
func (x Column) Square() Value          { return x.Mul(x) }
func (x Column) Sqrt() Value            { return x.each(math.Sqrt) }
func (x Column) Exp() Value             { return x.each(math.Exp) }
func (x Column) Log1p() Value           { return x.each(math.Log1p) }

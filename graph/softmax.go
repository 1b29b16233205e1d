package graph

import (
	"opl/graph/kernel"
	"opl/graph/kernel/simd"
)

// LogSoftmax returns x − logsumexp(x), row by row of a matrix [r×c].
func (x Expr) LogSoftmax() Expr {
	if bad, ok := x.rank("LogSoftmax", 2); ok {
		return bad
	}
	c := x.n.Shape()[1]
	return apply("log-softmax", x.n.Shape(), of1(
		func(dst, x []float64) { kernel.LogSoftmax(dst, x, c) },
		func(dst, x []float32) { kernel.LogSoftmax(dst, x, c) }).by(byRows).as("log-softmax"),
		func(_ []Expr, out, g Expr, _ []bool) []Expr {
			return []Expr{apply("log-softmax gradient", out.n.Shape(),
				of2(
					func(dst, y, g []float64) { simd.LogSoftmaxGrad(dst, y, g, c) },
					func(dst, y, g []float32) {
						simd.LogSoftmaxGrad(dst, y, g, c)
					}).by(byRows).as("log-softmax gradient"), nil, out, g)}
		}, x)
}

// Softmax returns exp(x)/Σexp(x), row by row of a matrix [r×c].
func (x Expr) Softmax() Expr {
	if bad, ok := x.rank("Softmax", 2); ok {
		return bad
	}
	c := x.n.Shape()[1]
	return apply("softmax", x.n.Shape(), of1(
		func(dst, x []float64) { kernel.Softmax(dst, x, c) },
		func(dst, x []float32) { kernel.Softmax(dst, x, c) }).by(byRows).as("softmax"),
		func(_ []Expr, out, g Expr, _ []bool) []Expr {
			return []Expr{apply("softmax gradient", out.n.Shape(), of2(
				func(dst, y, g []float64) { simd.SoftmaxGrad(dst, y, g, c) },
				func(dst, y, g []float32) {
					simd.SoftmaxGrad(dst, y, g, c)
				}).by(byRows).as("softmax gradient"), nil, out, g)}
		}, x)
}

package graph

import (
	"math"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
)

// LogSoftmax returns x − logsumexp(x), row by row of a matrix [r×c].
func (x Expr) LogSoftmax() Expr {
	if bad, ok := x.rank("LogSoftmax", 2); ok {
		return bad
	}
	c := x.n.Shape()[1]
	return apply("log-softmax", x.n.Shape(), both(
		func(dst []float64, src [][]float64) { kernel.LogSoftmax(dst, src[0], c) },
		func(dst []float32, src [][]float32) { kernel.LogSoftmax(dst, src[0], c) }).by(byRows).as("log-softmax"),
		func(_ []Expr, out, g Expr, _ []bool) []Expr {
			return []Expr{apply("log-softmax gradient", out.n.Shape(),
				both(logSoftmaxGrad[float64](c), logSoftmaxGrad[float32](c)).by(byRows).as("log-softmax gradient"), nil, out, g)}
		}, x)
}

// Softmax returns exp(x)/Σexp(x), row by row of a matrix [r×c].
func (x Expr) Softmax() Expr {
	if bad, ok := x.rank("Softmax", 2); ok {
		return bad
	}
	c := x.n.Shape()[1]
	return apply("softmax", x.n.Shape(), both(
		func(dst []float64, src [][]float64) { kernel.Softmax(dst, src[0], c) },
		func(dst []float32, src [][]float32) { kernel.Softmax(dst, src[0], c) }).by(byRows).as("softmax"),
		func(_ []Expr, out, g Expr, _ []bool) []Expr {
			return []Expr{apply("softmax gradient", out.n.Shape(),
				both(softmaxGrad(c), func(dst []float32, src [][]float32) { simd.SoftmaxGrad32(dst, src[0], src[1], c) }).by(byRows).as("softmax gradient"), nil, out, g)}
		}, x)
}

// logSoftmaxGrad: dx = g − softmax·Σg, from the output log-softmax.
func logSoftmaxGrad[T float](c int) func(dst []T, src [][]T) {
	return func(dst []T, src [][]T) {
		y, g := src[0], src[1]
		for i := 0; i < len(dst); i += c {
			s := T(sum(g[i : i+c]))
			for j := i; j < i+c; j++ {
				dst[j] = g[j] - T(math.Exp(float64(y[j])))*s
			}
		}
	}
}

// softmaxGrad: dx = y·(g − Σgy), from the output y.
func softmaxGrad(c int) func(dst []float64, src [][]float64) {
	return func(dst []float64, src [][]float64) {
		y, g := src[0], src[1]
		for i := 0; i < len(dst); i += c {
			var s float64
			for j := i; j < i+c; j++ {
				s += y[j] * g[j]
			}
			for j := i; j < i+c; j++ {
				dst[j] = y[j] * (g[j] - s)
			}
		}
	}
}

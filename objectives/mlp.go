package objectives

import (
	"fmt"

	"opl/graph"
)

// MLP is a multilayer perceptron, h_l = f(W_l·h_{l−1} + b_l), l = 1…, h_0 = φ(x), of layers of
// the given widths, each followed by dropout at the given rate in [0, 1). The activation is one of
// [Problem.Layer].
func MLP(activation string, dropout float64, widths ...int) Representation {
	return func(p Problem, x graph.Expr) graph.Expr {
		for l, m := range widths {
			name := fmt.Sprint("layer ", l+1)
			x = p.Dropout(name+" dropout", p.Layer(name, x, m, activation), dropout)
		}
		return x
	}
}

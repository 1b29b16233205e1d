package graph

import (
	"fmt"

	"gorgonia.org/tensor"

	"opl/graph/kernel"
)

// PlackettLuce returns log π(a_l|x, a_1…a_{l−1}), slot by slot [r×L], of lists a_1…a_L whose slots are filled
// one after the other by the softmax of the scores x [r×k] over the actions that are left:
//
//	log π_l = x_{a_l} − log Σ_{b ∉ a_1…a_{l−1}} exp(x_b)
//
// for lists [r×L] of whole numbers in [0, k), those of a row all different; a slot of −1 is empty, as must be
// those after it, and has log π = 0. An action of score −Inf is not offered. With its derivative it takes two passes
// over the scores, whatever L is, and keeps nothing of their size but that derivative. No derivative flows to lists. A
// number out of range, or an action that a list has twice, is an error when the program runs. Plackett (1975), Luce
// (1959).
func (x Expr) PlackettLuce(lists Expr) Expr {
	for _, e := range []Expr{x, lists} {
		if bad, ok := e.rank("PlackettLuce", 2); ok {
			return bad
		}
	}
	r, k, slots := x.n.Shape()[0], x.n.Shape()[1], lists.n.Shape()[1]
	if lists.n.Shape()[0] != r || slots > k {
		return Fail("graph: PlackettLuce of %s by %s: want a list a row, of at most as many slots as there are actions",
			x, lists)
	}
	return apply("plackett-luce", tensor.Shape{r, slots}, run{
		f64: func(dst []float64, src [][]float64, first int) { plackettLuce(dst, src, k, slots, first) },
		f32: func(dst []float32, src [][]float32, first int) { plackettLuce(dst, src, k, slots, first) },
	}.by(byRows).times(k/slots).as("plackett-luce"), func(in []Expr, out, g Expr, _ []bool) []Expr {
		return []Expr{apply("plackett-luce gradient", tensor.Shape{r, k}, run{
			f64: func(dst []float64, src [][]float64, _ int) {
				kernel.PlackettLuceGrad(dst, src[0], src[1], src[2], src[3], k, slots)
			},
			f32: func(dst []float32, src [][]float32, _ int) {
				kernel.PlackettLuceGrad(dst, src[0], src[1], src[2], src[3], k, slots)
			},
		}.by(byRows).as("plackett-luce gradient"), nil, in[0], in[1], out, g), {}}
	}, x, lists).except(1)
}

func plackettLuce[T float](dst []T, src [][]T, k, slots, first int) {
	for i, a := range src[1] {
		list := src[1][i/slots*slots : i]
		row := first + i/slots
		if _, ok := column(a, k); !ok && a != -1 {
			panic(rowError(fmt.Sprintf("row %d: action %v, want a whole number from 0 to %d, or −1", row, a, k-1)))
		}
		for _, above := range list {
			if above == a && a >= 0 || above < 0 && a >= 0 {
				panic(rowError(fmt.Sprintf("row %d: action %v stands twice in its list, or below an empty slot", row, a)))
			}
		}
	}
	kernel.PlackettLuce(dst, src[0], src[1], k, slots)
}

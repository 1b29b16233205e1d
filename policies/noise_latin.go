package policies

import "opl/graph/kernel/simd"

// latinHypercube has, in each dimension, one draw in each of as many equally
// likely intervals as there are draws, in an order that is random and
// independent between dimensions: what is a sum of functions of single
// coordinates is averaged almost without error. McKay, Beckman & Conover (1979).
// Each example has a random key, of which the rest is a function.
type latinHypercube struct {
	draws, dim int
	strata     *simd.Strata
}

func newLatinHypercube(draws, dim int) latinHypercube {
	return latinHypercube{draws, dim, simd.NewStrata(draws)}
}

func (latinHypercube) keys() int { return 1 }

func (l latinHypercube) points(dst []uint32, keys []uint64, scratch []uint32) []uint32 {
	if len(scratch) == 0 {
		scratch = make([]uint32, l.draws*simd.Lanes)
	}
	for j := 0; j < l.dim; j += simd.Lanes {
		l.strata.Points(dst, l.dim, scratch, keys[0], j)
	}
	return scratch
}

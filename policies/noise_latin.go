package policies

import (
	"math/rand/v2"

	"opl/graph"
)

// latinHypercube has, in each dimension, one draw in each of as many equally
// likely intervals as there are draws, in an order that is random and
// independent between dimensions: what is a sum of functions of single
// coordinates is averaged almost without error. McKay, Beckman & Conover (1979).
func latinHypercube(draws, dim int) graph.Filler {
	begin := make([]uint32, draws) // of the intervals, of length width/2³²
	for p := range begin {
		begin[p] = uint32(uint64(p) << 32 / uint64(draws))
	}
	width := uint64(1) << 32 / uint64(draws)
	order := make([]uint32, draws)
	return func(r *rand.Rand, dst []float64) {
		for ; len(dst) > 0; dst = dst[draws*dim:] {
			for j := range dim {
				for i := range order { // Fisher & Yates, inside out
					x := r.Uint64()
					k := x >> 32 * uint64(i+1) >> 32
					order[i] = order[k]
					order[k] = begin[i] + uint32(x&(1<<32-1)*width>>32)
				}
				for s, x := range order {
					dst[s*dim+j] = quantile(x)
				}
			}
		}
	}
}

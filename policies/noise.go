package policies

import (
	"math/rand/v2"
	"reflect"

	"opl/graph"
	"opl/graph/kernel/simd"
)

// Noise makes the filler of a noise node that holds standard normal points of
// the given dimension, draws of them for each example, the draws of one example
// next to each other. Estimates average over an example's draws, so a source may
// make these depend on one another; each must be standard normal by itself, which
// makes every average unbiased, and examples must be independent.
//
// A filler may keep state between calls: it belongs to one graph.
type Noise func(draws, dim int) graph.Filler

// NoiseName is the name of the noise input in every policy's graph.
const NoiseName = "noise"

// IID draws all points independently: the paper's Monte Carlo.
func IID(_, _ int) graph.Filler { return graph.Gaussian }

// gaussian32 is IID's graph.Filler32.
func gaussian32(r *rand.Rand, dst []float32, _ int) {
	points := simd.Bits(dst)
	for i := 0; i < len(points); i += 2 {
		u := r.Uint64()
		points[i] = uint32(u)
		if i+1 < len(points) {
			points[i+1] = uint32(u >> 32)
		}
	}
	simd.Normal32(dst, points)
}

// Antithetic draws pairs ε, −ε, which cancels the odd part of what is averaged:
// draws 2i and 2i+1 of an example are a pair, the last of an odd number is
// alone.
func Antithetic(draws, dim int) graph.Filler {
	return func(r *rand.Rand, dst []float64) {
		for ; len(dst) > 0; dst = dst[draws*dim:] {
			for s := 0; s < draws; s += 2 {
				first := dst[s*dim : (s+1)*dim]
				graph.Gaussian(r, first)
				if s+1 < draws {
					second := dst[(s+1)*dim:]
					for j, e := range first {
						second[j] = -e
					}
				}
			}
		}
	}
}

// noise declares the policy's noise node, [b·draws×dim].
func noise(g *graph.Graph, source Noise, b, draws, dim int) graph.Expr {
	is := func(f Noise) bool { return reflect.ValueOf(source).Pointer() == reflect.ValueOf(f).Pointer() }
	switch {
	case source == nil || is(LowDiscrepancy):
		p := lowDiscrepancy(draws, dim)
		return g.Noise32(NoiseName, p.fill, p.fill32, b*draws, dim)
	case is(IID):
		return g.Noise32(NoiseName, graph.Gaussian, gaussian32, b*draws, dim)
	}
	return g.Noise(NoiseName, source(draws, dim), b*draws, dim)
}

package policies

import "opl/graph"

// Noise makes the filler of a noise node that holds standard normal points of
// the given dimension, draws of them for each example, the draws of one example
// next to each other. Estimates average over an example's draws, so a source may
// make these depend on one another; each must be standard normal by itself.
type Noise func(draws, dim int) graph.Filler

// NoiseName is the name of the noise input in every policy's graph.
const NoiseName = "noise"

// IID draws all points independently: the paper's Monte Carlo.
func IID(_, _ int) graph.Filler { return graph.Gaussian }

// noise declares the policy's noise node, [b·draws×dim].
func noise(g *graph.Graph, source Noise, b, draws, dim int) graph.Expr {
	if source == nil {
		source = IID
	}
	return g.Noise(NoiseName, source(draws, dim), b*draws, dim)
}

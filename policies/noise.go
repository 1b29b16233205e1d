package policies

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"opl/graph"
	"opl/graph/kernel/simd"
)

// Noise is a source of standard normal points for policies that are sampled in training.
// Estimates average over an example's draws, so a source may make these depend on one
// another; each must be standard normal by itself, which makes every average unbiased,
// and examples must be independent.
type Noise interface {
	Name() string
	// New returns what fills the noise node of one graph, for draws points of
	// dimension dim for each example.
	New(draws, dim int) Points
}

// Points fills a noise node, [b·draws×dim], the draws of one example next to each other.
// It may keep state between calls: it belongs to one graph.
type Points interface {
	Fill(r *rand.Rand, dst []float64)
}

// FastPoints are Points with a form of their own for graphs in float32, on several threads. It need not draw the same
// as Fill; the result must depend on the source alone, not on threads or calls before.
type FastPoints interface {
	Points
	Fill32(r *rand.Rand, dst []float32, threads int)
}

var (
	_ FastPoints = (*pointNoise)(nil)
	_ FastPoints = independent{}
)

// NoiseName is the name of the noise input in every policy's graph.
const NoiseName = "noise"

// IID draws all points independently: the paper's Monte Carlo.
type IID struct{}

func (IID) Name() string        { return "iid" }
func (IID) New(_, _ int) Points { return independent{} }

type independent struct{}

func (independent) Fill(r *rand.Rand, dst []float64) { graph.Gaussian(r, dst) }

func (independent) Fill32(r *rand.Rand, dst []float32, _ int) {
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
type Antithetic struct{}

func (Antithetic) Name() string              { return "antithetic" }
func (Antithetic) New(draws, dim int) Points { return pairs{draws, dim} }

type pairs struct{ draws, dim int }

func (p pairs) Fill(r *rand.Rand, dst []float64) {
	for ; len(dst) > 0; dst = dst[p.draws*p.dim:] {
		for s := 0; s < p.draws; s += 2 {
			first := dst[s*p.dim : (s+1)*p.dim]
			graph.Gaussian(r, first)
			for j := range (min(s+2, p.draws) - s - 1) * p.dim {
				dst[(s+1)*p.dim+j] = -first[j]
			}
		}
	}
}

// noise declares the policy's noise node, [b·draws×dim].
func noise(g *graph.Graph, source Noise, b, draws, dim int) graph.Expr {
	source = cmp.Or[Noise](source, LowDiscrepancy{})
	p := source.New(draws, dim)
	if fast, ok := p.(FastPoints); ok {
		return g.NoiseOf(fmt.Sprintf("%#v %d", source, draws), NoiseName, fast.Fill, fast.Fill32, b*draws, dim)
	}
	return g.Noise(NoiseName, p.Fill, b*draws, dim)
}

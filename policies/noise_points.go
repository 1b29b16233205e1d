package policies

import (
	"math/rand/v2"
	"slices"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// pointSet makes the uniform points of one example, [draws×dim] multiples of 2⁻³²,
// from random keys.
type pointSet interface {
	keys() int // for each example
	// points writes to dst. It returns scratch memory, to be handed to the next
	// call; none the first time.
	points(dst []uint32, keys []uint64, scratch []uint32) []uint32
}

// pointNoise maps a set of points to standard normal noise. Keys come from the
// random source, in order; the rest is a function of these.
type pointNoise struct {
	set    pointSet
	size   int // of an example
	all    []uint64
	work   []uint32
	temp   []uint32
	thread [][]uint32 // scratch memory of each thread
}

func (p *pointNoise) Fill(r *rand.Rand, dst []float64) {
	if p.temp == nil {
		p.temp = make([]uint32, p.size)
	}
	for ; len(dst) > 0; dst = dst[p.size:] {
		p.work = p.set.points(p.temp, p.draw(r, 1), p.work)
		for i, x := range p.temp {
			dst[i] = quantile(x)
		}
	}
}

// draw returns the keys of n examples.
func (p *pointNoise) draw(r *rand.Rand, n int) []uint64 {
	p.all = slices.Grow(p.all[:0], n*p.set.keys())[:n*p.set.keys()]
	for i := range p.all {
		p.all[i] = r.Uint64()
	}
	return p.all
}

// pieceValues is about how many values a thread makes at a time.
const pieceValues = 1 << 12

func (p *pointNoise) Fill32(r *rand.Rand, dst []float32, threads int) {
	n := len(dst) / p.size
	keys := p.draw(r, n)
	for len(p.thread) < threads {
		p.thread = append(p.thread, nil)
	}
	piece := max(1, pieceValues/p.size)
	workers.Do(threads, (n+piece-1)/piece, func(thread, part int) {
		for i := part * piece; i < min(n, (part+1)*piece); i++ {
			x := dst[i*p.size : (i+1)*p.size]
			p.thread[thread] = p.set.points(simd.Bits(x), keys[i*p.set.keys():(i+1)*p.set.keys()], p.thread[thread])
			simd.Normal32(x, simd.Bits(x))
		}
	})
}

package policies

import (
	"math/rand/v2"
	"sync"

	"opl/graph/kernel/simd"
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
	set  pointSet
	size int // of an example
	all  []uint64
	work []uint32
	temp []uint32
	seat [][]uint32 // scratch memory of each thread
}

// fill is the graph.Filler.
func (p *pointNoise) fill(r *rand.Rand, dst []float64) {
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
	if need := n * p.set.keys(); cap(p.all) < need {
		p.all = make([]uint64, need)
	}
	keys := p.all[:n*p.set.keys()]
	for i := range keys {
		keys[i] = r.Uint64()
	}
	return keys
}

// A thread of its own is worth it for so many values.
const threadValues = 1 << 17

// fill32 is the graph.Filler32.
func (p *pointNoise) fill32(r *rand.Rand, dst []float32, threads int) {
	n := len(dst) / p.size
	keys := p.draw(r, n)
	threads = max(1, min(threads, len(dst)/threadValues))
	for len(p.seat) < threads {
		p.seat = append(p.seat, nil)
	}
	part := func(t int) {
		for i := n * t / threads; i < n*(t+1)/threads; i++ {
			x := dst[i*p.size : (i+1)*p.size]
			p.seat[t] = p.set.points(simd.Bits(x), keys[i*p.set.keys():(i+1)*p.set.keys()], p.seat[t])
			simd.Normal32(x, simd.Bits(x))
		}
	}
	if threads == 1 {
		part(0)
		return
	}
	var wait sync.WaitGroup
	for t := range threads {
		wait.Go(func() { part(t) })
	}
	wait.Wait()
}

package pipeline

import (
	"runtime"
	"slices"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
	"opl/train/logs"
)

// room is the number of bytes that the vectors of contexts may take in memory: those of
// a million rows of 50 features have it.
const room = 256 << 20

// held are contexts whose norms, and, where there is room, 32-bit vectors, are in
// memory: training reads them again and again, in any order. What is not is made anew
// when asked for, like the 64-bit vectors of certificates.
type held struct {
	logs.Contexts
	d    int
	data []float32 // nil: no room
	norm []float64

	finite bool
}

// hold returns the contexts, held in room bytes.
func hold(x logs.Contexts, room int) *held {
	n, d := x.Len(), x.Dim()
	h := &held{Contexts: x, d: d, norm: make([]float64, n)}
	if d == 0 || n <= room/(4*d) {
		h.data = make([]float32, n*d)
	}
	const part = 1 << 10
	workers.Do(runtime.GOMAXPROCS(0), (n+part-1)/part, func(_, p int) {
		for i := p * part; i < min(n, (p+1)*part); i++ {
			if h.data != nil {
				x.Row32(i, h.data[i*d:(i+1)*d])
			}
			h.norm[i] = x.Norm(i)
		}
	})
	h.finite = !slices.ContainsFunc(h.norm, func(v float64) bool { return v-v != 0 })
	return h
}

// Finite reports that all norms are finite, and with them all features: [logs.Log.Check] need not look at each again.
func (h *held) Finite() bool { return h.finite }

// Norm is ‖φ(x_i)‖₂.
func (h *held) Norm(i int) float64 { return h.norm[i] }

// Row32 copies φ(x_i).
func (h *held) Row32(i int, dst []float32) {
	if h.data == nil {
		h.Contexts.Row32(i, dst)
		return
	}
	copy(dst, h.data[i*h.d:(i+1)*h.d])
}

// Ahead asks memory for a vector that is held.
func (h *held) Ahead(i int) {
	if h.data != nil {
		simd.Prefetch(h.data[i*h.d : (i+1)*h.d])
	}
}

// rounded are held contexts whose vectors are of 32 bits for all: for what need not
// be exact.
type rounded struct{ *held }

// Row64 copies φ(x_i), rounded.
func (r rounded) Row64(i int, dst []float64) {
	for j, v := range r.data[i*r.d : (i+1)*r.d] {
		dst[j] = float64(v)
	}
}

// Finite reports nothing: a number may be too large for 32 bits.
func (r rounded) Finite() bool { return false }

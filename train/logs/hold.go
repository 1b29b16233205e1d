package logs

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// PlacedContexts are Contexts whose vectors of 32 bits lie in memory: training reads them there, and copies none.
type PlacedContexts interface {
	Contexts
	// Placed32 is φ(x_i) as Row32 writes it, which nobody changes; nil, of all: they are not in memory.
	Placed32(i int) []float32
}

// Rows32 is a matrix of 32 bits as Contexts: row i of Data, Width numbers.
type Rows32 struct {
	Width int       // features of a row
	Data  []float32 // row by row
}

var _ PlacedContexts = Rows32{}

// Len returns the number of rows.
func (m Rows32) Len() int { return len(m.Data) / max(1, m.Width) }

// Dim returns the width.
func (m Rows32) Dim() int { return m.Width }

// Placed32 is row i.
func (m Rows32) Placed32(i int) []float32 { return m.Data[i*m.Width : (i+1)*m.Width] }

// Norm returns the Euclidean norm of row i.
func (m Rows32) Norm(i int) float64 {
	var s float64
	for _, v := range m.Placed32(i) {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// Row64 copies row i.
func (m Rows32) Row64(i int, dst []float64) {
	for j, v := range m.Placed32(i) {
		dst[j] = float64(v)
	}
}

// Row32 copies row i.
func (m Rows32) Row32(i int, dst []float32) { copy(dst, m.Placed32(i)) }

// Ahead asks memory for row i.
func (m Rows32) Ahead(i int) { simd.Prefetch(m.Placed32(i)) }

// held keeps the norms of contexts in memory, and their 32-bit vectors if there is room. It makes everything else
// anew when asked for it, such as the 64-bit vectors of certificates.
type held struct {
	Contexts
	rows   Rows32    // without Data: no room
	norm   []float64 // nil: no room
	finite bool
}

// Hold returns contexts with their norms in memory, and their vectors of 32 bits, too, each if they
// take at most the given number of bytes: training reads them again and again, in any order. All other numbers
// are x's own. Rows32 are not copied.
func Hold(x Contexts, bytes int) Contexts {
	n, d := x.Len(), x.Dim()
	h := &held{Contexts: x, rows: Rows32{Width: d}}
	m, placed := x.(Rows32)
	if n <= bytes/8 {
		h.norm = make([]float64, n)
	}
	var infinite atomic.Bool
	switch {
	case placed:
		h.rows = m
	case d == 0 || n <= bytes/(4*d):
		h.rows.Data = make([]float32, n*d)
	}
	const part = 1 << 10
	workers.Do(runtime.GOMAXPROCS(0), (n+part-1)/part, func(_, p int) {
		for i := p * part; i < min(n, (p+1)*part); i++ {
			if h.rows.Data != nil && !placed {
				x.Row32(i, h.rows.Placed32(i))
			}
			norm := x.Norm(i)
			if h.norm != nil {
				h.norm[i] = norm
			}
			if norm-norm != 0 {
				infinite.Store(true)
			}
		}
	})
	h.finite = !infinite.Load()
	return h
}

// Read returns the log with its rows' vectors of 32 bits in memory, if they take at most the given bytes. Use it where
// [Hold] cannot keep the vectors of all rows: training reads vectors again and again, in any order, and Read reads them
// once, in the order in which they lie.
func (l *Log) Read(bytes int) *Log {
	if x, ok := l.X.(*held); !ok || x.rows.Data != nil || l.Len() > bytes/(4*max(1, l.Dim())) {
		return l
	}
	contexts, at := Every(l.Len()), make([]int, l.Len())
	slices.SortFunc(contexts, func(i, j int) int { return l.Context(i) - l.Context(j) })
	for j, i := range contexts {
		contexts[j], at[i] = l.Context(i), j
	}
	return l.WithContexts(Hold(picked{l.X, contexts}, bytes), at)
}

// Finite reports that all norms are finite, and with them all features: [Log.Check] need not look at each again.
func (h *held) Finite() bool { return h.finite }

// Norm is ‖φ(x_i)‖₂.
func (h *held) Norm(i int) float64 {
	if h.norm == nil {
		return h.Contexts.Norm(i)
	}
	return h.norm[i]
}

// Placed32 is φ(x_i), nil where there is no room.
func (h *held) Placed32(i int) []float32 {
	if h.rows.Data == nil {
		return nil
	}
	return h.rows.Placed32(i)
}

// Row32 copies φ(x_i).
func (h *held) Row32(i int, dst []float32) {
	if h.rows.Data == nil {
		h.Contexts.Row32(i, dst)
		return
	}
	h.rows.Row32(i, dst)
}

// Ahead asks memory for a vector that is held.
func (h *held) Ahead(i int) {
	if h.rows.Data != nil {
		h.rows.Ahead(i)
	}
}

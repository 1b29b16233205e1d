package learn

import "opl/train/bandit"

// room is the number of bytes that contexts may take in memory.
const room = 512 << 20

// held are contexts whose 32-bit vectors and norms, which training reads again and
// again, are in memory. Those of 64 bits are made anew when certificates ask.
type held struct {
	bandit.Contexts
	d    int
	data []float32
	norm []float64
}

// hold returns the contexts, held if there is room for them.
func hold(x bandit.Contexts) bandit.Contexts {
	n, d := x.Len(), x.Dim()
	if n > room/(4*d+8) {
		return x
	}
	h := &held{x, d, make([]float32, n*d), make([]float64, n)}
	for i := range n {
		x.Row32(i, h.data[i*d:(i+1)*d])
		h.norm[i] = x.Norm(i)
	}
	return h
}

// Norm is ‖φ(x_i)‖₂.
func (h *held) Norm(i int) float64 { return h.norm[i] }

// Row32 copies φ(x_i).
func (h *held) Row32(i int, dst []float32) { copy(dst, h.data[i*h.d:(i+1)*h.d]) }

// rounded are held contexts whose vectors are of 32 bits for all: for what need not
// be exact.
type rounded struct{ *held }

// Row64 copies φ(x_i), rounded.
func (r rounded) Row64(i int, dst []float64) {
	for j, v := range r.data[i*r.d : (i+1)*r.d] {
		dst[j] = float64(v)
	}
}

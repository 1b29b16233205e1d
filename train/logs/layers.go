package logs

import (
	"fmt"
	"math"
	"sync"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
	"opl/policies/features"
)

// heldNumbers is how many numbers Through keeps in memory: those of a million rows of 64
// features.
const heldNumbers = 64 << 20

// Through returns the contexts h(x) that layers make of others, in float64, to the bit as a
// policy file computes them. Where there is room they are computed once, on threads; else
// whenever they are asked for.
func Through(x Contexts, layers []features.Layer, threads int) (Contexts, error) {
	t, err := Lazily(x, layers)
	if err != nil || x.Len() > heldNumbers/t.Dim() {
		return t, err
	}
	d := t.Dim()
	held := Rows64{Width: d, Data: make([]float64, x.Len()*d)}
	const block = 64
	workers.Do(max(1, threads), (x.Len()+block-1)/block, func(_, part int) {
		for i := part * block; i < min(x.Len(), (part+1)*block); i++ {
			t.Row64(i, held.Data[i*d:(i+1)*d])
		}
	})
	return held, nil
}

// Lazily is Through that keeps nothing, for contexts of which few, if any, are asked for.
func Lazily(x Contexts, layers []features.Layer) (Contexts, error) {
	d := x.Dim()
	for i := range layers {
		if err := layers[i].Check(d); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
		d = layers[i].Out()
	}
	return &through{Contexts: x, net: features.NewNet(layers), dim: d}, nil
}

// through passes contexts through layers when they are asked for.
type through struct {
	Contexts // φ(x)
	net      *features.Net
	dim      int
	buffers  sync.Pool // of φ(x) and of what the net needs
}

func (t *through) Dim() int { return t.dim }

func (t *through) Row64(i int, dst []float64) {
	d := t.Contexts.Dim()
	buf, _ := t.buffers.Get().(*[]float64)
	if buf == nil {
		of := make([]float64, d+t.net.Scratch())
		buf = &of
	}
	x := (*buf)[:d]
	t.Contexts.Row64(i, x)
	t.net.Apply(dst[:t.dim], x, (*buf)[d:])
	t.buffers.Put(buf)
}

func (t *through) Row32(i int, dst []float32) {
	h := make([]float64, t.dim)
	t.Row64(i, h)
	simd.Narrow32(dst, h)
}

func (t *through) Norm(i int) float64 { return norm(t, i) }

// norm computes ‖φ(x_i)‖₂ for contexts that keep no norms.
func norm(x Contexts, i int) float64 {
	phi := make([]float64, x.Dim())
	x.Row64(i, phi)
	return math.Sqrt(features.Dot(phi, phi))
}

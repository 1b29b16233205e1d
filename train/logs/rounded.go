package logs

import "math"

// rounded are vectors of numbers of 32 bits, as [features.Items] makes them.
type rounded struct{ Contexts }

func (r rounded) Row64(i int, dst []float64) {
	r.Contexts.Row64(i, dst)
	for j, v := range dst[:r.Dim()] {
		dst[j] = float64(float32(v))
	}
}

func (r rounded) Norm(i int) float64 {
	x, s := make([]float64, r.Dim()), 0.
	r.Row64(i, x)
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

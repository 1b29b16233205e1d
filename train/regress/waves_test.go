package regress

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Rows whose inputs are nearer than the lengths have columns that are alike, as a gaussian process has them.
func TestColumns_AreNearlyThoseOfAGaussianProcess(t *testing.T) {
	w := Waves{Stratum: []int{0, 0, 1}, Lengths: []float64{1, 3}}
	x := mat.NewDense(4, 3, []float64{0, 0, 0, 1, 0, 0, 0, 1, 3, -.5, .5, 6})
	h := Columns(x, w.Frequencies(2000))
	for i := range 4 {
		for j := range 4 {
			a, b := h.RawRowView(i), h.RawRowView(j)
			far, near := 0., 0.
			for c, l := range []float64{1, 1, 3} {
				far += math.Pow((x.At(i, c)-x.At(j, c))/l, 2)
			}
			for k := range 4000 {
				near += a[k] * b[k]
			}
			if math.Abs(near-math.Exp(-far/2)) > .01 {
				t.Errorf("rows %d and %d: %.3f, want %.3f", i, j, near, math.Exp(-far/2))
			}
		}
	}
}

// An input that says nothing gets a long length, one along which y bends a short one.
func TestWaves_TuneFindsLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 600
	x, y := mat.NewDense(n, 2, nil), make([]float64, n)
	for i := range n {
		a, b := 2*r.Float64()-1, 2*r.Float64()-1
		x.SetRow(i, []float64{a, b})
		y[i] = math.Sin(8*b) + .3*r.NormFloat64()
	}
	w := Waves{Stratum: []int{0, 1}, Lengths: []float64{1, 1}, Penalty: 5}
	if err := w.Tune(25, Sample{x, y, .09}); err != nil {
		t.Fatal(err)
	}
	if !(w.Lengths[0] > 4*w.Lengths[1]) {
		t.Errorf("lengths %.2f, want the first far longer", w.Lengths)
	}
}

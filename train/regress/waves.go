package regress

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"opl/graph/kernel/simd"
)

// Waves are pairs of columns cos(fᵀx) and sin(fᵀx), f ~ N(0, diag 1/ℓ²), whose coefficients are alike. So a
// regression on them is one by a gaussian process whose curves bend within a length ℓ of each input. Rahimi and Recht
// (2007), "Random features for large-scale kernel machines".
type Waves struct {
	Stratum []int     // of each input, from 0 on: those of one have the same length
	Lengths []float64 // ℓ by stratum
	Penalty float64   // λ of the coefficients, for squared loss
}

const (
	tunedWaves  = 64  // that lengths are chosen with
	mostPenalty = 1e5 // beyond which columns say nothing
)

// Frequencies are those of m waves, [m][inputs]: normal quantiles of a sequence that fills the cube evenly, which are
// the multiples of powers of 1/g, g^(inputs+1) = g + 1.
func (w *Waves) Frequencies(m int) *mat.Dense {
	d := len(w.Stratum)
	g := 2.
	for range 50 {
		g = math.Pow(1+g, 1/float64(d+1))
	}
	f := mat.NewDense(m, d, nil)
	for j, s := range w.Stratum {
		step := math.Pow(g, -float64(j+1))
		for k := range m {
			_, u := math.Modf(.5 + float64(k+1)*step)
			f.Set(k, j, distuv.UnitNormal.Quantile(u)/w.Lengths[s])
		}
	}
	return f
}

// Columns are the cosines and the sines of frequencies at rows of inputs.
func Columns(x, frequencies *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	m, _ := frequencies.Dims()
	var at mat.Dense
	at.Mul(x, frequencies.T())
	h, unit := mat.NewDense(n, 2*m, nil), 1/math.Sqrt(float64(m))
	for i := range n {
		row := h.RawRowView(i)
		for k, v := range at.RawRowView(i) {
			sin, cos := math.Sincos(v)
			row[k], row[m+k] = unit*cos, unit*sin
		}
	}
	return h
}

// Sample is rows that have coefficients of their own.
type Sample struct {
	X     *mat.Dense
	Y     []float64 // of mean 0
	Noise float64   // variance of the errors of Y
}

// Tune fits the lengths and the penalty, from those that w has, by maximizing the likelihood of samples with
// coefficients integrated out. It takes so many steps, whose size the signs of the derivatives say; lengths stay nearer
// to the first where rows say little.
func (w *Waves) Tune(steps int, samples ...Sample) error {
	n := len(w.Lengths)
	first, size, before := slices.Clone(w.Lengths), slices.Repeat([]float64{.3}, n+1), make([]float64, n+1)
	for range steps {
		slope := make([]float64, n+1)
		for _, of := range samples {
			own, err := w.slope(of.X, of.Y, of.Noise)
			if err != nil {
				return err
			}
			floats.Add(slope, own)
		}
		for s, g := range slope {
			if s < n {
				g += math.Log(w.Lengths[s] / first[s])
			}
			switch {
			case g*before[s] > 0:
				size[s] = min(1, 1.2*size[s])
			case g*before[s] < 0:
				size[s] /= 2
			}
			before[s] = g
			step := math.Exp(-math.Copysign(size[s], g))
			if s < n {
				w.Lengths[s] *= step
			} else {
				w.Penalty = min(mostPenalty, step*w.Penalty)
			}
		}
	}
	return nil
}

// slope is the gradient of −2 log of the likelihood by the logarithms of lengths and the penalty. With columns h,
// A = hᵀh + Λ, μ = A⁻¹hᵀy and r = y − hμ that is, up to a constant, log|A| − log|Λ| + yᵀr/noise, whose
// derivative by h is 2 hA⁻¹ − 2 rμᵀ/noise.
func (w *Waves) slope(x *mat.Dense, y []float64, noise float64) ([]float64, error) {
	f := w.Frequencies(tunedWaves)
	h := Columns(x, f)
	n, d := h.Dims()
	squares, ones := make([]float64, d*d), slices.Repeat([]float64{1}, passRows)
	for some := range slices.Chunk(h.RawMatrix().Data, passRows*d) {
		addSquares(squares, some, ones[:len(some)/d])
	}
	a, inverse := mat.NewSymDense(d, squares), mat.SymDense{}
	for k := range d {
		a.SetSym(k, k, a.At(k, k)+w.Penalty)
	}
	var c mat.Cholesky
	var mu, fit mat.VecDense
	if !c.Factorize(a) {
		return nil, errors.New("regress: a curvature is not positive definite; are features finite, and is none " +
			"far beyond the others?")
	}
	mu.MulVec(h.T(), mat.NewVecDense(n, y))
	c.SolveVecTo(&mu, &mu)
	fit.MulVec(h, &mu)
	c.InverseTo(&inverse)
	slope := make([]float64, len(w.Lengths)+1)
	for k := range d {
		m := mu.AtVec(k)
		slope[len(w.Lengths)] += w.Penalty*(inverse.At(k, k)+m*m/noise) - 1
	}
	full, g := mat.DenseCopyOf(&inverse).RawMatrix().Data, make([]float64, d)
	angles := mat.NewDense(n, tunedWaves, nil) // derivatives by fᵀx
	for i := range n {
		columns, r := h.RawRowView(i), 2*(y[i]-fit.AtVec(i))/noise
		clear(g)
		simd.AddRowsTimes(g, full, columns) // A⁻¹h
		for k := range tunedWaves {
			s := tunedWaves + k
			angles.Set(i, k, (2*g[s]-r*mu.AtVec(s))*columns[k]-(2*g[k]-r*mu.AtVec(k))*columns[s])
		}
	}
	var times mat.Dense
	times.Mul(angles.T(), x)
	for k := range tunedWaves {
		for j, s := range w.Stratum {
			slope[s] -= f.At(k, j) * times.At(k, j)
		}
	}
	return slope, nil
}

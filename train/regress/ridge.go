package regress

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Moments hold the sums Σ ω x xᵀ and Σ ω x y_a, which ridge regressions of k outputs need. Sums of folds add up.
type Moments struct {
	Gram  *mat.SymDense // [d×d]
	Right []float64     // Σ ω x y_a [k×d]
	k     int
}

// NewMoments returns the sums of no rows, of d > 0 features and k outputs.
func NewMoments(d, k int) *Moments {
	return &Moments{Gram: mat.NewSymDense(d, nil), Right: make([]float64, k*d), k: k}
}

// AddRows adds rows of x, with outputs y [n×k] and weights w; nil: all 1.
func (m *Moments) AddRows(x Matrix, y, w []float64) {
	n, d, k := x.Len(), x.Dim(), m.k
	root := make([]float64, 0, min(n, BlockRows)*d) // √ω x
	for from := 0; from < n; from += BlockRows {
		to := min(n, from+BlockRows)
		root = root[:0]
		for i := from; i < to; i++ {
			row, omega := x.row(i), 1.0
			if w != nil {
				omega = w[i]
			}
			for _, v := range row {
				root = append(root, math.Sqrt(omega)*v)
			}
			for a, v := range y[i*k : (i+1)*k] {
				floats.AddScaled(m.Right[a*d:(a+1)*d], omega*v, row)
			}
		}
		m.Gram.SymRankK(m.Gram, 1, mat.NewDense(to-from, d, root).T())
	}
}

// Add adds the sums of other rows.
func (m *Moments) Add(other *Moments) {
	m.Gram.AddSym(m.Gram, other.Gram)
	floats.Add(m.Right, other.Right)
}

// Solve returns θ [k×d], θ_a = argmin Σ ω (y_a − xᵀθ)² + Σ_j λ_j θ_j². Penalties are one for each
// feature, or one for all, above 0.
func (m *Moments) Solve(penalties []float64) ([]float64, error) {
	d := m.Gram.SymmetricDim()
	if n := len(penalties); n != 1 && n != d {
		return nil, fmt.Errorf("regress: %d penalties for %d features", n, d)
	}
	left := mat.NewSymDense(d, nil)
	left.CopySym(m.Gram)
	for j := range d {
		left.SetSym(j, j, left.At(j, j)+penalties[j%len(penalties)])
	}
	theta := make([]float64, len(m.Right))
	if m.k == 0 {
		return theta, nil
	}
	var solved mat.Dense
	if err := SolveSym(&solved, left, mat.NewDense(m.k, d, m.Right).T()); err != nil {
		return nil, err
	}
	for a := range m.k {
		mat.Col(theta[a*d:(a+1)*d], a, &solved)
	}
	return theta, nil
}

// Ridge fits k outputs y [n×k] by ridge regression: θ [k×d] of the least Σ_i ω_i (y_ia − x_iᵀθ_a)² + Σ_j
// λ_j θ_aj².
func Ridge(x Matrix, y []float64, k int, w, penalties []float64) ([]float64, error) {
	n, d := x.Len(), x.Dim()
	if d == 0 || k < 0 || len(y) != n*k || w != nil && len(w) != n {
		return nil, fmt.Errorf("regress: %d values of %d outputs and %d weights for %d rows of %d features",
			len(y), k, len(w), n, d)
	}
	m := NewMoments(d, k)
	m.AddRows(x, y, w)
	return m.Solve(penalties)
}

// SolveSym solves left·x = right for a positive definite left. Digits may be lost: the penalty bounds how many.
func SolveSym(x *mat.Dense, left *mat.SymDense, right mat.Matrix) error {
	var chol mat.Cholesky
	var lost mat.Condition
	err := errors.New("regress: its equations have no solution; are features finite, and is none far beyond the others?")
	if chol.Factorize(left) {
		err = chol.SolveTo(x, right)
	}
	if errors.As(err, &lost) {
		return nil
	}
	return err
}

package logs

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Scores computes φ(x)ᵀθ_a in float64 for the rows of x, a block at a time, and
// hands each row's K scores to use, with its place among rows. theta is [K×d];
// nil rows stand for all. The slice is used again after the call.
func Scores(x Contexts, rows []int, theta []float64, k int, use func(i int, scores []float64)) {
	const block = 256
	d, n := x.Dim(), len(rows)
	if rows == nil {
		n = x.Len()
	}
	phi := make([]float64, block*d)
	scores := make([]float64, block*k)
	for from := 0; from < n; from += block {
		m := min(block, n-from)
		for i := range m {
			r := from + i
			if rows != nil {
				r = rows[r]
			}
			x.Row64(r, phi[i*d:(i+1)*d])
		}
		blas64.Gemm(blas.NoTrans, blas.Trans, 1,
			blas64.General{Rows: m, Cols: d, Stride: d, Data: phi},
			blas64.General{Rows: k, Cols: d, Stride: d, Data: theta},
			0, blas64.General{Rows: m, Cols: k, Stride: k, Data: scores})
		for i := range m {
			use(from+i, scores[i*k:i*k+k])
		}
	}
}

package logs

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"opl/graph/kernel"
	"opl/policies/propensity"
)

// Floor is the least propensity that a logging policy of this package has.
const Floor = 1e-30

// FromLabels turns labelled examples into a log (Algorithm 1): for each of the
// rows of x the softmax policy of parameters theta [K×d] draws an action a, and
// the cost is −1 if a is the label and 0 otherwise. The propensities are those
// of the policy in float64, at least 1e-30. Keys are the places of the examples in x: logs
// of the same examples share them.
func FromLabels(x Contexts, labels []uint8, rows []int, theta []float64, k int, r *rand.Rand) *Log {
	n := len(rows)
	l := &Log{
		Actions: Numbered(k), X: x, Rows: rows, simulated: true,
		Action: make([]int32, n), Cost: make([]float64, n), Keys: make([]uint64, n),
		Propensity: make([]float64, n), Propensities: make([]float64, n*k),
	}
	Scores(x, rows, theta, k, func(i int, scores []float64) {
		pi := l.Propensities[i*k : i*k+k]
		kernel.Softmax(pi, scores, k)
		for a := range pi {
			pi[a] = max(pi[a], Floor)
		}
		a := propensity.Draw(pi, r)
		l.Action[i] = int32(a)
		l.Propensity[i] = pi[a]
		l.Keys[i] = uint64(rows[i])
		if a == int(labels[rows[i]]) {
			l.Cost[i] = -1
		}
	})
	return l
}

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

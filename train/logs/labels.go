package logs

import (
	"math/rand/v2"

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

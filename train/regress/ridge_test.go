package regress_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/train/regress"
)

func TestRidge_MinimizesItsLossForEveryPenalty(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 20))
	const n, d, k = 700, 4, 2
	x, y, w := random(r, n, d), numbers(n*k, r.NormFloat64), numbers(n, r.Float64)
	penalties := []float64{0.1, 3, 1, 20}
	theta, err := regress.Ridge(x, y, k, w, penalties)
	if err != nil {
		t.Fatal(err)
	}
	minimal(t, "ridge", func(theta []float64) (loss float64) {
		for i := range n {
			for a := range k {
				e := y[i*k+a] - dot(x.Data[i*d:(i+1)*d], theta[a*d:(a+1)*d])
				loss += w[i] * e * e
			}
		}
		for j, v := range theta {
			loss += penalties[j%d] * v * v
		}
		return loss
	}, theta, n)
	for _, p := range [][]float64{nil, {1, 2}} {
		if _, err := regress.Ridge(x, y, k, w, p); err == nil {
			t.Errorf("penalties %v are no error", p)
		}
	}
	x.Data[3] = math.NaN()
	if _, err := regress.Ridge(x, y, k, w, penalties); err == nil {
		t.Error("NaN is no error")
	}
}

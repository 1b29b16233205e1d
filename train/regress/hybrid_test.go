package regress_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"opl/policies/features"
	"opl/train/regress"
)

// Where rewards are linear, in steps, or both, held-out log-loss of the hybrid is near the better of both, and below.
// Columns may be far from 0, as a year is.
func TestHybrid(t *testing.T) {
	const n, test, d, k = 3000, 10_000, 6, 2
	for name, z := range map[string]func(x []float64, a float64) float64{
		"linear": func(x []float64, a float64) float64 { return x[1] - a*x[2] },
		"steps":  func(x []float64, a float64) float64 { return step(x[1])*step(x[2]-a) - 1 },
		"both":   func(x []float64, a float64) float64 { return x[4] + x[5] + a*x[3] + 1.5*step(x[1]) - 1.5*step(x[2]) },
	} {
		r := rand.New(rand.NewPCG(31, 40))
		x, y, action := random(r, n+test, d), make([]float64, n+test), make([]int32, n+test)
		raw := regress.Matrix{Width: d, Data: make([]float64, len(x.Data))}
		for i := range n + test {
			row := x.Data[i*d : (i+1)*d]
			for j := range row {
				row[j] = r.NormFloat64()
				raw.Data[i*d+j] = 2020 + 3*row[j]
			}
			raw.Data[i*d] = 1
			if action[i] = int32(r.IntN(k)); r.Float64() < 1/(1+math.Exp(-z(row, float64(action[i])))) {
				y[i] = 1
			}
		}
		teach := regress.Matrix{Width: d, Data: raw.Data[:n*d]}
		linear, trees := regress.ByActionOptions{Intercept: 1, Standardize: true}, regress.BoostOptions{}
		h, err := regress.HybridByAction(context.Background(), teach, action[:n], k, y[:n], linear, trees)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := regress.BoostByAction(context.Background(), teach, action[:n], k, y[:n], nil, trees)
		if err != nil {
			t.Fatal(err)
		}
		loss := func(layers ...features.Layer) (loss float64) {
			in := d
			for i := range layers {
				if err := layers[i].Check(in); err != nil {
					t.Fatal(err)
				}
				in = layers[i].Out()
			}
			net := features.NewNet(layers)
			s, room := make([]float64, k), make([]float64, net.Room())
			for i := n; i < n+test; i++ {
				net.Apply(s, raw.Data[i*d:(i+1)*d], room)
				v := s[action[i]]
				loss += (max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) - y[i]*v) / test
			}
			return loss
		}
		both, tree := loss(h.Layers()...), loss(alone.Layer())
		one := loss(features.Layer{Weights: [][]float64{h.Linear.Theta[:d], h.Linear.Theta[d:]}})
		t.Logf("%s: linear %.4f, trees %.4f, hybrid %.4f", name, one, tree, both)
		if both > 1.02*min(one, tree) || name == "both" && both > min(one, tree) {
			t.Errorf("%s: linear %v, trees %v, hybrid %v", name, one, tree, both)
		}
	}
}

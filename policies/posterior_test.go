package policies_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/policies"
)

func TestKL_EqualsTheFormulaByHand(t *testing.T) {
	// ½[2·3(4/.25 − 1 − log(4/.25)) + (1 + 4)/.25] = ½[6(15 − log 16) + 20]
	q := policies.Posterior{
		Actions: 2, Dim: 3, Mu: []float64{1, 0, 0, 0, 0, 5}, Sigma: 2,
		Prior: policies.Prior{Mean: []float64{0, 0, 0, 0, 0, 3}, Scale: .5},
	}
	want := .5 * (6*(15-math.Log(16)) + 20)
	close(t, "KL", []float64{q.KL()}, []float64{want}, 1e-12)
	close(t, "squared distance", []float64{q.SquaredDistance()}, []float64{5}, 0)

	q.Mu, q.Sigma = q.Prior.Mean, .5
	close(t, "KL at the prior", []float64{q.KL()}, []float64{0}, 0)
	q.Prior.Scale, q.Sigma = 0, 1 // a scale of 0 means 1
	close(t, "KL at the unit prior", []float64{q.KL()}, []float64{0}, 0)
	q.Sigma = 0
	if !math.IsInf(q.KL(), 1) {
		t.Errorf("KL of a point is %v", q.KL())
	}
}

func TestKL_GraphEqualsPlainNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, sigma := range []float64{1e-4, .5, 1, 1.0000001, 2, 1e3} {
		for _, scale := range []float64{.05, .5, 1} {
			q := policies.Posterior{Actions: 3, Dim: 4, Mu: normals(r, 12, 1), Sigma: sigma, Prior: policies.Prior{Mean: normals(r, 12, 1), Scale: scale}}
			g := graph.New(tensor.Float64)
			kl := policies.KL(
				g.Param(graph.NewParam("mu", tensor.Float64, q.Mu, 3, 4)),
				g.Param(graph.NewParam("log sigma", tensor.Float64, []float64{math.Log(sigma)})),
				g.Const("mean", q.Prior.Mean, 3, 4), scale)
			p, err := g.Compile(kl)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			close(t, "KL", []float64{p.Cost()}, []float64{q.KL()}, 1e-13*q.KL())
			rho := sigma * sigma / (scale * scale)
			close(t, "∂KL/∂log σ", p.Grad(p.Params()[1]).Float64s(), []float64{12 * (rho - 1)}, 1e-12*(1+rho))
			var want []float64
			for i, m := range q.Mu {
				want = append(want, (m-q.Prior.Mean[i])/(scale*scale))
			}
			close(t, "∂KL/∂μ", p.Grad(p.Params()[0]).Float64s(), want, 1e-10)
		}
	}
}

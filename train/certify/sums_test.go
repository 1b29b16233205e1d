package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/graph/kernel/simd"
	"opl/policies/propensity"
	"opl/train/logs"
)

// The sums of a row are those of the formula, term by term, with probabilities down to 0 and both paths.
func TestAdd_IsTheFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 5))
	for _, k := range []int{2, 3, 10, 130} {
		for _, confident := range []float64{1, 40, 400} {
			pi, pi0, model := make([]float64, k), make([]float64, k), make([]float64, k)
			var sum, sum0 float64
			for a := range k {
				pi[a], pi0[a], model[a] = math.Exp(-confident*rng.Float64()), .01+rng.Float64(), rng.Float64()
				sum, sum0 = sum+pi[a], sum0+pi0[a]
			}
			for a := range k {
				pi[a], pi0[a] = pi[a]/sum, pi0[a]/sum0
			}
			action := rng.IntN(k)
			for _, of := range [][]float64{nil, model} {
				for _, c := range []float64{0, -1, -.3} {
					e := &costEstimate{pi0: pi0, p: pi0[action], action: action, cost: c, model: of, gamma: 1, clip: 1}
					for _, on := range []bool{true, false} {
						was := simd.Use(on)
						p := kind{risk: newGrid([]float64{1, .3, .01, 1e-6}, nil), gain: newGrid([]float64{.5, .1, .01, 1e-6}, nil)}
						if of != nil {
							p.model = &RewardModel{}
						}
						p.add(e, pi, 2, false, new(addends))
						simd.Use(was)
						for g := range p.risk.ell {
							for _, side := range []struct{ l, shift, got float64 }{{p.risk.ell[g], 0, p.risk.sum[g]}, {p.gain.ell[g], c, p.gain.sum[g]}} {
								want, scale := 0., 0.
								for b, w := range pi {
									x := e.q(b, side.l)
									if b == action {
										x += e.correction(side.l)
									}
									want += w * math.Log1p(-side.l*(x-side.shift)) / 2
									scale += w * math.Abs(math.Log1p(-side.l*(x-side.shift))) / 2
								}
								if !(math.Abs(side.got-want) <= 1e-14*scale) {
									t.Fatalf("K = %d, model %v, ℓ = %v, cost %v: %v, want %v", k, of != nil, side.l, c, side.got, want)
								}
							}
						}
					}
				}
			}
		}
	}
}

// At any time models are shrunk as for propensities that are rounded, so that a Γ which is raised up to there after a
// look changes nothing but the propensities themselves.
func TestAnyTime_ShrinksModelsAsForRounding(t *testing.T) {
	log := &logs.Log{Actions: logs.Numbered(2), Action: []int32{0}, Cost: []float64{-1}, Propensity: []float64{.5},
		Propensities: []float64{.5, .5}}
	for _, c := range []struct {
		gamma   float64
		anyTime bool
		want    float64
	}{{1, false, 1}, {1, true, propensity.Rounded}, {1.005, true, propensity.Rounded}, {1.05, true, 1.1}} {
		e, err := newSums(log, []int{0}, Options{Gamma: c.gamma, AnyTime: c.anyTime}).row(0, nil, nil, nil)
		if err != nil || e.clip != c.want {
			t.Errorf("Γ = %v, at any time %v: models are shrunk as for %v, want %v: %v", c.gamma, c.anyTime, e.clip, c.want, err)
		}
	}
}

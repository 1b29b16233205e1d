package certify_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/train/certify"
	"opl/train/logs"
)

// What is expected is what simulated logs are guaranteed on average, of rewards that are 0 or 1 and of others.
func TestExpected_IsWhatLogsAreGuaranteed(t *testing.T) {
	const n, k = 800, 6
	pi0 := []float64{.3, .3, .2, .1, .06, .04}
	for _, phi := range []float64{1, .1} {
		for _, play := range []int{0, 3, 5} {
			r := rand.New(rand.NewPCG(3, uint64(play)))
			expected := certify.Expect(n, .05)
			var got []float64
			for range 40 {
				l, model := &logs.Log{Actions: logs.Numbered(k), Propensities: []float64{}}, [][]float64{}
				for range n {
					means := make([]float64, k)
					for a := range means {
						means[a] = .2 + .5*r.Float64()
					}
					a, u := 0, r.Float64()
					for ; u >= pi0[a]; a++ {
						u -= pi0[a]
					}
					y := means[a]
					if r.Float64() < phi {
						y = 0
						if r.Float64() < means[a] {
							y = 1
						}
					}
					l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, -y)
					l.Propensity, l.Propensities = append(l.Propensity, pi0[a]), append(l.Propensities, pi0...)
					model = append(model, means)
				}
				plays := func(dst []float64, i int) error { clear(dst); dst[play] = 1; return nil }
				o := certify.Options{Models: []*certify.RewardModel{{Name: "truth", Fixed: true, Dispersion: phi,
					Predict: func(dst []float64, i int) { copy(dst, model[i]) }}}}
				b, err := certify.Fixed(plays, nil, l, logs.Every(n), o)
				if err != nil {
					t.Fatal(err)
				}
				pi := make([]float64, k)
				pi[play] = 1
				for _, means := range model {
					expected.Add(pi, pi0, means, phi)
				}
				got = append(got, .45-b.Reward())
			}
			mean, square := 0.0, 0.0
			for _, v := range got {
				mean, square = mean+v/float64(len(got)), square+v*v/float64(len(got))
			}
			se := math.Sqrt((square - mean*mean) / float64(len(got)))
			if want := expected.Gap(); math.Abs(mean-want) > .1*want+3*se {
				t.Errorf("φ = %v, action %d: %.3f ± %.3f below what is earned, expected %.3f", phi, play, mean, se, want)
			}
		}
	}
}

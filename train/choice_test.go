package train

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/train/logs"
)

// In logs of a policy that explores little, a few rows of large weight decided for learners that are worse than the model
// of the rewards, which knows what such rows earn.
func TestRecipe_ComparesLearnersByADoublyRobustEstimate(t *testing.T) {
	const n, k, d = 500, 3, 6
	right := func(x []float64) (best int) {
		for a := range k {
			if x[a]*x[a+1] > x[best]*x[best+1] {
				best = a
			}
		}
		return best
	}
	for seed := uint64(5); seed < 10; seed++ {
		log := tableLog(n, d, k, seed, func([]float64, int) float64 { return 0 })
		r := rand.New(rand.NewPCG(seed, 5))
		for i := range log.Action {
			x := log.X.(logs.Rows64).Data[d*i : d*(i+1)]
			p, sum := make([]float64, k), 0.
			for a := range p {
				p[a] = math.Exp(3 * x[a])
				sum += p[a]
			}
			for a := range p {
				p[a] = .95*p[a]/sum + .05/k
			}
			a, u := 0, r.Float64()
			for u -= p[0]; u >= 0 && a < k-1; u -= p[a] {
				a++
			}
			log.Action[i], log.Propensity[i], log.Cost[i] = int32(a), p[a], 0
			if (a == right(x)) == (r.Float64() > .05) {
				log.Cost[i] = -1
			}
		}
		got, err := Recipe{Direct: &Direct{}}.Learn(t.Context(), nil, log,
			Config{Seed: 1, LearningRate: .1, Epochs: 2, Delta: .05})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got.Learner, direct) {
			t.Errorf("seed %d: learned by %s", seed, got.Learner)
		}
	}
}

package certify

import "math"

// Expected is about what [Fixed] guarantees of a fixed policy before there are rows, if a model of the reward is right:
// the lower bound v on its reward at which, with the grid of ℓ and its weights,
//
//	Σ_g w_g exp(n E log(1 − ℓ_g X)) / (1 + ℓ_g v)ⁿ = 1/δ.
//
// The mean is over contexts, actions of the logging policy, and rewards: r̂ with probability 1 − φ, else 0 or 1. Rows
// are taken as independent and Γ as 1. The weight that Fixed gives to other kinds of X is left out, so that logs are
// guaranteed a little less.
type Expected struct {
	n, delta       float64
	ell, logWeight []float64
	growth         []float64 // E log(1 − ℓX), summed over contexts
	value, rows    float64
}

// Expect begins with no context: n rows are to certify at δ.
func Expect(n int, delta float64) *Expected {
	e := &Expected{n: float64(n), delta: delta}
	e.ell, e.logWeight = oneLook(n, 1)
	e.growth = make([]float64, len(e.ell))
	return e
}

// Add adds a context where the policy plays pi [K], the logging policy pi0 [K], and rewards are r̂ [K] in [0, 1] of
// the dispersion φ, see [RewardModel].
func (e *Expected) Add(pi, pi0, r []float64, phi float64) {
	e.rows++
	for a, p := range pi {
		e.value += p * r[a]
	}
	for g, l := range e.ell {
		base, rest := 1.0, 1.0 // 1 − ℓX of actions that the policy does not play, and how often they are logged
		for a, p := range pi {
			if p > 0 && pi0[a] > 0 {
				base += l * p * shrink(r[a], l*p/pi0[a], phi)
				rest -= pi0[a]
			}
		}
		growth := max(rest, 0) * math.Log(base)
		for a, p := range pi {
			if p > 0 && pi0[a] > 0 {
				s := l * p / pi0[a]
				at := base - s*shrink(r[a], s, phi)
				growth += pi0[a] * ((1-phi)*math.Log(at+s*r[a]) + phi*(r[a]*math.Log(at+s)+(1-r[a])*math.Log(at)))
			}
		}
		e.growth[g] += growth
	}
}

// Gap is how much less is to be guaranteed than the policy earns.
func (e *Expected) Gap() float64 {
	low, high := 0.0, 1.0
	for range 40 {
		v, sum := (low+high)/2, 0.0
		for g, l := range e.ell {
			sum += math.Exp(e.logWeight[g] + e.n*(e.growth[g]/e.rows-math.Log1p(l*v)))
		}
		if sum > 1/e.delta {
			low = v
		} else {
			high = v
		}
	}
	return e.value/e.rows - low
}

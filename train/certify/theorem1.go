package certify

import (
	"errors"
	"fmt"
	"math"

	"opl/objectives/weights"
	"opl/policies/propensity"
	"opl/train/logs"
)

// theorem1Fits reports why Theorem 1 is no candidate.
func theorem1Fits(pol propensity.Family, log *logs.Log) error {
	switch {
	case !pol.Noisy():
		return fmt.Errorf("policy %s is computed exactly as a mixture of deterministic policies, whose case is Corollary 1", pol.Name())
	case log.LoggedOnly():
		return errors.New("the log has no propensities of all actions")
	}
	return nil
}

// theorem1 is the tightest of the bounds of Theorem 1, two-sided, over λ in the
// grid of Corollary 1, for a family known by S draws π_is of π_θ a row (of
// mixedlogit the softmax policies that it averages; R(π_Q) = E R(π_θ)):
//
//	R̂ + √(KL₁/(2n)) + Bₙ + KL₂/(nλ) + (λ/2)V̄ₙ + sampling(λ)
//	KL₁ = KL + log(4√n/δ'),   KL₂ = KL + log(4Λ/δ'),   δ' = δ/2
//
// R̂, Bₙ and V̄ₙ are means over rows and draws, R̂ + Bₙ + (λ/2)V̄ₙ that of
//
//	Z_is(λ) = ŵ(a_i)c_i + Σ_a |π(a) − π₀(a)ŵ(a)| + (λ/2)(Σ_a π₀(a)ŵ(a)² + ŵ(a_i)²c_i²)
//
// at π = π_is. The other half of δ pays for the sampling: draws are independent,
// hence by Hoeffding's inequality and a union over the grid the expectation
// exceeds the mean of the Z_is by at most
//
//	sampling(λ) = √(log(Λ/δ') Σ_i range_i(λ)²/(2n²S))
//
// for all λ, where range_i is any bound on the range of Z_is. It is found from
// ŵ ≥ 0 nondecreasing in π, with l and u the weights at π = 0 and π = 1:
//
//   - ŵc + (λ/2)ŵ²c² = −t + λt²/2 with t = −ŵc in [−lc, −uc]: a parabola, largest at
//     one of the ends and least at the t nearest to 1/λ;
//   - 0 ≤ Σ_a |π − π₀ŵ| ≤ Σ_a π + Σ_a π₀ŵ ≤ 1 + Σ_a π₀u;
//   - Σ_a π₀l² ≤ Σ_a π₀ŵ² ≤ Σ_a π₀u².
//
// For linear weights the last two are convex in π, which sums to 1, and therefore
// at most the largest of their values at π = 1 for one action alone:
// max_a |1 − π₀u| and max_a π₀u².
func (s sample) theorem1(log *logs.Log, w weights.Weight, kl, delta float64) (Bound, error) {
	n, k, draws := float64(len(s.rows)), log.K(), float64(s.draws)
	low := make([]extent, len(s.rows))
	high := make([]extent, len(s.rows))
	if err := w.Check(); err != nil {
		return Bound{}, err
	}
	m := moments{w, k}
	pi := make([]float64, k)
	for one, ends := range [][]extent{low, high} {
		for a := range pi {
			pi[a] = float64(one)
		}
		m.over(func(add func(i int, pi, pi0 []float64)) {
			for i, r := range s.rows {
				add(i, pi, log.Propensities[r*k:(r+1)*k])
			}
		}, func(i int, value, second, bias []float64) {
			r := s.rows[i]
			e := extent{weight: value[log.Action[r]]}
			for a, p0 := range log.Propensities[r*k : (r+1)*k] {
				if w.Linear() {
					e.second, e.bias = max(e.second, second[a]), max(e.bias, bias[a])
				} else {
					e.second, e.bias = e.second+second[a], e.bias+p0*value[a]
				}
			}
			if !w.Linear() {
				e.bias++
			}
			ends[i] = e
		})
	}
	var risk, b, v float64
	var odd error
	m.over(func(add func(i int, pi, pi0 []float64)) {
		s.each(nil, func(i int, pi, _ []float64) {
			r := s.rows[i]
			add(i, pi, log.Propensities[r*k:(r+1)*k])
		})
	}, func(i int, value, second, bias []float64) {
		t := value[log.Action[s.rows[i]]]
		if slack := 1e-9 * high[i].weight; !(low[i].weight >= 0 && t >= low[i].weight-slack && t <= high[i].weight+slack) {
			odd = fmt.Errorf("weight %s is %v between %v at π = 0 and %v at π = 1: it must be nonnegative and nondecreasing in π", w, t, low[i].weight, high[i].weight)
		}
		c := s.cost[i]
		risk += t * c
		v += t * c * t * c
		for a := range second {
			b += bias[a]
			v += second[a]
		}
	})
	if odd != nil {
		return Bound{}, odd
	}
	risk, b, v = risk/(n*draws), b/(n*draws), v/(n*draws)

	delta /= 2
	kl1, kl2 := kl+math.Log(4*math.Sqrt(n)/delta), kl+math.Log(4*gridSize/delta)
	best := Bound{Risk: math.Inf(1)}
	for g := range gridSize {
		l := geometric(g)
		var square float64
		for i, c := range s.cost {
			r := span(l, -low[i].weight*c, -high[i].weight*c) + high[i].bias + l/2*(high[i].second-low[i].second)
			square += r * r
		}
		sampling := math.Sqrt(math.Log(gridSize/delta) * square / (2 * n * n * draws))
		if r := risk + math.Sqrt(kl1/(2*n)) + b + kl2/(n*l) + l/2*v + sampling; r < best.Risk {
			best = Bound{Risk: r, Lambda: l, Terms: []weights.Term{
				{Name: "risk", Value: risk}, {Name: "bias", Value: b}, {Name: "variance", Value: v}, {Name: "sampling", Value: sampling}, {Name: "KL", Value: kl},
			}}
		}
	}
	return best, nil
}

// extent is what a row's weight, second moment and bias are at one end; the
// second moment's low end is 0 or more, and the bias's is taken as 0.
type extent struct{ weight, second, bias float64 }

// span is the range of −t + λt²/2 over t in [from, to].
func span(lambda, from, to float64) float64 {
	f := func(t float64) float64 { return -t + lambda/2*t*t }
	return max(f(from), f(to)) - f(min(max(1/lambda, from), to))
}

// moments evaluates a weight on rows of propensities [K].
type moments struct {
	w weights.Weight
	k int
}

// over evaluates ŵ, π₀ŵ² and |π − π₀ŵ|, [K] each, for all that source adds, and
// hands them to use under the same number i.
func (m moments) over(source func(add func(i int, pi, pi0 []float64)), use func(i int, value, second, bias []float64)) {
	source(func(i int, pi, pi0 []float64) {
		p, p0 := weights.Column(pi), weights.Column(pi0)
		use(i, m.w.Value(p, p0).(weights.Column), m.w.SecondMoment(p, p0).(weights.Column), m.w.Bias(p, p0).(weights.Column))
	})
}

package train

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"opl/policies/propensity"
)

// temperatures are those of softmax(s/τ) with joint scores s that take the place of the largest score where
// many actions are offered.
var temperatures = []float64{.05, .1, .15, .2, .3, .5, .75, 1, 1.5, 2, 3}

const leastSpread = 30 // actions

// spread chooses the temperature τ that actions are drawn at, 0 for the largest score. Of many actions few rows
// tell what a policy that plays one earns, so that little of its gain can be guaranteed. τ is of the largest
// product of the gain by the model and of what of it is to be guaranteed,
//
//	gain − z_{1−δ} √(E[Σ_a π(a|x)²/π₀(a) ρ r̂(x, a)]/n),   ρ = Σ r³/Σ r²,
//
// where n rows certify and π₀(a) is what an action was logged with on average; with ρ r̂(1 − r̂) where doubly
// robust bounds can be had, and ρ is how large rewards are, of those worth playing for. Temperatures at which
// .95 of the gain is left, then those at which .8 is, three tenths of it to be guaranteed, come before others.
// If nothing is to be guaranteed at any τ, the largest score is played.
func (t *comparison) spread(s []Component, teaching, rows []int) (tau float64, err error) {
	log, err := t.view(s[0].In, rows)
	if err != nil {
		return 0, err
	}
	logged, seen := make([]float64, log.K()), make([]float64, log.K())
	var second, third float64
	for _, i := range teaching {
		logged[log.Action[i]] += log.Propensity[i]
		seen[log.Action[i]]++
		square := log.Cost[i] * log.Cost[i]
		second, third = second+square, third-square*log.Cost[i]
	}
	size := third / second // 1 of rewards that are 0 or 1, less of prices; NaN: all are 0
	all := make([]float64, log.MostOptions())
	scaled, rewards, inverse := slices.Clone(all), slices.Clone(all), slices.Clone(all)
	n, base, modelled := 1+len(temperatures), 0., !log.LoggedOnly()
	gain, square := make([]float64, n), make([]float64, n)
	scorer := log.Scorers(s[0].Theta)()
	for _, i := range rows {
		scores := scorer(i)
		pi, z, r, inverse := all[:len(scores)], scaled[:len(scores)], rewards[:len(scores)], inverse[:len(scores)]
		base -= log.Cost[i]
		for j, v := range scores {
			r[j], inverse[j] = 1/(1+math.Exp(-v)), float64(len(scores))
			if a, _ := log.Option(i, j); seen[a] > 0 {
				inverse[j] = seen[a] / logged[a]
			}
		}
		for k := range n {
			if k == 0 {
				propensity.ArgMax{}.AtMean(pi, scores)
			} else {
				floats.ScaleTo(z, 1/temperatures[k-1], scores)
				propensity.Softmax{}.AtMean(pi, z)
			}
			propensity.AddFloor(pi, t.Floor)
			for j, p := range pi {
				gain[k] += p * r[j]
				v := size * r[j]
				if modelled {
					v *= 1 - r[j]
				}
				square[k] += p * p * inverse[j] * v
			}
		}
	}
	best, z := 0., distuv.UnitNormal.Quantile(1-t.c.Delta)
	most := slices.Max(gain) - base
	for _, keeps := range []float64{.95, .8, 0} {
		for k, v := range gain {
			v -= base
			least := v - z*math.Sqrt(square[k]*float64(len(rows))/float64(t.certifying))
			if v >= keeps*most && (keeps == 0 || least >= .3*v) && v*least > best {
				if best, tau = v*least, 0; k > 0 {
					tau = temperatures[k-1]
				}
			}
		}
		if best > 0 {
			break
		}
	}
	return tau, nil
}

// enough is saturated, and chooses the temperature of what was the best.
func (t *comparison) enough(ctx context.Context, rows []int, best candidate, learned []Component) (of []int,
	err error) {
	if t.Direct != nil {
		t.Direct.tau = 0
		if best.name == direct && !t.Largest && learned[0].In.Joint() && t.log.Lists == nil &&
			t.log.MostOptions() >= leastSpread {
			if t.Direct.tau, err = t.spread(learned, rows, t.held); err != nil {
				return nil, err
			}
		}
	}
	return t.saturated(ctx, rows, best, learned)
}

// temperature is what was chosen for the best candidate, or on rows before.
func (r *Recipe) temperature(best candidate) float64 {
	if r.Direct == nil || best.name != direct {
		return 0
	}
	return r.Direct.tau
}

// spreads is a mixture that draws from softmax(s/τ) instead.
func spreads(s []Component, tau float64) []Component {
	s = slices.Clone(s)
	for i := range s {
		s[i].Theta, s[i].Drawn = floats.ScaleTo(make([]float64, len(s[i].Theta)), 1/tau, s[i].Theta), true
	}
	return s
}

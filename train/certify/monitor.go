package certify

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Watch holds the evidence against the claim that a policy earns at least a given reward on average.
type Watch struct {
	Rows  int     `json:"rows"`  // that were bet on
	Mean  float64 `json:"mean"`  // reward
	SE    float64 `json:"se"`    // of Mean, as if rows were independent
	Claim float64 `json:"claim"` // that the mean reward is at least this
	// E is the e-value against the claim after the last row, and Most the largest after any, first after row At, from
	// 1. If the claim is true, Most reaches 1/δ with probability δ at most.
	E    float64 `json:"e"`
	Most float64 `json:"most"` // the largest e-value so far
	At   int     `json:"at"`   // the row of the largest e-value
}

// bets is the number of bets that Monitor mixes.
const bets = 20

// Monitor bets against the claim g that rewards r_i in [0, 1], in their order, are at least g
// on average, given all before:
//
//	E_t = Σ_j w_j ∏_{i≤t} (1 + λ_j (g − r_i)),  λ_j = 2^(−j/2)/(2(1 − g)),  w_j ∝ 1/(j + 1)²,  j = 0 … 19
//
// Where the claim is true, each factor has mean at most 1, so E is a supermartingale that begins at 1, and by Ville's
// inequality P(sup_t E_t ≥ 1/δ) ≤ δ: it may be looked at after every row. g in [0, 1). Waudby-Smith and Ramdas
// (2024), section 4. E_t does not depend on the order of rewards up to t: where that is not known, looks says after how
// many rewards to look, ascending; none: after each.
func Monitor(rewards []float64, claim float64, looks ...int) (Watch, error) {
	if !(claim >= 0 && claim < 1) {
		return Watch{}, fmt.Errorf("certify: a claim of %v, want one in [0, 1)", claim)
	}
	var lambda, value [bets]float64 // of log E
	total := 0.0
	for j := range bets {
		lambda[j] = math.Pow(2, -float64(j)/2) / 2 / (1 - claim)
		value[j] = -2 * math.Log(float64(j+1))
		total += math.Exp(value[j])
	}
	w := Watch{Rows: len(rewards), Claim: claim, E: 1, Most: 1}
	most, m2 := 0.0, 0.0
	for i, r := range rewards {
		if !(r >= 0 && r <= 1) {
			return Watch{}, fmt.Errorf("certify: reward %d is %v, outside [0, 1]", i, r)
		}
		for j := range bets {
			value[j] += math.Log1p(lambda[j] * (claim - r))
		}
		now := floats.LogSumExp(value[:]) - math.Log(total)
		_, look := slices.BinarySearch(looks, i+1)
		if w.E = math.Exp(min(now, 700)); now > most && (look || looks == nil) {
			most, w.Most, w.At = now, w.E, i+1
		}
		delta := r - w.Mean
		w.Mean += delta / float64(i+1)
		m2 += delta * (r - w.Mean)
	}
	if n := float64(len(rewards)); n > 1 {
		w.SE = math.Sqrt(m2 / (n - 1) / n)
	}
	return w, nil
}

// Refuted reports that the claim is false, but with probability δ.
func (w Watch) Refuted(delta float64) bool { return w.Most >= 1/delta }

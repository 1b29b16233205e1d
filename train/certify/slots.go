package certify

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// Assumption says what the reward of a slot depends on, which decides how the weights of slots make the cost of a
// list.
type Assumption string

// The assumptions, each stronger than the one before.
const (
	NoAssumption Assumption = "none"         // rewards may depend on the whole list
	Cascade      Assumption = "cascade"      // the reward of a slot depends on it and the slots above it
	Independence Assumption = "independence" // the reward of a slot depends on its action and its place alone
	// Varied holds in no order with the others: a column of contexts has one of them for each list, where people use
	// lists in different ways. Kiyohara et al. (2023), with behaviour that is known.
	Varied Assumption = "varied"
)

// AssumedBy returns the column that setting assume names, "" if it is an assumption.
func AssumedBy(assume string) string {
	if column, ok := strings.CutPrefix(assume, "column:"); ok {
		return column
	}
	return ""
}

// Assumptions lists those of all lists.
func Assumptions() []string {
	return []string{string(NoAssumption), string(Cascade), string(Independence)}
}

// Says returns the assumption in words.
func (a Assumption) Says() string {
	switch a {
	case Cascade:
		return "a slot's reward depends on that slot and those above it alone"
	case Independence:
		return "a slot's reward depends on its action and its place alone"
	case Varied:
		return "what a slot's reward depends on differs by list, as its column says"
	}
	return "a slot's reward may depend on the whole list"
}

// SlotWeights reads how the rewards of slots are weighed, α_1, …, α_L of a list of L slots: "mean" (or ""), all
// alike; "dcg", as 1/log₂(l + 1); "top", the first slot alone; or numbers, of which a list takes as many as it has
// slots. They are divided by their sum. "sum" has α_l = 1, for rewards of which a list has one at most. Of "first" and
// "rank" the first reward that is not 0 counts alone, see [FirstClicks]: as it is, or by 1/l, its reciprocal rank.
func SlotWeights(spec string) (func(slots int) []float64, error) {
	var given []float64
	switch spec {
	case "", "mean", "dcg", "top", "sum", "first", "rank":
	default:
		for _, text := range strings.Split(spec, ",") {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v >= 0) || math.IsInf(v, 0) || len(given) == 0 && v == 0 {
				return nil, fmt.Errorf("setting slot-weights %s: want mean, dcg, top, sum, first, rank, or numbers "+
					"that are not negative, the first above 0", spec)
			}
			given = append(given, v)
		}
	}
	return func(slots int) []float64 {
		alpha, sum := make([]float64, slots), 0.
		for l := range alpha {
			switch {
			case spec == "rank":
				alpha[l] = 1 / float64(l+1)
			case spec == "dcg":
				alpha[l] = 1 / math.Log2(float64(l+2))
			case spec == "top" && l > 0, given != nil && l >= len(given):
				alpha[l] = 0
			case given != nil:
				alpha[l] = given[l]
			default:
				alpha[l] = 1
			}
			sum += alpha[l]
		}
		for l := range alpha {
			if spec != "sum" && !FirstClicks(spec) {
				alpha[l] /= sum
			}
		}
		return alpha
	}, nil
}

// FirstClicks reports whether slots are weighed by "first" or "rank". A slot's part then depends on those above.
func FirstClicks(spec string) bool { return spec == "first" || spec == "rank" }

// First makes the costs of each list 0 but for the first that is not.
func (s *Slots) First() {
	s.Cost = slices.Clone(s.Cost)
	for i, from := range s.Starts[:len(s.Starts)-1] {
		clicked := false
		for r := from; r < s.Starts[i+1]; r++ {
			if clicked {
				s.Cost[r] = 0
			}
			clicked = clicked || s.Cost[r] != 0
		}
	}
}

// Slots hold the actions, propensities and rewards of lists, slot by slot.
type Slots struct {
	Starts  []int     // of the slots of each list, and the end
	Pi, Pi0 []float64 // by slot: π and π₀ of a_l given x and the slots above
	// Marginal and Marginal0 are by slot π and π₀ of a_l at l given x alone, whatever stands above; nil: not known.
	Marginal, Marginal0 []float64
	Cost                []float64    // c_l in [−1, 0]
	By                  []Assumption // by list, of Varied
	Alpha               func(slots int) []float64
}

// Weights are, by slot of list i, the weights W_l that make W_l c_l an unbiased estimate of the cost of slot l:
//
//	none          W_l = ∏_j w_j
//	cascade       W_l = ∏_{j≤l} w_j
//	independence  W_l = π(a_l at l|x)/π₀(a_l at l|x)
//	varied        as By has it of the list
//
// w_j = π(a_j|x, a_<j)/π₀(a_j|x, a_<j). With propensities of slots that are known up to a factor Γ they are the
// least that they can be, which can only raise what costs are estimated to be.
func (s Slots) Weights(a Assumption, i int, gamma float64) []float64 {
	if a == Varied {
		a = s.By[i]
	}
	from, to := s.Starts[i], s.Starts[i+1]
	w, product, most := make([]float64, to-from), 1., 1.
	for l := range w {
		if most *= gamma; a == Independence {
			w[l] = s.Marginal[from+l] / min(1, s.Marginal0[from+l]*most)
			continue
		}
		product *= s.Pi[from+l] / min(1, s.Pi0[from+l]*gamma)
		w[l] = product
	}
	if a != Cascade && a != Independence {
		for l := range w {
			w[l] = product
		}
	}
	return w
}

// List is one list as bounds count it: a row with the sums over its slots.
type List struct {
	X          float64 // Σ_l α_l W_l c_l, an unbiased estimate of what the policy's list costs
	Cost       float64 // Σ_l α_l c_l
	Weight     float64 // Σ_l α_l W_l / Σ_l α_l, of mean 1
	Propensity float64 // ∏_l p_l
}

// List sums up list i under an assumption, with propensities that are known up to a factor Γ.
func (s Slots) List(a Assumption, i int, gamma float64) List {
	from, to := s.Starts[i], s.Starts[i+1]
	alpha, out := s.Alpha(to-from), List{Propensity: 1}
	for l, w := range s.Weights(a, i, gamma) {
		c := s.Cost[from+l]
		out.X += alpha[l] * w * c
		out.Cost += alpha[l] * c
		out.Weight += alpha[l] * w
		out.Propensity *= s.Pi0[from+l]
	}
	out.Weight /= floats.Sum(alpha)
	return out
}

// Effective returns the probability that makes X = Effective/Propensity · Cost: bounds count a list as a row whose
// logged action has this probability. It is in [0, 1] as each W_l is at most 1/∏_l p_l.
func (l List) Effective() float64 {
	if l.Cost == 0 {
		return min(1, l.Weight*l.Propensity)
	}
	return min(1, l.X/l.Cost*l.Propensity)
}

// plackettLuce reports whether p, the probabilities of the logged actions of a list slot by slot, are those of a
// Plackett–Luce policy whose first slot has the probabilities first; at are the places of the logged actions there.
func plackettLuce(p, first []float64, at []int) bool {
	left := 1.
	for l, a := range at {
		if math.Abs(p[l]*left-first[a]) > 1e-9*first[a]+1e-15 {
			return false
		}
		left -= first[a]
	}
	return true
}

// Marginals returns π(a_l at m|x) of the logged actions of a list at each of its slots, [l][m], for a Plackett–Luce
// policy. first are its probabilities in the first slot, p those by slot; false says that it is no such policy.
// With λ_a = first_a and arrival times Exp(λ_a),
//
//	P(a at slot m) = ∫ λ_a exp(−λ_a t) P(exactly m − 1 others arrive before t) dt
//
// by the trapezoidal rule in log t, which converges faster than any power of its step, and the Poisson-binomial
// recursion over the others.
func Marginals(p, first []float64, at []int) ([][]float64, bool) {
	if !plackettLuce(p, first, at) {
		return nil, false
	}
	const step = 0.125
	out := make([][]float64, len(at))
	for l := range out {
		out[l] = make([]float64, len(at))
	}
	low, high := math.Log(1e-18), math.Log(40/math.Max(slices.Min(first), 1e-300))
	count := make([]float64, len(at))
	for s := low; s <= high; s += step {
		t := math.Exp(s)
		for l, a := range at {
			density := first[a] * t * math.Exp(-first[a]*t) * step
			if density == 0 {
				continue
			}
			clear(count)
			count[0] = 1 // P(exactly m of the others so far have arrived)
			for b, rate := range first {
				if b == a {
					continue
				}
				arrived := -math.Expm1(-rate * t)
				for m := len(at) - 1; m > 0; m-- {
					count[m] += arrived * (count[m-1] - count[m])
				}
				count[0] *= 1 - arrived
			}
			for m, others := range count {
				out[l][m] += density * others
			}
		}
	}
	return out, true
}

// Pseudoinverse returns the weight W of a list in the estimate W Σ_l α_l r_l of what a policy's list earns. The
// estimate is unbiased if a list's reward is a sum of terms, each of one action and its slot. W is the only
// such sum itself with E₀[W 1(a at l)] = π(a at l|x) for all a and l; its mean is 1, and it may be negative. Of
// lists that were drawn evenly among K actions, with q_l(a) = π(a at l|x) and Q(a) = Σ_l q_l(a),
//
//	W = 1 + Σ_l (K−1)/K (K q_l(a_l) − 1 + (K Q(a_l) − L)/(K − L))
//
// without the last term if L = K, as Q is 1 then. placed are q_m(a_l) by [l][m]. Swaminathan et al. (2017), eq. 3.
func Pseudoinverse(placed [][]float64, actions int) float64 {
	k, slots := float64(actions), float64(len(placed))
	w := 1.
	for l, at := range placed {
		g := k*at[l] - 1
		if len(placed) < actions {
			g += (k*floats.Sum(at) - slots) / (k - slots)
		}
		w += (k - 1) / k * g
	}
	return w
}

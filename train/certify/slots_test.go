package certify_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/train/certify"
)

// orders calls use with every list of some slots among k actions, and its places.
func orders(k, slots int, use func(list []int)) {
	var extend func(list []int)
	extend = func(list []int) {
		if len(list) == slots {
			use(list)
			return
		}
	next:
		for a := range k {
			for _, b := range list {
				if a == b {
					continue next
				}
			}
			extend(append(list[:len(list):len(list)], a))
		}
	}
	extend(nil)
}

// inSequence are the probabilities, slot by slot, of a list of a Plackett–Luce policy.
func inSequence(first []float64, list []int) []float64 {
	p, left := make([]float64, len(list)), 1.
	for l, a := range list {
		p[l] = first[a] / left
		left -= first[a]
	}
	return p
}

// Marginals by quadrature are those that the enumeration of all lists gives.
func TestMarginals_AreThoseOfAllLists(t *testing.T) {
	for _, first := range [][]float64{
		{0.25, 0.25, 0.25, 0.25}, {0.7, 0.2, 0.06, 0.04}, {0.5, 0.3, 0.1999, 0.0001}, {0.97, 0.01, 0.01, 0.006, 0.004},
	} {
		for slots := 1; slots <= len(first); slots++ {
			want := make([][]float64, slots)
			for l := range want {
				want[l] = make([]float64, len(first))
			}
			orders(len(first), slots, func(list []int) {
				joint := 1.
				for _, p := range inSequence(first, list) {
					joint *= p
				}
				for l, a := range list {
					want[l][a] += joint
				}
			})
			orders(len(first), slots, func(list []int) {
				got, ok := certify.Marginals(inSequence(first, list), first, list)
				if !ok {
					t.Fatalf("%v of %v: not taken for Plackett–Luce", list, first)
				}
				for l, a := range list {
					for m, got := range got[l] {
						if math.Abs(got-want[m][a]) > 1e-12+1e-10*want[m][a] {
							t.Errorf("%v of %v, action of slot %d at %d: %v, want %v", list, first, l, m, got, want[m][a])
						}
					}
				}
			})
		}
	}
	if _, ok := certify.Marginals([]float64{0.5, 0.5}, []float64{0.5, 0.25, 0.25}, []int{0, 1}); !ok {
		t.Error("a Plackett–Luce policy is refused")
	}
	if _, ok := certify.Marginals([]float64{0.5, 0.6}, []float64{0.5, 0.25, 0.25}, []int{0, 1}); ok {
		t.Error("a policy that is not Plackett–Luce is taken for one")
	}
}

// Each X has the mean that the table of assumptions promises, in worlds where the assumption holds, exactly: all lists
// of a world of four actions are enumerated.
func TestSlots_AreUnbiased(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pi0, pi := []float64{0.4, 0.3, 0.2, 0.1}, []float64{0.1, 0.15, 0.25, 0.5}
	alone, above, whole := r.Perm(16), r.Perm(64), r.Perm(64)
	worlds := map[certify.Assumption]func(list []int, l int) float64{
		certify.Independence: func(s []int, l int) float64 { return -float64(alone[s[l]*3+l]) / 16 },
		certify.Cascade: func(s []int, l int) float64 {
			at := s[0] * 16
			for j := 1; j <= l; j++ {
				at += (s[j]+1)*3*j + l
			}
			return -float64(above[at%64]) / 64
		},
		certify.NoAssumption: func(s []int, l int) float64 { return -float64(whole[s[0]+4*s[1]+16*s[2]]) / 64 },
	}
	holds := map[certify.Assumption][]certify.Assumption{
		certify.Independence: {certify.Independence, certify.Cascade, certify.NoAssumption},
		certify.Cascade:      {certify.Cascade, certify.NoAssumption},
		certify.NoAssumption: {certify.NoAssumption},
	}
	for _, spec := range []string{"mean", "dcg", "top", "3,2,1"} {
		alpha, err := certify.SlotWeights(spec)
		if err != nil {
			t.Fatal(err)
		}
		for world, cost := range worlds {
			means, truth := map[certify.Assumption]float64{}, 0.
			orders(4, 3, func(list []int) {
				s := certify.Slots{Starts: []int{0, 3}, Pi: inSequence(pi, list), Pi0: inSequence(pi0, list), Alpha: alpha}
				for p, to := range map[*[4]float64]*[]float64{(*[4]float64)(pi): &s.Marginal, (*[4]float64)(pi0): &s.Marginal0} {
					placed, _ := certify.Marginals(inSequence(p[:], list), p[:], list)
					for l := range list {
						*to = append(*to, placed[l][l])
					}
				}
				joint := 1.
				for l := range list {
					s.Cost = append(s.Cost, cost(list, l))
					joint *= s.Pi[l]
				}
				for _, a := range []certify.Assumption{certify.NoAssumption, certify.Cascade, certify.Independence} {
					x := s.List(a, 0, 1)
					means[a] += x.Propensity * x.X
					if e := x.Effective(); math.Abs(e/x.Propensity*x.Cost-x.X) > 1e-12 || e > 1 {
						t.Errorf("%s: effective probability %v does not give X = %v", a, e, x.X)
					}
					if wide := s.List(a, 0, 1.2); wide.X < x.X {
						t.Errorf("%s: X falls from %v to %v where propensities are known less well", a, x.X, wide.X)
					}
					if a == certify.NoAssumption {
						truth += joint * x.Cost
					}
				}
			})
			for _, a := range holds[world] {
				if math.Abs(means[a]-truth) > 1e-9 {
					t.Errorf("world %s, assumption %s, weights %s: mean %v, want %v", world, a, spec, means[a], truth)
				}
			}
		}
	}
}

// With propensities that are known up to Γ no weight is above what any propensities within the factor would give, and
// some are reached: a slot's marginal is a sum of products of as many propensities as there are slots down to it.
func TestSlots_WeightsAreTheLeastWithinGamma(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	const gamma = 1.3
	for range 500 {
		n := 1 + r.IntN(4)
		s := certify.Slots{Starts: []int{0, n}}
		actual := s
		for l := range n {
			p, m := .01+.4*r.Float64(), .01+.2*r.Float64()
			off := func(most float64) float64 { // least and largest are met
				return []float64{most, 1 / most, math.Pow(most, 2*r.Float64()-1)}[r.IntN(3)]
			}
			pi, marginal := r.Float64(), r.Float64()
			s.Pi, s.Pi0 = append(s.Pi, pi), append(s.Pi0, p)
			s.Marginal, s.Marginal0 = append(s.Marginal, marginal), append(s.Marginal0, m)
			actual.Pi0 = append(actual.Pi0, p*off(gamma))
			actual.Marginal0 = append(actual.Marginal0, m*off(math.Pow(gamma, float64(l+1))))
		}
		actual.Pi, actual.Marginal = s.Pi, s.Marginal
		for _, a := range certify.Assumptions() {
			least, known := s.Weights(certify.Assumption(a), 0, gamma), s.Weights(certify.Assumption(a), 0, 1)
			for l, w := range actual.Weights(certify.Assumption(a), 0, 1) {
				if least[l] > w*(1+1e-12) || !(least[l] < known[l]) {
					t.Fatalf("%s, slot %d of %d: %v with Γ, %v without, %v in truth", a, l+1, n, least[l], known[l], w)
				}
			}
		}
	}
}

// Weights of the pseudoinverse make any sum over slots of terms of an action and its slot unbiased, where lists are drawn
// evenly, with as many slots as actions, too; and they are such a sum.
func TestPseudoinverse_IsUnbiasedForSumsOverSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pi, even := []float64{0.1, 0.15, 0.25, 0.5}, []float64{.25, .25, .25, .25}
	for slots := 1; slots <= 4; slots++ {
		term := make([]float64, 4*slots)
		for i := range term {
			term[i] = r.Float64()
		}
		mean, truth, got := 0., 0., 0.
		orders(4, slots, func(list []int) {
			p, p0, x := 1., 1., 0.
			in, in0 := inSequence(pi, list), inSequence(even, list)
			for l, a := range list {
				p, p0, x = p*in[l], p0*in0[l], x+term[a*slots+l]
			}
			placed, _ := certify.Marginals(in, pi, list)
			w := certify.Pseudoinverse(placed, 4)
			mean, truth, got = mean+p0*w, truth+p*x, got+p0*w*x
		})
		if math.Abs(mean-1) > 1e-10 || math.Abs(got-truth) > 1e-10 {
			t.Errorf("%d slots: weights of mean %v, and %v, want %v", slots, mean, got, truth)
		}
	}
}

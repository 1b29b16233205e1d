package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/train/certify"
	"opl/train/logs"
)

// lists of slots among k actions, each of which offers the rest of what the first does, in an order of its own.
func listsOf(n, k, slots int, r *rand.Rand) *logs.Log {
	log := &logs.Log{Actions: logs.Numbered(k), Lists: &logs.Lists{}, Choices: &logs.Choices{}}
	for i := range n {
		left := r.Perm(k)
		for l := range slots {
			at := r.IntN(len(left))
			c := log.Choices
			c.First, c.Count, c.At = append(c.First, int64(len(c.Actions))), append(c.Count, int32(len(left))), append(c.At, int32(at))
			for _, a := range left {
				c.Actions = append(c.Actions, int32(a))
			}
			log.Action = append(log.Action, int32(left[at]))
			log.Lists.Of, log.Lists.Slot = append(log.Lists.Of, int32(i)), append(log.Lists.Slot, int32(l+1))
			log.Group = log.Lists.Of
			left = slices.Delete(left, at, at+1)
		}
	}
	return log
}

func TestWholeGroups_AreThoseOfSome(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	log := listsOf(100, 4, 3, r)
	rows := r.Perm(300)
	for _, most := range []int{300, 90, 1} {
		some := wholeGroups(log, rows, most)
		if want := max(3, most); len(some) != want {
			t.Fatalf("%d rows of at most %d", len(some), most)
		}
		seen := map[int]bool{}
		for i := 0; i < len(some); i += 3 {
			if some[i]%3 != 0 || some[i+1] != some[i]+1 || some[i+2] != some[i]+2 || seen[some[i]] {
				t.Fatalf("rows %v are no list, or one that was there", some[i:i+3])
			}
			seen[some[i]] = true
		}
	}
}

// What a slot does not offer any more has the score that it would have there, if all scores rise alike.
func TestSpreading_KnowsScoresOfWhatWasShownAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	log := listsOf(20, 6, 4, r)
	score := func(row int, a int32) float64 {
		return float64(a) + float64(log.Lists.Of[row]) - 10*float64(log.Lists.Slot[row])
	}
	scorer := func(row int) (all []float64) {
		for j := range log.Options(row) {
			a, _ := log.Option(row, j)
			all = append(all, score(row, a))
		}
		return all
	}
	m := spreading{log: log}
	for first := 0; first < log.Len(); first += 4 {
		all, rest := m.slots([]int{first, first + 1, first + 2, first + 3}, scorer)
		if !rest {
			t.Fatal("slots offer the rest, and were taken for sets of their own")
		}
		for l, scores := range all {
			for j := range 6 {
				if a, _ := log.Option(first, j); math.Abs(scores[j]-score(first+l, a)) > 1e-9 {
					t.Errorf("slot %d: action %d has score %v, want %v", l+1, a, scores[j], score(first+l, a))
				}
			}
		}
	}
	log.Choices.Actions[int(log.Choices.First[1])] = 7 // a set of its own
	if all, rest := m.slots([]int{0, 1}, scorer); rest || len(all[1]) != 5 {
		t.Errorf("a slot with a set of its own: %v", all)
	}
}

// second, of lists that the policy draws, has the mean of the square of what lists of the logging policy estimate, for
// each assumption.
func TestSpreading_SecondMomentIsThatOfTheEstimate(t *testing.T) {
	const k, slots = 4, 2
	alpha, r := []float64{.7, .3}, rand.New(rand.NewPCG(3, 3))
	var pi, pi0, reward [slots][k]float64
	for l := range slots {
		for a := range k {
			pi[l][a], pi0[l][a], reward[l][a] = r.Float64(), .1+r.Float64(), r.Float64()
		}
	}
	given := func(p [k]float64, a, above int, own bool) float64 { // p of a, of what is left
		sum := 0.
		for b, v := range p {
			if own || b != above {
				sum += v
			}
		}
		return p[a] / sum
	}
	for _, of := range []logs.Lists{{}, {Assume: "cascade"}, {Assume: "independence"}, {Whole: true}} {
		m := spreading{log: &logs.Log{Lists: &of}, size: 1}
		own := of.Assume == string(certify.Independence) // slots have sets of their own
		var want, got float64
		for a := range k {
			for b := range k {
				if a == b && !own {
					continue
				}
				p0, p := given(pi0[0], a, -1, own)*given(pi0[1], b, a, own), given(pi[0], a, -1, own)*given(pi[1], b, a, own)
				w := []float64{given(pi[0], a, -1, own) / given(pi0[0], a, -1, own), given(pi[1], b, a, own) / given(pi0[1], b, a, own)}
				r := []float64{reward[0][a], reward[1][b]}
				got += p * m.second(alpha, w, r)
				s := certify.Slots{Starts: []int{0, 2}, Pi: w, Pi0: []float64{1, 1}, Marginal: w, Marginal0: []float64{1, 1}}
				weight := s.Weights(certify.Assumption(of.Assume), 0, 1)
				if of.Whole { // one reward, by what its slots expect
					want += p0 * weight[0] * weight[0] * (alpha[0]*r[0] + alpha[1]*r[1])
					continue
				}
				for y := range 4 { // clicks
					c, chance, x := []float64{float64(y % 2), float64(y / 2)}, 1., 0.
					for l := range slots {
						chance *= c[l]*r[l] + (1-c[l])*(1-r[l])
						x += alpha[l] * weight[l] * c[l]
					}
					want += p0 * chance * x * x
				}
			}
		}
		if math.Abs(got-want) > 1e-12*want {
			t.Errorf("%+v: %v, by enumeration %v", of, got, want)
		}
	}
}

// A mean over rows that depend on one another has the error of as many rows as there are groups, and groups are not
// parted by the rows that judge.
func TestMeanByGroup_CountsGroups(t *testing.T) {
	const groups, each = 40, 25
	r := rand.New(rand.NewPCG(4, 4))
	log, d := &logs.Log{}, []float64(nil)
	for g := range groups {
		v := r.NormFloat64()
		for range each {
			log.Group, d = append(log.Group, int32(g)), append(d, v)
		}
	}
	rows := logs.Every(groups * each)
	mean, se := meanByGroup(d, log, rows)
	apart, less := meanByGroup(d, &logs.Log{}, rows)
	if math.Abs(se-less*math.Sqrt(each)) > 1e-12 || mean != apart {
		t.Errorf("%v ± %v by groups, %v ± %v by rows", mean, se, apart, less)
	}
	log.Group[3] = -1 // by itself
	rows = r.Perm(len(rows))
	tried := wholeGroups(log, rows, len(rows))
	if cut := cutGroups(log, tried); len(tried) != len(rows) || cut < 776 || cut > 800 ||
		groupOf(log, tried[cut]) == groupOf(log, tried[cut-1]) {
		t.Errorf("%d rows of %d, cut at %d", len(tried), len(rows), cut)
	}
	for i := range log.Group {
		log.Group[i] = 0
	}
	if cut := cutGroups(log, rows); cut != 800 {
		t.Errorf("one group is cut at %d", cut)
	}
}

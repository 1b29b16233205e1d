package train

import (
	"math/bits"
	"slices"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/train/logs"
)

// What a training does where rows are slots of lists, see [logs.Lists].

// slotsOf is how many slots each list of the log has, if they can be learned from as lists: all have as many, in one
// context and from one set each, and the objective needs no other probabilities. 0: slots are rows of their own.
func (f *fitting) slotsOf() int {
	slots := uniformLists(f.log)
	if slots < 2 {
		return 0
	}
	mu := graph.NewParam("mu", f.Dtype, f.Prior.Mean, f.k, f.m)
	s := f.Config.setup(f.log, &objectives.Params{Dtype: f.Dtype, Mu: mu})
	s.Slots = slots
	p, err := objectives.New(s, 1)
	if err != nil || f.Objective(p).Err() != nil {
		return 0
	}
	return slots
}

// uniformLists is the number of slots of each list, 0 if they differ, or have contexts or sets of their own.
func uniformLists(log *logs.Log) int {
	if log.Lists == nil || !log.Sets() || log.Propensity == nil {
		return 0
	}
	starts := log.Lists.Starts()
	slots := starts[1]
	for i, first := range starts[:len(starts)-1] {
		if starts[i+1]-first != slots {
			return 0
		}
		for r := first + 1; r < first+slots; r++ {
			if log.Context(r) != log.Context(first) || log.Lists.Slot[r] != log.Lists.Slot[r-1]+1 || !offersTheRest(log, r) {
				return 0
			}
		}
	}
	return slots
}

// offersTheRest reports that a row offers what the one above does, in its order, but for what that one shows.
func offersTheRest(log *logs.Log, r int) bool {
	if log.Options(r) != log.Options(r-1)-1 {
		return false
	}
	gone := log.Chosen(r - 1)
	for j := range log.Options(r) {
		at := j
		if j >= gone {
			at++
		}
		a, item := log.Option(r, j)
		if above, its := log.Option(r-1, at); a != above || item != its {
			return false
		}
	}
	return true
}

// rowsOf are the rows of lists, or the rows themselves.
func (f *fitting) rowsOf(lists []int) []int {
	if f.slots == 0 {
		return lists
	}
	f.listed = f.listed[:0]
	for _, i := range lists {
		for l := range f.slots {
			f.listed = append(f.listed, i*f.slots+l)
		}
	}
	return f.listed
}

// placeInList is the place of a slot's action among what the first slot of its list offers: each slot offers what the
// one above does, in its order, but for what that one shows.
func placeInList(l *logs.Log, slots []int) int {
	last := len(slots) - 1
	place := l.Chosen(slots[last])
	for _, r := range slices.Backward(slots[:last]) {
		if place >= l.Chosen(r) {
			place++
		}
	}
	return place
}

// wholeGroups are at most so many of the rows, evenly spaced; those of groups, such as lists, whole, one group after the
// other, so that none is tried by what was learned from it.
func wholeGroups(log *logs.Log, rows []int, most int) (some []int) {
	if log.Group == nil {
		return evenly(rows, most)
	}
	of, groups := map[int][]int{}, []int(nil)
	for _, r := range rows {
		g := groupOf(log, r)
		if of[g] == nil {
			groups = append(groups, g)
		}
		of[g] = append(of[g], r)
	}
	for _, g := range evenly(groups, max(1, most*len(groups)/max(1, len(rows)))) {
		slices.Sort(of[g])
		some = append(some, of[g]...)
	}
	return some
}

// groupOf is the group of a row, below 0 that of a row by itself.
func groupOf(log *logs.Log, r int) int {
	if log.Group == nil || log.Group[r] < 0 {
		return -1 - r
	}
	return int(log.Group[r])
}

// cutGroups is about how many of the rows are four fifths, without parting a group if none has many.
func cutGroups(log *logs.Log, rows []int) int {
	most := len(rows) * 4 / 5
	for cut := most; cut > len(rows)/2; cut-- {
		if groupOf(log, rows[cut]) != groupOf(log, rows[cut-1]) {
			return cut
		}
	}
	return most
}

// splitLists divides the rows of a log as SplitPrior does, and lists as wholes.
func splitLists(log *logs.Log, share float64, seed uint64) (prior, rest []int, err error) {
	if log.Lists == nil {
		return SplitPrior(log.Len(), share, seed)
	}
	starts := log.Lists.Starts()
	if prior, rest, err = SplitPrior(len(starts)-1, share, seed); err != nil {
		return nil, nil, err
	}
	slots := func(lists []int) (rows []int) {
		for _, i := range lists {
			for r := starts[i]; r < starts[i+1]; r++ {
				rows = append(rows, r)
			}
		}
		return rows
	}
	return slots(prior), slots(rest), nil
}

// MostListed is the most actions of data sets that [EvaluateLists] takes: it goes through all sets of them.
const MostListed = 16

// EvaluateLists computes what the lists of a policy without a posterior earn on labelled examples, exactly, as
// [logs.ListsFromLabels] rewards them: the mean of Σ_l π(y_i at l|x_i)·[logs.Examined](l). The probability of a
// label at a slot is a sum over the sets of actions that may stand above. Reward.Sampled is of one list drawn for each
// example.
func EvaluateLists(pol policies.Policy, q policies.Posterior, x logs.Contexts, labels []uint8, slots int,
	seed uint64) (rw Reward) {
	k, draws := q.Actions, Stream(seed, "evaluation actions")
	reach := make([]float64, 1<<k) // the probability that the slots above show a set of actions, by set
	pi, left := make([]float64, k), make([]float64, k)
	logs.Scores(x, nil, q.Mu, k, func(i int, scores []float64) {
		y, u := int(labels[i]), draws.Float64()
		clear(reach)
		reach[0] = 1
		for set, p := range reach {
			l := bits.OnesCount(uint(set)) + 1
			if p == 0 || l > slots {
				continue
			}
			left = left[:0]
			for a, s := range scores {
				if set>>a&1 == 0 {
					left = append(left, s)
				}
			}
			pi := pi[:len(left)]
			pol.At(pi, left, 0, nil)
			for a := range k {
				switch {
				case set>>a&1 != 0:
					continue
				case a != y:
					reach[set|1<<a] += p * pi[0]
				default:
					rw.Mean += p * pi[0] * logs.Examined(l)
					if drawn := u < 0; !drawn {
						if u -= p * pi[0]; u < 0 {
							rw.Sampled += logs.Examined(l)
						}
					}
				}
				pi = pi[1:]
			}
		}
	})
	rw.Mean /= float64(x.Len())
	rw.Sampled /= float64(x.Len())
	rw.AtMean = rw.Mean
	return rw
}

package inspect

import (
	"fmt"
	"math"

	"opl/train/certify"
)

// OfLists is what the report says of an assumption about lists, in words.
func (r Report) OfLists(assume certify.Assumption) string {
	if f, ok := r.Finding(assumptionCheck(assume)); ok {
		return f.Measured
	}
	return "not tested"
}

// assumptionCheck is the name of the check of an assumption about lists.
func assumptionCheck(a certify.Assumption) string { return string(a) + " of slots" }

// lists describes lists, slot by slot, and tests what may be assumed of them.
func (l *log) lists() {
	if l.Lists == nil || l.merged {
		return
	}
	starts := l.Lists.Starts()
	var reward, square, rows []float64
	forced, chosen := 0, 0 // slots that could only be what they were, though something was left; slots with a choice
	for i, slot := range l.Lists.Slot {
		for len(rows) < int(slot) {
			reward, square, rows = append(reward, 0), append(square, 0), append(rows, 0)
		}
		r := -l.Cost[i]
		reward[slot-1], square[slot-1], rows[slot-1] = reward[slot-1]+r, square[slot-1]+r*r, rows[slot-1]+1
		if l.Options(i) > 1 {
			if chosen++; l.Propensity != nil && l.Propensity[i] == 1 {
				forced++
			}
		}
	}
	f := Finding{Check: "slots", Measured: fmt.Sprintf("%d lists of %d to %d slots; mean reward by slot", len(starts)-1,
		shortest(starts), len(rows))}
	for s, n := range rows {
		m := reward[s] / n
		se := math.Sqrt(max(0, square[s]/n-m*m) / n)
		f.Numbers = append(f.Numbers, Number{fmt.Sprintf("slot %d", s+1), l.units.At(m)})
		if s < 10 {
			f.Measured += fmt.Sprintf(" %.3g ± %.1g", l.units.At(m), se*l.units.Span())
		}
	}
	l.judge(f, chosen > 0 && forced == chosen, Unusable, "orders are deterministic: of no other order is it known what "+
		"it earns", "draw each slot: a floor of 0.1, spread over what is left, shows every action in every slot some of "+
		"the time; serve lists by a policy file, which does that and logs the propensities")
	if l.Propensity == nil || l.Lists.Whole {
		return
	}
	assumed := certify.Assumption(l.Lists.Assume)
	l.assumption(starts, certify.Cascade, assumed == certify.Cascade || assumed == certify.Independence, 1)
	l.assumption(starts, certify.Independence, assumed == certify.Independence, -1)
}

// shortest is the least number of slots of a list.
func shortest(starts []int) int {
	least := math.MaxInt
	for i := range starts[1:] {
		least = min(least, starts[i+1]-starts[i])
	}
	return least
}

// assumption tests whether the reward of a slot depends on the action in the slot below it (beside = 1), which a
// cascade excludes, or above it (beside = −1), which independence excludes.
//
// For true propensities, with b the action beside slot l and any function h of it whose sum over what could stand there
// is 0, r_l h(b)/p has mean 0 where r_l does not depend on b; p is the propensity of b, and if b stands above of both
// slots. h is what rewards beside b were on one half of the lists, less its mean over what could stand there. So the sum
// over the other half, by its standard error, is about normal, and one that is positive by more than chance refutes the
// assumption.
func (l *log) assumption(starts []int, a certify.Assumption, assumed bool, beside int) {
	sums, total := map[int32][2]float64{}, [2]float64{} // of one half of the lists: Σ r/p and Σ 1/p by action beside
	each := func(half int, use func(row, other int, weight float64)) {
		for list := half; list < len(starts)-1; list += 2 {
			first := starts[list]
			for i := first; i < starts[list+1]; i++ {
				other := i + beside
				if other < first || other >= starts[list+1] || l.Options(other) < 3 {
					continue
				}
				w := 1 / l.Propensity[max(i, other)]
				if beside < 0 {
					w /= l.Propensity[other]
				}
				use(i, other, w*l.rowWeight(i))
			}
		}
	}
	each(0, func(i, other int, w float64) {
		s := sums[l.Action[other]]
		sums[l.Action[other]] = [2]float64{s[0] - w*l.Cost[i], s[1] + w}
		total = [2]float64{total[0] - w*l.Cost[i], total[1] + w}
	})
	if total[1] == 0 {
		return
	}
	base := total[0] / total[1]
	effect := func(b int32) float64 { // shrunk by what an action weighs
		s := sums[b]
		return (s[0] - s[1]*base) / (s[1] + total[1]/float64(len(sums)))
	}
	var clusters []float64 // Σ over slots of a list
	last := -1
	each(1, func(i, other int, w float64) {
		mean, n := 0., 0.
		for j := range l.Options(other) {
			if b, _ := l.Option(other, j); b != l.Action[i] {
				mean, n = mean+effect(b), n+1
			}
		}
		if at := int(l.Lists.Of[i]); at != last {
			last, clusters = at, append(clusters, 0)
		}
		clusters[len(clusters)-1] += w * (-l.Cost[i] - base) * (effect(l.Action[other]) - mean/n)
	})
	var sum, square float64
	for _, v := range clusters {
		sum, square = sum+v, square+v*v
	}
	if len(clusters) < 100 || square == 0 {
		return
	}
	z, where := sum/math.Sqrt(square), "below"
	if beside < 0 {
		where = "above"
	}
	f := Finding{Check: assumptionCheck(a), About: Assumed, Numbers: []Number{{"z", z}},
		Measured: fmt.Sprintf("no effect of the slot %s on rewards is found, z = %.1f", where, z)}
	const critical = 3.72 // one side of alpha
	if z > critical {
		f.Measured = fmt.Sprintf("rewards of slots depend on what stands %s, z = %.1f: %s does not hold", where, z, a)
	}
	l.judge(f, z > critical && assumed, Doubtful, "estimates and guarantees by this assumption are of rewards that do "+
		"not depend on it", "give setting assume "+map[bool]string{true: "cascade, or none", false: "none"}[beside < 0]+
		", which needs more lists")
}

package inspect

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/regress"
)

// OfLists says what the inspection found about an assumption on lists.
func (r Report) OfLists(assume certify.Assumption) string {
	if f, ok := r.Finding(assumptionCheck(assume)); ok {
		return f.Measured
	}
	return "not tested"
}

// assumptionCheck names the check of an assumption about lists.
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
			chosen++
			if l.Propensity != nil && l.Propensity[i] == 1 ||
				l.Lists.Jointly() && l.Lists.Joint[l.Lists.Of[i]] == 1 {
				forced++
			}
		}
	}
	shortest := math.MaxInt
	for i := range starts[1:] {
		shortest = min(shortest, starts[i+1]-starts[i])
	}
	l.report.Lists = len(starts) - 1
	f := Finding{Check: "slots", Measured: fmt.Sprintf("%d lists of %d to %d slots; mean reward by slot", len(starts)-1,
		shortest, len(rows))}
	for s, n := range rows {
		m := reward[s] / n
		se := math.Sqrt(max(0, square[s]/n-m*m) / n)
		f.Numbers = append(f.Numbers, Number{fmt.Sprintf("slot %d", s+1), l.units.At(m)})
		if s < 10 {
			f.Measured += fmt.Sprintf(" %.3g ± %.1g", l.units.At(m), logs.Half(se)*l.units.Span())
		}
	}
	l.judge(f, chosen > 0 && forced == chosen, Unusable, "orders are deterministic: of no other order is it known "+
		"what it earns", "draw each slot: a floor of 0.1, spread over what is left, shows every action in every slot "+
		"some of the time; serve lists by a policy file, which does that and logs the propensities")
	l.lengths(starts, shortest, len(rows))
	if l.Lists.Jointly() {
		l.joint(starts)
	}
	if l.Propensity == nil || l.Lists.Whole {
		return
	}
	assumed := certify.Assumption(l.Lists.Assume)
	l.assumption(starts, certify.Cascade, assumed == certify.Cascade || assumed == certify.Independence, true)
	l.assumption(starts, certify.Independence, assumed == certify.Independence, false)
}

// offeredAgain doubts lists whose slots offer what stands above them where none shows it again.
func (l *log) offeredAgain() {
	if l.Lists == nil || l.merged || !l.Sets() || l.ByPlace() {
		return
	}
	again, left, starts := 0, mostOptions, l.Lists.Starts()
	for list, first := range starts[:len(starts)-1] {
		for i := first + 1; i < starts[list+1] && left > 0; i++ {
			above := l.Action[first:i]
			if slices.Contains(above, l.Action[i]) { // they may
				return
			}
			left -= l.Options(i)
			for j := range l.Options(i) {
				if a, _ := l.Option(i, j); slices.Contains(above, a) {
					again++
					break
				}
			}
		}
	}
	f := Finding{Check: "what slots offer", Measured: fmt.Sprintf("%d slots offer what stands above them, and no list shows "+
		"an action twice", again)}
	l.judge(f, again > 0, Doubtful, "policies are valued as if they could show an action twice",
		"leave out of what a slot offers what stands above it, or write a list as one row, with slots")
}

// lengths tests whether where a list ends depends on its rewards: of lists that are shorter than others the last slot
// is compared with those before it, by what each earns beyond the mean of its slot. How many slots are shown may depend
// on who looks at them, so that differences below ¾ of a standard deviation are none.
func (l *log) lengths(starts []int, shortest, longest int) {
	if shortest == longest || l.Lists.Whole {
		return
	}
	beyond, square := l.withoutSlots(func(_, i int) float64 { return -l.Cost[i] }), 0.
	var runs []run
	for list, first := range starts[:len(starts)-1] {
		end := starts[list+1]
		var r run
		for i := first; i < end; i++ {
			v := beyond(0, i)
			square += v * v
			r.add(v)
		}
		if r.n == 1 {
			r.n++ // beside the mean of all
		}
		if end-first < longest {
			runs = append(runs, r)
		}
	}
	l.ends(endsOfLists, math.Sqrt(square/float64(l.n))*3/4, "slot of %.0f shorter lists earns %.2g more than those", runs)
}

// listCost is the cost of row i, or of the list that begins with it.
func (l *log) listCost(i int) (cost float64) {
	if l.Lists == nil || l.Lists.Whole {
		return l.Cost[i]
	}
	for j := i; j < l.n && l.Lists.Of[j] == l.Lists.Of[i]; j++ {
		cost += l.Cost[j]
	}
	return cost
}

// joint tests the joint propensities of lists. Lists in even order have weights u/p of mean 1 at most, 1 where each
// list that could be shown is shown at times: a mean above 1 refutes p. A mean below it does not, as u/p has a heavy
// tail where some orders are rare.
func (l *log) joint(starts []int) {
	w := make([]float64, 0, len(starts)-1)
	for list, first := range starts[:len(starts)-1] {
		p := l.Lists.Joint[l.Lists.Of[first]]
		for i := first; i < starts[list+1]; i++ {
			p *= float64(l.Options(i))
		}
		w = append(w, 1/p)
	}
	mean, deviation := stat.MeanStdDev(w, nil)
	se := deviation / math.Sqrt(float64(len(w)))
	f := Finding{Check: "joint propensities", About: Draws, Numbers: []Number{{"mean", mean}, {"se", se}},
		Measured: fmt.Sprintf("%d joint ones, of lists; by them lists in even order have the mean weight %.3g ± %.1g, "+
			"1 at most", len(w), mean, logs.Half(se))}
	l.judge(f, mean-1 > 4*se+1e-6, Doubtful, "the lists were drawn with other probabilities than those logged: "+
		"what other lists earn is overestimated", "log ∏ of what each slot was drawn with, given the slots above; "+
		"slot_propensities show where they are wrong")
}

// withoutSlots takes from values of row i at place t in the order of time the mean of those in slots of the same
// number: the last slot of a list stands before the first of the next.
func (l *log) withoutSlots(e func(t, i int) float64) func(t, i int) float64 {
	if l.Lists == nil {
		return e
	}
	sum, rows := map[int32]float64{}, map[int32]float64{}
	for t, i := range l.inTime(0, l.n) {
		slot := l.Lists.Slot[i]
		sum[slot], rows[slot] = sum[slot]+e(t, i), rows[slot]+1
	}
	return func(t, i int) float64 { return e(t, i) - sum[l.Lists.Slot[i]]/rows[l.Lists.Slot[i]] }
}

// pair holds a slot, and another one whose action may change the reward of the first.
type pair struct {
	row, other int
	weight     float64
}

// mostPairs of a half are read, and options of mostOptions by pairs that test.
const mostPairs, mostOptions = 300_000, 30_000_000

// pairs are those of a slot and any below it, or the one just above it, in halves by their groups.
func (l *log) pairs(starts []int, below bool) (halves [2][]pair) {
	for list, first := range starts[:len(starts)-1] {
		for i := first; i < starts[list+1]; i++ {
			from, to := i+1, starts[list+1]
			if !below {
				from, to = max(first, i-1), i
			}
			half := &halves[l.cluster(i)&1]
			for other := from; other < to && len(*half) < mostPairs; other++ {
				p := pair{i, other, l.rowWeight(i) / l.Propensity[other]}
				if !below {
					p.weight /= l.Propensity[i]
				}
				if l.Options(other) > 2 {
					*half = append(*half, p)
				}
			}
		}
	}
	return halves
}

// cluster returns the number of row i's group, or of its list.
func (l *log) cluster(i int) int32 {
	if l.Group != nil {
		return l.Group[i]
	}
	return l.Lists.Of[i]
}

// linear has the coefficients θ_a of (1, x) by action.
type linear map[int32][]float64

// at returns θ_aᵀ(1, x), 0 for an action that no row taught.
func (m linear) at(x []float64, a int32) float64 {
	if m[a] == nil {
		return 0
	}
	return floats.Dot(m[a], x)
}

// one returns (1, x) of row i.
func (r *reader) one(i int, x []float64) []float64 {
	x[0] = 1
	r.vector(i, x[1:])
	return x
}

// byAction fits a ridge regression for each action on the row of each pair that of names, with its weight and target.
func (r *reader) byAction(pairs []pair, of func(p pair) (row int, weight, y float64)) linear {
	type rows struct{ x, y, w []float64 }
	actions, x, total := map[int32]*rows{}, make([]float64, 1+len(r.features)), 0.
	for _, p := range pairs {
		i, w, y := of(p)
		q := actions[r.Action[i]]
		if q == nil {
			q = &rows{}
			actions[r.Action[i]] = q
		}
		q.x, q.y, q.w, total = append(q.x, r.one(i, x)...), append(q.y, y), append(q.w, w), total+w
	}
	m := linear{}
	for a, q := range actions {
		penalty := []float64{10 * total / float64(len(pairs))} // as ten rows
		if theta, err := regress.Ridge(regress.Matrix{Data: q.x, Width: len(x)}, q.y, 1, q.w, penalty); err == nil {
			m[a] = theta
		}
	}
	return m
}

// effects learns from pairs what the action of a slot is worth itself, and what it does to the reward of another: a
// multiple of its worth, as where good items draw clicks away, and what a regression finds besides.
func (r *reader) effects(pairs []pair) (worth, effect linear) {
	x := make([]float64, 1+len(r.features))
	worth = r.byAction(pairs, func(p pair) (int, float64, float64) { return p.row, r.rowWeight(p.row), -r.Cost[p.row] })
	beside := func(p pair) float64 { return worth.at(r.one(p.other, x), r.Action[p.other]) }
	var product, square float64
	for _, p := range pairs {
		v := beside(p)
		product, square = product+p.weight*v*r.without(worth, p.row, x), square+p.weight*v*v
	}
	times := product / max(square, math.SmallestNonzeroFloat64)
	effect = r.byAction(pairs, func(p pair) (int, float64, float64) {
		return p.other, p.weight, r.without(worth, p.row, x) - times*beside(p)
	})
	for a, theta := range worth {
		if effect[a] == nil {
			effect[a] = make([]float64, len(theta))
		}
		floats.AddScaled(effect[a], times, theta)
	}
	return worth, effect
}

// without returns the reward of row i less what its own action is worth.
func (r *reader) without(worth linear, i int, x []float64) float64 {
	return -r.Cost[i] - worth.at(r.one(i, x), r.Action[i])
}

// assumption tests whether the reward of a slot depends on the actions below it, which a cascade excludes, or on that
// just above it, which independence excludes.
//
// For true propensities, with b the action of the other slot, h any function of it and the context whose sum over what
// could stand there is 0, r h(b)/p has mean 0 for a reward r that does not depend on b; p is the propensity of b, and
// if b stands above, of both slots. h is the effect of b that one half of the lists teaches, less its mean over what
// could stand there, and r the reward less what that half makes of its own action. So the sum over the other half, by
// its standard error, is about normal, and one that is positive by more than chance refutes the assumption.
func (l *log) assumption(starts []int, a certify.Assumption, assumed, below bool) {
	halves, r := l.pairs(starts, below), l.reader(8)
	if len(halves[0]) == 0 {
		return
	}
	worth, effect := r.effects(halves[0])
	x, left := make([]float64, 1+len(r.features)), mostOptions
	place, clusters := map[int32]int{}, []float64(nil) // Σ over the slots of a cluster
	for _, p := range halves[1] {
		if left -= l.Options(p.other); left < 0 {
			break
		}
		rest, mean, n := r.without(worth, p.row, x), 0., 0.
		r.one(p.other, x)
		for j := range l.Options(p.other) {
			if b, _ := l.Option(p.other, j); b != l.Action[p.row] {
				mean, n = mean+effect.at(x, b), n+1
			}
		}
		at, ok := place[l.cluster(p.row)]
		if !ok {
			at, clusters = len(clusters), append(clusters, 0)
			place[l.cluster(p.row)] = at
		}
		clusters[at] += p.weight * rest * (effect.at(x, l.Action[p.other]) - mean/n)
	}
	square := floats.Dot(clusters, clusters)
	if len(clusters) < 100 || square == 0 {
		return
	}
	z, where := floats.Sum(clusters)/math.Sqrt(square), "above"
	if below {
		where = "below"
	}
	f := Finding{Check: assumptionCheck(a), About: Assumed, Numbers: []Number{{"z", z}},
		Measured: fmt.Sprintf("no effect of what stands %s on rewards of slots is found, z = %.1f", where, z)}
	const critical = 3.72 // one side of alpha
	if z > critical {
		f.Measured = fmt.Sprintf("rewards of slots depend on what stands %s, z = %.1f: %s does not hold", where, z, a)
	}
	l.judge(f, z > critical && assumed, Doubtful, "estimates and guarantees by this assumption are of rewards that do "+
		"not depend on it", "give setting assume "+map[bool]string{true: "none", false: "cascade, or none"}[below]+
		", which needs more lists")
}

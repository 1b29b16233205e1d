package inspect

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"opl/train/logs"
)

// reward says what there is to learn from: rewards −c that are all equal are
// unusable; doubtful are those that differ from the most common one in fewer
// than 20 rows.
func (l *log) reward() {
	common, most, exact := l.commonest()
	m := l.mean("reward", func(i int) float64 { return -l.Cost[i] })
	half := logs.Half(m.se)
	f := Finding{Check: "reward", About: Variation, Measured: fmt.Sprintf("mean %s ± %.2g", l.units.Of(m.value, half), half*l.units.Span()),
		Numbers: []Number{{"mean", l.units.At(m.value)}, {"se", m.se * l.units.Span()}}}
	if exact {
		f.Measured += fmt.Sprintf("; %s of rows have %.6g", percent(float64(most)/float64(l.n)), l.units.At(-common+0))
	}
	switch rest := l.n - most; {
	case rest == 0:
		f.Severity, f.Means, f.Do = Unusable, "every row has the same reward: nothing can be learned", "see that "+
			"the right column was read, and wait for rewards that come late"
	case rest < 20 && l.n >= 100:
		f.Severity, f.Means, f.Do = Doubtful, fmt.Sprintf("only %d rows differ from the others: no two policies "+
			"can be told apart", rest), "log more, or choose a reward that comes more often"
	}
	l.add(f)
}

// manyRewards is the number of different rewards above which no reward is rare.
const manyRewards = 1000

// commonest is the most common cost, and in how many rows it is. Of shards whose rewards are of more than manyRewards
// values it is not known, and at most so many rows less than all.
func (l *log) commonest() (common float64, most int, exact bool) {
	count := map[uint64]int{}
	if l.merged {
		if count = l.summary.Counts["costs"]; len(count) > manyRewards {
			return 0, l.n - manyRewards, false
		}
	} else {
		for _, c := range l.Cost {
			count[math.Float64bits(c+0)]++
		}
		if l.summary != nil {
			some := map[uint64]int{} // of more than manyRewards
			for _, bits := range slices.Sorted(maps.Keys(count))[:min(len(count), manyRewards+1)] {
				some[bits] = count[bits]
			}
			l.summary.Counts["costs"] = some
		}
	}
	for bits, n := range count {
		if c := math.Float64frombits(bits); n > most || n == most && c < common {
			common, most = c, n
		}
	}
	return common, most, true
}

// sign looks for costs read as rewards or the reverse. It doubts rewards of two
// values if more than 95 % of rows have the larger one. It doubts a logging policy
// that earns less than the uniform policy would, at z < −5 and by more than a
// tenth of the spread, but for a test of versions, whose shares nobody chose by the reward.
func (l *log) sign() {
	low, high := l.lowest("cost", func() float64 { return slices.Min(l.Cost) }), -l.lowest("cost, the largest",
		func() float64 { return -slices.Max(l.Cost) })
	best, worst := l.having(low), 0
	if low < high {
		worst = l.having(high)
	}
	if l.summary != nil && !l.merged {
		ends := map[uint64]int{math.Float64bits(high + 0): worst}
		ends[math.Float64bits(low+0)] = best
		l.summary.Counts["ends"] = ends
	}
	f := Finding{Check: "sign of the reward"}
	share := float64(best) / float64(l.n)
	f.Measured = fmt.Sprintf("rewards from %.4g to %.4g", l.units.At(-high+0), l.units.At(-low))
	if best+worst == l.n && low < high && share > 0.95 {
		f.Severity, f.Measured = Doubtful, f.Measured+fmt.Sprintf(", %s of rows have the better", percent(share))
		f.Means = "failures are rare, as successes usually are: a cost may have been read as a reward"
	}
	var on, uniform, se float64
	if l.Propensity != nil {
		on, uniform, se = l.againstUniform()
	}
	if l.Propensity != nil && low < high {
		z := 0.0
		if se > 0 {
			z = (on - uniform) / se
		}
		f.Measured += fmt.Sprintf("; logging policy %.4g, uniform %.4g, z = %.1f", l.units.At(on),
			l.units.At(uniform), z)
		if spread := (high - low) * math.Sqrt(share*(1-share)); z < -5 && on-uniform < -0.1*max(spread, 0.01) &&
			f.Severity == Fine && (!l.Derived() || l.Paired()) {
			f.Severity, f.Means = Doubtful, "the logging policy earns less than chance: rewards and costs may be "+
				"exchanged"
		}
	}
	if f.Severity > Fine {
		f.Do = "see whether the column is a cost; give setting reward-min and setting reward-max accordingly"
	}
	l.add(f)
}

// having counts the rows of a cost, which is the least or the largest of all shards.
func (l *log) having(cost float64) (n int) {
	if l.merged {
		return l.summary.Counts["ends"][math.Float64bits(cost+0)]
	}
	for _, v := range l.Cost {
		if v == cost {
			n++
		}
	}
	return n
}

// againstUniform are the logging policy's value on its rows, that of uniform, self-normalized, and the standard error
// of their difference: with r rewards and w weights over their mean W, and u = Σωwr/Σωw, that of the mean of r −
// r̄ − (w/W)(r − u), as a quadratic form of Σω²xxᵀ, x = (1, r, w, wr).
func (l *log) againstUniform() (on, uniform, se float64) {
	s := l.totals("against uniform", 14, func(i int, to []float64) { // Σωx, Σω²xxᵀ from the diagonal on
		w, c := l.rowWeight(i), l.Cost[i]
		v := l.ofUniform(i)
		x, at := [4]float64{1, -c, v, -v * c}, 4
		for j, v := range x {
			to[j] += w * v
			for _, u := range x[j:] {
				to[at] += w * v * w * u
				at++
			}
		}
	})
	on, uniform = s[1]/s[0], s[3]/s[2]
	mean := s[2] / s[0]
	a := [4]float64{-on, 1, uniform / mean, -1 / mean}
	var form, size float64
	at := 4
	for j := range a {
		for k := j; k < len(a); k++ {
			v := a[j] * a[k] * s[at]
			if at++; k > j {
				v *= 2
			}
			form, size = form+v, size+math.Abs(v)
		}
	}
	if !(form > 1e-14*size) { // rounding
		return on, uniform, 0
	}
	n := float64(l.n)
	return on, uniform, math.Sqrt(form*n/max(n-1, 1)) / s[0]
}

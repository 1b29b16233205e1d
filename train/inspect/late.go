package inspect

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// late looks for rewards of some actions that are not in yet: where a log is written before all of them came, those
// of its newest rows are what stands for none, and actions whose rewards come sooner look better than they are. In
// the order of time, s is the share of an action's rewards that differ from a value v: the least, the largest, and
// that whose share grew most. By χ² it tests that s in the newest fifth, or tenth, over s in the first seven tenths
// is the same ratio for all actions: what falls alike for all is the world's drift, and makes none look better.
// Doubtful is what differs at level alpha, and for one action by more than a third of what that ratio says. Rows of a
// group count as one. Logs without times are not looked at, as their order may be another, nor those of fewer than
// 500 rows, nor shards, which do not know whether their newest rows are the log's. A log that is sound has no such
// finding.
func (l *log) late() {
	if l.Time == nil || l.summary != nil || l.n < 500 {
		return
	}
	first, extremes := l.order[:l.n*7/10], []float64{slices.Max(l.Cost), slices.Min(l.Cost)}
	before := l.others(first, extremes)
	for _, part := range []int{5, 10} {
		if l.lateIn(first, l.order[l.n-l.n/part:], extremes, before) {
			return
		}
	}
}

// lateIn is late of the first and the newest rows, and reports a finding; before is of the first, for the extremes.
func (l *log) lateIn(first, newest []int, extremes []float64, before [][]count) bool {
	values := extremes
	if v, ok := l.grown(first, newest, values); ok {
		values, before = append(slices.Clip(values), v), append(slices.Clip(before), l.others(first, []float64{v})...)
	}
	after := l.others(newest, values)
	alike := 1.0 // rows that count as one
	if l.Group != nil {
		clusters, single := map[int32]bool{}, 0
		for _, g := range l.Group {
			if g < 0 {
				single++
			} else {
				clusters[g] = true
			}
		}
		alike = float64(l.n) / float64(len(clusters)+single)
	}
	for at, v := range values {
		was, is := before[at], after[at]
		var now, then float64 // rows of the newest, and those that the first seven say there would be
		for a, w := range was {
			if w.other > 0 {
				now, then = now+is[a].other, then+is[a].rows*w.other/w.rows
			}
		}
		if now == 0 || now == then {
			continue
		}
		chi, df, far, worst := 0.0, -1.0, 0.0, 0
		for a, w := range was {
			if w.other == 0 {
				continue
			}
			would := is[a].rows * w.other / w.rows
			e := would * now / then
			if e < 5 {
				continue
			}
			d := is[a].other - e
			chi += d * d / (e * (1 + would/w.other) * alike) // the rate of before is an estimate, too
			if df++; math.Abs(d)/e > far {
				far, worst = math.Abs(d)/e, a
			}
		}
		p := 1.0
		if df > 0 {
			p = distuv.ChiSquared{K: df}.Survival(chi)
		}
		if !(p < alpha/6 && far > 1./3) {
			continue
		}
		share := func(c []count, in func(a int) bool) string {
			var all count
			for a := range c {
				if in(a) {
					all.rows, all.other = all.rows+c[a].rows, all.other+c[a].other
				}
			}
			return percent(all.other / max(1, all.rows))
		}
		this, rest := func(a int) bool { return a == worst }, func(a int) bool { return a != worst }
		l.add(Finding{Check: "newest rewards", About: Selection, Severity: Doubtful,
			Numbers: []Number{{"chi-squared", chi}, {"p", p}},
			Measured: fmt.Sprintf("rewards other than %.6g: of action %s in %s of rows of the first seven tenths, "+
				"in %s of the newest %d; of other actions in %s and %s; p = %.2g", l.units.At(-v+0), l.Actions[worst],
				share(was, this), share(is, this), len(newest), share(was, rest), share(is, rest), p),
			Means: "rewards of some actions seem not to be in yet, and others look better beside them; or actions " +
				"are no longer what they were, and a mean over the log does not tell which is better now",
			Do: "leave out the newest rows of all actions, up to when all their rewards are in; or use the " +
				"recent part"})
		return true
	}
	return false
}

// count is of rows, and of those among them that have another reward.
type count struct{ rows, other float64 }

// others counts for each value, by action, rows whose cost is another.
func (l *log) others(rows []int, values []float64) [][]count {
	out := make([][]count, len(values))
	for j := range out {
		out[j] = make([]count, l.k)
	}
	for _, i := range rows {
		cost, a := l.Cost[i], l.Action[i]
		for j, v := range values {
			c := &out[j][a]
			if c.rows++; cost != v {
				c.other++
			}
		}
	}
	return out
}

// grown is the cost, but for some, whose share has grown most, of those that a twentieth of the newest rows have.
func (l *log) grown(first, newest []int, but []float64) (v float64, ok bool) {
	common := map[float64]int{}
	for _, i := range newest {
		if c := l.Cost[i]; !slices.Contains(but, c) {
			common[c]++
		}
	}
	most := math.Inf(-1)
	for c, n := range common {
		if n < len(newest)/20 {
			continue
		}
		before := 0
		for _, i := range first {
			if l.Cost[i] == c {
				before++
			}
		}
		if d := float64(n)/float64(len(newest)) - float64(before)/float64(len(first)); d > most || d == most && c < v {
			v, most, ok = c, d, true
		}
	}
	return v, ok
}

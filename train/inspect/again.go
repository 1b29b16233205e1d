package inspect

import (
	"fmt"
	"math"

	"opl/train/internal/keys"
)

// again looks for a stretch of rows that the log has twice, as a file that was appended to itself has: the same
// actions and costs in the same order, wherever. Rows of one id count as one, and where rows of one context do,
// copies do. The second stretch agrees with the first with a probability of at most Π π₀(a_i|x_i). That must be
// below 1e-6 for all pairs of stretches together. Files may be sorted by what happened, so only rows that differ from
// the row before them count. Stretches are of w rows: a copy of 2w − 1 is found, among hashes of each w rows and of
// those from 0, w, 2w, … on. Such a log is unusable.
func (l *log) again() {
	if l.doubts(Repeats, Visits) {
		return
	}
	if l.Propensity == nil || l.Estimated {
		return
	}
	enough, sum := enough(l.n), 0.0
	for i := range l.n {
		sum += l.said(i)
	}
	if !(sum > 4*enough) || l.n < 80 {
		return
	}
	w := max(40, int(math.Ceil(2*enough*float64(l.n)/sum)))
	last := uint64(1) // rolling^w
	for range w {
		last *= rolling
	}
	same := func(i, j int) bool { return l.Action[i] == l.Action[j] && l.Cost[i] == l.Cost[j] }
	var h uint64
	var foretold float64
	first, some := make(map[uint64]int, l.n/w), keys.NewFilter(l.n/w)
	for end := 1; end <= l.n; end++ {
		h, foretold = h*rolling+l.rowHash(end-1), foretold+l.said(end-1)
		at := end - w // the stretch is of the rows from at on
		if at > 0 {
			h, foretold = h-last*l.rowHash(at-1), foretold-l.said(at-1)
		}
		if at < 0 {
			continue
		}
		from, seen := 0, some.Has(h)
		if seen {
			from, seen = first[h]
		}
		if !seen && at%w == 0 {
			first[h] = at
			some.Add(h)
		}
		if !seen || from+w > at || foretold < enough || l.HasIDs() && l.Keys[from] == l.Keys[at] {
			continue
		}
		n := 0
		for from+n < at && at+n < l.n && same(from+n, at+n) {
			n++
		}
		if n < w {
			continue
		}
		for from > 0 && from+n < at && same(from-1, at-1) {
			from, at, n = from-1, at-1, n+1
		}
		l.add(Finding{Check: writtenAgain.name, Severity: Unusable, Numbers: []Number{{"rows", float64(n)}},
			Measured: fmt.Sprintf("rows %d to %d have the actions and the rewards of rows %d to %d", at+1, at+n,
				from+1, from+n),
			Means: "rows are in the log more than once, or actions came in turn or by the same random numbers: " +
				"they are not independent",
			Do: "give each row once, or log a decision_id; draw actions at random"})
		return
	}
	l.add(Finding{Check: writtenAgain.name, Measured: fmt.Sprintf("no stretch of %d rows comes twice", 2*w-1)})
}

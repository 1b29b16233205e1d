package inspect

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// drift compares up to ten blocks of rows in the order of time: reward and
// propensity by an analysis of variance, shares of actions by χ². Doubtful is what
// differs at level alpha and explains more than 0.1 % of the variance (of χ²: of
// n). Changes of propensities and shares are those of the logging policy, changes
// of the reward those of the world. Fewer than 200 rows are not looked at.
func (l *log) drift() {
	if l.n < 200 {
		return
	}
	blocks := min(10, l.n/100)
	at := func(t int) int { return t * blocks / l.n } // block of the t-th row in time
	l.report.Blocks = make([]Block, blocks)
	order := "time"
	if l.Time == nil {
		order = "the file"
	}
	anova := func(of func(i int) float64, set func(b *Block, mean, se float64)) (explained, p float64) {
		values := l.room()
		for t, i := range l.order {
			values[t] = of(i)
		}
		mean, variance := stat.PopMeanVariance(values, nil)
		between, from := 0.0, 0
		for b := range l.report.Blocks {
			block := &l.report.Blocks[b]
			n := float64(block.Rows)
			m, v := stat.PopMeanVariance(values[from:from+block.Rows], nil)
			between += n * (m - mean) * (m - mean)
			set(block, m, math.Sqrt(v/n))
			from += block.Rows
		}
		if variance <= 1e-15 {
			return 0, 1
		}
		return between / variance / float64(l.n), distuv.ChiSquared{K: float64(blocks - 1)}.Survival(between / variance * float64(l.n-1) / float64(l.n))
	}
	for t, i := range l.order {
		b := &l.report.Blocks[at(t)]
		if b.Rows++; b.Rows == 1 && l.Time != nil {
			b.From = l.stamp(i)
		}
	}
	verdict := func(check, what string, explained, p float64, means, do string) {
		f := Finding{Check: check, Measured: fmt.Sprintf("%s over %d blocks in the order of %s: %s explained, p = %.2g", what, blocks, order, percent(explained), p),
			Numbers: []Number{{"explained", explained}, {"p", p}}}
		l.judge(f, p < alpha && explained > 0.001, Doubtful, means, do)
	}
	explained, p := anova(func(i int) float64 { return -l.Cost[i] }, func(b *Block, m, se float64) { b.Reward, b.SE = m, se })
	verdict("drift of the reward", "mean reward", explained, p,
		"rows are not identically distributed: guarantees speak of the mixture of times, not of tomorrow", "use the recent part, or put time into the context")

	if l.Propensity != nil {
		explained, p = anova(func(i int) float64 { return l.Propensity[i] }, func(b *Block, m, _ float64) { b.Propensity = m })
		verdict("drift of the propensities", "mean propensity", explained, p,
			"the logging policy changed; if it learned from its own rewards, rows depend on earlier ones", "certify on rows of one fixed logging policy; estimates stay unbiased with each row's own propensities")
	}

	// Actions whose blocks expect fewer than 5 rows are put together.
	total := make([]int, l.k)
	for _, a := range l.Action {
		total[a]++
	}
	class, classes := make([]int, l.k), 1
	for a, c := range total {
		if c >= 5*blocks {
			class[a] = classes
			classes++
		}
	}
	table, sums := make([]float64, classes*blocks), make([]float64, classes)
	for t, i := range l.order {
		b, c := at(t), class[l.Action[i]]
		table[c*blocks+b]++
		sums[c]++
	}
	x := 0.0
	for c := range classes {
		for b := range blocks {
			if e := sums[c] * float64(l.report.Blocks[b].Rows) / float64(l.n); e > 0 {
				x += (table[c*blocks+b] - e) * (table[c*blocks+b] - e) / e
			}
		}
	}
	if !slices.Contains(class, 0) {
		classes--
	}
	if df := float64((classes - 1) * (blocks - 1)); df > 0 {
		verdict("drift of the actions", "shares of actions", max(0, x-df)/float64(l.n), distuv.ChiSquared{K: df}.Survival(x),
			"contexts or the logging policy changed over time", "see the drift of the propensities; use the recent part if the contexts changed")
	}
}

// Rows of the same group, or neighbours in time that are too much alike, are not
// independent. Each of the following is about another trace of that.

// groups counts rows that share a group with others; any are doubtful. It
// measures how alike the rewards of a group are by the intraclass correlation ρ,
// and with it the factor 1 + (m − 1)ρ on the variance of a mean.
func (l *log) groups() {
	if l.Group == nil {
		return
	}
	mean := l.meanReward().value
	rows, sum := map[int32]int{}, map[int32]float64{}
	variance, n := 0.0, 0
	for i, g := range l.Group {
		if g >= 0 {
			d := -l.Cost[i] - mean
			variance += d * d
			sum[g] += d
			rows[g]++
			n++
		}
	}
	var shared, largest int
	var pairs, squares float64
	alike := -variance // Σ_{i≠j} d_i d_j over the groups
	for _, g := range slices.Sorted(maps.Keys(rows)) {
		m := rows[g]
		if largest = max(largest, m); m > 1 {
			shared += m
		}
		alike += sum[g] * sum[g]
		pairs += float64(m) * float64(m-1)
		squares += float64(m) * float64(m)
	}
	f := Finding{Check: "groups", Measured: fmt.Sprintf("%d groups in %d rows, the largest of %d", len(rows), n, largest)}
	if shared > 0 {
		rho := 0.0
		if variance > 0 {
			rho = alike / pairs / (variance / float64(n))
		}
		factor := max(1, 1+(squares/float64(n)-1)*max(rho, 0))
		f.Severity = Doubtful
		f.Measured += fmt.Sprintf("; rewards within a group correlate by %.2g, variance × %.2g", rho, factor)
		f.Means = fmt.Sprintf("%d rows share a group: a guarantee counts a group as one row", shared)
		f.Do = "nothing, if rows of different groups are independent; intervals are clustered by group"
		f.Numbers = []Number{{"correlation", rho}, {"variance factor", factor}}
	}
	l.add(f)
}

// neighbours counts neighbours in time that share their context, against what the
// same contexts in random order would give: with shares s of the contexts,
// q = Σs², (n − 1)q pairs with variance (n − 1)(q(1 − q) + 2(Σs³ − q²)). More, at
// level alpha and by at least 1 % of the rows, is doubtful.
func (l *log) neighbours() {
	if l.contexts == nil || l.n < 100 {
		return
	}
	n := float64(l.n)
	sizes := slices.Clone(l.sizes)
	slices.Sort(sizes)
	var q, three float64
	repeated := 0
	for _, c := range sizes {
		s := float64(c) / n
		q += s * (float64(c) - 1) / (n - 1)
		three += s * s * s
		repeated += c
	}
	alone := l.n - repeated
	three += float64(alone) / (n * n * n)
	var same float64
	for t := 1; t < l.n; t++ {
		if l.contexts[l.order[t]] == l.contexts[l.order[t-1]] {
			same++
		}
	}
	expected := (n - 1) * q
	z := counted(same, expected, (n-1)*max(q*(1-q), q*(1-q)+2*(three-q*q)))
	f := Finding{Check: "repeated contexts", Numbers: []Number{{"contexts", float64(len(sizes) + alone)}, {"z", z}},
		Measured: fmt.Sprintf("%d contexts; %s of rows share theirs; %.0f neighbours in time do, %.4g by chance, z = %.1f",
			len(sizes)+alone, percent(float64(repeated)/n), same, expected, z)}
	l.judge(f, z > threshold(1) && same-expected > 0.01*n, Doubtful, "rows of one visit stand together: they are not independent",
		"name the visit or user in the column group, and certify on one row of each; a file sorted by context is an innocent cause")
}

// repeats looks for rows written twice. Of two consecutive rows of one context the
// second takes the action of the first with probability π₀(a_i|x), its own
// propensity; that many more, at level alpha and by 1 % of the pairs, are doubtful.
func (l *log) repeats() {
	if l.contexts == nil || l.Propensity == nil {
		return
	}
	last := make(map[uint64]int, 1024)
	var pairs, same, expected, variance float64
	for _, i := range l.order {
		if !l.several(i) {
			continue
		}
		if j, ok := last[l.contexts[i]]; ok {
			pairs++
			p := l.Propensity[j]
			expected += p
			variance += p * (1 - p)
			if l.Action[i] == l.Action[j] {
				same++
			}
		}
		last[l.contexts[i]] = i
	}
	if pairs == 0 {
		return
	}
	z := counted(same, expected, variance)
	f := Finding{Check: "rows written twice",
		Measured: fmt.Sprintf("of %.0f pairs of rows of one context %.0f take the same action, %.4g by chance, z = %.1f", pairs, same, expected, z),
		Numbers:  []Number{{"z", z}}}
	l.judge(f, z > threshold(1) && same-expected > max(0.01*pairs, 3), Doubtful,
		"rows were written more than once, or the action was kept for a while instead of drawn anew", "keep one row of each draw")
}

// ends tests whether the last row of a group earns, on average, what the rows before it
// do. Where a group goes on until something is earned, as a session that ends with a
// purchase, it does not: the number of its rows depends on their rewards, and the mean of a
// group's rewards is no estimate of what a decision earns. Without groups, rows of one context
// that stand together are one, where they do so beyond chance. At level alpha, and a difference
// above 0.02, it is doubtful.
func (l *log) ends() {
	type run struct{ n, sum, last float64 }
	var runs []run
	add := func(at, i int) {
		r := &runs[at]
		r.n, r.sum, r.last = r.n+1, r.sum-l.Cost[i], -l.Cost[i]
	}
	if l.Group != nil {
		of := map[int32]int{}
		for _, i := range l.order {
			g := l.Group[i]
			if g < 0 {
				continue
			}
			if _, seen := of[g]; !seen {
				of[g], runs = len(runs), append(runs, run{})
			}
			add(of[g], i)
		}
	} else if l.finding("repeated contexts").Severity > Fine {
		for t, i := range l.order {
			if t == 0 || l.contexts[i] != l.contexts[l.order[t-1]] {
				runs = append(runs, run{})
			}
			add(len(runs)-1, i)
		}
	}
	var n, sum, square float64
	for _, r := range runs {
		if r.n > 1 {
			d := r.last - (r.sum-r.last)/(r.n-1)
			n, sum, square = n+1, sum+d, square+d*d
		}
	}
	if n < 20 {
		return
	}
	d := sum / n
	// At least the spread that a single group of another difference would give.
	z := d / math.Sqrt(max(square/n-d*d, 1/n)/n)
	f := Finding{Check: "ends of groups", Numbers: []Number{{"difference", d}, {"z", z}},
		Measured: fmt.Sprintf("the last row of %.0f groups earns %.2g more than those before it, z = %.1f", n, d, z)}
	l.judge(f, math.Abs(z) > threshold(1) && math.Abs(d) > 0.02, Doubtful,
		"whether a group goes on depends on what it earned, so that the mean over groups of their mean reward is not what a decision earns; or rewards move along a group",
		"certify on the first row of each group, or on groups of a length that is known beforehand")
}

// autocorrelation tests whether a row's reward says something of the next one's,
// in the order of time, within the blocks of drift: the self-normalized mean of
// e_t e_{t+1}, whose spread is taken as what independence implies where that is more
// (rare rewards). At level alpha, and a correlation above 0.02, it is doubtful.
func (l *log) autocorrelation() {
	if l.n < 200 {
		return
	}
	blocks := len(l.report.Blocks)
	e := l.room()
	variance := 0.0
	for t, i := range l.order {
		e[t] = -l.Cost[i] - l.report.Blocks[t*blocks/l.n].Reward
		variance += e[t] * e[t] / float64(l.n)
	}
	if variance <= 1e-15 {
		return
	}
	var sum, square float64
	for t := 1; t < l.n; t++ {
		y := e[t] * e[t-1]
		sum += y
		square += y * y
	}
	r := sum / float64(l.n-1) / variance
	// Residuals of a block correlate by −1/rows among themselves.
	z := (sum + variance*float64(blocks)) / max(math.Sqrt(square), variance*math.Sqrt(float64(l.n)))
	f := Finding{Check: "rewards in sequence", Measured: fmt.Sprintf("a reward and the next correlate by %.2g, z = %.1f", r, z), Numbers: []Number{{"correlation", r}, {"z", z}}}
	l.judge(f, math.Abs(z) > threshold(1) && math.Abs(r) > 0.02, Doubtful, "rows are not independent of their neighbours",
		"name what they share in the column group, and certify on one row of each")
}

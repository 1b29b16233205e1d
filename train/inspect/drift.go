package inspect

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// drift compares up to ten blocks of rows in the order of time: reward and
// propensity by an analysis of variance, shares of actions by χ². Doubtful is what
// differs at level alpha and explains more than 0.1 % of the variance (of χ²: of
// n). Changes of propensities and shares are those of the logging policy, changes
// of the reward those of the world. Rows of a group in one block count as one. Fewer
// than 200 rows are not looked at.
func (l *log) drift() {
	if l.n < 200 {
		return
	}
	blocks := min(10, l.n/100)
	l.report.Blocks = make([]Block, blocks)
	of := make([]span, blocks)
	order := "time"
	if l.Time == nil {
		order = "the file"
	}
	for b := range of {
		first, end := (b*l.n+blocks-1)/blocks, ((b+1)*l.n+blocks-1)/blocks // of t·blocks/n = b
		of[b] = l.span(first, end)
		if l.Time != nil {
			of[b].From = l.stamp(l.rowAt(first))
		}
	}
	l.differ(of, [3]string{rewardDrift.name, propensityDrift.name, actionDrift.name},
		fmt.Sprintf("over %d blocks in the order of %s", blocks, order))
	for i := range l.found {
		switch f := &l.found[i]; {
		case f.Check == actionDrift.name && f.Severity == Doubtful && l.Time == nil && l.misdrawn(of):
			f.About, f.Means = Draws, "the propensities do not say so: they are wrong, unless the rows are sorted"
			f.Do = "log the time of each decision (timestamp), or write rows in its order; " +
				"no guarantee holds if they are in it"
		case f.Check != rewardDrift.name || f.Severity != Doubtful:
		case l.weekly(blocks):
			f.About, f.Severity, f.Means, f.Do = Weeks, Fine, "", ""
			f.Measured += "; the day of the week explains it, and could be in the context"
		default:
			f.Measured += l.changed(of)
		}
	}
}

// misdrawn reports, of blocks in the order of the file, that the mean of 1{a_i = a}/π₀(a_i|x_i) is not 1 in all of them,
// by χ² at level alpha over the actions that have some 20 rows a block, without the most frequent one. Only of a fixed
// list of names.
func (l *log) misdrawn(of []span) bool {
	if l.Propensity == nil || l.Estimated || l.Choices != nil || l.Numbers != nil {
		return false
	}
	odds := make([][][2]float64, len(of)) // by block and action, Σ 1/π₀ and Σ 1/π₀²
	rows, all, squares := make([]float64, l.k), make([]float64, l.k), 0.
	first := 0
	for b, s := range of {
		odds[b] = make([][2]float64, l.k)
		for _, i := range l.inTime(first, first+s.Reward.Rows) {
			a, w := l.Action[i], 1/l.Propensity[i]
			odds[b][a][0] += w
			odds[b][a][1] += w * w
			all[a] += w * w
			rows[a]++
		}
		first += s.Reward.Rows
		squares += s.Squares
	}
	x, df, most := 0., 0., floats.MaxIdx(rows)
	for a, n := range rows {
		if a == most || n < float64(20*len(of)) {
			continue
		}
		for b, s := range of {
			n := float64(s.Reward.Rows)
			d := odds[b][a][0] - n
			x += d * d / max(odds[b][a][1]-n, n*(all[a]/float64(l.n)-1), n/100)
			df++
		}
	}
	return df > 0 && distuv.ChiSquared{K: df}.Survival(x/max(1, squares/float64(l.n))) < alpha
}

// changed says from which block on the mean reward differs most from what it was before, and of which action.
func (l *log) changed(of []span) string {
	var rewards []moments
	for _, s := range of {
		rewards = append(rewards, s.Reward)
	}
	apart := func(before, after moments) float64 {
		m, n := float64(before.Rows), float64(after.Rows)
		return (after.Mean - before.Mean) * (after.Mean - before.Mean) * m * n / max(1, m+n)
	}
	at := 1
	parts := func(at int) (moments, moments) { return pooled(rewards[:at]), pooled(rewards[at:]) }
	for k := 2; k < len(of); k++ {
		if apart(parts(k)) > apart(parts(at)) {
			at = k
		}
	}
	first := (at*l.n + len(of) - 1) / len(of)
	from := fmt.Sprintf("row %d", first+1)
	if l.Time != nil {
		from = of[at].From
	}
	before, after := parts(at)
	say := func(before, after moments) string {
		return fmt.Sprintf("%.3g, before %.3g", l.units.At(after.Mean), l.units.At(before.Mean))
	}
	text := fmt.Sprintf("; from %s on %s", from, say(before, after))
	byAction := make([][2]moments, l.k)
	for t, i := range l.inTime(0, l.n) {
		m := &byAction[l.Action[i]][0]
		if t >= first {
			m = &byAction[l.Action[i]][1]
		}
		m.Rows++
		m.Mean += (-l.Cost[i] - m.Mean) / float64(m.Rows)
	}
	most := 0
	for a, m := range byAction {
		if apart(m[0], m[1]) > apart(byAction[most][0], byAction[most][1]) {
			most = a
		}
	}
	if m := byAction[most]; l.Lists == nil && m[0].Rows > 0 && m[1].Rows > 0 {
		text += fmt.Sprintf("; of actions %s changed most: %s", l.Actions[most], say(m[0], m[1]))
	}
	return text
}

// weekly reports that the rewards of blocks differ no more than the time of the week lets them, in quarters of days, in
// a log of two weeks or more: a mean over whole weeks is what the next weeks will be, too.
func (l *log) weekly(blocks int) bool {
	usual := l.ofWeek()
	if usual == nil {
		return false
	}
	between, within := 0.0, 0.0
	for b := range blocks {
		rest, n := 0.0, 0.0
		for _, i := range l.inTime((b*l.n+blocks-1)/blocks, ((b+1)*l.n+blocks-1)/blocks) {
			r := -l.Cost[i] - usual(i)
			rest, within, n = rest+r, within+r*r, n+1
		}
		between += rest * rest / n
	}
	return distuv.ChiSquared{K: float64(blocks - 1)}.Survival(between/within*float64(l.n)) > .05
}

const quarters = 28 // of days, in a week

// ofWeek returns the mean reward at a row's time of the week, or nil if there are no times, or less than two weeks.
func (l *log) ofWeek() func(i int) float64 {
	const quarter = int64(6 * time.Hour)
	if l.Time == nil || l.Time[l.rowAt(l.n-1)]-l.Time[l.rowAt(0)] < 2*quarters*quarter {
		return nil
	}
	var reward, rows [quarters]float64
	begin := l.Time[l.rowAt(0)]
	part := func(i int) int64 { return (l.Time[i] - begin) / quarter % quarters }
	for i, c := range l.Cost {
		d := part(i)
		reward[d], rows[d] = reward[d]-c, rows[d]+1
	}
	return func(i int) float64 { return reward[part(i)] / rows[part(i)] }
}

// span holds what drift reads from a stretch of rows.
type span struct {
	From       string    `json:"from,omitempty"`
	To         string    `json:"to,omitempty"`
	Reward     moments   `json:"reward"`
	Propensity moments   `json:"propensity"`
	Actions    []float64 `json:"actions"`           // rows of each
	Squares    float64   `json:"squares,omitempty"` // Σ m², m the rows of each group, if there are groups
}

// span reads the rows from one place up to another in the order of time.
func (l *log) span(from, to int) span {
	s := span{Actions: make([]float64, l.k)}
	one := func(int) float64 { return 1 }
	for _, i := range l.inTime(from, to) {
		s.Actions[l.Action[i]]++
	}
	s.Reward = momentsOf(to-from, func(t int) float64 { return -l.Cost[l.rowAt(from+t)] }, one)
	if l.Group != nil {
		m := map[int32]float64{}
		for _, i := range l.inTime(from, to) {
			g := l.Group[i]
			if g < 0 {
				g = -1 - int32(i)
			}
			s.Squares += 2*m[g] + 1
			m[g]++
		}
	}
	if l.Propensity != nil {
		s.Propensity = momentsOf(to-from, func(t int) float64 { return l.Propensity[l.rowAt(from+t)] }, one)
	}
	return s
}

// differ adds the findings of drift over stretches of rows, by the names of these checks.
func (l *log) differ(of []span, names [3]string, over string) {
	blocks, squares := len(of), 0.
	for i := range of {
		squares += of[i].Squares
	}
	alike := max(1, squares/float64(l.n)) // what rows of a group that are all alike make of χ²
	anova := func(column func(s *span) *moments) (explained, p float64) {
		var parts []moments
		for i := range of {
			parts = append(parts, *column(&of[i]))
		}
		all := pooled(parts)
		variance, between := all.Square[2]/float64(l.n), 0.0
		for _, m := range parts {
			between += float64(m.Rows) * (m.Mean - all.Mean) * (m.Mean - all.Mean)
		}
		if variance <= 1e-15 {
			return 0, 1
		}
		x, n := between/variance, float64(l.n)
		return x / n, distuv.ChiSquared{K: float64(blocks - 1)}.Survival(x * (n - 1) / n / alike)
	}
	for b, s := range of {
		n := float64(s.Reward.Rows)
		l.report.Blocks[b] = Block{Rows: s.Reward.Rows, From: s.From, Reward: s.Reward.Mean,
			SE: math.Sqrt(s.Reward.Square[2]/n) / math.Sqrt(n)}
		if l.Propensity != nil {
			l.report.Blocks[b].Propensity = s.Propensity.Mean
		}
	}
	verdict := func(check, what string, explained, p float64, means, do string) {
		f := Finding{Check: check, About: Drift, Measured: fmt.Sprintf("%s %s: %s explained, p = %.2g", what, over,
			percent(explained), p),
			Numbers: []Number{{"explained", explained}, {"p", p}}}
		l.judge(f, p < alpha && explained > 0.001, Doubtful, means, do)
	}
	explained, p := anova(func(s *span) *moments { return &s.Reward })
	verdict(names[0], "mean reward", explained, p,
		"rows are not identically distributed: guarantees speak of the mixture of times, not of tomorrow",
		"wait until the rewards of the newest rows are in, if they may not be (join --mature); put time into the context")

	if l.Propensity != nil {
		explained, p = anova(func(s *span) *moments { return &s.Propensity })
		verdict(names[1], "mean propensity", explained, p,
			"the logging policy changed; if it learned from its own rewards, rows depend on earlier "+
				"ones", "certify on rows of one fixed logging policy; estimates stay unbiased with each row's own "+
				"propensities")
	}

	// Actions whose blocks expect fewer than 5 rows are put together.
	total := make([]float64, l.k)
	for _, s := range of {
		floats.Add(total, s.Actions)
	}
	class, classes := make([]int, l.k), 1
	for a, c := range total {
		if c >= float64(5*blocks) {
			class[a] = classes
			classes++
		}
	}
	table, sums := make([]float64, classes*blocks), make([]float64, classes)
	for b, s := range of {
		for a, n := range s.Actions {
			table[class[a]*blocks+b] += n
			sums[class[a]] += n
		}
	}
	x := 0.0
	for c := range classes {
		for b := range blocks {
			if e := sums[c] * float64(of[b].Reward.Rows) / float64(l.n); e > 0 {
				x += (table[c*blocks+b] - e) * (table[c*blocks+b] - e) / e
			}
		}
	}
	if !slices.Contains(class, 0) {
		classes--
	}
	if df := float64((classes - 1) * (blocks - 1)); df > 0 {
		verdict(names[2], "shares of actions", max(0, x-df)/float64(l.n), distuv.ChiSquared{K: df}.Survival(x/alike),
			"contexts or the logging policy changed over time", "see the drift of the propensities; put "+
				"what changed into the context")
	}
}

// Rows of the same group, or neighbours in time that are too much alike, are not
// independent. Each of the following is about another trace of that.

// groups counts rows that share a group with others, which is no doubt, as groups count as one. It
// measures how alike the rewards of a group are by the intraclass correlation ρ,
// and with it the factor 1 + (m − 1)ρ on the variance of a mean.
func (l *log) groups() {
	if l.Group == nil {
		return
	}
	mean := l.mean("reward", func(i int) float64 { return -l.Cost[i] }).value
	s := l.byGroup("reward", func(i int) float64 { return -l.Cost[i] })
	rows := map[int32]int{} // of each group

	count := l.sums("groups", 5, func() []float64 { // their number, rows in them, in those of several, Σr, Σr²
		out := make([]float64, 5)
		for i, g := range l.Group {
			if g >= 0 {
				rows[g]++
				out[1]++
				out[3] -= l.Cost[i]
				out[4] += l.Cost[i] * l.Cost[i]
			}
		}
		for _, m := range rows {
			if out[0]++; m > 1 {
				out[2] += float64(m)
			}
		}
		return out
	})
	largest := int(-l.lowest("group, the largest", func() float64 {
		return -float64(slices.Max(slices.AppendSeq([]int{0}, maps.Values(rows))))
	}))
	n, shared, squares := count[1], count[2], s.rows
	variance := count[4] - 2*mean*count[3] + mean*mean*n // Σd², d the rewards less their mean
	if !(variance > 1e-12*n) {
		variance = 0
	}
	const fewGroups = 30 // of fewer, with the rows that have none, no bound is above the least reward
	pairs := squares - n
	alike := s.square - 2*mean*s.product + mean*mean*squares - variance // Σ_{i≠j} d_i d_j over the groups
	f := Finding{Check: "groups", Measured: fmt.Sprintf("%.0f groups in %.0f rows, the largest of %d", count[0], n,
		largest)}
	if shared > 0 {
		rho := 0.0
		if variance > 0 {
			rho = alike / pairs / (variance / n)
		}
		factor := max(1, 1+(squares/n-1)*max(rho, 0))
		f.Measured += fmt.Sprintf("; rewards within a group correlate by %.2g, variance × %.2g", rho, factor)
		f.Means = fmt.Sprintf("%.0f rows share a group: a guarantee counts a group as one row", shared)
		f.Do = "nothing, if rows of different groups are independent; intervals are clustered by group"
		f.Numbers = []Number{{"correlation", rho}, {"variance factor", factor}}
		if count[0]+float64(l.n)-n < fewGroups {
			f.Severity = Doubtful
			f.Means += ", and of so few nothing can be guaranteed"
			f.Do = "if the column does not say which rows depend on one another, as those of a customer do, read it as " +
				"a column of the context"
		}
	}
	l.add(f)
}

// neighbours counts neighbours in time that share their context, against what the
// same contexts in random order would give: with shares s of the contexts,
// q = Σs², (n − 1)q pairs with variance (n − 1)(q(1 − q) + 2(Σs³ − q²)). More, at
// level alpha and by at least 1 % of the rows, is doubtful. Of a group they may: pairs
// are of rows of different groups.
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
	var same, pairs float64
	for t := 1; t < l.n; t++ {
		i, j := l.rowAt(t), l.rowAt(t-1)
		if l.together(i, j) {
			continue
		}
		if pairs++; l.contexts[i] == l.contexts[j] {
			same++
		}
	}
	expected := pairs * q
	z := counted(same, expected, pairs*max(q*(1-q), q*(1-q)+2*(three-q*q)))
	f := Finding{Check: repeatedContexts.name, About: Visits,
		Numbers: []Number{{"contexts", float64(len(sizes) + alone)}, {"z", z}},
		Measured: fmt.Sprintf("%d contexts; %s of rows share theirs; %.0f neighbours in time do, %.4g by chance, "+
			"z = %.1f",
			len(sizes)+alone, percent(float64(repeated)/n), same, expected, z)}
	l.judge(f, z > threshold(1) && same-expected > 0.01*n, Doubtful,
		"rows of one visit stand together: they are not independent",
		"name the visit or user in the column group, and certify on one row of each; a file sorted by context is "+
			"an innocent cause")
}

// together reports that two rows are of one group.
func (l *log) together(i, j int) bool {
	return l.Group != nil && l.Group[i] >= 0 && l.Group[i] == l.Group[j]
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
	for _, i := range l.inTime(0, l.n) {
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
	l.add(twiceSaid(writtenTwice, pairs, same, expected, variance))
}

// writtenTwice names the check that repeats makes.
const writtenTwice = "rows written twice"

// twiceSaid words the finding of repeats.
func twiceSaid(check string, pairs, same, expected, variance float64) Finding {
	z := counted(same, expected, variance)
	f := Finding{Check: check, About: Repeats,
		Measured: fmt.Sprintf("of %.0f pairs of rows of one context %.0f take the same action, %.4g by chance, z "+
			"= %.1f", pairs, same, expected, z),
		Numbers: []Number{{"z", z}}}
	if z > threshold(1) && same-expected > max(0.01*pairs, 3) {
		f.Severity, f.Means, f.Do = Doubtful, "rows were written more than once, or the action was kept for a "+
			"while instead of drawn anew", "keep one row of each draw"
	}
	return f
}

// lastRows tests whether the last row of a group earns, on average, what the rows before it
// do. Where a group goes on until something is earned, as a session that ends with a
// purchase, it does not: the number of its rows depends on their rewards, and the mean of a
// group's rewards is no estimate of what a decision earns. Without groups, rows of one context
// that stand together are one, where they do so beyond chance. At level alpha, and a difference
// above 0.02, it is doubtful.
func (l *log) lastRows() {
	var runs []run
	if l.Group != nil {
		of := map[int32]int{}
		for _, i := range l.inTime(0, l.n) {
			g := l.Group[i]
			if g < 0 || l.Lists != nil && l.Lists.Slot[i] > 1 {
				continue
			}
			if _, seen := of[g]; !seen {
				of[g], runs = len(runs), append(runs, run{})
			}
			runs[of[g]].add(-l.listCost(i))
		}
	} else if l.doubts(Visits) {
		for t, i := range l.inTime(0, l.n) {
			if t == 0 || l.contexts[i] != l.contexts[l.rowAt(t-1)] {
				runs = append(runs, run{})
			}
			runs[len(runs)-1].add(-l.Cost[i])
		}
	}
	l.ends(endsOfGroups, 0.02, "row of %.0f groups earns %.2g more than those", runs)
}

// run is a sequence of rewards: how many, their sum, and the last.
type run struct{ n, sum, last float64 }

func (r *run) add(v float64) { r.n, r.sum, r.last = r.n+1, r.sum+v, v }

// ends compares the last of runs with what comes before it.
func (l *log) ends(of check, least float64, measured string, runs []run) {
	s := l.sums(of.name, 3, func() []float64 {
		var n, sum, square float64
		for _, r := range runs {
			if r.n > 1 {
				d := r.last - (r.sum-r.last)/(r.n-1)
				n, sum, square = n+1, sum+d, square+d*d
			}
		}
		return []float64{n, sum, square}
	})
	n, sum, square := s[0], s[1], s[2]
	if n < 20 {
		return
	}
	d := sum / n
	// At least the spread that a single group of another difference would give.
	z := d / math.Sqrt(max(square/n-d*d, 1/n)/n)
	f := Finding{Check: of.name, About: of.about, Numbers: []Number{{"difference", d}, {"z", z}},
		Measured: fmt.Sprintf("the last "+measured+" before it, z = %.1f", n, d, z)}
	means, do := "whether a group goes on depends on what it earned, so that the mean over groups of their mean reward is "+
		"not what a decision earns; or rewards move along a group",
		"certify on the first row of each group, or on groups of a length that is known beforehand"
	if of == endsOfLists {
		means, do = "where a list ends depends on what it earned: slots that earned nothing may be missing, or those after "+
			"a click, so that estimates are too high or too low", "log every slot that was shown, with its reward of 0"
	}
	l.judge(f, math.Abs(z) > threshold(1) && math.Abs(d) > least, Doubtful, means, do)
}

// autocorrelation tests whether a row's reward says something of the next one's,
// in the order of time, within the blocks of drift, and but for the time of the week: the self-normalized mean of
// e_t e_{t+1}, whose spread is taken as what independence implies where that is more
// (rare rewards), over rows of different groups. At level alpha, and a correlation above 0.02, it is doubtful.
func (l *log) autocorrelation() {
	if l.n < 200 {
		return
	}
	blocks := len(l.report.Blocks)
	usual, mean, levels := l.ofWeek(), 0.0, float64(blocks)
	if usual != nil {
		levels += quarters - 1
		mean = -floats.Sum(l.Cost) / float64(l.n)
	}
	e := l.withoutSlots(func(t, i int) float64 {
		r := -l.Cost[i] - l.report.Blocks[t*blocks/l.n].Reward
		if usual != nil {
			r += mean - usual(i)
		}
		return r
	})
	var variance float64
	for t, i := range l.inTime(0, l.n) {
		d := e(t, i)
		variance += d * d / float64(l.n)
	}
	if variance <= 1e-15 {
		return
	}
	var sum, square, pairs float64
	for t := 1; t < l.n; t++ {
		i, j := l.rowAt(t), l.rowAt(t-1)
		if l.together(i, j) {
			continue
		}
		y := e(t, i) * e(t-1, j)
		sum, square, pairs = sum+y, square+y*y, pairs+1
	}
	r := sum / max(1, pairs) / variance
	// Residuals of a block, or a time of the week, correlate by −1/rows among themselves.
	n := float64(l.n)
	z := (sum + variance*levels*(pairs+1)/n) / max(math.Sqrt(square), variance*math.Sqrt(pairs+1))
	f := rewardsInSequence.finding(fmt.Sprintf("a reward and the next correlate by %.2g, z = %.1f", r, z),
		Number{"correlation", r}, Number{"z", z})
	l.judge(f, math.Abs(z) > threshold(1) && math.Abs(r) > 0.02, Doubtful,
		"rows are not independent of their neighbours",
		"name what they share in the column group, and certify on one row of each"+limits)
}

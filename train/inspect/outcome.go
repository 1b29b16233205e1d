package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"opl/policies/propensity"
)

const (
	outcomeLevel   = 2e-3       // of each of the two tests, over all columns
	outcomeColumns = 256        // that are looked at; those with numbers first
	outcomeRows    = 50_000     // in which columns are bet on
	outcomeValues  = 16_000_000 // numbers that are held
	encodedColumns = 64         // that may be means of rewards
	encodedValues  = 30_000_000 // that are looked up for them, but of four columns
	encodedSums    = 1 << 20    // of rewards that are held, but of one column
)

// tails are the quantiles that a column is cut at.
var tails = [...]float64{.01, .02, .05, .1, .25, .5, .75, .9, .95, .98, .99}

// outcomes looks for columns that were not known when the action was drawn, as those of rewards or of what the action
// led to, see knowsAction and knowsReward; and for rows of customers, see customers. Shards are not looked at for
// rewards, and lists for what items are described by alone.
func (l *log) outcomes() {
	if l.n < 200 || l.Lists != nil && l.Lists.Whole || l.Simulated() || l.Propensity == nil || l.Estimated || l.contexts == nil {
		return
	}
	named := func(f feature) int { return min(1, strings.Count(f.name, "=")) }
	columns := slices.SortedFunc(slices.Values(l.varied()), func(f, g feature) int {
		return cmp.Or(named(f)-named(g), f.place-g.place)
	})
	f, _ := l.finding(betsOnPropensities)
	wrong, whole := f.Severity == Unusable, l.summary == nil // means of a shard are no means of the log
	if whole && !wrong {
		l.descriptions().knowsReward()
	}
	o := &outcomeTest{reader: l.reads(columns[:min(len(columns), outcomeColumns)])}
	if len(columns) == 0 || l.Lists != nil {
		return
	}
	o.each = o.reader.each
	o.class, o.action = l.classes(max(50, l.n/100), 50)
	o.read()
	if wrong || l.Sets() { // what tells the action is not looked for in sets, and nothing where draws are wrong
		if whole && !wrong {
			o.knowsReward()
		}
		o.customers()
		if _, kept := l.finding(actionsKept); kept && wrong {
			f.Do = "name the customer in the column group, as actions are kept, and look again; else " + f.Do
			l.found[slices.IndexFunc(l.found, func(g Finding) bool { return g.Check == f.Check })] = f
		}
		return
	}
	if whole {
		o.knowsReward()
	}
	o.knowsAction()
	o.customers()
}

// classes numbers from 1 the actions of at least so many rows, at most so many; 0 are all others.
func (l *log) classes(least, most int) (class []int, action []int) {
	class, action = make([]int, l.k), []int{-1}
	for a, n := range l.perAction() {
		if n >= least && len(action) <= most {
			class[a], action = len(action), append(action, a)
		}
	}
	return class, action
}

// descriptions are the numbers that logged actions are described by, as columns.
func (l *log) descriptions() *outcomeTest {
	o := &outcomeTest{reader: &reader{log: l}, class: make([]int, l.k), action: []int{-1}}
	place := map[uint32]int{}
	for id, name := range l.ItemNames() {
		if len(o.features) < encodedColumns && !strings.Contains(name, "=") {
			place[uint32(id)] = len(o.features)
			o.features = append(o.features, feature{name: name + " of actions"})
		}
	}
	o.each = func(i int, use func(c int, v float64)) {
		_, item := l.Option(i, l.Chosen(i))
		names, values := l.ItemValues(item)
		for j, id := range names {
			if c, ok := place[id]; ok {
				use(c, values[j])
			}
		}
	}
	if len(o.features) > 0 {
		o.read()
	}
	return o
}

// outcomeTest holds some columns of some rows.
type outcomeTest struct {
	*reader
	each   func(i int, use func(c int, v float64)) // gives the columns of a row that are not 0
	class  []int                                   // of each action
	action []int                                   // of each class
	rows   []int
	values [][]float64 // by feature
	taken  []int       // the class of each row's action
	draw   []drawn     // of each row, by the propensities of logged actions alone
}

func (o *outcomeTest) read() {
	for i := 0; i < o.n; i += 1 + o.n/min(outcomeRows, outcomeValues/len(o.features)) {
		p := o.Propensity[i]
		o.rows, o.taken = append(o.rows, i), append(o.taken, o.class[o.Action[i]])
		o.draw = append(o.draw, drawn{n: 1, got: 1 / p, variance: (1 - p) / p / p})
	}
	o.values = make([][]float64, len(o.features))
	for c := range o.values {
		o.values[c] = make([]float64, len(o.rows))
	}
	for r, i := range o.rows {
		o.each(i, func(c int, v float64) { o.values[c][r] = v })
	}
}

func (o *outcomeTest) name(c int) string { return o.features[c].name }

// knowsAction tests whether a column tells the action, as time spent does that is longer after a purchase of one.
// Whatever was known when the action was drawn cannot, beyond the propensities. With a weight g ≥ 0 of the column's
// rank, Σ_i g_i (1{a_i = a} − π₀(a|x_i)) has mean 0 and variance Σ g² π₀(1 − π₀); with the propensities
// of logged actions alone Σ_i g_i (1{a_i = a}/p_i − 1) has mean 0, and what is too much of it is compared with
// Σ g² 1{a_i = a}(1 − p_i)/p_i². Weights are 1 in a tail and 0 elsewhere, and −log(1 − F) and −log F of the
// ranks F, which tell most of what is longer by a factor (Savage 1956). An action that is taken more often everywhere
// is left to other checks, and how often it is taken everywhere has an error of its own. How an action's rewards depend
// on columns does not enter. Rows of a group count as far as they were drawn apart. Doubtful is what differs at
// outcomeLevel, for propensities that may be rounded.
func (o *outcomeTest) knowsAction() {
	classes, apart := len(o.action), o.draws()
	// Weights of a column are alike: they count as six.
	most := distuv.UnitNormal.Quantile(1 - outcomeLevel/float64(12*len(o.features)*classes))
	var f Finding
	for c, values := range o.values {
		cuts := cutsOf(values)
		if len(cuts) == 0 {
			continue
		}
		cells, rows := o.drawn(values, cuts)
		for _, g := range weightsOf(cuts, rows) {
			for a := 1; a < classes; a++ {
				var t, all drawn
				both := 0.0 // covariance of t and all
				for b, w := range g.of {
					t.add(cells[b*classes+a], w)
					all.add(cells[b*classes+a], 1)
					both += w * cells[b*classes+a].variance
				}
				ratio, everywhere := t.got/max(t.want, 1e-300), all.got/max(all.want, 1e-300)
				if o.Propensities == nil { // rare draws may be missing
					everywhere = max(1, everywhere)
				}
				// What everywhere says has an error, too: the larger one where propensities of few rows are small.
				part := t.want / max(all.want, 1e-300)
				variance := t.variance + max(0, part*part*all.variance-2*part*both)
				z := counted(t.got, everywhere*o.rounded(ratio/everywhere)*t.want, variance*apart[a])
				if o.Propensities == nil && (t.n < 20 || t.got < t.want) {
					z = 0
				}
				if math.Abs(z) <= most {
					continue
				}
				most = math.Abs(z)
				f = Finding{Check: "columns that know the action", About: Columns, Severity: Doubtful,
					Numbers: []Number{{"z", z}},
					Measured: fmt.Sprintf("%s, action %s was taken %.3g times as often as its propensities say, z = %.1f",
						fmt.Sprintf(g.says, o.name(c)), o.Actions[o.action[a]], ratio, z),
					Means: "the column was measured after the decision, or changed by it, as time spent is: a policy " +
						"that reads it reads what the action led to; or propensities are wrong there",
					Do: "leave the column out, or log what it was before the decision"}
			}
		}
	}
	if f.Check != "" {
		o.add(f)
	}
}

// drawn is how often an action was taken, and would be by the propensities; n rows took it, if only theirs are known.
type drawn struct{ n, got, want, variance float64 }

func (d *drawn) add(o drawn, weight float64) {
	if weight > 0 {
		d.n += o.n
	}
	d.got, d.want, d.variance = d.got+weight*o.got, d.want+weight*o.want, d.variance+weight*weight*o.variance
}

// drawn returns for the values up to each cut, and beyond the last, what was drawn of each class, and the rows.
func (o *outcomeTest) drawn(values, cuts []float64) (cells []drawn, rows []float64) {
	classes := len(o.action)
	cells, rows = make([]drawn, (len(cuts)+1)*classes), make([]float64, len(cuts)+1)
	for r, v := range values {
		b := 0 // of few cuts
		for _, cut := range cuts {
			if v > cut {
				b++
			}
		}
		rows[b]++
		if c := &cells[b*classes+o.taken[r]]; o.Propensities == nil {
			d := &o.draw[r]
			c.n, c.got, c.variance = c.n+d.n, c.got+d.got, c.variance+d.variance
		} else {
			c.got++
			for a, p := range o.Pi0(o.rows[r]) {
				c := &cells[b*classes+o.class[a]]
				c.want, c.variance = c.want+p, c.variance+p*(1-p)
			}
		}
	}
	for at := range cells {
		if o.Propensities == nil {
			cells[at].want = rows[at/classes]
		}
	}
	return cells, rows
}

// weighted is weights of the stretches between cuts, with what they say of a column.
type weighted struct {
	of   []float64
	says string
}

// weightsOf are the tails of a column, and the scores of its ranks.
func weightsOf(cuts, rows []float64) (all []weighted) {
	up, down := make([]float64, len(rows)), make([]float64, len(rows))
	before, n := 0.0, floats.Sum(rows)
	for b, m := range rows {
		rank := (before + m/2) / n
		up[b], down[b] = -math.Log(1-rank), -math.Log(rank)
		if m == 0 {
			up[b], down[b] = 0, 0
		}
		before += m
	}
	for at, cut := range cuts {
		low, high := make([]float64, len(rows)), slices.Repeat([]float64{1}, len(rows))
		copy(low, high[:at+1])
		clear(high[:at+1])
		all = append(all, weighted{low, fmt.Sprintf("where %%s is at most %.4g", cut)},
			weighted{high, fmt.Sprintf("where %%s is above %.4g", cut)})
	}
	return append(all, weighted{up, "where %s is large"}, weighted{down, "where %s is small"})
}

// rounded is near of propensities that may be rounded.
func (o *outcomeTest) rounded(ratio float64) float64 {
	off := max(propensity.Rounded, o.gamma)
	return max(1/off, min(off, ratio))
}

// draws are by how much the variance of counts of a class is larger where rows of a group were not drawn apart.
func (o *outcomeTest) draws() []float64 {
	out, square := make([]float64, len(o.action)), make([]float64, len(o.action))
	sums := map[[2]int]float64{}
	for _, i := range o.rows {
		if o.Group == nil || o.Group[i] < 0 {
			continue
		}
		for c, a := range o.action {
			e := -1.0
			if a == int(o.Action[i]) {
				e += 1 / o.Propensity[i]
			}
			sums[[2]int{int(o.Group[i]), c}] += e
			square[c] += e * e
		}
	}
	for at, s := range sums {
		out[at[1]] += s * s
	}
	for c, s := range square {
		out[c] = max(1, out[c]/max(s, 1e-300))
	}
	return out
}

// cutsOf are the different values at the quantiles of tails, but the largest value.
func cutsOf(values []float64) (cuts []float64) {
	var some []float64
	for r := 0; r < len(values); r += 1 + len(values)/5000 {
		some = append(some, values[r])
	}
	slices.Sort(some)
	for _, q := range tails {
		if v := some[int(q*float64(len(some)))]; v < some[len(some)-1] {
			cuts = append(cuts, v)
		}
	}
	return slices.Compact(cuts)
}

// knowsReward looks for columns that were computed of the rewards of this log, as encodings of segments are: with
// groups g of the rows that have the same value v_g, and r̄_g the mean reward of an action (or of all) there,
// Σ_g n_g (r̄_g − f(v_g))² is what rewards vary by, Σ_g s²_g, or more, whatever f is, if the column was known
// before. f is the value itself, and a cubic of it, as encodings are shrunk, standardized and turned into log-odds.
// What is nearer than at outcomeLevel was computed of these rewards. What the actions' columns say is put together by
// Fisher's method.
func (o *outcomeTest) knowsReward() {
	kinds := len(o.action) + 1 // classes, and all actions
	some := o.encodings(kinds)
	if len(some) == 0 {
		return
	}
	step := 0.0 // between rewards, of two values
	if least, most := slices.Min(o.Cost), slices.Max(o.Cost); o.having(least)+o.having(most) == o.n {
		step = most - least
	}
	o.reward(some, kinds)
	fisher, best, column, kind, groups := 0.0, 1.0, 0, 0, 0
	for a := 1; a < kinds; a++ {
		p := 1.0
		for _, e := range some {
			q, n := e.near(a, step)
			if q *= float64(len(some)); q < best {
				best, column, kind, groups = q, e.column, a, n
			}
			p = min(p, q)
		}
		if a < kinds-1 {
			fisher -= 2 * math.Log(max(p, 1e-300))
		}
	}
	together := 1.0
	if kinds > 2 {
		together = distuv.ChiSquared{K: 2 * float64(kinds-2)}.Survival(fisher)
	}
	if p := 2 * min(together, best*float64(kinds-1)); p < outcomeLevel {
		whose := "of all actions"
		if kind < kinds-1 {
			whose = "of action " + o.Actions[o.action[kind]]
		}
		o.add(Finding{Check: "columns that know the reward", About: Columns, Severity: Doubtful,
			Numbers: []Number{{"p", p}},
			Measured: fmt.Sprintf("%s is nearer to the mean reward %s in %d groups of rows than what is foretold can "+
				"be, p = %.2g", o.name(column), whose, groups, p),
			Means: "the column was computed of the rewards of this log: policies that read it seem to earn what they " +
				"do not",
			Do: "leave the column out, or compute it of rows before the log"})
	}
}

// encoded is a column that may have been computed of rewards.
type encoded struct {
	column int
	within bool // its values are in the range of rewards, and not at its ends alone
	of     map[float64][]rewarded
}

// rewarded are the rewards of the rows of a class that have a value, which is scaled as they are.
type rewarded struct{ v, n, r, square float64 }

// encodings are columns whose values repeat, the likelier ones first: those in the range of rewards, those with numbers
// that are not whole.
func (o *outcomeTest) encodings(kinds int) (some []*encoded) {
	low, high := o.units.At(0), o.units.At(1)
	rank, size := map[*encoded]int{}, map[*encoded]int{}
	for c, values := range o.values {
		most := len(values) / 10
		if len(values) == o.n { // few enough to look at groups of two
			most = o.n / 2
		}
		different := len(distinct(values, most))
		between, inside, whole := false, true, 1
		for _, v := range values {
			inside = inside && v >= low-1e-9 && v <= high+1e-9
			between = between || v != low && v != high
			if v != math.Trunc(v) {
				whole = 0
			}
		}
		if e := (&encoded{c, inside && between, map[float64][]rewarded{}}); different > 2 || different == 2 && e.within {
			if rank[e], size[e] = 1+whole, kinds*different; e.within {
				rank[e] = 0
			}
			some = append(some, e)
		}
	}
	slices.SortStableFunc(some, func(d, e *encoded) int { return rank[d] - rank[e] })
	some = some[:min(len(some), encodedColumns, max(4, encodedValues/o.n))]
	sums := 0
	for at, e := range some {
		if sums += size[e]; at > 0 && sums > encodedSums {
			return some[:at]
		}
	}
	return some
}

// reward adds the rewards of all rows to those of their values.
func (o *outcomeTest) reward(some []*encoded, kinds int) {
	low, high := o.units.At(0), o.units.At(1)
	buffer := make([]float64, len(o.features))
	for i := range o.n {
		clear(buffer)
		o.each(i, func(c int, v float64) { buffer[c] = v })
		r := -o.Cost[i]
		for _, e := range some {
			v := buffer[e.column]
			s := e.of[v]
			if s == nil {
				s = make([]rewarded, kinds)
				e.of[v] = s
			}
			for _, a := range [2]int{o.class[o.Action[i]], kinds - 1} {
				s[a] = rewarded{(v - low) / (high - low), s[a].n + 1, s[a].r + r, s[a].square + r*r}
			}
		}
	}
}

// near is how probable it is that the mean rewards of a class in groups of at least ten rows are as near to the value,
// or to a cubic of it, as they are. A smaller group, whose rewards differ, has its mean within a tenth of a standard
// error of the value, and within a thousandth, with probability 0.1 at most: half of N have with 2^N·0.1^(N/2) at most.
func (e *encoded) near(class int, step float64) (p float64, groups int) {
	var means []rewarded
	small, same := 0, 0
	for _, v := range slices.Sorted(maps.Keys(e.of)) {
		if s := e.of[v][class]; s.n >= 10 {
			means = append(means, s)
		} else if mean := s.r / s.n; s.square-mean*s.r > 1e-9 {
			small++
			if d := math.Abs(mean - s.v); d < min(1e-3, .1*math.Sqrt((s.square-mean*s.r)/(s.n-1)/s.n)) {
				same++
			}
		}
	}
	if 2*same > small && small >= 30 {
		return math.Pow(.4, float64(small)/2), small
	}
	if p = 1; len(means) < 2 {
		return p, 0
	}
	f, none, shapes := make([]float64, len(means)), make([]float64, len(means)), 0.0
	shape := func(leverage []float64) { p, shapes = min(p, nearness(means, f, leverage, step)), shapes+1 }
	if e.within {
		for g, m := range means {
			f[g] = m.v
		}
		shape(none)
	}
	if degree := min(3, len(means)-4); degree > 0 {
		var leverage []float64
		f, leverage = polynomial(means, degree)
		shape(leverage)
	}
	return p * max(1, shapes), len(means)
}

// nearness is the probability that Σ n (r̄ − f)² is what it is at most, by the χ² of the mean and the variance
// that normal means would give it. Means of rewards that are steps apart are taken to be half a step/n from f at least.
func nearness(means []rewarded, f, leverage []float64, step float64) float64 {
	got, want, square := 0.0, 0.0, 0.0
	for g, m := range means {
		mean := m.r / m.n
		variance := max(0, m.square-m.n*mean*mean) / (m.n - 1) * (1 - leverage[g])
		d := max(math.Abs(mean-f[g]), step/2/m.n)
		got, want, square = got+m.n*d*d, want+variance, square+variance*variance
	}
	if !(want > 1e-12) {
		return 1
	}
	df := want * want / square
	return distuv.ChiSquared{K: df}.CDF(df * got / want)
}

// polynomial is the one of a degree that is nearest to mean rewards, weighted by rows, and how much of each mean is in
// its own value.
func polynomial(means []rewarded, degree int) (f, leverage []float64) {
	f, leverage = make([]float64, len(means)), make([]float64, len(means))
	low, high := means[0].v, means[len(means)-1].v
	var basis [][]float64
	for d := range degree + 1 {
		b := make([]float64, len(means))
		for g, m := range means {
			b[g] = math.Pow(2*(m.v-low)/(high-low)-1, float64(d))
		}
		for range 2 { // Gram and Schmidt, twice for the last digits
			for _, a := range basis {
				along := 0.0
				for g, m := range means {
					along += m.n * a[g] * b[g]
				}
				floats.AddScaled(b, -along, a)
			}
		}
		length := 0.0
		for g, m := range means {
			length += m.n * b[g] * b[g]
		}
		if length < 1e-9 {
			continue
		}
		floats.Scale(1/math.Sqrt(length), b)
		along := 0.0
		for g, m := range means {
			along += b[g] * m.r
			leverage[g] += m.n * b[g] * b[g]
		}
		floats.AddScaled(f, along, b)
		basis = append(basis, b)
	}
	return f, leverage
}

// distinct are up to so many different values, none where there are more.
func distinct(values []float64, most int) map[float64]bool {
	seen := map[float64]bool{}
	for _, v := range values {
		if seen[v] = true; len(seen) > most {
			return nil
		}
	}
	return seen
}

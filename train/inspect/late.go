package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"opl/train/regress"
)

const (
	lateBlocks   = 20     // stretches of the log, by age
	lateLevel    = 5e-3   // of all tests together: what two scales say alike is rarer by chance
	lateWeighted = 2.5    // z with weights 1/π₀
	lateStill    = 3      // z without them, where contexts of the action did not move by as much
	lateFeatures = 16     // of contexts that foretell rewards
	lateRows     = 50_000 // from which that is learned
	lateActions  = 50     // that are looked at apart
	lateItems    = 6      // features of actions, where these are more
)

// lateDelays are mean delays that are looked for, as shares of the log.
var lateDelays = [...]float64{.025, .05, .1, .2, .4}

// missing is the share of rewards that are not in yet, by blocks of age, if delays are exponential with a mean τ: the
// mean of exp(−age/τ). The newest blocks are those that miss half of what the first does.
func missing(tau float64) (g [lateBlocks]float64, newest int) {
	for b := range g {
		from := float64(b) / lateBlocks
		g[b] = (math.Exp(-from/tau) - math.Exp(-(from+1./lateBlocks)/tau)) * tau * lateBlocks
		if 2*g[b] >= g[0] {
			newest++
		}
	}
	return g, newest
}

// newestRewards names the check that late makes.
const newestRewards = "newest rewards"

// late looks for rewards of some actions that are not in yet: where a log is written before all of them came, those
// of its newest rows are what stands for none, and actions whose rewards come sooner look better than they are.
//
// The share of rewards other than a value v is compared between actions, in blocks of a twentieth of the log, and
// the differences are regressed on the share that exponential delays would leave out at that age (difference in
// differences). What falls alike for all actions is the world's drift, and makes none look better: the test passes
// if the changes are alike as sums or as factors. A regression of each action's rewards on contexts takes out what
// contexts that change do. The change must also show with weights 1/π₀, which a logging policy that changes does not
// alter, or the contexts and propensities of the action must be what they were. v is the least reward, the largest,
// and the one whose share grew most. Doubtful is what differs at lateLevel, and for one action by more than a fifth.
// Rows of a group count as far as they tell something new. Without times the order of the file is taken for that of
// time, unless it is sorted by a column. Fewer than 500 rows are not looked at. What the shard
// of the newest rows finds is said of all. A log that is sound has no such finding.
func (l *log) late() {
	if l.Time == nil && len(l.Snapshots) > 0 {
		l.add(Finding{Check: "order of rows", About: Order, Severity: Doubtful,
			Measured: "the rows of a table are in no order, and have no times",
			Means:    "drift, rewards of the newest rows that are not in yet, and draws that follow time cannot be seen",
			Do:       "read a column of the table as timestamp"})
	}
	if l.n < 500 {
		return
	}
	all := l.divisions()
	if len(all) == 0 {
		return
	}
	values := []float64{slices.Max(l.Cost), slices.Min(l.Cost)}
	if v, ok := l.grown(l.n*7/10, l.n*8/10, values); ok {
		values = append(values, v)
	} else if l.having(values[0])+l.having(values[1]) == l.n {
		values = values[:1] // rewards other than one are the other
	}
	for _, of := range all {
		d := l.newDelays(of)
		if d == nil {
			continue
		}
		for _, v := range values {
			if f, found := d.test(v, lateLevel/float64(len(values)*len(all))); found {
				l.add(f)
				return
			}
		}
	}
}

// division divides rows into classes by their actions, 0 for those of few rows.
type division struct {
	class []uint8  // of each row
	names []string // of classes, in a sentence
}

// divisions are that by actions of many rows and, of a catalogue and sets of many, those by whether a feature of the
// action is above its median, for the features that vary most.
func (l *log) divisions() (all []division) {
	class, action := l.classes(max(50, l.n/100), lateActions)
	if len(action) > 1 {
		d := division{make([]uint8, l.n), make([]string, len(action))}
		for i, a := range l.Action {
			d.class[i] = uint8(class[a])
		}
		for c, a := range action {
			if c > 0 {
				d.names[c] = "action " + l.Actions[a]
			}
		}
		all = append(all, d)
	}
	if l.Choices == nil || l.k <= lateActions {
		return all
	}
	o := (&bets{reader: l.reader(0)}).describe()
	for _, f := range o.items[:min(len(o.items), lateItems)] {
		d, values := division{make([]uint8, l.n), []string{"", "", ""}}, make([]float64, l.n)
		for i := range values {
			values[i] = o.described(i, o.Chosen(i))[f.place]
		}
		median := stat.Quantile(.5, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
		for i, v := range values {
			if d.class[i] = 1; v > median {
				d.class[i] = 2
			}
		}
		of, _ := strings.CutSuffix(f.name, " of the action")
		d.names[1], d.names[2] = fmt.Sprintf("actions whose %s is at most %.4g", of, median), fmt.Sprintf("actions whose %s is above %.4g", of, median)
		all = append(all, d)
	}
	return all
}

// delays hold what late reads from the rows: for each the block of its age, the newest being 0, and its action's
// class, 0 for those that few rows have.
type delays struct {
	*reader
	block  []uint8
	class  []uint8
	names  []string              // of classes
	kept   []int                 // features that foretell rewards
	buffer []float64             // for a row's features
	rows   [][]int               // some of each class, to learn from
	moved  [][lateBlocks]columns // by class and block
}

func (l *log) newDelays(of division) *delays {
	d := &delays{reader: l.reader(lateFeatures), block: make([]uint8, l.n), class: of.class, names: of.names}
	for t, i := range l.inTime(0, l.n) {
		d.block[i] = uint8(lateBlocks - 1 - t*lateBlocks/l.n)
	}
	d.buffer = make([]float64, len(d.features))
	for f, a := range d.along() {
		if l.Time == nil && a.next > .9*a.two { // neighbours correlate so
			return nil
		}
		if math.Abs(a.with) <= .9*math.Sqrt(a.two*a.ages) {
			d.kept = append(d.kept, f)
		}
	}
	d.rows = make([][]int, len(d.names))
	for i := 0; i < l.n; i += 1 + l.n/lateRows {
		d.rows[d.class[i]] = append(d.rows[d.class[i]], i)
	}
	d.sum()
	return d
}

// columns are sums over rows of features, their squares, and the propensity and its logarithm.
type columns struct {
	rows        float64
	sum, square []float64
}

// sum adds up the columns of each class in each block.
func (d *delays) sum() {
	d.moved = make([][lateBlocks]columns, len(d.names))
	width := 1 + 2*len(d.kept)
	row := make([]float64, width+2)
	for i, b := range d.block {
		d.fill(i, row[:width])
		if d.Propensity != nil {
			row[width], row[width+1] = d.Propensity[i], math.Log(d.Propensity[i])
		}
		c := &d.moved[d.class[i]][b]
		if c.rows++; c.sum == nil {
			c.sum, c.square = make([]float64, len(row)), make([]float64, len(row))
		}
		for j, v := range row {
			c.sum[j], c.square[j] = c.sum[j]+v, c.square[j]+v*v
		}
	}
}

// moves reports that columns of a class change along g by lateStill standard errors.
func (d *delays) moves(class int, g [lateBlocks]float64) bool {
	var n, mean, spread float64
	for b, c := range d.moved[class] {
		n, mean = n+c.rows, mean+c.rows*g[b]
	}
	mean /= n
	for b, c := range d.moved[class] {
		spread += c.rows * (g[b] - mean) * (g[b] - mean)
	}
	for j := range 3 + 2*len(d.kept) {
		var sum, square, along float64
		for b, c := range d.moved[class] {
			if c.rows > 0 {
				sum, square, along = sum+c.sum[j], square+c.square[j], along+(g[b]-mean)*c.sum[j]
			}
		}
		variance := square/n - sum/n*sum/n
		if variance > 1e-9*square/n && along*along > lateStill*lateStill*spread*variance {
			return true
		}
	}
	return false
}

// along is how features correlate with the age of rows, and with those of the next rows: a column of time would take
// rewards that are late for the effect of contexts, and a file that is sorted by a column is in no order of time.
func (d *delays) along() []moved {
	out, last := make([]moved, len(d.features)), make([]float64, len(d.features))
	for t := 0; t+1 < d.n; t += 1 + d.n/lateRows {
		d.vector(d.rowAt(t), last)
		d.vector(d.rowAt(t+1), d.buffer)
		age := float64(d.block[d.rowAt(t)]) - float64(lateBlocks-1)/2
		for f := range out {
			m, v := &out[f], last[f]
			m.two, m.next, m.with, m.ages = m.two+v*v, m.next+v*d.buffer[f], m.with+v*age, m.ages+age*age
		}
	}
	return out
}

// moved holds sums over rows: of a feature squared, of its product with the next row's, of its product with
// the age, and of the age squared.
type moved struct{ two, next, with, ages float64 }

// fill writes 1, and features with their squares.
func (d *delays) fill(i int, row []float64) {
	d.vector(i, d.buffer)
	row[0] = 1
	for j, f := range d.kept {
		v := d.buffer[f]
		row[1+2*j], row[2+2*j] = v, v*v-1
	}
}

// other is 1 if row i has another reward than that of cost v, else 0.
func (d *delays) other(i int, v float64) float64 {
	if d.Cost[i] != v {
		return 1
	}
	return 0
}

// foretold predicts, from context and action, the probability of a reward other than that of cost v.
func (d *delays) foretold(v float64) []float64 {
	width := 1 + 2*len(d.kept)
	theta := make([][]float64, len(d.rows))
	all := 0.0
	for i := range d.n {
		all += d.other(i, v) / float64(d.n)
	}
	for c, rows := range d.rows {
		theta[c] = make([]float64, width)
		x, right, mean := make([]float64, 0, len(rows)*width), make([]float64, len(rows)), 0.0
		for at, i := range rows {
			x = x[:len(x)+width]
			d.fill(i, x[len(x)-width:])
			right[at] = d.other(i, v)
			mean += right[at] / float64(len(rows))
		}
		floats.AddConst(-mean, right)
		if len(rows) > 2*width {
			if t, err := regress.Ridge(regress.Matrix{Width: width, Stride: width, Data: x}, right, 1, nil,
				[]float64{ridge}); err == nil {
				theta[c] = t
			}
		}
		theta[c][0] += mean
	}
	m, row := make([]float64, d.n), make([]float64, width)
	for i := range m {
		d.fill(i, row)
		m[i] = max(all/10, min(1-(1-all)/10, floats.Dot(row, theta[d.class[i]])))
	}
	return m
}

// cell adds up the rows of a class in a block.
type cell struct{ n, differ, expected, variance float64 }

func (c *cell) add(o cell) {
	c.n, c.differ, c.expected, c.variance = c.n+o.n, c.differ+o.differ, c.expected+o.expected, c.variance+o.variance
}

// test looks at rewards other than that of cost v, at a level.
func (d *delays) test(v, level float64) (f Finding, found bool) {
	m := d.foretold(v)
	classes := len(d.names)
	// Changes that are alike for all actions: of each block a term, or a factor.
	var n, got, would [lateBlocks]float64
	for i, b := range d.block {
		n[b], would[b], got[b] = n[b]+1, would[b]+m[i], got[b]+d.other(i, v)
	}
	// By scale (terms, factors) and weight (1, 1/π₀), block and class.
	var cells [2][2][lateBlocks][]cell
	for s := range cells {
		for w := range cells[s] {
			for b := range cells[s][w] {
				cells[s][w][b] = make([]cell, classes)
			}
		}
	}
	var alike [2]float64 // of a group's residuals: the square of sums, the sum of squares
	sums := map[int32]float64{}
	for i, b := range d.block {
		y := d.other(i, v)
		for s, q := range [2]float64{m[i] + (got[b]-would[b])/n[b], m[i] * got[b] / would[b]} {
			least := max(got[b], 1) / n[b] / 10
			q = max(least, min(1-least, q))
			for w := range 2 {
				omega := 1.0
				if w == 1 && d.Propensity != nil {
					omega = min(1/d.Propensity[i], 10*float64(d.k))
				}
				cells[s][w][b][d.class[i]].add(cell{omega, omega * (y - q), omega * q, omega * omega * q * (1 - q)})
			}
			if s == 0 && d.Group != nil && d.Group[i] >= 0 {
				sums[d.Group[i]] += y - q
				alike[1] += (y - q) * (y - q)
			}
		}
	}
	for _, s := range sums {
		alike[0] += s * s
	}
	more := 1.0
	if alike[1] > 0 {
		more = math.Sqrt(max(1, alike[0]/alike[1]))
	}
	best := 1.0
	for _, tau := range lateDelays {
		g, newest := missing(tau)
		chi, df, far, worst, most := 0.0, -1.0, 0.0, 0, 0.0
		for c := range classes {
			z, share, factor, ok := d.change(&cells, c, g, newest)
			if !ok {
				continue
			}
			z /= more
			chi, df = chi+(1-share)*z*z, df+1
			if math.Abs(z) > most && c > 0 {
				most, far, worst = math.Abs(z), math.Abs(factor), c
			}
		}
		if df < 1 || far < .2 || !(chi >= 0) {
			continue
		}
		p := min(1, 2*min(distuv.ChiSquared{K: df}.Survival(chi), 2*(df+1)*distuv.UnitNormal.Survival(most)))
		if p >= best {
			continue
		}
		best, f = p, d.says(v, newest, worst, p)
	}
	return f, best < level
}

// change regresses the difference between the rewards of a class and those of others, by blocks, on g: z, the least of
// what scales say, the class's share of the variance, and the factor less 1 of the newest block.
func (d *delays) change(cells *[2][2][lateBlocks][]cell, class int, g [lateBlocks]float64,
	newest int) (z, share, factor float64, ok bool) {
	for s := range cells {
		var of [2]float64 // by weight
		for w := range cells[s] {
			var sum, one, two, differ, with float64 // of weights 1/variance: 1, g, g², the difference, that times g
			var own, both, expected float64
			for b, row := range cells[s][w] {
				var rest cell
				for c, v := range row {
					if c != class {
						rest.add(v)
					}
				}
				this := row[class]
				by, byRest := this.n, rest.n
				if s == 1 {
					by, byRest = this.expected, rest.expected
				}
				if !(by > 0 && byRest > 0) {
					continue
				}
				if b < newest {
					expected += this.expected * this.expected / this.variance
				}
				variance := this.variance/by/by + rest.variance/byRest/byRest
				change := (this.differ/by - rest.differ/byRest) / variance
				sum, one, two = sum+1/variance, one+g[b]/variance, two+g[b]*g[b]/variance
				differ, with = differ+change, with+g[b]*change
				own, both = own+this.variance/by/by, both+variance
			}
			spread := two - one*one/sum
			if !(spread > 1e-9*two) || w == 0 && expected < 5 {
				return 0, 0, 0, false
			}
			slope := (with - differ*one/sum) / spread
			of[w] = slope * math.Sqrt(spread)
			if w == 0 {
				share = own / both
				if s == 1 {
					factor = slope * g[0]
				}
			}
		}
		if of[0]*of[1] <= 0 || math.Abs(of[1]) < lateWeighted &&
			(math.Abs(of[0]) < lateStill || d.moves(class, g)) {
			of[0] = 0
		}
		if s == 0 {
			z = of[0]
		} else if z*of[0] <= 0 {
			z = 0
		} else if math.Abs(of[0]) < math.Abs(z) {
			z = of[0]
		}
	}
	return z, share, factor, true
}

// says words the finding about a class in the newest blocks.
func (d *delays) says(v float64, window, worst int, p float64) Finding {
	var of [2][2]count // of the class and of others, in the newest and in older blocks
	for i, b := range d.block {
		this, old := 1, 1
		if int(d.class[i]) == worst {
			this = 0
		}
		if int(b) < window {
			old = 0
		}
		c := &of[this][old]
		c.rows, c.other = c.rows+1, c.other+d.other(i, v)
	}
	share := func(c count) string { return percent(c.other / max(1, c.rows)) }
	order := "in the order of time"
	if d.Time == nil {
		order = "in the order of the file, as rows have no times"
	}
	return Finding{Check: newestRewards, About: Selection, Severity: Doubtful, Numbers: []Number{{"p", p}},
		Measured: fmt.Sprintf("rewards other than %.6g: of %s in %s of the newest %s of rows, in %s of those "+
			"before; of other actions in %s and %s; p = %.2g, %s", d.units.At(-v+0), d.names[worst],
			share(of[0][0]), percent(float64(window)/lateBlocks), share(of[0][1]), share(of[1][0]), share(of[1][1]), p,
			order),
		Means: "rewards of some actions seem not to be in yet, and others look better beside them; or actions " +
			"are no longer what they were, and a mean over the log does not tell which is better now",
		Do: "leave out the newest decisions of all actions, up to when all their rewards are in, as join --mature " +
			"does"}
}

// count counts rows, and among them the rows that have another reward.
type count struct{ rows, other float64 }

// grown is the cost, but for some, whose share has grown most since the first rows, of those that a twentieth of the
// newest rows have, from a place on in the order of time.
func (l *log) grown(first, from int, but []float64) (v float64, ok bool) {
	common, newest := map[float64]int{}, l.n-from
	for _, i := range l.inTime(from, l.n) {
		if c := l.Cost[i]; !slices.Contains(but, c) {
			common[c]++
		}
	}
	most := math.Inf(-1)
	for c, n := range common {
		if n < newest/20 {
			continue
		}
		before := 0
		for _, i := range l.inTime(0, first) {
			if l.Cost[i] == c {
				before++
			}
		}
		if d := float64(n)/float64(newest) - float64(before)/float64(first); d > most || d == most && c < v {
			v, most, ok = c, d, true
		}
	}
	return v, ok
}

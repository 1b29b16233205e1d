package regress

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"opl/policies/features"
)

const (
	lineCells  = 64 // parts of a number's range, at whose ends lines may break
	lineBreaks = 3  // expected of a curve
	lineRows   = 2  // that the mean of all rows counts for in a line's
	lineSlope  = 4  // standard deviation of the slope of a line's logit over the range
	lineLeaves = 32 // of a tree, before it is pruned
	leastLine  = 20 // rows of a leaf, at least
	leastGain  = -8 // in nats, of splits that are tried since those below may gain
	// mostSplits are how many splits of numbers a node compares at most, about.
	mostSplits = 96
)

// line has the sums that a line is fitted by: those of 1, v, v², y and vy of rows.
type line [5]float64

func (l *line) add(o line, times float64) {
	for i, v := range o {
		l[i] += times * v
	}
}

// lines is what lines of y by v have in common.
type lines struct {
	mean    float64    // of y
	odds    float64    // logarithm of those of a break at the end of a cell
	norming [3]float64 // log Γ of the prior's rows of 1, of 0, and of both
}

func newLines(mean float64) *lines {
	p := &lines{mean: mean, odds: math.Log(lineBreaks) - math.Log(lineCells-lineBreaks)}
	for i, rows := range []float64{mean, 1 - mean, 1} {
		p.norming[i], _ = math.Lgamma(lineRows * rows)
	}
	return p
}

// fit returns the likely line a + c v of rows with rewards from a beta-binomial distribution, whose logit has a normal
// slope, and the logarithm of its evidence.
func (p *lines) fit(l line) (a, c, evidence float64) {
	n, ones := l[0], l[3]
	if n < .5 {
		return p.mean, 0, 0
	}
	of := func(prior int, n float64) float64 {
		v, _ := math.Lgamma(n)
		return v - p.norming[prior]
	}
	prior := lineRows * p.mean
	m := (ones + prior) / (n + lineRows)
	at, noise := l[1]/n, m*(1-m)
	vv, vy := max(0, l[2]-n*at*at), l[4]-at*ones
	lambda := 1 / (lineSlope * lineSlope * noise)
	c = vy / (vv + lambda)
	evidence = of(0, ones+prior) + of(1, n-ones+lineRows-prior) - of(2, n+lineRows) +
		(c*vy/noise-math.Log1p(vv/lambda))/2
	return m - c*at, c, evidence
}

// once is the logarithm of the evidence of lines with at most one break.
func (p *lines) once(cells []line) float64 {
	var left, right line
	for _, l := range cells {
		right.add(l, 1)
	}
	_, _, sum := p.fit(right)
	for _, l := range cells[:lineCells-1] {
		if l[0] == 0 || l[0] == right[0] {
			continue
		}
		left.add(l, 1)
		right.add(l, -1)
		_, _, e := p.fit(left)
		_, _, f := p.fit(right)
		sum = logSum(sum, e+f+p.odds)
	}
	return sum
}

func logSum(x, y float64) float64 { return max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y))) }

// curve returns the mean of lines with any breaks by their evidence: a[i] + c[i] v in cell i. What ends at a cell is
// summed up from the left, what begins there from the right.
func (p *lines) curve(cells []line) (a, c [lineCells]float64) {
	const n = lineCells
	var fitted [n][n + 1]struct{ a, c, e float64 } // of cells from i to before j
	var ends, begins [n + 1]float64
	for i := range n {
		var l line
		if i > 0 {
			ends[i] += p.odds
		}
		for j := i + 1; j <= n; j++ {
			l.add(cells[j-1], 1)
			f := &fitted[i][j]
			f.a, f.c, f.e = p.fit(l)
			if e := ends[i] + f.e; i == 0 {
				ends[j] = e
			} else {
				ends[j] = logSum(ends[j], e)
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j <= n; j++ {
			f, after := fitted[i][j], begins[j]
			if j < n {
				after += p.odds
			}
			if j == i+1 {
				begins[i] = f.e + after
			} else {
				begins[i] = logSum(begins[i], f.e+after)
			}
			w := math.Exp(ends[i] + f.e + after - ends[n])
			for k := i; k < j && w > 1e-9; k++ {
				a[k], c[k] = a[k]+w*f.a, c[k]+w*f.c
			}
		}
	}
	return a, c
}

// liner grows a tree whose leaves have lines.
type liner struct {
	grower
	*lines
	cell  []uint8
	v, y  []float64
	cells [][]line // of each node
}

// Lines learns the mean of y in [0, 1] given features and a number v in [0, 1], which may fall or rise steeply at some
// v: a tree of the features has in each leaf the mean of lines of v that break anywhere, by their evidence. Where rows
// leave open where a line breaks, it is a mean over the places. Output k is the logit of the mean at the numbers at[k].
// A split must have more evidence than chance gives to the best of those that were compared.
func Lines(x Rows, groups [][]int32, v, y []float64, at [][]float64, threads int) (*features.Forest, error) {
	n := x.Len()
	if len(v) != n || len(y) != n || n == 0 {
		return nil, errors.New("regress: lines need as many numbers and rewards as rows, and some rows")
	}
	mean := .5
	for _, r := range y {
		mean += r
	}
	mean /= float64(n + 1)
	b, err := newBinned(x, groups, max(4, min(16, mostSplits/x.Dim())), threads)
	if err != nil {
		return nil, err
	}
	g := &liner{lines: newLines(mean), cell: make([]uint8, n), v: v, y: y}
	g.binned, g.scratch = b, make([]int32, n)
	for i, u := range v {
		g.cell[i] = uint8(lineCell(u))
		g.rows = append(g.rows, int32(i))
	}
	g.grow()
	g.prune(0)
	forest := &features.Forest{In: x.Dim()}
	curves := make([][2][lineCells]float64, len(g.nodes))
	for i := range g.nodes {
		if g.nodes[i].left == 0 {
			curves[i][0], curves[i][1] = g.curve(g.cells[i])
		}
	}
	for k, numbers := range at {
		for i := range g.nodes {
			p := 0.
			for _, u := range numbers {
				j := lineCell(u)
				p += min(max(curves[i][0][j]+curves[i][1][j]*u, .01), .99) / float64(len(numbers))
			}
			if g.nodes[i].left == 0 {
				g.nodes[i].value = math.Log(p / (1 - p))
			}
		}
		forest.Base = append(forest.Base, 0)
		g.write(forest, k)
	}
	return forest, nil
}

func lineCell(u float64) int { return max(0, min(lineCells-1, int(u*lineCells))) }

// grow cuts the leaf that gains most, until there are enough.
func (g *liner) grow() {
	g.node(branch{to: len(g.rows)})
	for range lineLeaves - 1 {
		at := -1
		for i, n := range g.nodes {
			if n.left == 0 && n.split.gain > leastGain && (at < 0 || n.split.gain > g.nodes[at].split.gain) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		n := &g.nodes[at]
		middle := g.part(n)
		n.left, n.right = len(g.nodes), len(g.nodes)+1
		from, to := n.from, n.to
		g.node(branch{from: from, to: middle})
		g.node(branch{from: middle, to: to})
	}
}

// prune makes leaves of nodes below which splits gain nothing together, and returns what they gain.
func (g *liner) prune(i int) float64 {
	n := &g.nodes[i]
	if n.left == 0 {
		return 0
	}
	gain := n.split.gain + g.prune(n.left) + g.prune(n.right)
	if gain <= 0 {
		n.left, n.right, gain = 0, 0, 0
	}
	return gain
}

// node adds a node, with the split that gains most.
func (g *liner) node(n branch) {
	whole := make([]line, lineCells)
	for _, r := range g.rows[n.from:n.to] {
		whole[g.cell[r]].add(g.of(r), 1)
	}
	evidence, tried, best := g.once(whole), 0, math.Inf(-1)
	left, right := make([]line, lineCells), make([]line, lineCells)
	for c := range g.columns {
		column := &g.columns[c]
		hist := make([]line, column.bins*lineCells)
		for _, r := range g.rows[n.from:n.to] {
			hist[int(column.of[r])*lineCells+int(g.cell[r])].add(g.of(r), 1)
		}
		try := func(bins []int) {
			clear(left)
			for _, b := range bins {
				for i, l := range hist[b*lineCells : (b+1)*lineCells] {
					left[i].add(l, 1)
				}
			}
			rows := 0.
			for i, l := range whole {
				rows, right[i] = rows+left[i][0], l
				right[i].add(left[i], -1)
			}
			if min(rows, float64(n.to-n.from)-rows) < leastLine {
				return
			}
			tried++
			if gain := g.once(left) + g.once(right) - evidence; gain > best {
				best, n.split = gain, split{column: c, bin: uint8(bins[len(bins)-1])}
				for _, b := range bins {
					n.split.set[b/64] |= 1 << (b % 64)
				}
			}
		}
		order := g.order(column, hist)
		for i := range order[:max(1, len(order))-1] {
			if try(order[:i+1]); i > 0 && column.feature < 0 {
				try(order[i : i+1])
			}
		}
		if column.feature < 0 && len(order) > 2 {
			try(order[len(order)-1:])
		}
	}
	n.split.gain = best - math.Log(float64(max(1, tried))) - 1
	g.nodes, g.cells = append(g.nodes, n), append(g.cells, whole)
}

// order are the bins of a column that have rows: those of a group by their mean. Rows without a member go right.
func (g *liner) order(c *column, hist []line) (order []int) {
	mean := make([]float64, c.bins)
	for b := range c.bins {
		var sum line
		for _, l := range hist[b*lineCells : (b+1)*lineCells] {
			sum.add(l, 1)
		}
		if mean[b] = (sum[3] + smoothing*g.mean) / (sum[0] + smoothing); sum[0] > 0 && (c.feature >= 0 || b > 0) {
			order = append(order, b)
		}
	}
	if c.feature < 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	}
	return order
}

func (g *liner) of(r int32) line {
	v, y := g.v[r], g.y[r]
	return line{1, v, v * v, y, v * y}
}

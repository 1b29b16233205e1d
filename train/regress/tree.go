package regress

import (
	"cmp"
	"math"
	"slices"

	"opl/graph/kernel/workers"
	"opl/policies/features"
)

// pair is a gradient and a hessian, of a row or of rows.
type pair struct{ g, h float64 }

// cell is what a histogram has of a bin.
type cell struct {
	pair
	n float64 // rows
}

// split is how a node is cut.
type split struct {
	gain   float64 // 0: it is not
	column int
	bin    uint8     // of a feature: left if the bin is at most this
	set    [4]uint64 // of a group: bins that go left
	left   cell
}

func (s *split) goesLeft(group bool, bin uint8) bool {
	if group {
		return s.set[bin/64]>>(bin%64)&1 != 0
	}
	return bin <= s.bin
}

// branch is a node of a tree that grows.
type branch struct {
	split       split
	left, right int // 0: a leaf
	value       float64
	from, to    int // its rows
	depth       int
	sum         cell
	hist        []cell
}

// grower grows trees on rows of a binned design.
type grower struct {
	*binned
	o       BoostOptions
	rows    []int32 // those of each node are next to each other, in their order
	scratch []int32
	grads   []pair // by row of the design
	ordered []pair // those of the rows of one node
	nodes   []branch
	free    [][]cell
	best    [][2]split // by column, of a node and its sibling
	order   [][]ranked // by column
	noise   float64    // Σg²/Σh, the gain that a split without effect has on average
}

// ranked is a bin of a group by what its rows ask for.
type ranked struct {
	bin  int
	rank float64
}

// leastHessian is what a leaf needs, beside rows.
const leastHessian = 1e-3

// grow makes a tree of the rows of g: leaf by leaf, the one that gains most first.
func (g *grower) grow() {
	for i := range g.nodes {
		g.release(&g.nodes[i])
	}
	var squares, hessians float64
	for _, r := range g.rows {
		squares, hessians = squares+g.grads[r].g*g.grads[r].g, hessians+g.grads[r].h
	}
	g.noise = squares / max(hessians, math.SmallestNonzeroFloat64)
	root := branch{to: len(g.rows), hist: g.histogram()}
	g.nodes = append(g.nodes[:0], root)
	g.fill(&g.nodes[0], nil, nil)
	for leaves := 1; leaves < g.o.Leaves; leaves++ {
		at := -1
		for i := range g.nodes {
			if n := &g.nodes[i]; n.left == 0 && n.split.gain > 0 && (at < 0 || n.split.gain > g.nodes[at].split.gain) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		g.cut(at, leaves+1 == g.o.Leaves)
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		n.value = -g.o.Rate * n.sum.g / (n.sum.h + g.o.L2)
		if n.sum.h+g.o.L2 == 0 {
			n.value = 0
		}
	}
}

func (g *grower) histogram() []cell {
	if n := len(g.free); n > 0 {
		h := g.free[n-1]
		g.free = g.free[:n-1]
		return h
	}
	return make([]cell, g.bins)
}

func (g *grower) release(n *branch) {
	if n.hist != nil {
		g.free, n.hist = append(g.free, n.hist), nil
	}
}

// part puts the rows of a node that go left before the others, and returns where these begin.
func (g *grower) part(n *branch) int {
	column := &g.columns[n.split.column]
	left, right := n.from, 0
	for _, r := range g.rows[n.from:n.to] {
		if n.split.goesLeft(column.feature < 0, column.of[r]) {
			g.rows[left] = r
			left++
		} else {
			g.scratch[right] = r
			right++
		}
	}
	copy(g.rows[left:n.to], g.scratch[:right])
	return left
}

// cut splits a node; the children of the last are leaves.
func (g *grower) cut(at int, last bool) {
	n := &g.nodes[at]
	left := g.part(n)
	n.left, n.right = len(g.nodes), len(g.nodes)+1
	sum := n.split.left
	one := branch{from: n.from, to: left, depth: n.depth + 1, sum: sum}
	two := branch{from: left, to: n.to, depth: n.depth + 1, sum: cell{pair{n.sum.g - sum.g, n.sum.h - sum.h},
		n.sum.n - sum.n}}
	if last || one.depth >= g.o.Depth {
		g.release(n)
		g.nodes = append(g.nodes, one, two)
		return
	}
	parent := n.hist
	n.hist = nil
	small, large := &one, &two
	if one.to-one.from > two.to-two.from {
		small, large = large, small
	}
	small.hist, large.hist = g.histogram(), parent
	g.fill(small, large, parent)
	g.nodes = append(g.nodes, one, two)
}

// fill makes the histogram of a node of its rows, and that of its sibling of the parent's, which it overwrites, and
// finds how both are best split. A node without a sibling is the root.
func (g *grower) fill(n, sibling *branch, parent []cell) {
	rows := g.rows[n.from:n.to]
	ordered := g.ordered[:len(rows)]
	for i, r := range rows {
		ordered[i] = g.grads[r]
	}
	if sibling == nil {
		for _, p := range ordered {
			n.sum.g, n.sum.h = n.sum.g+p.g, n.sum.h+p.h
		}
		n.sum.n = float64(len(rows))
	}
	threads := 1
	if len(rows)*len(g.columns) > 1<<15 {
		threads = g.o.Threads
	}
	workers.Do(threads, len(g.columns), func(_, c int) {
		column := &g.columns[c]
		hist := n.hist[column.first : column.first+column.bins]
		count(hist, column.of, rows, ordered)
		g.best[c][0] = g.find(c, hist, n.sum)
		if sibling == nil {
			return
		}
		other := parent[column.first : column.first+column.bins]
		for b, h := range hist {
			other[b] = cell{pair{other[b].g - h.g, other[b].h - h.h}, other[b].n - h.n}
		}
		g.best[c][1] = g.find(c, other, sibling.sum)
	})
	for _, best := range g.best {
		if best[0].gain > n.split.gain {
			n.split = best[0]
		}
		if sibling != nil && best[1].gain > sibling.split.gain {
			sibling.split = best[1]
		}
	}
}

// count adds up the gradients of rows by their bins.
func count(hist []cell, bins []uint8, rows []int32, ordered []pair) {
	var all [1 + mostBins]cell // a byte is always inside
	for i, p := range ordered[:len(rows)] {
		h := &all[bins[rows[i]]]
		h.g += p.g
		h.h += p.h
		h.n++
	}
	copy(hist, all[:])
}

// find returns the best split of a node by a column.
func (g *grower) find(c int, hist []cell, sum cell) (best split) {
	if int(sum.n) < 2*g.o.MinRows {
		return best
	}
	fewest, l2 := float64(g.o.MinRows), g.o.L2
	whole := sum.g * sum.g / (sum.h + l2)
	bound := whole + 1e-10*sum.h
	try := func(left cell) bool {
		h, r := sum.h-left.h, sum.g-left.g
		if left.n < fewest || sum.n-left.n < fewest || left.h < leastHessian || h < leastHessian {
			return false
		}
		a, b := left.h+l2, h+l2
		both := left.g*left.g*b + r*r*a
		if !(both > bound*(a*b)) { // most are not, and a division takes long
			return false
		}
		bound = both / (a * b)
		best = split{gain: bound - whole, column: c, left: left}
		return true
	}
	if g.columns[c].feature >= 0 {
		var left cell
		for b, h := range hist[:len(hist)-1] {
			if h.n == 0 {
				continue
			}
			if left = (cell{pair{left.g + h.g, left.h + h.h}, left.n + h.n}); sum.n-left.n < fewest {
				break
			}
			if try(left) {
				best.bin = uint8(b)
			}
		}
		return best
	}
	// Members in the order of what their rows ask for; rare ones, and rows without any, go right.
	order := g.order[c][:0]
	for b, h := range hist {
		if b > 0 && h.n >= rareRows {
			order = append(order, ranked{b, h.g / (h.h + smoothing*sum.h/sum.n)})
		}
	}
	g.order[c] = order
	if c < len(g.columns)-g.o.Sure {
		whole += byOrder * max(0, float64(len(order)-freeSets)) * g.noise
		bound = whole + 1e-10*sum.h
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	for range 2 { // from either end, since what goes right goes there from both
		var left cell
		var set [4]uint64
		for _, r := range order {
			h := hist[r.bin]
			left = cell{pair{left.g + h.g, left.h + h.h}, left.n + h.n}
			if set[r.bin/64] |= 1 << (r.bin % 64); try(left) {
				best.set = set
			}
		}
		slices.Reverse(order)
	}
	return best
}

const (
	rareRows  = 3 // of a node, below which a member of a group is not told apart
	smoothing = 5 // rows of no gradient beside those of a member
	// Where a group has no effect, ordering its members by their gradients gains 2/π for each of them, in
	// units of the noise. Splits by sets pay for that. The best of the cuts of a number gains about as
	// much as an order of six.
	byOrder  = 2 / math.Pi
	freeSets = 6
)

// leafOf is the value of the leaf of a row of the design.
func (g *grower) leafOf(row int32) float64 {
	i := 0
	for g.nodes[i].left > 0 {
		n := &g.nodes[i]
		if c := &g.columns[n.split.column]; n.split.goesLeft(c.feature < 0, c.of[row]) {
			i = n.left
		} else {
			i = n.right
		}
	}
	return g.nodes[i].value
}

// write adds the tree to a forest, for an output.
func (g *grower) write(f *features.Forest, output int) {
	first := len(f.Feature)
	var add func(i int)
	add = func(i int) {
		n, at := &g.nodes[i], len(f.Feature)
		f.Feature, f.Value, f.Right = append(f.Feature, -1), append(f.Value, n.value), append(f.Right, 0)
		if n.left == 0 {
			return
		}
		if c := &g.columns[n.split.column]; c.feature >= 0 {
			f.Feature[at], f.Value[at] = int32(c.feature), c.cuts[n.split.bin]
		} else {
			var set []int32
			for m, j := range c.members {
				if n.split.goesLeft(true, uint8(m+1)) {
					set = append(set, j)
				}
			}
			f.Feature[at], f.Value[at], f.Sets = int32(-2-len(f.Sets)), 0, append(f.Sets, set)
		}
		add(n.left)
		f.Right[at] = int32(len(f.Feature) - at)
		add(n.right)
	}
	add(0)
	f.Outputs, f.Sizes = append(f.Outputs, int32(output)), append(f.Sizes, int32(len(f.Feature)-first))
}

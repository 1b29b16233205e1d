package rules

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel/workers"
	"opl/train/regress"
)

// column is a number or a category in bins.
//
// A number has bins of ascending values, bin b of cuts[b−1] < x ≤ cuts[b], and a last bin of missing values if some
// are. A category has bin 0 of rows that have none of its members, which always goes right, and a bin for each
// member.
type column struct {
	feature int
	cuts    []float64
	flag    int     // the feature that says that the number is missing; −1: none
	members []int32 // of a category; nil: a number
	bins    int
	first   int // of its bins among all
	of      []uint16
}

// numbers are the bins of a number that are not those of missing values.
func (c *column) numbers() int { return len(c.cuts) + 1 }

// search finds trees on a binned design.
type search struct {
	x       regress.Matrix
	scores  []float64 // [n×K]
	k       int
	o       Options
	columns []column
	bins    int
}

const (
	mostMembers = 4_095 // of a category
	rareRows    = 5     // below which a member is none
	mostExact   = 8     // members of a category whose every set is tried in the first of two splits
	mostOrders  = 10    // of the members of a larger one
	mostRoots   = 10    // that are tried above the exact search
	mostRounds  = 3     // of a root and what is below it
	roughRows   = 5_000
	roughCuts   = 32 // by which these are tried
)

func newSearch(x regress.Matrix, scores []float64, k int, o Options) (*search, error) {
	n := x.Len()
	s := &search{x: x, scores: scores, k: k, o: o}
	taken := make([]bool, x.Width)
	take := func(j int32) error {
		if j < 0 || int(j) >= x.Width || taken[j] {
			return fmt.Errorf("rules: feature %d is not one of %d, or in two columns", j, x.Width)
		}
		taken[j] = true
		return nil
	}
	flag := make(map[int]int)
	for _, pair := range o.Missing {
		if err := take(pair[1]); err != nil {
			return nil, err
		}
		flag[int(pair[0])] = int(pair[1])
	}
	for _, members := range o.Groups {
		for _, j := range members {
			if err := take(j); err != nil {
				return nil, err
			}
		}
		s.columns = append(s.columns, s.category(members))
	}
	for j := range x.Width {
		if !taken[j] {
			c := column{feature: j, flag: -1}
			if f, ok := flag[j]; ok {
				c.flag = f
			}
			s.columns = append(s.columns, c)
		}
	}
	slices.SortFunc(s.columns, func(a, b column) int { return cmp.Compare(a.feature, b.feature) })
	cuts := o.Cuts
	if cuts == 0 {
		if cuts = mostCuts; n <= allCuts && o.Depth <= exactDepth {
			cuts = allCuts
		}
	}
	for _, v := range x.Data {
		if v-v != 0 {
			return nil, fmt.Errorf("rules: a feature is %v", v)
		}
	}
	for ; ; cuts = cuts * 3 / 4 {
		s.bins = 0
		for c := range s.columns {
			of := &s.columns[c]
			if of.members == nil {
				s.number(of, cuts+1)
			}
			of.first = s.bins
			s.bins += of.bins
		}
		if o.Depth < 2 || cuts <= 8 || 4*float64(s.bins)*float64(s.bins)*float64(k) <= mostWork {
			s.screen()
			return s, nil
		}
	}
}

// screen keeps the columns of the best single splits, see [Options.Columns].
func (s *search) screen() {
	if s.o.Columns == 0 || len(s.columns) <= s.o.Columns {
		return
	}
	all, of := s.cells(), make(map[int]float64, len(s.columns)) // values by feature
	s.add(all, spaced(s.x.Len(), s.x.Len()), 1)
	for c := range s.columns {
		one := *s
		one.columns = s.columns[c : c+1]
		of[s.columns[c].feature] = one.stump(all, make([]float64, s.k), false).value
	}
	slices.SortStableFunc(s.columns, func(a, b column) int { return cmp.Compare(of[b.feature], of[a.feature]) })
	s.columns, s.bins = s.columns[:s.o.Columns], 0
	slices.SortFunc(s.columns, func(a, b column) int { return cmp.Compare(a.feature, b.feature) })
	for c := range s.columns {
		s.columns[c].first = s.bins
		s.bins += s.columns[c].bins
	}
}

// number cuts a feature into bins.
func (s *search) number(c *column, bins int) {
	n := s.x.Len()
	missing := func(i int) bool { return c.flag >= 0 && s.x.Data[i*s.x.Width+c.flag] != 0 }
	at := func(i int) float64 { return s.x.Data[i*s.x.Width+c.feature] }
	values := make([]float64, 0, n)
	for i := range n {
		if !missing(i) {
			values = append(values, at(i))
		}
	}
	c.cuts = regress.Cuts(values, bins)
	if c.bins = c.numbers(); len(values) < n {
		c.bins++
	}
	c.of = make([]uint16, n)
	for i := range n {
		if missing(i) {
			c.of[i] = uint16(c.bins - 1)
		} else {
			c.of[i] = uint16(sort.SearchFloat64s(c.cuts, at(i)))
		}
	}
}

// category gives each member that is not rare a bin.
func (s *search) category(members []int32) column {
	n := s.x.Len()
	c := column{feature: int(slices.Min(members)), flag: -1, members: []int32{}, of: make([]uint16, n)}
	for _, j := range slices.Sorted(slices.Values(members)) {
		rows := 0
		for i := range n {
			if s.x.Data[i*s.x.Width+int(j)] != 0 {
				rows++
			}
		}
		if rows < min(rareRows, n/100+1) || len(c.members) == mostMembers {
			continue
		}
		c.members = append(c.members, j)
		for i := range n {
			if s.x.Data[i*s.x.Width+int(j)] != 0 {
				c.of[i] = uint16(len(c.members))
			}
		}
	}
	c.bins = len(c.members) + 1
	return c
}

// cells are what the bins of all columns have: sums of scores by action [bins×K], and rows.
type cells struct {
	sum  []float64
	rows []int32
	n    int32     // of all
	all  []float64 // [K]
}

func (s *search) cells() *cells {
	return &cells{make([]float64, s.bins*s.k), make([]int32, s.bins), 0, make([]float64, s.k)}
}

// add adds rows, or with sign −1 takes them away.
func (s *search) add(h *cells, rows []int32, sign int32) {
	k := s.k
	for _, r := range rows {
		g := s.scores[int(r)*k : (int(r)+1)*k]
		h.n += sign
		for a, v := range g {
			h.all[a] += float64(sign) * v
		}
		for c := range s.columns {
			b := s.columns[c].first + int(s.columns[c].of[r])
			h.rows[b] += sign
			to := h.sum[b*k : (b+1)*k]
			for a, v := range g {
				to[a] += float64(sign) * v
			}
		}
	}
}

// split sends bins of a column left.
type split struct {
	value  float64
	column int // −1: a leaf
	left   []bool
}

// stump is the best leaf, or tree of one split, of the rows in h. Without keep it tells the value alone.
func (s *search) stump(h *cells, scratch []float64, keep bool) (best split) {
	best = split{value: slices.Max(h.all), column: -1}
	margin := 1e-12 * math.Abs(best.value) // rounding is no gain
	for c := range s.columns {
		of := &s.columns[c]
		if of.members != nil {
			s.pairs(h, c, &best, margin, keep)
			continue
		}
		from, to := of.first, of.first+of.numbers()
		for missing := range of.bins - of.numbers() + 1 {
			sum := scratch[:s.k]
			clear(sum)
			if missing == 1 {
				if h.rows[to] == 0 {
					break
				}
				copy(sum, h.sum[to*s.k:(to+1)*s.k])
				if v := apart(h.all, sum); v > best.value+margin {
					best.value, best.column = v, c
					best.keep(keep, of, -1, true)
				}
			}
			for b := from; b < to; b++ {
				if h.rows[b] == 0 {
					continue
				}
				l, r := math.Inf(-1), math.Inf(-1) // as apart
				cell, all := h.sum[b*s.k:][:len(sum)], h.all[:len(sum)]
				for a, v := range cell {
					v += sum[a]
					sum[a] = v
					if v > l {
						l = v
					}
					if v = all[a] - v; v > r {
						r = v
					}
				}
				if l+r > best.value+margin {
					best.value, best.column = l+r, c
					best.keep(keep, of, b-from, missing == 1)
				}
			}
		}
	}
	return best
}

// apart is the value of two leaves, of which one has the sums left.
func apart(all, left []float64) float64 {
	l, r := left[0], all[0]-left[0]
	for a := 1; a < len(left); a++ {
		l, r = max(l, left[a]), max(r, all[a]-left[a])
	}
	return l + r
}

// keep notes a split of a number after bin b.
func (p *split) keep(keep bool, of *column, b int, missing bool) {
	if !keep {
		return
	}
	p.left = make([]bool, of.bins)
	for i := range b + 1 {
		p.left[i] = true
	}
	if missing {
		p.left[of.bins-1] = true
	}
}

// pairs finds the best set of a category for each pair of actions: members go to whom they earn more with.
func (s *search) pairs(h *cells, c int, best *split, margin float64, keep bool) {
	of, k := &s.columns[c], s.k
	sum := h.sum[of.first*k : (of.first+of.bins)*k]
	rows := h.rows[of.first : of.first+of.bins]
	for a := range k {
		for b := range k {
			if a == b {
				continue
			}
			v, n := sum[b], int32(0)
			for m := 1; m < of.bins; m++ {
				if x, y := sum[m*k+a], sum[m*k+b]; x > y {
					v, n = v+x, n+rows[m]
				} else {
					v += y
				}
			}
			if !(v > best.value+margin) || n == 0 || n == h.n {
				continue
			}
			if best.value, best.column = v, c; keep {
				best.left = make([]bool, of.bins)
				for m := 1; m < of.bins; m++ {
					best.left[m] = sum[m*k+a] > sum[m*k+b]
				}
			}
		}
	}
}

// grow learns the tree of some rows, and returns the sum of its scores. A tree deeper than the exact search has its
// root where the best tree of depth 2 has it, or over the two trees of start. Below the root it is learned anew. Then
// the root is set over what was learned, as long as the sum gains. Just above the exact search, each column's best root
// is tried where there is no start.
func (s *search) grow(ctx context.Context, rows []int32, depth int, start *Node) (best *Node, value float64,
	err error) {
	all := s.cells()
	s.add(all, rows, 1)
	at := floats.MaxIdx(all.all)
	best, value = &Node{Action: at}, all.all[at]
	if depth == 0 || start != nil && start.Left == nil {
		return best, value, ctx.Err()
	}
	roots := []split{s.stump(all, make([]float64, s.k), true)}
	switch {
	case start != nil:
		roots[0] = s.over(start, rows)
	case depth > 1:
		roots = s.two(ctx, rows, all, roots[0], depth == exactDepth+1)
	}
	for _, root := range roots {
		last := math.Inf(-1)
		for range mostRounds {
			if root.column < 0 {
				break
			}
			node, left, right := s.divide(root, rows)
			var below [2]*Node
			if start != nil && depth > exactDepth+1 {
				below = [2]*Node{start.Left, start.Right}
			}
			var l, r float64
			if node.Left, l, err = s.grow(ctx, left, depth-1, below[0]); err != nil {
				return nil, 0, err
			}
			if node.Right, r, err = s.grow(ctx, right, depth-1, below[1]); err != nil {
				return nil, 0, err
			}
			if l+r > value {
				best, value = node, l+r
			}
			if depth <= exactDepth || l+r <= last+1e-9*math.Abs(last) {
				break
			}
			last, root = l+r, s.over(node, rows)
		}
	}
	return best, value, ctx.Err()
}

// over is the best root over the two trees below a node: that of one split between playing like either.
func (s *search) over(n *Node, rows []int32) split {
	both := *s
	both.k, both.scores = 2, make([]float64, len(s.scores)/s.k*2)
	for _, r := range rows {
		x, at := s.x.Data[int(r)*s.x.Width:][:s.x.Width], int(r)*s.k
		both.scores[2*r], both.scores[2*r+1] = s.scores[at+n.Left.Plays(x)], s.scores[at+n.Right.Plays(x)]
	}
	all := both.cells()
	both.add(all, rows, 1)
	return both.stump(all, make([]float64, 2), true)
}

// divide makes a split a node, and says which rows go where.
func (s *search) divide(by split, rows []int32) (n *Node, left, right []int32) {
	of := &s.columns[by.column]
	for _, r := range rows {
		if by.left[of.of[r]] {
			left = append(left, r)
		} else {
			right = append(right, r)
		}
	}
	n, swap := s.node(of, by, left, right)
	if swap {
		left, right = right, left
	}
	return n, left, right
}

// prune takes splits away that gain too little, from below.
func (s *search) prune(n *Node, rows []int32) *Node {
	if n.Left == nil {
		return n
	}
	var left, right []int32
	sum := make([]float64, s.k)
	for _, r := range rows {
		floats.Add(sum, s.scores[int(r)*s.k:][:s.k])
		if n.goesLeft(s.x.Data[int(r)*s.x.Width:][:s.x.Width]) {
			left = append(left, r)
		} else {
			right = append(right, r)
		}
	}
	n.Left, n.Right = s.prune(n.Left, left), s.prune(n.Right, right)
	for _, smaller := range []*Node{{Action: floats.MaxIdx(sum)}, n.Left, n.Right} {
		if !s.worth(n, smaller, rows) {
			return smaller
		}
	}
	return n
}

// worth reports that a tree gains over a smaller one, and by more than Errors standard errors of the gain.
func (s *search) worth(n, smaller *Node, rows []int32) bool {
	var sum, square float64
	for _, r := range rows {
		x, at := s.x.Data[int(r)*s.x.Width:][:s.x.Width], int(r)*s.k
		d := s.scores[at+n.Plays(x)] - s.scores[at+smaller.Plays(x)]
		sum, square = sum+d, square+d*d
	}
	return sum > s.o.Errors*math.Sqrt(max(0, square-sum*sum/float64(len(rows)))) && sum > 0
}

// two is the root of the best tree of depth 2, at least as good as the best of one split. For each column its bins
// change sides one by one, with the sums of both sides of all columns. A row that changes sides adds at most the
// range of its scores to the value: a step that cannot lead is not searched.
// With each, the best roots of the other columns follow it.
func (s *search) two(ctx context.Context, rows []int32, all *cells, best split, each bool) []split {
	found := make([]split, len(s.columns))
	lead := &highest{}
	lead.raise(best.value)
	span := make([]float64, len(s.scores)/s.k)
	for _, r := range rows {
		g := s.scores[int(r)*s.k : (int(r)+1)*s.k]
		span[r] = slices.Max(g) - slices.Min(g)
	}
	workers.Do(max(1, s.o.Threads), len(s.columns), func(_, c int) {
		found[c] = split{value: best.value, column: -1}
		of := &s.columns[c]
		by := make([][]int32, of.bins)
		for _, r := range rows {
			by[of.of[r]] = append(by[of.of[r]], r)
		}
		left, right := s.cells(), s.cells()
		s.add(right, rows, 1)
		in, scratch := make([]bool, of.bins), make([]float64, s.k)
		margin, bound := 1e-12*math.Abs(best.value), best.value
		s.steps(of, all, func(bin int) {
			if in[bin] = !in[bin]; len(by[bin]) == 0 || ctx.Err() != nil {
				return
			}
			sign := int32(1)
			if !in[bin] {
				sign = -1
			}
			s.add(left, by[bin], sign)
			s.add(right, by[bin], -sign)
			for _, r := range by[bin] {
				bound += span[r]
			}
			if left.n == 0 || right.n == 0 || bound < max(lead.value(), found[c].value)-margin {
				return
			}
			bound = s.stump(left, scratch, false).value + s.stump(right, scratch, false).value
			if bound > found[c].value+margin {
				found[c] = split{bound, c, slices.Clone(in)}
				if !each {
					lead.raise(bound)
				}
			}
		})
	})
	roots := []split{best}
	for _, f := range found {
		if f.column >= 0 && f.value > roots[0].value+1e-12*math.Abs(best.value) {
			roots = append([]split{f}, roots...)
		} else if f.column >= 0 {
			roots = append(roots, f)
		}
	}
	if !each {
		return roots[:1]
	}
	slices.SortStableFunc(roots, func(a, b split) int { return cmp.Compare(b.value, a.value) })
	return roots[:min(mostRoots, len(roots))]
}

// highest is the largest of the numbers that goroutines tell it.
type highest struct{ bits atomic.Uint64 }

func (h *highest) value() float64 { return math.Float64frombits(h.bits.Load()) }

func (h *highest) raise(to float64) {
	for {
		old := h.bits.Load()
		if old != 0 && math.Float64frombits(old) >= to || h.bits.CompareAndSwap(old, math.Float64bits(to)) {
			return
		}
	}
}

// steps names the bins that change sides, one by one, so that the sets of bins that may go left come up.
func (s *search) steps(c *column, all *cells, flip func(bin int)) {
	if c.members == nil {
		last := c.numbers() - 1
		if c.bins > c.numbers() { // missing values, and with them more and more of the others
			flip(c.bins - 1)
			for b := range last {
				flip(b)
			}
			flip(c.bins - 1)
			for b := last - 1; b > 0; b-- {
				flip(b)
			}
			return
		}
		for b := range last {
			flip(b)
		}
		return
	}
	if m := len(c.members); m <= mostExact {
		for i := 1; i < 1<<m; i++ {
			flip(1 + bits.TrailingZeros(uint(i))) // Gray code
		}
		return
	}
	most, orders := floats.MaxIdx(all.all), 0
	for a := range s.k {
		for b := range a {
			if s.k > 5 && a != most && b != most || orders == mostOrders {
				continue
			}
			orders++
			rank := make([]float64, c.bins)
			order := make([]int, 0, c.bins)
			for m := 1; m < c.bins; m++ {
				at := c.first + m
				rank[m] = (all.sum[at*s.k+a] - all.sum[at*s.k+b]) / float64(max(1, all.rows[at]))
				order = append(order, m)
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rank[i], rank[j]) })
			for range 2 { // the first, then the last members of the order
				for _, m := range order {
					flip(m)
				}
			}
		}
	}
}

// node is a split, without its children, at a cut between the values that rows have. swap says that rows go left of
// it that by sends right.
func (s *search) node(of *column, by split, left, right []int32) (n *Node, swap bool) {
	n = &Node{Feature: of.feature, Flag: -1}
	if of.members != nil {
		for m, j := range of.members {
			if by.left[m+1] {
				n.Set = append(n.Set, j)
			}
		}
		return n, false
	}
	low, high := math.Inf(-1), math.Inf(1)
	missing := func(r int32) bool { return of.flag >= 0 && s.x.Data[int(r)*s.x.Width+of.flag] != 0 }
	for _, r := range left {
		if !missing(r) {
			low = max(low, s.x.Data[int(r)*s.x.Width+of.feature])
		}
	}
	for _, r := range right {
		if !missing(r) {
			high = min(high, s.x.Data[int(r)*s.x.Width+of.feature])
		}
	}
	if of.bins > of.numbers() {
		n.Flag, n.MissingLeft = of.flag, by.left[of.bins-1]
	}
	switch {
	case math.IsInf(low, -1) || math.IsInf(high, 1): // missing values on one side, the others on the other
		n.Flag, n.MissingLeft, n.Set = -1, false, []int32{int32(of.flag)}
		return n, math.IsInf(high, 1)
	case s.o.Cut != nil:
		n.Cut = s.o.Cut(of.feature, low, high)
	default:
		n.Cut = Short(low, high)
	}
	return n, false
}

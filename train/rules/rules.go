// Package rules learns policies that people can read: shallow trees whose leaves name an action.
// Use it where people must check a policy before it plays.
package rules

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"opl/policies/features"
	"opl/train/regress"
)

// Options says how a tree is learned. The zero value is useful: its defaults are in parentheses.
type Options struct {
	Depth   int // splits between the root and a leaf, at most (2), up to MaxDepth
	Cuts    int // of a feature, at most (256; all of them up to 2,000 rows and depth 2)
	Columns int // numbers and categories that splits may read, those of the best single splits (0: all)
	Threads int // (1)
	// Errors is how many standard errors a split, with all below it, must gain over a leaf and over either side
	// alone to stay (0: any gain).
	Errors float64
	// Groups are features that are the one-hot columns of one category: a split by a category is a set of its values.
	Groups [][]int32
	// Missing are pairs of a number's feature and the feature that is 1 where the number is missing.
	Missing [][2]int32
	// Cut returns the value to split a feature at, low ≤ cut < high; nil: a short decimal near the middle.
	Cut func(feature int, low, high float64) float64
}

// MaxDepth bounds the depth of a tree: people do not read deeper ones.
const MaxDepth = 5

const (
	exactDepth = 2     // trees up to this depth are searched exactly
	allCuts    = 2_000 // rows up to which every cut is tried
	mostCuts   = 256
	mostWork   = 2e10 // additions of an exact search of depth 2; features get fewer cuts where it would take more
)

// Node is a node of a tree: a leaf that plays an action, or a split.
type Node struct {
	Action int // of a leaf
	// Left and Right are nil of a leaf. A row goes left if x[Feature] ≤ Cut, or if one of the features Set is not 0.
	Left, Right *Node
	Feature     int
	Cut         float64
	Set         []int32 // nil: the split is by Feature
	// Flag is the feature that says that Feature is missing, −1: there is none. Such rows go left if MissingLeft.
	Flag        int
	MissingLeft bool
}

// Learn returns the tree π of the largest value
//
//	V(π) = Σ_i Γ[i, π(x_i)]
//
// for scores Γ [n×K], which are doubly robust estimates of the reward of each action in a log. To depth 2 the search
// is exact: among all cuts up to 2,000 rows, else among 256 quantiles of a feature. The first split by a category of
// more than 8 values is the exception: its sets are prefixes of orders by differences of scores. In a deeper
// tree the root and what is below it are learned in turn, from the best root of each column. Where several trees are
// as good, the first in the order of features, and the smaller one, wins. Errors: shapes that do not fit, scores
// that are not finite.
//
// Zhou, Athey & Wager (2023), Offline multi-action policy learning.
func Learn(ctx context.Context, x regress.Matrix, scores []float64, k int, o Options) (*Node, error) {
	n := x.Len()
	o.Depth = cmp.Or(o.Depth, exactDepth)
	switch {
	case n == 0 || k < 1 || len(scores) != n*k:
		return nil, fmt.Errorf("rules: %d rows of %d actions with %d scores", n, k, len(scores))
	case o.Depth < 0 || o.Depth > MaxDepth:
		return nil, fmt.Errorf("rules: depth %d: want 1 to %d", o.Depth, MaxDepth)
	}
	for i, v := range scores {
		if v-v != 0 {
			return nil, fmt.Errorf("rules: the score of row %d and action %d is %v", i/k, i%k, v)
		}
	}
	var tree *Node
	if cuts := o.Cuts; o.Depth > exactDepth { // by few rows and cuts first
		o.Cuts = roughCuts
		rough, err := newSearch(x, scores, k, o)
		if err == nil {
			tree, _, err = rough.grow(ctx, spaced(n, roughRows), o.Depth, nil)
		}
		if err != nil {
			return nil, err
		}
		o.Cuts = cuts
	}
	s, err := newSearch(x, scores, k, o)
	if err != nil {
		return nil, err
	}
	rows := spaced(n, n)
	if tree, _, err = s.grow(ctx, rows, o.Depth, tree); err != nil {
		return nil, err
	}
	return s.prune(tree, rows), nil
}

// spaced are at most about most of n rows, evenly spaced.
func spaced(n, most int) (rows []int32) {
	for i := 0; i < n; i += 1 + (n-1)/most {
		rows = append(rows, int32(i))
	}
	return rows
}

// Plays returns the action of the leaf that x falls into.
func (n *Node) Plays(x []float64) int {
	for n.Left != nil {
		if n.goesLeft(x) {
			n = n.Left
		} else {
			n = n.Right
		}
	}
	return n.Action
}

func (n *Node) goesLeft(x []float64) bool {
	switch {
	case n.Set != nil:
		return slices.ContainsFunc(n.Set, func(j int32) bool { return x[j] != 0 })
	case n.Flag >= 0 && x[n.Flag] != 0:
		return n.MissingLeft
	}
	return x[n.Feature] <= n.Cut
}

// Forest returns the tree as a layer of in features and K outputs, 1 for the action that it plays and 0 for the
// others. It is the same tree K times: a node that sends missing values elsewhere is two nodes.
func (n *Node) Forest(in, k int) *features.Forest {
	f := &features.Forest{In: in, Base: make([]float64, k)}
	for a := range k {
		first := len(f.Feature)
		n.write(f, a)
		f.Outputs, f.Sizes = append(f.Outputs, int32(a)), append(f.Sizes, int32(len(f.Feature)-first))
	}
	return f
}

func (n *Node) write(f *features.Forest, output int) {
	split := func(feature int32, cut float64, left, right func()) {
		at := len(f.Feature)
		f.Feature, f.Value, f.Right = append(f.Feature, feature), append(f.Value, cut), append(f.Right, 0)
		left()
		f.Right[at] = int32(len(f.Feature) - at)
		right()
	}
	set := func(of []int32) int32 {
		f.Sets = append(f.Sets, of)
		return int32(-1 - len(f.Sets))
	}
	switch {
	case n.Left == nil:
		v := 0.0
		if n.Action == output {
			v = 1
		}
		f.Feature, f.Value, f.Right = append(f.Feature, -1), append(f.Value, v), append(f.Right, 0)
	case n.Set != nil:
		split(set(n.Set), 0, func() { n.Left.write(f, output) }, func() { n.Right.write(f, output) })
	default:
		known := func() {
			split(int32(n.Feature), n.Cut, func() { n.Left.write(f, output) }, func() { n.Right.write(f, output) })
		}
		if n.Flag < 0 {
			known()
			return
		}
		to := n.Right
		if n.MissingLeft {
			to = n.Left
		}
		split(set([]int32{int32(n.Flag)}), 0, func() { to.write(f, output) }, known)
	}
}

// Short returns the decimal of fewest digits near the middle of low ≤ v < high.
func Short(low, high float64) float64 {
	middle := low + (high-low)/2
	for digits := 1; digits < 17; digits++ {
		v, err := strconv.ParseFloat(strconv.FormatFloat(middle, 'g', digits, 64), 64)
		if err == nil && v >= low && v < high && !math.IsInf(v, 0) {
			return v + 0 // no −0
		}
	}
	if middle >= low && middle < high && !math.IsInf(middle, 0) {
		return middle
	}
	return low
}

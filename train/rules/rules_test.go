package rules

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"opl/policies/features"
	"opl/train/regress"
)

// design draws rows of numbers with ties, a number that is sometimes missing, and a category, and scores.
func design(n, k int, seed uint64) (regress.Matrix, []float64, Options) {
	r := rand.New(rand.NewPCG(seed, 7))
	const d = 8 // two numbers, one that may be missing with its flag, a category of 4
	x := regress.Matrix{Width: d, Data: make([]float64, n*d)}
	scores := make([]float64, n*k)
	for i := range n {
		row := x.Data[i*d : (i+1)*d]
		row[0], row[1] = float64(r.IntN(8)), r.NormFloat64()
		if r.IntN(4) == 0 {
			row[3] = 1
		} else {
			row[2] = float64(r.IntN(5))
		}
		if v := r.IntN(5); v > 0 {
			row[3+v] = 1
		}
		for a := range k {
			scores[i*k+a] = r.NormFloat64() + float64(a)*(row[1]*row[3]-row[4]+row[5])
		}
	}
	return x, scores, Options{Groups: [][]int32{{4, 5, 6, 7}}, Missing: [][2]int32{{2, 3}}}
}

func value(tree *Node, x regress.Matrix, scores []float64, k int) (v float64) {
	for i := range x.Len() {
		v += scores[i*k+tree.Plays(x.Data[i*x.Width:(i+1)*x.Width])]
	}
	return v
}

// naive is the value of the best tree, by all partitions that a split can make, as its own small program.
func naive(x regress.Matrix, scores []float64, k int, o Options, rows []int, depth int) float64 {
	sum := make([]float64, k)
	for _, i := range rows {
		for a := range k {
			sum[a] += scores[i*k+a]
		}
	}
	best := slices.Max(sum)
	if depth == 0 {
		return best
	}
	try := func(left func(row []float64) bool) {
		var l, r []int
		for _, i := range rows {
			if left(x.Data[i*x.Width : (i+1)*x.Width]) {
				l = append(l, i)
			} else {
				r = append(r, i)
			}
		}
		if len(l) > 0 && len(r) > 0 {
			best = max(best, naive(x, scores, k, o, l, depth-1)+naive(x, scores, k, o, r, depth-1))
		}
	}
	for _, j := range []int{0, 1, 2} {
		for _, at := range rows {
			cut := x.Data[at*x.Width+j]
			for _, missing := range []bool{false, true} {
				try(func(row []float64) bool {
					if j == 2 && row[3] != 0 {
						return missing
					}
					return row[j] <= cut
				})
			}
		}
	}
	try(func(row []float64) bool { return row[3] != 0 })
	for set := range 16 {
		try(func(row []float64) bool {
			for v := range 4 {
				if set>>v&1 != 0 && row[4+v] != 0 {
					return true
				}
			}
			return false
		})
	}
	return best
}

func TestLearn_IsExactToDepthTwo(t *testing.T) {
	for _, c := range []struct{ n, k, depth int }{
		{40, 2, 1}, {60, 3, 1}, {30, 2, 2}, {40, 3, 2}, {36, 4, 2}, {1, 3, 2}, {2, 2, 2},
	} {
		for seed := range uint64(6) {
			x, scores, o := design(c.n, c.k, seed)
			o.Depth = c.depth
			tree, err := Learn(context.Background(), x, scores, c.k, o)
			if err != nil {
				t.Fatal(err)
			}
			rows := make([]int, c.n)
			for i := range rows {
				rows[i] = i
			}
			want := naive(x, scores, c.k, o, rows, c.depth)
			if got := value(tree, x, scores, c.k); math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%+v, seed %d: value %v, by brute force %v", c, seed, got, want)
			}
			if depthOf(tree) > c.depth {
				t.Errorf("%+v: depth %d", c, depthOf(tree))
			}
		}
	}
}

func TestForest_PlaysAsTheTree(t *testing.T) {
	for seed := range uint64(5) {
		x, scores, o := design(300, 3, seed)
		o.Depth = 4
		tree, err := Learn(context.Background(), x, scores, 3, o)
		if err != nil {
			t.Fatal(err)
		}
		layers := []features.Layer{{Trees: tree.Forest(x.Width, 3)}}
		if err := layers[0].Check(x.Width); err != nil {
			t.Fatal(err)
		}
		net := features.NewNet(layers)
		h, room := make([]float64, 3), make([]float64, net.Scratch())
		for i := range x.Len() {
			row := x.Data[i*x.Width : (i+1)*x.Width]
			net.Apply(h, row, room)
			if a := tree.Plays(row); h[a] != 1 || h[0]+h[1]+h[2] != 1 {
				t.Fatalf("row %d: %v, the tree plays %d", i, h, a)
			}
		}
	}
}

func TestLearn_DeeperIsNoWorse(t *testing.T) {
	x, scores, o := design(1000, 4, 3)
	last := math.Inf(-1)
	for depth := 1; depth <= MaxDepth; depth++ {
		o.Depth = depth
		var trees []*Node
		for _, threads := range []int{1, 3} {
			o.Threads = threads
			tree, err := Learn(context.Background(), x, scores, 4, o)
			if err != nil {
				t.Fatal(err)
			}
			trees = append(trees, tree)
		}
		v := value(trees[0], x, scores, 4)
		if v < last || v != value(trees[1], x, scores, 4) {
			t.Errorf("depth %d: %v, by 3 threads %v, a depth less %v", depth, v, value(trees[1], x, scores, 4), last)
		}
		last = v
	}
}

// A tree of few columns reads those of the best single splits.
func TestLearn_ReadsTheBestColumnsAlone(t *testing.T) {
	x, scores, o := design(400, 2, 5)
	want := 0.0
	for i := range 400 {
		of := x.Data[i*x.Width : (i+1)*x.Width]
		scores[2*i], scores[2*i+1] = -1, 0
		if of[1] > 0 {
			scores[2*i] = 1
		}
		if of[5] != 0 { // of the category
			scores[2*i+1] = 9
		}
		want += max(scores[2*i], scores[2*i+1])
	}
	read := func(n *Node) (of []int) {
		for all := []*Node{n}; len(all) > 0; all = all[1:] {
			if n := all[0]; n.Left != nil {
				of, all = append(of, n.Feature), append(all, n.Left, n.Right)
			}
		}
		return of
	}
	o.Depth, o.Columns = 3, 1
	tree, err := Learn(t.Context(), x, scores, 2, o)
	if of := read(tree); err != nil || len(of) == 0 || slices.ContainsFunc(of, func(j int) bool { return j != 4 }) {
		t.Errorf("reads %v, want the category alone; %v", of, err)
	}
	o.Columns = 2
	tree, err = Learn(t.Context(), x, scores, 2, o)
	if got := value(tree, x, scores, 2); err != nil || got != want {
		t.Errorf("value %v, want %v; %v", got, want, err)
	}
}

// TestLearn_LooksBelowTheRoot: the best tree of depth 3 has a root that the best one of depth 2 does not have.
func TestLearn_LooksBelowTheRoot(t *testing.T) {
	x, _, o := design(1500, 3, 2)
	scores := make([]float64, 1500*3)
	pick := func(first bool, a, b int) int {
		if first {
			return a
		}
		return b
	}
	best := func(row []float64) int {
		side := row[4]+row[6] == 0
		switch {
		case side && row[1] <= .5:
			return pick(row[0] <= 3, 0, 1)
		case side:
			return 2
		case row[3] == 1 || row[2] <= 2:
			return pick(row[1] <= -.3, 1, 2)
		}
		return pick(row[0] <= 4, 0, 1)
	}
	for i := range 1500 {
		scores[i*3+best(x.Data[i*x.Width:(i+1)*x.Width])] = 1
	}
	o.Depth = 3
	tree, err := Learn(t.Context(), x, scores, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := value(tree, x, scores, 3); got != 1500 {
		t.Errorf("plays what is best in %v rows of 1500", got)
	}
}

func TestLearn_LeavesHaveRows(t *testing.T) {
	x, scores, o := design(400, 3, 1)
	o.Depth = 3
	tree, err := Learn(context.Background(), x, scores, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[*Node]int{}
	for i := range x.Len() {
		n := tree
		for n.Left != nil {
			if n.goesLeft(x.Data[i*x.Width : (i+1)*x.Width]) {
				n = n.Left
			} else {
				n = n.Right
			}
		}
		rows[n]++
	}
	var leaves func(n *Node) int
	leaves = func(n *Node) int {
		if n.Left == nil {
			return 1
		}
		return leaves(n.Left) + leaves(n.Right)
	}
	if all := leaves(tree); all != len(rows) || all < 3 {
		t.Errorf("%d of %d leaves have rows", len(rows), all)
	}
}

func TestLearn_RefusesBadDataAndOptions(t *testing.T) {
	x := regress.Matrix{Width: 2, Data: []float64{1, 2, 3, 4}}
	for name, try := range map[string]func() error{
		"depth":  func() error { _, err := Learn(t.Context(), x, make([]float64, 4), 2, Options{Depth: 6}); return err },
		"scores": func() error { _, err := Learn(t.Context(), x, make([]float64, 3), 2, Options{}); return err },
		"NaN": func() error {
			_, err := Learn(t.Context(), x, []float64{0, 1, math.NaN(), 1}, 2, Options{})
			return err
		},
		"groups": func() error {
			_, err := Learn(t.Context(), x, make([]float64, 4), 2, Options{Groups: [][]int32{{0, 1}, {1}}})
			return err
		},
		"feature": func() error {
			_, err := Learn(t.Context(), regress.Matrix{Width: 1, Data: []float64{1, math.Inf(1)}}, make([]float64, 4), 2, Options{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if try() == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

func TestShort_TakesTheRoundestNumberBetween(t *testing.T) {
	for _, c := range []struct{ low, high, want float64 }{
		{34, 35, 34}, {34.2, 34.9, 34.5}, {-1, 1, 0}, {0.1, 0.2, 0.15}, {1, math.Nextafter(1, 2), 1}, {-2e300, 2e300, 0}, {900, 2000, 1000},
	} {
		if got := Short(c.low, c.high); got != c.want {
			t.Errorf("between %v and %v: %v, want %v", c.low, c.high, got, c.want)
		}
	}
}

func BenchmarkLearn(b *testing.B) {
	for _, c := range []struct{ n, d, k int }{{2000, 10, 4}, {4000, 10, 4}, {100_000, 20, 4}} {
		r := rand.New(rand.NewPCG(1, 1))
		x := regress.Matrix{Width: c.d, Data: make([]float64, c.n*c.d)}
		for i := range x.Data {
			x.Data[i] = r.NormFloat64()
		}
		scores := make([]float64, c.n*c.k)
		for i := range scores {
			scores[i] = r.NormFloat64()
		}
		b.Run(fmt.Sprintf("%dx%dx%d", c.n, c.d, c.k), func(b *testing.B) {
			begin := time.Now()
			for range b.N {
				if _, err := Learn(b.Context(), x, scores, c.k, Options{Depth: 2}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(time.Since(begin).Seconds()/float64(b.N), "s/op")
		})
	}
}

// depthOf is the number of splits on the longest way to a leaf.
func depthOf(n *Node) int {
	if n.Left == nil {
		return 0
	}
	return 1 + max(depthOf(n.Left), depthOf(n.Right))
}

package regress_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"opl/policies/features"
	"opl/train/regress"

	"gonum.org/v1/gonum/floats"
)

// naive grows one tree by trying every split of every feature, and every split of a group by its sorted members, on
// raw values: the next leaf is the one that gains most. It returns the scores of rows.
type naive struct {
	x           regress.Matrix
	g, h        []float64
	groups      [][]int32
	leaves, min int
	depth       int
	l2          float64
}

type cutAt struct {
	gain        float64
	left, right []int
}

func (t naive) best(rows []int) (best cutAt) {
	value := func(rows []int) (v float64) {
		var g, h float64
		for _, i := range rows {
			g, h = g+t.g[i], h+t.h[i]
		}
		if h < 1e-3 {
			return math.Inf(-1)
		}
		return g * g / (h + t.l2)
	}
	try := func(left func(i int) bool) {
		var c cutAt
		for _, i := range rows {
			if left(i) {
				c.left = append(c.left, i)
			} else {
				c.right = append(c.right, i)
			}
		}
		if len(c.left) < t.min || len(c.right) < t.min {
			return
		}
		if c.gain = value(c.left) + value(c.right) - value(rows); c.gain > best.gain+1e-9 {
			best = c
		}
	}
	in := map[int32]bool{}
	for _, members := range t.groups {
		type ranked struct {
			j    int32
			rank float64
		}
		var order []ranked
		var all float64
		for _, i := range rows {
			all += t.h[i]
		}
		for _, j := range members {
			in[j] = true
			var g, h float64
			n := 0
			for _, i := range rows {
				if t.x.Data[i*t.x.Width+int(j)] != 0 {
					g, h, n = g+t.g[i], h+t.h[i], n+1
				}
			}
			if n >= 3 {
				order = append(order, ranked{j, g / (h + 5*all/float64(len(rows)))})
			}
		}
		slices.SortFunc(order, func(a, b ranked) int {
			if a.rank < b.rank {
				return -1
			}
			return 1
		})
		for range 2 {
			for end := range order {
				try(func(i int) bool {
					for _, r := range order[:end+1] {
						if t.x.Data[i*t.x.Width+int(r.j)] != 0 {
							return true
						}
					}
					return false
				})
			}
			slices.Reverse(order)
		}
	}
	for j := range t.x.Width {
		for _, i := range rows {
			if v := t.x.Data[i*t.x.Width+j]; !in[int32(j)] {
				try(func(i int) bool { return t.x.Data[i*t.x.Width+j] <= v })
			}
		}
	}
	return best
}

func (t naive) grow(n int, rate float64) []float64 {
	type leaf struct {
		rows  []int
		depth int
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	leaves := []leaf{{rows, 0}}
	for len(leaves) < t.leaves {
		var best cutAt
		at := -1
		for l, leaf := range leaves {
			if leaf.depth >= t.depth {
				continue
			}
			if c := t.best(leaf.rows); c.gain > best.gain {
				best, at = c, l
			}
		}
		if at < 0 {
			break
		}
		d := leaves[at].depth + 1
		leaves = append(slices.Delete(leaves, at, at+1), leaf{best.left, d}, leaf{best.right, d})
	}
	out := make([]float64, n)
	for _, leaf := range leaves {
		var g, h float64
		for _, i := range leaf.rows {
			g, h = g+t.g[i], h+t.h[i]
		}
		for _, i := range leaf.rows {
			out[i] = -rate * g / (h + t.l2)
		}
	}
	return out
}

// scores are those of a forest.
func scores(t testing.TB, f *features.Forest, x regress.Matrix) []float64 {
	t.Helper()
	l := features.Layer{Trees: f}
	if err := l.Check(x.Width); err != nil {
		t.Fatal(err)
	}
	net := features.NewNet([]features.Layer{l})
	out := make([]float64, x.Len()*l.Out())
	room := make([]float64, net.Scratch())
	for i := range x.Len() {
		net.Apply(out[i*l.Out():(i+1)*l.Out()], x.Data[i*x.Width:(i+1)*x.Width], room)
	}
	return out
}

// mixed are rows of d numbers and a category of c values, one-hot, with rewards that depend on both.
func mixed(r *rand.Rand, n, d, c int) (x regress.Matrix, y []float64, group []int32) {
	x = regress.Matrix{Width: d + c, Data: make([]float64, n*(d+c))}
	effect := numbers(c+1, r.NormFloat64)
	for j := range c {
		group = append(group, int32(d+j))
	}
	for i := range n {
		row := x.Data[i*(d+c) : (i+1)*(d+c)]
		z := 0.
		for j := range d {
			if row[j] = r.NormFloat64(); j == 1 {
				row[j] = max(0, row[j]) // 0 in half of the rows
			}
		}
		if row[0] > .3 {
			z++
		}
		z += row[d-1] * row[0]
		at := r.IntN(c + 1)
		if z += effect[at]; at < c {
			row[d+at] = .7
		}
		y = append(y, 0)
		if r.Float64() < 1/(1+math.Exp(-z)) {
			y[i] = 1
		}
	}
	return x, y, group
}

// Two rounds on small data are those of a program that tries every split.
func TestBoost_EqualsAPlainSearchOfSplits(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(31, seed))
		const n = 150
		x, y, group := mixed(r, n, 3, 4)
		for j, groups := range [][][]int32{nil, {group}, {group}} {
			o := regress.BoostOptions{Rounds: 2, Rate: .5, Leaves: 6, Depth: 3, MinRows: 5, L2: .7,
				Groups: groups, Folds: 1, Fold: make([]uint8, n), Squared: j == 2}
			got, err := regress.Boost(context.Background(), x, y, o)
			if err != nil {
				t.Fatal(err)
			}
			base := floats.Sum(y) / n
			start := math.Log(base / (1 - base))
			if o.Squared {
				start = base
			}
			want := slices.Repeat([]float64{start}, n)
			for range 2 {
				tree := naive{x: x, g: make([]float64, n), h: make([]float64, n), groups: groups, leaves: 6,
					min: 5, depth: 3, l2: .7}
				for i, s := range want {
					p := 1 / (1 + math.Exp(-s))
					if tree.g[i], tree.h[i] = p-y[i], p*(1-p); o.Squared {
						tree.g[i], tree.h[i] = s-y[i], 1
					}
				}
				for i, v := range tree.grow(n, .5) {
					want[i] += v
				}
			}
			for i, s := range scores(t, got.Forest, x) {
				if math.Abs(s-want[i]) > 1e-9 {
					t.Fatalf("seed %d, groups %v: row %d: %v, want %v", seed, groups, i, s, want[i])
				}
			}
		}
	}
}

// A row of weight 2 or 3 is as many rows: in the trees, their number and the held-out loss. With squared loss, moved
// and stretched rewards move and stretch what is predicted.
func TestBoost_WeightsRowsAsIfTheyWereMore(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 12))
	const n = 400
	x, y, _ := mixed(r, n, 3, 2)
	for i, v := range x.Data {
		x.Data[i] = math.Round(2*v) / 2 // all values have bins of their own
	}
	for _, squared := range []bool{false, true} {
		o := regress.BoostOptions{Rounds: 30, MinRows: 1, Depth: 3, Folds: 3, Squared: squared}
		more, twice, stretched := o, regress.Matrix{Width: x.Width}, slices.Clone(y)
		var rewards []float64
		for i := range n {
			w := 1 + i%3
			o.Weight, o.Fold = append(o.Weight, float64(w)), append(o.Fold, uint8(i/3%3))
			for range w {
				twice.Data = append(twice.Data, x.Data[i*x.Width:(i+1)*x.Width]...)
				rewards, more.Fold = append(rewards, y[i]), append(more.Fold, uint8(i/3%3))
			}
			stretched[i] = 7*y[i] - 3
		}
		one, err := regress.Boost(context.Background(), x, y, o)
		if err != nil {
			t.Fatal(err)
		}
		two, err := regress.Boost(context.Background(), twice, rewards, more)
		if err != nil || one.Rounds[0] != two.Rounds[0] || one.Rounds[0] == 0 || math.Abs(one.Loss[0]-two.Loss[0]) > 1e-12 {
			t.Fatalf("squared %v: %v rounds and loss %v, want %v and %v (%v)", squared, one.Rounds, one.Loss, two.Rounds, two.Loss, err)
		}
		a, b := scores(t, one.Forest, x), scores(t, two.Forest, x)
		if !floats.EqualApprox(a, b, 1e-9) {
			t.Errorf("squared %v: weights give other scores than rows", squared)
		}
		got, err := regress.Boost(context.Background(), x, stretched, o)
		if !squared {
			if err == nil {
				t.Error("rewards outside [0, 1] have no logistic loss")
			}
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for i, s := range scores(t, got.Forest, x) {
			if math.Abs(s-(7*a[i]-3)) > 1e-9 {
				t.Fatalf("row %d: %v, want %v", i, s, 7*a[i]-3)
			}
		}
	}
}

// The best set of many names without effect gains more than the step of a number does, if it pays nothing.
func TestBoost_IsNotMisledByACategoryOfManyNames(t *testing.T) {
	const n, names = 600, 100
	r := rand.New(rand.NewPCG(1, 2))
	step := func(x float64) float64 { return .2 + .5*float64(int(x+10)%2) } // of x in [-10, 10]
	x, y := regress.Matrix{Width: 1 + names}, make([]float64, n)
	var group []int32
	for j := range names {
		group = append(group, int32(1+j))
	}
	for i := range y {
		row := make([]float64, 1+names)
		row[0], row[1+r.IntN(names)] = 6*r.Float64()-3, 1
		x.Data = append(x.Data, row...)
		if r.Float64() < step(row[0]) {
			y[i] = 1
		}
	}
	off := func(o regress.BoostOptions) (sum float64) {
		got, err := regress.Boost(context.Background(), x, y, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range scores(t, got.Forest, x) {
			sum += math.Abs(1/(1+math.Exp(-s))-step(x.Data[i*x.Width])) / n
		}
		return sum
	}
	o := regress.BoostOptions{Depth: 4, Leaves: 12, Rate: .08, MinRows: 10, L2: 3, Groups: [][]int32{group}}
	with := off(o)
	o.Sure = 1
	if sure := off(o); with > .8*sure { // as if the names were known to tell
		t.Errorf("probabilities are off by %.3f, and by %.3f where names are taken to tell", with, sure)
	}
}

// Tags, of which a row may have several, are features of their own; a category beside them is still split by sets.
func TestBoost_TakesAGroupOfSeveralForSingleFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 13))
	x, y, group := mixed(r, 900, 6, 9)
	for i := range x.Data {
		if j := i % x.Width; j < 2 || j == 4 || j == 5 { // two pairs of tags
			x.Data[i] = float64(r.IntN(2))
		}
	}
	learn := func(groups ...[]int32) regress.Boosted {
		got, err := regress.Boost(context.Background(), x, y, regress.BoostOptions{Rounds: 20, Groups: groups, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := learn(group)
	if got := learn([]int32{0, 1}, group, []int32{4, 5}); !reflect.DeepEqual(got, want) || len(got.Sets) == 0 {
		t.Errorf("%d sets, want %d and the same forest", len(got.Sets), len(want.Sets))
	}
}

// Threads change no bit; actions are learned as if alone, but for where they begin.
func TestBoost_IsTheSameForAnyNumberOfThreads(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 9))
	const n, k = 2500, 3
	x, y, group := mixed(r, n, 4, 12)
	action := make([]int32, n)
	for i := range action {
		action[i] = int32(r.IntN(k))
	}
	for _, o := range []regress.BoostOptions{{Rounds: 8}, {Rounds: 30, Folds: 1,
		Groups: [][]int32{group}}, {Rounds: 10, Folds: 3, Bins: 16}} {
		var want regress.Boosted
		for threads := range 4 {
			o.Threads = threads
			got, err := regress.BoostByAction(context.Background(), x, action, k, y, o)
			if err != nil {
				t.Fatal(err)
			}
			if threads == 0 {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: %d threads give another forest", o, threads)
			}
		}
		if l := want.Layer(); l.Check(x.Width) != nil || l.Out() != k || slices.Min(want.Rounds) == 0 {
			t.Errorf("%v, %v rounds", l.Check(x.Width), want.Rounds)
		}
	}
}

// An action of few rows stays at a mean that is shrunk to that of all; nothing to learn is learned from noise.
func TestBoost_ShrinksActionsOfFewRowsAndRefusesBadData(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 10))
	const n = 1000
	x := random(r, n, 5)
	y, action := numbers(n, func() float64 { return float64(r.IntN(2)) }), make([]int32, n)
	for i := range 3 {
		action[i], y[i] = 1, 1
	}
	got, err := regress.BoostByAction(context.Background(), x, action, 3, y, regress.BoostOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := 1 / (1 + math.Exp(-got.Base[1]))
	if empty := 1 / (1 + math.Exp(-got.Base[2])); p < .6 || p > .75 || math.Abs(empty-.5) > .05 || got.Rounds[1]+got.Rounds[2] > 0 || got.Rounds[0] > 8 {
		t.Errorf("three rows of reward 1 give %v, none %v, rounds %v", p, empty, got.Rounds)
	}
	for name, c := range map[string]struct {
		y []float64
		o regress.BoostOptions
	}{
		"reward": {y: slices.Repeat([]float64{2}, n)},
		"rate":   {y: y, o: regress.BoostOptions{Rate: 2}},
		"depth":  {y: y, o: regress.BoostOptions{Depth: 61}},
		"group":  {y: y, o: regress.BoostOptions{Groups: [][]int32{{5}}}},
		"fold":   {y: y, o: regress.BoostOptions{Folds: 2, Fold: slices.Repeat([]uint8{2}, n)}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := regress.Boost(context.Background(), x, c.y, c.o); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	x.Data[7] = math.NaN()
	if _, err := regress.Boost(context.Background(), x, y, regress.BoostOptions{}); err == nil {
		t.Error("NaN is no error")
	}
}

// Cuts are ascending, keep apart what few values differ, and give the 0 of most rows a bin of its own.
func TestCuts_AreAscendingAndSeparateFewValues(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 11))
	for _, n := range []int{1, 2, 10, 300, 5000} {
		for name, draw := range map[string]func() float64{
			"normal": r.NormFloat64, "few": func() float64 { return float64(r.IntN(7)) },
			"one":   func() float64 { return 3 },
			"zeros": func() float64 { return max(0, r.NormFloat64()-1) },
			"near":  func() float64 { return math.Nextafter(1, float64(r.IntN(3))) },
			"large": func() float64 { return math.MaxFloat64 * (r.Float64()*2 - 1) },
		} {
			values := numbers(n, draw)
			cuts := regress.Cuts(slices.Clone(values), 32)
			if len(cuts) > 31 || !slices.IsSorted(cuts) || len(slices.Compact(slices.Clone(cuts))) != len(cuts) {
				t.Fatalf("%s: %v", name, cuts)
			}
			bins := map[int]map[float64]int{}
			for _, v := range values {
				b, _ := slices.BinarySearch(cuts, v)
				if bins[b] == nil {
					bins[b] = map[float64]int{}
				}
				bins[b][v]++
			}
			if len(bins) != len(cuts)+1 {
				t.Errorf("%s of %d: %d of %d bins have rows", name, n, len(bins), len(cuts)+1)
			}
			for b, of := range bins {
				rows := 0
				for v, n := range of {
					if rows += n; len(of) > 1 && (name == "few" || name == "near" || name == "zeros" && v == 0) {
						t.Errorf("%s of %d: bin %d has %v", name, n, b, of)
					}
				}
				if rows > 2*n/len(bins)+8 && len(of) > 1 {
					t.Errorf("%s of %d: bin %d has %d rows of %d values", name, n, b, rows, len(of))
				}
			}
		}
	}
}

func BenchmarkBoost(b *testing.B) {
	for _, size := range []struct{ n, d, k int }{{4000, 10, 5}, {100_000, 50, 1}} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			x, y, _ := mixed(r, size.n, size.d, 0)
			action := make([]int32, size.n)
			for i := range action {
				action[i] = int32(r.IntN(size.k))
			}
			for b.Loop() {
				got, err := regress.BoostByAction(context.Background(), x, action, size.k, y,
					regress.BoostOptions{Threads: 2})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(got.Rounds[0]), "rounds")
			}
		})
	}
}

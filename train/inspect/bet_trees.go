package inspect

import (
	"cmp"
	"context"
	"slices"

	"opl/policies/features"
	"opl/train/regress"
)

const (
	foreseen = 8       // actions that have trees
	foreseeN = 20_000  // rows that teach them, at most
	largest  = 30      // of 1/π̂₀, which is cut there to learn from
	stakedN  = 1 << 20 // rows that are bet on by them, roughly at most
)

// forecast holds trees ρ̂_a(x) of π₀(a|x)/π̂₀(a|x), which is 1 where the logged propensities π̂₀ are true:
// the mean of 1[a_i = a]/π̂₀(a_i|x_i), which every row that offers a tells, whatever was taken. Trees find a column
// among many, thresholds, windows of time, and columns that matter together.
//
// They bet s_a = π₀(a|x)(ρ̂_a(x) − 1)₊, over the largest Σ_a s_a of the rows that taught, on each action,
// where π₀ is its share if it is not known. Where trees find nothing, nothing is bet, and Γ₀ not paid for.
type forecast struct {
	actions []int32 // those that most rows took
	place   []int8  // of each action in actions; negative: it has no trees
	nets    []*features.Net
	scratch int
	share   []float64 // of each action in the rows that offer it
	leads   []float64 // by feature: how much trees begin with it
	most    float64
}

// foresee learns from rows of a half, whose vectors are x.
func (b *bets) foresee(rows []int, x regress.Matrix) (f forecast) {
	every := 1 + len(rows)/foreseeN
	x.Stride *= every
	taken, some := make([]float64, b.k), rows[:0:0]
	for r := 0; r < len(rows); r += every {
		some = append(some, rows[r])
		taken[b.Action[rows[r]]]++
	}
	f.place, f.leads = make([]int8, b.k), make([]float64, b.width)
	for a, n := range taken {
		if f.place[a] = -1; n > 0 {
			f.actions = append(f.actions, int32(a))
		}
	}
	slices.SortStableFunc(f.actions, func(a, c int32) int { return cmp.Compare(taken[c], taken[a]) })
	f.actions = f.actions[:min(len(f.actions), foreseen)]
	for at, a := range f.actions {
		f.place[a] = int8(at)
	}
	y, weight, offering := make([][]float64, len(f.actions)), make([][]float64, len(f.actions)), make([]float64, len(f.actions))
	for at := range y {
		y[at], weight[at] = make([]float64, len(some)), make([]float64, len(some))
	}
	for r, i := range some {
		f.offered(b, i, func(at, _ int) { weight[at][r], offering[at] = b.omega(i), offering[at]+1 })
		if at := f.place[b.Action[i]]; at >= 0 {
			y[at][r] = min(1/b.Propensity[i], largest)
		}
	}
	grown, err := regress.BoostEach(context.Background(), x, y, weight, regress.BoostOptions{
		Rounds: 30, Rate: 0.3, Leaves: 8, Depth: 3, Bins: 32, Folds: 1, Squared: true})
	if err != nil { // too few rows
		return forecast{}
	}
	for at, trees := range grown {
		net := features.NewNet([]features.Layer{trees.Layer()})
		f.nets, f.scratch = append(f.nets, net), max(f.scratch, net.Scratch())
		f.share = append(f.share, taken[f.actions[at]]/offering[at])
		first, lead := 0, 1.
		for _, size := range trees.Sizes {
			if j := trees.Feature[first]; j > 0 {
				f.leads[j] += lead
			}
			first, lead = first+int(size), lead/2
		}
	}
	for r, i := range some {
		_, sum := f.stakes(b, i, x.Data[r*x.Stride:][:x.Width])
		f.most = max(f.most, sum)
	}
	return f
}

// offered calls use with the place in f.actions and the number of each option of row i that has trees.
func (f *forecast) offered(b *bets, i int, use func(at, j int)) {
	if !b.Sets() {
		for at, a := range f.actions {
			use(at, int(a))
		}
		return
	}
	for j := range b.Options(i) {
		if a, _ := b.Option(i, j); f.place[a] >= 0 {
			use(int(f.place[a]), j)
		}
	}
}

// stakes returns s of row i's action, and the sum of all.
func (f *forecast) stakes(b *bets, i int, x []float64) (own, sum float64) {
	var ratio [1]float64
	pi, scratch := b.Pi0(i), make([]float64, f.scratch)
	f.offered(b, i, func(at, j int) {
		f.nets[at].Apply(ratio[:], x, scratch)
		p := f.share[at]
		if pi != nil {
			p = pi[j]
		}
		s := p * max(0, ratio[0]-1)
		if sum += s; f.actions[at] == b.Action[i] {
			own = s
		}
	})
	return own, sum
}

// bet returns what is bet on row i's action, and on all: 1 at most. Of large logs some rows are bet on.
func (f *forecast) bet(b *bets, i int, x []float64) (own, sum float64) {
	if f.most == 0 || i%(1+b.n/stakedN) != 0 {
		return 0, 0
	}
	own, sum = f.stakes(b, i, x)
	most := max(f.most, sum)
	return own / most, sum / most
}

package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
	"opl/policies/numeric"
	"opl/testdata/long"
	"opl/train/logs"
	"opl/train/regress"
)

// tableLog is a uniform log of n rows among k actions; reward says the probability of a reward of 1.
func tableLog(n, d, k int, seed uint64, reward func(x []float64, a int) float64) *logs.Log {
	r := rand.New(rand.NewPCG(seed, 1))
	log := &logs.Log{Actions: logs.Numbered(k)}
	x := logs.Rows64{Width: d}
	for range n {
		row := make([]float64, d)
		for j := range row[:d-1] {
			row[j] = r.NormFloat64()
		}
		row[d-1] = 1
		a := r.IntN(k)
		c := 0.
		if r.Float64() < reward(row, a) {
			c = -1
		}
		x.Data = append(x.Data, row...)
		log.Action, log.Cost, log.Propensity = append(log.Action, int32(a)), append(log.Cost, c), append(log.Propensity, 1/float64(k))
	}
	log.X = x
	return log
}

func allRows(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// worth is the mean probability of a reward that the argmax of a share has, in fresh contexts.
func worth(t *testing.T, s Component, d, k int, reward func(x []float64, a int) float64) (v float64) {
	t.Helper()
	fresh := tableLog(2000, d, k, 99, reward)
	h, err := s.In.Of(fresh.X, 1)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, h.Dim())
	for i := range fresh.Len() {
		h.Row64(i, row)
		best, most := 0, math.Inf(-1)
		for a := range k {
			if z := features.Dot(row, s.Theta[a*len(row):(a+1)*len(row)]); z > most {
				best, most = a, z
			}
		}
		x := make([]float64, d)
		fresh.X.Row64(i, x)
		v += reward(x, best) / float64(fresh.Len())
	}
	return v
}

// oneRight are the probabilities of a softmax of scores among 3 actions.
func oneRight(score func(x []float64, a int) float64) func(x []float64, a int) float64 {
	return func(x []float64, a int) float64 {
		var sum float64
		for b := range 3 {
			sum += math.Exp(score(x, b) - score(x, a))
		}
		return 1 / sum
	}
}

// Exclusive scores are in use where one action is right, and nowhere else: what is learned of other logs does not change.
func TestDirect_TakesExclusiveScoresWhereOneActionIsRight(t *testing.T) {
	long.Test(t)
	sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	for _, c := range []struct {
		name      string
		exclusive bool
		reward    func(x []float64, a int) float64
	}{
		{"one is right", true, oneRight(func(x []float64, a int) float64 { return 3 * x[a] })},
		{"one is right, seldom by lines", true, oneRight(func(x []float64, a int) float64 {
			right := 0 // trees see it, regressions without products do not
			if x[0]*x[1] > .8 {
				right = 1
			} else if x[2]*x[3] > .8 {
				right = 2
			}
			if a == right {
				return 3
			}
			return 0
		})},
		{"alike", false, func(x []float64, a int) float64 { return sigmoid(x[0] + .5*x[a]) }},
		{"all may be", false, func(x []float64, a int) float64 { return sigmoid(1.5 * x[a]) }},
		{"one on average", false, func(x []float64, a int) float64 { return 1./3 + .3*math.Tanh(2*x[0]) }},
		{"nothing", false, func([]float64, int) float64 { return .5 }},
		{"clicks", false, func(x []float64, a int) float64 { return .04 * sigmoid(x[a]) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(2) {
				d := &Direct{Threads: 2}
				if _, err := d.Learn(context.Background(), tableLog(1500, 5, 3, seed, c.reward), allRows(1500)); err != nil {
					t.Fatal(err)
				}
				if got := strings.Contains(d.String(), exclusiveName); got != c.exclusive {
					t.Errorf("seed %d: %s", seed, d)
				}
			}
		})
	}
}

func TestDirect_LearnsWhatEachKindIsFor(t *testing.T) {
	long.Test(t)
	sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	for _, c := range []struct {
		name   string
		kinds  []string
		least  float64
		reward func(x []float64, a int) float64
	}{
		{"linear", []string{"linear"}, .67, func(x []float64, a int) float64 { return sigmoid(1.5 * x[a]) }},
		{"additive", []string{"additive"}, .6, func(x []float64, a int) float64 { return .1 + .8*math.Exp(-4*(x[0]-float64(a-1))*(x[0]-float64(a-1))) }},
		{"quadratic", []string{"quadratic"}, .65, func(x []float64, a int) float64 { return sigmoid(2 * x[a] * x[(a+1)%3]) }},
		{"waves", []string{"waves"}, .79, func(x []float64, a int) float64 { // neither of single numbers nor of products
			r, angle := math.Hypot(x[0], x[1]), math.Atan2(x[1], x[0])
			return .5 + .4*math.Cos(angle-2*r-2*math.Pi/3*float64(a))
		}},
		{"trees", []string{"trees"}, .7, func(x []float64, a int) float64 {
			if (x[0] > .3) == (x[1] > -.2) == (a == 1) {
				return .8
			}
			return .2
		}},
		{"pooled", []string{"pooled"}, .7, func(x []float64, a int) float64 {
			if (x[0] > .3) == (a == 1) {
				return .8
			}
			return .2
		}},
		{"exclusive", []string{"exclusive"}, .7, oneRight(func(x []float64, a int) float64 { return 2 * x[a] })},
		{"exclusive-quadratic", []string{"exclusive-quadratic"}, .68, oneRight(func(x []float64, a int) float64 { return 3 * x[a] * x[(a+1)%3] })},
		{"exclusive-trees", []string{"exclusive-trees"}, .68, oneRight(func(x []float64, a int) float64 { return 3 * x[a] * x[(a+1)%3] })},
		{"all", nil, .67, func(x []float64, a int) float64 { return sigmoid(1.5 * x[a]) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := tableLog(2000, 5, 3, 7, c.reward)
			var components []Component
			for _, threads := range []int{3, 1} {
				if threads == 1 && !slices.Contains([]string{"linear", "waves", "trees", "exclusive", "exclusive-trees"}, c.name) {
					continue
				}
				d := &Direct{Threads: threads}
				if c.kinds != nil {
					d.may = func(name string) bool { return slices.Contains(c.kinds, name) }
				}
				s, err := d.Learn(context.Background(), log, allRows(2000))
				if err != nil {
					t.Fatal(err)
				}
				components = append(components, s)
				if v := worth(t, s, 5, 3, c.reward); v < c.least {
					t.Errorf("%s earns %.3f, want %.3f", d, v, c.least)
				}
			}
			if !slices.Equal(components[0].Theta, components[len(components)-1].Theta) {
				t.Error("three threads learn other weights than one")
			}
		})
	}
}

// A number that is a code, one of 49 whose effects have nothing in common, is learned from 1,000 rows.
func TestDirect_LearnsEffectsOfCodes(t *testing.T) {
	effects := make([]float64, 49*3)
	r := rand.New(rand.NewPCG(5, 5))
	for i := range effects {
		effects[i] = 1 / (1 + math.Exp(-1.2*r.NormFloat64()))
	}
	reward := func(x []float64, a int) float64 {
		x[0] = math.Round(10*min(max(x[0], -2.4), 2.4)) / 10
		return effects[3*int(math.Round(10*x[0]+24))+a]
	}
	d := &Direct{Threads: 2}
	s, err := d.Learn(context.Background(), tableLog(1000, 5, 3, 3, reward), allRows(1000))
	if err != nil {
		t.Fatal(err)
	}
	if v := worth(t, s, 5, 3, reward); v < .64 {
		t.Errorf("%s earns %.3f", d, v)
	}
}

// What was chosen on few rows is kept until there are twice as many.
func TestDirect_KeepsItsChoice(t *testing.T) {
	log := tableLog(2000, 4, 2, 3, func(x []float64, a int) float64 { return .5 })
	d := &Direct{Threads: 2}
	for _, c := range []struct{ rows, tuned int }{{600, 600}, {1100, 600}, {1200, 1200}, {2000, 1200}} {
		if _, err := d.Learn(context.Background(), log, allRows(c.rows)); err != nil {
			t.Fatal(err)
		}
		if d.rows != c.tuned {
			t.Errorf("of %d rows it was tuned on %d, want %d", c.rows, d.rows, c.tuned)
		}
	}
}

// A forest of one output in which the action is a category gives each action what it gave it.
func TestApiece_GivesEachActionItsOwnOutput(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const n, d, k = 2000, 3, 4
	x, y := regress.Matrix{Width: d + k, Data: make([]float64, n*(d+k))}, make([]float64, n)
	for i := range n {
		row := x.Data[i*(d+k):][:d+k]
		for j := range d {
			row[j] = r.NormFloat64()
		}
		a := r.IntN(k)
		row[d+a] = 1
		if y[i] = 0; row[a%d]*float64(1+a) > r.NormFloat64() {
			y[i] = 1
		}
	}
	for name, groups := range map[string][][]int32{"sets": {{3, 4, 5, 6}}, "numbers": nil} {
		t.Run(name, func(t *testing.T) {
			got, err := regress.Boost(context.Background(), x, y, regress.BoostOptions{Groups: groups, Rounds: 30})
			if err != nil {
				t.Fatal(err)
			}
			own := features.Layer{Trees: apiece(got.Forest, d, k, nil)}
			if err := own.Check(d); err != nil {
				t.Fatal(err)
			}
			one, each := features.NewNet([]features.Layer{got.Layer()}), features.NewNet([]features.Layer{own})
			want, scores := make([]float64, 1), make([]float64, k)
			for i := range 200 {
				row := slices.Clone(x.Data[i*(d+k):][:d+k])
				each.Apply(scores, row[:d], make([]float64, each.Scratch()))
				for a := range k {
					clear(row[d:])
					row[d+a] = 1
					if one.Apply(want, row, make([]float64, one.Scratch())); want[0] != scores[a] {
						t.Fatalf("action %d has %v, want %v", a, scores[a], want[0])
					}
				}
			}
		})
	}
}

// Noise has no weight in a mixture, and two scores that are alike share it.
func TestMixture_GivesNoiseNoWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	good, noise, y := make([]float64, 4000), make([]float64, 4000), make([]float64, 4000)
	for i := range y {
		good[i], noise[i] = 1.5*r.NormFloat64(), 1.5*r.NormFloat64()
		if r.Float64() < 1/(1+math.Exp(-good[i])) {
			y[i] = 1
		}
	}
	opposite := make([]float64, len(good))
	for i, v := range good {
		opposite[i] = -v
	}
	w, err := mixture(context.Background(), [][]float64{good, noise, good, opposite}, nil, y, false, false)
	if err != nil || w[1] > .1 || w[3] != 0 || math.Abs(w[0]-w[2]) > 1e-6 || math.Abs(w[0]+w[2]-1) > .15 {
		t.Errorf("weights %v, %v", w, err)
	}
}

// Of an interval that a tree divides the score is the mean over its numbers.
func TestApiece_BinsHaveTheirMean(t *testing.T) {
	of := &numbers{of: numeric.Even(0, 4, 4)}
	of.of.Atoms = []float64{1.2}
	f := &features.Forest{In: 2, Base: []float64{.5}, Outputs: []int32{0}, Sizes: []int32{3}, Feature: []int32{1, -1, -1},
		Value: []float64{1.25, 1, 5}, Right: []int32{2, 0, 0}}
	net := features.NewNet([]features.Layer{{Trees: apiece(f, 1, 5, of)}})
	got := make([]float64, 5)
	net.Apply(got, []float64{0}, make([]float64, net.Scratch()))
	if !slices.Equal(got, []float64{1.5, 4.5, 5.5, 5.5, 1.5}) {
		t.Errorf("scores %v", got)
	}
}

func TestProducts_LeaveOutConstantsAndCategories(t *testing.T) {
	x := &table{x: regress.Matrix{Width: 4}, numbers: []int32{0}, constant: []int32{3}, groups: [][]int32{{1, 2}}}
	for i := range 100 {
		x.x.Data = append(x.x.Data, float64(i), float64(i%2), float64(1-i%2), 1)
	}
	l, strata := products(x, []int{0, 20, 40, 60, 80})
	if got := l[1].Products.Pairs; len(got) != 3 || !slices.Equal(got[0], []int32{0, 0}) || !slices.Equal(got[1], []int32{0, 1}) || !slices.Equal(got[2], []int32{0, 2}) {
		t.Errorf("pairs %v", got)
	}
	n := 4 + len(l[0].Pieces.Knots[0]) - 1
	if want := append([]int{0, 1, 1, 3}, slices.Repeat([]int{4}, n-4)...); !slices.Equal(strata[:n], want) || strata[n] == strata[n+1] || strata[n+1] != strata[n+2] || strata[n] < 8 {
		t.Errorf("strata %v", strata)
	}
}

// A log that is sorted by action is learned from as a shuffled one: whatever is left out is evenly spaced, and folds
// hold of every action.
func TestDirect_SortedLogs(t *testing.T) {
	rows := make([]int, 30_000)
	for i := range rows {
		rows[i] = i
	}
	some := evenly(rows, mostTuning)
	if len(some) != mostTuning || some[0] != 0 || some[len(some)-1] < 29_000 || len(evenly(rows[:7], 9)) != 7 {
		t.Errorf("%d rows, from %d to %d", len(some), some[0], some[len(some)-1])
	}
	log := &logs.Log{Actions: logs.Numbered(3), X: logs.Rows64{Width: 1, Data: make([]float64, len(rows))},
		Action: make([]int32, len(rows)), Cost: make([]float64, len(rows)), Propensity: make([]float64, len(rows))}
	for i := range rows {
		log.Action[i] = int32(3 * i / len(rows))
	}
	of := map[[2]int]int{}
	x := (&Direct{}).table(log, rows)
	for _, i := range some {
		of[[2]int{int(x.action[i]), x.fold[i]}]++
	}
	if len(of) != 3*x.folds {
		t.Errorf("rows by action and fold: %v", of)
	}
}

// Candidates for a large catalogue are compared on some rows, evenly spaced, and those for a small one on all.
func TestRecipe_ComparesOnSomeRowsOfLargeLogs(t *testing.T) {
	rows := allRows(50_000)
	for k, want := range map[int]int{1000: 50_000, 100_000: mostPairs / 100_000} {
		got := (&Recipe{}).tried(&logs.Log{Actions: logs.Numbered(k), Choices: &logs.Choices{}}, rows)
		if len(got) != want || !slices.IsSorted(got) || got[0] != 0 || got[len(got)-1] < 49_900 {
			t.Errorf("%d actions: %d rows, want %d", k, len(got), want)
		}
	}
	table := &logs.Log{Actions: logs.Numbered(2), X: logs.Rows64{Width: 1 << 11}}
	if got := (&Recipe{Direct: &Direct{}}).tried(table, rows); len(got) != mostTable>>11 {
		t.Errorf("%d rows of a table", len(got))
	}
}

// A category takes trees as little time as a number, however many values it has.
func TestTable_GrowsTreesFromRowsByItsColumns(t *testing.T) {
	numbers := &table{x: regress.Matrix{Width: 608}}
	category := &table{x: numbers.x, groups: [][]int32{make([]int32, 600)}}
	rows := allRows(50_000)
	if few, many := len(numbers.grown(rows, 1)), len(category.grown(rows, 1)); few != mostGrown/608 || many != 4*few+2 {
		t.Errorf("%d rows of 608 numbers, %d of eight and a category of 600", few, many)
	}
}

// The rows of a table are read in the order of the log, and stand in that of the rows that teach.
func TestDirect_ReadsInOrder(t *testing.T) {
	log := tableLog(500, 3, 2, 1, func([]float64, int) float64 { return .5 })
	rows := rand.New(rand.NewPCG(5, 6)).Perm(500)
	read := []int{}
	log.X = watched{log.X, &read}
	x := (&Direct{}).table(log, rows)
	if !slices.IsSorted(read) || len(read) != 500 {
		t.Errorf("read %d rows, not in order", len(read))
	}
	row := make([]float64, 3)
	for i, r := range rows {
		if log.X.Row64(r, row); !slices.Equal(row, x.x.Data[i*3:(i+1)*3]) {
			t.Fatalf("row %d is another", i)
		}
	}
}

type watched struct {
	logs.Contexts
	read *[]int
}

func (w watched) Row64(i int, dst []float64) {
	*w.read = append(*w.read, i)
	w.Contexts.Row64(i, dst)
}

// Of many rows a kind of scores that adds nothing is left out, and one that adds something is not. Rewards of less noise
// tell smaller effects.
func TestMixture_LeavesOutWhatIsNeedless(t *testing.T) {
	for _, c := range []struct {
		effect         float64
		graded, useful bool
	}{{0, false, false}, {.2, false, true}, {.03, false, false}, {.03, true, true}, {0, true, false}} {
		r := rand.New(rand.NewPCG(5, 1))
		logits, y := make([][]float64, 2), make([]float64, mostTuning)
		for i := range y {
			one, two := r.NormFloat64(), r.NormFloat64()
			p := 1 / (1 + math.Exp(-one-c.effect*two))
			if c.graded {
				y[i] = min(max(0, p+.1*r.NormFloat64()), 1)
			} else if r.Float64() < p {
				y[i] = 1
			}
			logits[0], logits[1] = append(logits[0], one), append(logits[1], one+two/3)
		}
		w, err := mixture(context.Background(), logits, nil, y, true, false)
		if err != nil || w[0] == 0 || (w[1] != 0) != c.useful {
			t.Errorf("%+v: weights %v, %v", c, w, err)
		}
	}
}

// Scales that were learned from rows that are held out know them: kinds would look better than constant scores where no
// feature has an effect.
func TestDirect_HeldOutRowsDoNotFlatter(t *testing.T) {
	long.Test(t)
	var gain float64 // of all logs
	for seed := range uint64(8) {
		gain += flattered(t, tableLog(600, 8, 3, seed, func([]float64, int) float64 { return .4 }))
	}
	if gain < 0 {
		t.Errorf("held-out rows have %.1f nats less log-loss by scores of noise than by their mean", -gain)
	}
	// So would those of more rows, of which many actions have few each.
	for _, n := range []int{2500, mostTuning} {
		if gain := flattered(t, tableLog(n, 13, 20, 1, func([]float64, int) float64 { return .4 })); gain < 0 {
			t.Errorf("many actions: %d held-out rows have %.1f nats less log-loss by scores of noise than by their mean",
				n, -gain)
		}
	}
}

// flattered is the log-loss of quadratic scores of held-out rows, less that of their mean reward of .4, in nats.
func flattered(t *testing.T, log *logs.Log) (gain float64) {
	t.Helper()
	tab := (&Direct{}).table(log, allRows(log.Len()))
	at := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == quadraticName })
	_, scores, err := tab.cross(context.Background(), kinds()[at], nil, tab.all())
	if err != nil {
		t.Fatal(err)
	}
	for i, z := range scores.logged {
		gain += math.Log1p(math.Exp(-math.Abs(z))) + max(z, 0) - tab.y[i]*z
		gain += tab.y[i]*math.Log(.4) + (1-tab.y[i])*math.Log(.6)
	}
	return gain
}

// Products of 40 numbers are learned. Scales of hundreds of pairs of flags fit the rows that they were learned from, so
// that folds have their own.
func TestDirect_ProductsOfManyColumns(t *testing.T) {
	long.Test(t)
	product := func(x []float64, a int) float64 { return .5 + .4*math.Tanh(2*x[0]*x[1])*float64(2*a-1) }
	d := &Direct{may: func(name string) bool { return name == linearName || name == quadraticName }}
	s, err := d.Learn(context.Background(), tableLog(3000, 40, 2, 3, product), allRows(3000))
	if err != nil {
		t.Fatal(err)
	}
	if v := worth(t, s, 40, 2, product); v < .7 {
		t.Errorf("a product of two of 40 numbers earns %.3f of .76", v)
	}
	var gain float64 // of all logs
	for seed := range uint64(3) {
		log := tableLog(mostAgain+200, 41, 3, seed, func([]float64, int) float64 { return .4 })
		x := log.X.(logs.Rows64).Data
		for i, v := range x {
			x[i] = max(0, math.Copysign(1, v))
		}
		gain += flattered(t, log)
	}
	if gain < -20 {
		t.Errorf("held-out rows have %.1f nats less log-loss by products of noise than by their mean", -gain)
	}
}

// Of many actions θ has the regressions themselves, whose scores and those of trees are weighed as of few actions.
func TestDirect_ManyActionsHaveTheirRegressions(t *testing.T) {
	long.Test(t)
	const k = 95
	reward := func(x []float64, a int) float64 { // each is best near its own value, and half of them by a threshold
		return .1 + .5*math.Exp(-math.Pow((x[0]-float64(a)/k*2+1)*5, 2)) + .2*float64(a%2)*max(0, math.Copysign(1, x[1]*x[2]))
	}
	log, ctx := tableLog(8000, 4, k, 6, reward), context.Background()
	d := &Direct{}
	c, err := d.Learn(ctx, log, allRows(log.Len()))
	if err != nil {
		t.Fatal(err)
	}
	regressions := 0
	for _, of := range d.tuned {
		if of.regression {
			regressions++
		}
	}
	if regressions == 0 || regressions == len(d.tuned) {
		t.Fatalf("it has %v, want regressions and trees", d)
	}
	tb := d.table(log, allRows(log.Len()))
	want, scores := make([]float64, 50*k), make([]float64, k)
	for _, of := range d.tuned {
		chain, err := of.fit(ctx, tb, tb.all(), of.tuning)
		if err != nil {
			t.Fatal(err)
		}
		net := features.NewNet(chain)
		for i := range 50 {
			net.Apply(scores, tb.row(i, nil), make([]float64, net.Scratch()))
			floats.AddScaled(want[i*k:(i+1)*k], of.weight, scores)
		}
	}
	h, err := c.In.Of(log.X, 1)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, h.Dim())
	for i := range 50 {
		h.Row64(i, row)
		for a := range k {
			if got := features.Dot(row, c.Theta[a*len(row):(a+1)*len(row)]); math.Abs(got-want[i*k+a]) > 1e-9 {
				t.Fatalf("row %d, action %d: %v, want %v", i, a, got, want[i*k+a])
			}
		}
	}
	alone, err := (&Direct{may: func(name string) bool { return name == linearName }}).Learn(ctx, log, allRows(log.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got, line := worth(t, c, 4, k, reward), worth(t, alone, 4, k, reward); got < line+.1 {
		t.Errorf("it is worth %.3f of .8, lines alone %.3f", got, line)
	}
}

// What is late must, where 1,000 rows teach, earn more beyond doubt; what a user asked for competes by its bound.
func TestBeyondDoubt(t *testing.T) {
	const d, k = 3, 3
	log := tableLog(4000, d, k, 1, func(x []float64, a int) float64 { return 1 / (1 + math.Exp(-2*x[a])) })
	direct := &Direct{may: func(name string) bool { return name == linearName }}
	teach, judge := allRows(4000)[:3000], allRows(4000)[3000:]
	good, err := direct.Learn(t.Context(), log, teach)
	if err != nil {
		t.Fatal(err)
	}
	bad := Component{Weight: 1, Theta: slices.Clone(good.Theta), In: good.In} // it plays the worst
	floats.Scale(-1, bad.Theta)
	of := func(layers, rows int, first, second Component) float64 {
		direct.Layers = layers
		c := comparison{Recipe: Recipe{Direct: direct, Teaching: teach[:rows]}, log: log, c: Config{Delta: .05},
			all:    []candidate{{name: "direct", model: logisticModel}, {name: "layered", deep: true, late: true}},
			policy: policies.Floor{Policy: policies.ArgMax{}, Epsilon: .05}, views: map[*Representation]*logs.Log{},
			least: math.Inf(1)}
		learned := [][]Component{{first}, {second}}
		var risk float64
		for at := range learned {
			if risk, err = c.risk(learned, at, judge); err != nil {
				t.Fatal(err)
			}
		}
		return risk
	}
	if r := of(1, 3000, good, good); r != 1 {
		t.Errorf("layers that earn the same have risk %v, want 1", r)
	}
	if r := of(1, 900, good, good); r > -.3 {
		t.Errorf("layers that earn the same, of 900 rows, have risk %v", r)
	}
	if r := of(0, 3000, good, good); r > -.3 {
		t.Errorf("layers that were asked for have risk %v", r)
	}
	if r := of(1, 3000, bad, good); r > -.3 {
		t.Errorf("layers that earn more have risk %v", r)
	}
}

// Of a table where 1,000 rows teach, gradients would win by chance: they are no candidates unless someone names them.
// Layers are, of large tables.
func TestRecipe_Candidates(t *testing.T) {
	log := tableLog(2000, 3, 3, 1, func([]float64, int) float64 { return .4 })
	for _, c := range []struct {
		rows, layers int
		learners     []string
		want         string
	}{
		{fewTeaching - 1, 30_000, nil, "direct l2 likelihood"},
		{fewTeaching, 30_000, nil, "direct"},
		{fewTeaching, 2000, nil, "direct layered likelihood layered logistic"},
		{fewTeaching, 0, nil, "direct l2 likelihood layered likelihood layered logistic"},
		{fewTeaching, 30_000, []string{"trees", "likelihood"}, "direct likelihood"},
	} {
		r := Recipe{Direct: &Direct{Layers: c.layers}, Teaching: allRows(c.rows), Learners: c.learners}
		config := Config{Representation: objectives.MLP(features.ReLU, 0, 5)}
		var names []string
		for _, of := range r.candidates(t.Context(), log, &config) {
			names = append(names, of.name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%d rows, layers from %d, %v: candidates %s, want %s", c.rows, c.layers, c.learners, got, c.want)
		}
	}
}

// Where nothing is to be chosen, all rows are learned from at once; where actions are many, held-out rows choose the
// temperature, of one kind, too.
func TestRecipe_Trials(t *testing.T) {
	for _, c := range []struct {
		actions  int
		learners []string
		want     bool
	}{{3, nil, false}, {3, []string{linearName}, false}, {3, []string{linearName, "likelihood"}, true}, {leastSpread, []string{linearName}, true}} {
		log := tableLog(2000, 3, c.actions, 1, func([]float64, int) float64 { return .4 })
		r := Recipe{Direct: &Direct{Layers: 30_000}, Teaching: allRows(1500), Certifying: allRows(2000)[1500:], Floor: .05,
			Learners: c.learners}
		tried := false
		_, err := r.Learn(t.Context(), nil, log, Config{Delta: .05, Progress: func(p Progress) {
			tried = tried || p.Stage == "trial of direct" && p.Steps == 0
		}})
		if err != nil || tried != c.want {
			t.Errorf("%d actions, %v: tried %v, want %v; %v", c.actions, c.learners, tried, c.want, err)
		}
	}
}

// Deep trees are learned where effects of two numbers need them, and not where they fit noise.
func TestDirect_DepthOfTrees(t *testing.T) {
	long.Test(t)
	cells := func(x []float64, a int) float64 { // some 36 of two numbers
		if (int(math.Floor(x[0]))+int(math.Floor(x[1]))+a)%2 == 0 {
			return .9
		}
		return .1
	}
	sums := func(x []float64, a int) float64 { return 1 / (1 + math.Exp(-floats.Sum(x)*float64(2*a-1))) }
	for want, reward := range map[bool]func([]float64, int) float64{true: cells, false: sums} {
		d := &Direct{may: func(name string) bool { return name == "trees" }}
		log := tableLog(8000, 4, 2, 1, reward)
		if _, err := d.Learn(t.Context(), log, allRows(8000)); err != nil {
			t.Fatal(err)
		}
		if got := d.tuned[0].tuning.deep; got != want {
			t.Errorf("deep: %v, want %v", got, want)
		}
	}
}

// What only trees find, and they only in many rows, is found in a large table: weights of 10,000 rows would leave them out.
func TestDirect_WeighsLargeTablesAgain(t *testing.T) {
	long.Test(t)
	const rows = 30_000
	reward := func(x []float64, a int) float64 { // a product of three of eight numbers
		return .5 + .25*math.Tanh(2*x[0]*x[1]*x[2])*float64(2*a-1)
	}
	d := &Direct{Threads: 2, may: func(name string) bool { return name == quadraticName || name == treesName }}
	s, err := d.Learn(t.Context(), tableLog(rows, 9, 2, 1, reward), allRows(rows))
	if err != nil {
		t.Fatal(err)
	}
	if v := worth(t, s, 9, 2, reward); v < .56 {
		t.Errorf("%s: it is worth %.3f, chance .5", d, v)
	}
}

// What two numbers do to the rewards of all actions is told best by trees, what actions differ in by a regression. Policies
// earn more by weights of the differences; models whose level matters (whole) keep weights of both.
func TestDirect_WeighsWhatActionsShareApart(t *testing.T) {
	const rows = 6000
	reward := func(x []float64, a int) float64 {
		z := -1.
		for j, v := range x[:8] {
			z += .4 * math.Cos(float64(3*a+2*j)) * v
		}
		if (x[0] > .3) != (x[1] > -.2) {
			z += 2.5
		}
		return 1 / (1 + math.Exp(-z))
	}
	learned := func(whole bool, seed uint64) (*Direct, float64) {
		d := &Direct{Threads: 2, whole: whole, may: func(name string) bool { return name == linearName || name == pooledName }}
		s, err := d.Learn(t.Context(), tableLog(rows, 9, 4, seed, reward), allRows(rows))
		if err != nil {
			t.Fatal(err)
		}
		return d, worth(t, s, 9, 4, reward)
	}
	d, apart := learned(false, 1)
	both, together := learned(true, 1)
	if apart < together+.002 {
		t.Errorf("%s is worth %.4f, %s with weights of both %.4f", d, apart, both, together)
	}
}

// Without shared effects nothing is weighed apart.
func TestApart(t *testing.T) {
	const n = 4000
	r := rand.New(rand.NewPCG(1, 2))
	for _, shared := range []float64{0, 2} {
		regression, trees, y := held{}, held{}, make([]float64, n)
		for i := range y {
			mean, difference := shared*r.NormFloat64(), .3*r.NormFloat64()
			if r.Float64() < 1/(1+math.Exp(-mean-difference)) {
				y[i] = 1
			}
			regression.mean, regression.logged = append(regression.mean, 0), append(regression.logged, difference)
			trees.mean, trees.logged = append(trees.mean, mean), append(trees.logged, mean+.6*r.NormFloat64())
		}
		scores := []held{regression, trees}
		for _, may := range []bool{false, true} {
			logits, beside, err := apart(t.Context(), scores, y, may)
			if err != nil {
				t.Fatal(err)
			}
			w, err := mixture(t.Context(), logits, beside, y, true, false)
			if err != nil {
				t.Fatal(err)
			}
			if want := may && shared > 0; (beside != nil) != want || want != (shared > 0 && w[1] == 0) {
				t.Errorf("shared effects of %v, apart if they may be: %v; weights %.2v, %d columns beside", shared, may, w, len(beside))
			}
		}
	}
}

// Rows that are judged are those of the first fold; where groups leave it empty, as few rows as before are judged by all.
func TestTable_Again(t *testing.T) {
	tab := &table{y: make([]float64, leastWeighed), fold: make([]int, leastWeighed), folds: 3}
	some := allRows(100)
	if got, rows := tab.again(some); got.folds != 1 || len(rows) != leastWeighed || len(got.judged(rows)) != leastWeighed {
		t.Errorf("%d folds, %d rows", got.folds, len(rows))
	}
	for i := range tab.fold {
		tab.fold[i] = 1
	}
	if got, rows := tab.again(some); got.folds != 3 || len(rows) != 100 || len(got.judged(rows)) != 100 {
		t.Errorf("no row is of the first fold: %d folds, %d rows", got.folds, len(rows))
	}
	tab.y = tab.y[1:]
	if got, rows := tab.again(some); got.folds != 3 || len(rows) != 100 {
		t.Errorf("a small table: %d folds, %d rows", got.folds, len(rows))
	}
}

// Numbers of up to 200 values have an indicator of each, where those of fewer leave room.
func TestIndicatedTimes(t *testing.T) {
	for _, c := range []struct{ values, columns, want int }{{168, 1, 168}, {168, 2, 168}, {40, 2, 80}, {40, 7, 0}, {201, 1, 0}} {
		rows := allRows(4000)
		tab := &table{x: regress.Matrix{Width: c.columns, Data: make([]float64, 4000*c.columns)}}
		for j := range c.columns {
			tab.numbers = append(tab.numbers, int32(j))
			for i := range rows {
				tab.x.Data[i*c.columns+j] = float64((i + j) % c.values)
			}
		}
		_, strata := pieces(tab, rows)
		got := 0
		for _, s := range strata {
			if s >= 2*c.columns {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%d columns of %d values: %d indicators, want %d", c.columns, c.values, got, c.want)
		}
	}
}

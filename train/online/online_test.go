package online

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/logs"
)

// world is one of two contexts, which are features of their own, two actions and rewards of 0
// and 1, with a policy.
type world struct {
	nu                     [2]float64
	logger, reward, policy [2][2]float64
}

var (
	usual = world{[2]float64{.6, .4}, [2][2]float64{{.7, .3}, {.2, .8}}, [2][2]float64{{.9, .1}, {.95, .6}}, [2][2]float64{{.5, .5}, {.9, .1}}}
	// Rows without a reward are mostly of the action that the policy avoids.
	telling = world{[2]float64{.5, .5}, [2][2]float64{{.5, .5}, {.5, .5}}, [2][2]float64{{0, .5}, {0, .5}}, [2][2]float64{{.05, .95}, {.05, .95}}}
)

func (w world) value() (v float64) {
	for x, p := range w.nu {
		for a, r := range w.reward[x] {
			v += p * w.policy[x][a] * r
		}
	}
	return v
}

// row appends a draw to a log, copies times, as a group.
func row(l *logs.Log, pi0 [2]float64, x, a, r, copies, round int) {
	cluster := int32(len(l.Action))
	data := l.X.(logs.Rows64).Data
	for range copies {
		data = append(data, 1-float64(x), float64(x))
		l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, -float64(r))
		l.Propensity, l.Propensities = append(l.Propensity, pi0[a]), append(l.Propensities, pi0[:]...)
		l.Group, l.Logger = append(l.Group, cluster), append(l.Logger, int32(round))
	}
	l.X = logs.Rows64{Width: 2, Data: data}
}

func empty() *logs.Log {
	return &logs.Log{Actions: logs.Numbered(2), X: logs.Rows64{Width: 2}, Policies: []string{"a", "b"}}
}

func (w world) all(l *logs.Log) (rows []int, logged []float64) {
	for i, a := range l.Action {
		rows, logged = append(rows, i), append(logged, w.policy[contextOf(l, i)][a])
	}
	return rows, logged
}

func contextOf(l *logs.Log, i int) int { return int(l.X.(logs.Rows64).Data[2*i+1]) }

// product is ∏ (1 − ℓX) over clusters with the predictions of a model as they are.
func (w world) product(t *testing.T, m *model, l *logs.Log, copies int, ell float64) float64 {
	e, x := 1., 0.
	for i, a := range l.Action {
		r, pi := make([]float64, 2), w.policy[contextOf(l, i)]
		if first, _ := l.Option(i, 0); first == 1 {
			pi[0], pi[1] = pi[1], pi[0]
		}
		m.predict(r, pi[:], i)
		at := l.Chosen(i)
		x -= pi[0]*r[0] + pi[1]*r[1] + w.policy[contextOf(l, i)][a]/l.Propensity[i]*(-l.Cost[i]-r[at])
		if i%copies == copies-1 {
			f := 1 - ell*x/float64(copies)
			if f <= 0 {
				t.Fatalf("a factor of %v", f)
			}
			e, x = e*f, 0
		}
	}
	return e
}

// offer makes the rows of a log offer sets, of which those of the second context have the actions in the other
// order, with vectors.
func offer(l *logs.Log) {
	c := &logs.Choices{Z: logs.Rows64{Width: 1, Data: []float64{-1, 2}}}
	for i, a := range l.Action {
		set := []int32{0, 1}
		if contextOf(l, i) == 1 {
			set = []int32{1, 0}
			l.Propensities[2*i], l.Propensities[2*i+1] = l.Propensities[2*i+1], l.Propensities[2*i]
		}
		c.First, c.Count, c.Actions = append(c.First, int64(2*i)), append(c.Count, 2), append(c.Actions, set...)
		c.At = append(c.At, int32(slices.Index(set, a)))
	}
	l.Choices = c
}

// Over all logs there are, of single rows, of groups, and of two rounds of which the second's
// policy was chosen by the rewards of the first, the mean of the product is (1 − ℓR)ⁿ exactly. For a
// model that saw the row that it predicts, or another of its group, it is not.
func TestProduct_HasMeanOneUnlessAModelSawItsRow(t *testing.T) {
	long.Test(t)
	const ell, n = .15, 4
	w := usual
	for _, c := range []struct {
		name           string
		copies         int
		adaptive, leak bool
		sets           bool
	}{{"sets", 1, false, false, true}, {"sets in rounds", 1, true, false, true}, {"sets, its own row", 1, false, true, true}, {"rows", 1, false, false, false}, {"groups", 2, false, false, false}, {"rounds", 1, true, false, false}, {"its own row", 1, false, true, false}, {"its own group", 2, false, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			var mean, total, predicted float64
			for number := range 1 << (3 * n) {
				l, p, code, paid := empty(), 1., number, 0
				for i := range n {
					x, a, r := code&1, code>>1&1, code>>2&1
					code >>= 3
					pi0, round := w.logger[x], 0
					if c.adaptive && i >= n/2 {
						if round = 1; paid > 0 {
							pi0[0], pi0[1] = pi0[1], pi0[0]
						}
					}
					if i < n/2 {
						paid += r
					}
					chance := w.reward[x][a]
					if r == 0 {
						chance = 1 - chance
					}
					p *= w.nu[x] * pi0[a] * chance
					row(l, pi0, x, a, r, c.copies, round)
				}
				rows, logged := w.all(l)
				if c.sets {
					offer(l)
				}
				m, err := learn(l, rows, nil, logged, 1)
				if err != nil {
					t.Fatal(err)
				}
				for i := range m.stage {
					if c.leak {
						m.stage[i] = min(m.stage[i]+1, int32(len(m.stages)-1))
					}
				}
				total += p
				mean += p * w.product(t, m, l, c.copies, ell)
				predicted += float64(len(m.stages)-1) / 4096
			}
			if predicted < 2 {
				t.Errorf("%v models a log", predicted)
			}
			want := math.Pow(1+ell*w.value(), n)
			if wrong := math.Abs(mean-want) / want; math.Abs(total-1) > 1e-9 || (wrong < 1e-9) == c.leak || c.leak && wrong < map[bool]float64{false: 1e-3, true: 1e-6}[c.sets] { // actions of sets share parameters, which forget one row sooner
				t.Errorf("the mean is %v, want %v for no other than a model of rows before (off by %.2g)", mean, want, wrong)
			}
		})
	}
}

// draw is a log of clusters of some rows.
func (w world) draw(r *rand.Rand, clusters, copies int) *logs.Log {
	l := empty()
	l.Logger = nil
	bit := func(p float64) int {
		if r.Float64() < p {
			return 1
		}
		return 0
	}
	for range clusters {
		x := bit(w.nu[1])
		a := bit(w.logger[x][1])
		row(l, w.logger[x], x, a, bit(w.reward[x][a]), copies, 0)
	}
	l.Logger = nil
	return l
}

// What a row says changes nothing that is predicted for its group, and something later.
func TestPrediction_DoesNotReadItsOwnGroup(t *testing.T) {
	w := usual
	l := w.draw(rand.New(rand.NewPCG(1, 2)), 200, 3)
	rows, logged := w.all(l)
	predictions := func() (out []float64) {
		m, err := Learn(l, rows, nil, logged)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			r, pi := make([]float64, 2), w.policy[contextOf(l, i)]
			m.Of(r, pi[:], i)
			out = append(out, r...)
		}
		return out
	}
	before, taught := predictions(), 0
	for i := 0; i < 600; i += 51 {
		l.Cost[i] = -1 - l.Cost[i]
		after := predictions()
		for j := i / 3 * 3; j < i/3*3+3; j++ {
			if !slices.Equal(after[2*j:2*j+2], before[2*j:2*j+2]) {
				t.Fatalf("the reward of row %d changes the prediction for row %d of its group", i, j)
			}
		}
		if !slices.Equal(after, before) {
			taught++
		}
		l.Cost[i] = -1 - l.Cost[i]
	}
	if taught < 6 {
		t.Errorf("%d of 12 rows taught something", taught)
	}
}

// A file that is sorted by action and reward is as good as any: the order of its rows is not
// that of learning.
func TestOrder_OfASortedFileDoesNoHarm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	w, wrong, tighter := telling, 0, 0.
	const count = 40
	for range count {
		l := w.draw(r, 2000, 1)
		order := make([]int, l.Len())
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(l.Action[b], l.Action[a]), cmp.Compare(l.Cost[b], l.Cost[a]))
		})
		sorted := empty()
		sorted.Logger = nil
		for _, i := range order {
			x := contextOf(l, i)
			row(sorted, w.logger[x], x, int(l.Action[i]), int(-l.Cost[i]), 1, 0)
		}
		sorted.Logger = nil
		rows, logged := w.all(sorted)
		m, err := Learn(sorted, rows, nil, logged)
		if err != nil {
			t.Fatal(err)
		}
		play := func(dst []float64, i int) error { copy(dst, w.policy[contextOf(sorted, i)][:]); return nil }
		with, err := certify.Fixed(play, nil, sorted, rows, certify.Options{Models: []*certify.RewardModel{m}})
		if err != nil {
			t.Fatal(err)
		}
		without, _ := certify.Fixed(play, nil, sorted, rows, certify.Options{})
		if with.Reward() > w.value() {
			wrong++
		}
		tighter += (with.Reward() - without.Reward()) / count
	}
	t.Logf("%d of %d above the truth, %.3f tighter than without a model", wrong, count, tighter)
	if wrong > 2 || tighter < .005 {
		t.Errorf("%d of %d bounds are above the truth, %.4f tighter than without a model", wrong, count, tighter)
	}
}

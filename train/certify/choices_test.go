package certify_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
)

// offering is a world whose contexts offer sets of four actions, which are described by two numbers.
type offering struct {
	nu     []float64
	sets   [][]int32   // by context
	pi0    [][]float64 // by place in the set
	reward [][]float64 // mean, likewise
}

func shelves() offering {
	return offering{nu: []float64{.5, .3, .2}, sets: [][]int32{{2, 0}, {1, 2, 3}, {3}},
		pi0: [][]float64{{.7, .3}, {.1, .5, .4}, {1}}, reward: [][]float64{{.2, .9}, {.8, .1, .4}, {.5}}}
}

// vectors are those of the four actions.
var vectors = logs.Rows64{Width: 2, Data: []float64{1, 0, 0, 1, -1, 1, .5, .5}}

// log is that of some contexts and what was played there.
func (w offering) log(x, place []int, reward []float64) *logs.Log {
	l := &logs.Log{Actions: []string{"a", "b", "c", "d"}, Choices: &logs.Choices{Z: vectors}}
	data := make([]float64, 0, 3*len(x))
	for i, c := range x {
		for j := range w.sets {
			data = append(data, map[bool]float64{true: 1}[j == c])
		}
		ch := l.Choices
		ch.First, ch.Count, ch.At = append(ch.First, int64(len(ch.Actions))), append(ch.Count, int32(len(w.sets[c]))), append(ch.At, int32(place[i]))
		ch.Actions = append(ch.Actions, w.sets[c]...)
		l.Action, l.Cost = append(l.Action, w.sets[c][place[i]]), append(l.Cost, -reward[i])
		l.Propensity, l.Propensities = append(l.Propensity, w.pi0[c][place[i]]), append(l.Propensities, w.pi0[c]...)
	}
	l.X = logs.Rows64{Width: len(w.sets), Data: data}
	return l
}

// logs calls f for every log of n draws, with its probability.
func (w offering) logs(n int, f func(p float64, l *logs.Log)) {
	x, place, reward := make([]int, n), make([]int, n), make([]float64, n)
	var at func(i int, p float64)
	at = func(i int, p float64) {
		if i == n {
			f(p, w.log(x, place, reward))
			return
		}
		for c, nu := range w.nu {
			for j, p0 := range w.pi0[c] {
				for r, chance := range []float64{1 - w.reward[c][j], w.reward[c][j]} {
					if q := nu * p0 * chance; q > 0 {
						x[i], place[i], reward[i] = c, j, float64(r)
						at(i+1, p*q)
					}
				}
			}
		}
	}
	at(0, 1)
}

// risks are R(π) of a policy that reads a log of every context, and R(π₀).
func (w offering) risks(t *testing.T, of func(l *logs.Log) func(dst []float64, i int) error) (risk, logging float64) {
	l := w.log([]int{0, 1, 2}, []int{0, 0, 0}, []float64{0, 0, 0})
	pi := of(l)
	for c, nu := range w.nu {
		dst := make([]float64, len(w.sets[c]))
		if err := pi(dst, c); err != nil {
			t.Fatal(err)
		}
		for j, r := range w.reward[c] {
			risk, logging = risk-nu*dst[j]*r, logging-nu*w.pi0[c][j]*r
		}
	}
	return risk, logging
}

// bilinear are scores of three contexts and two features of actions.
var bilinear = []float64{2, -1, .5, -1, 3, 0}

func played(family propensity.Family) func(l *logs.Log) func(dst []float64, i int) error {
	return func(l *logs.Log) func(dst []float64, i int) error { return certify.Play(family, bilinear, l) }
}

func rowsOf(l *logs.Log) []int {
	rows := make([]int, l.Len())
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// wrong are models of what actions of such features earn.
func wrong(l *logs.Log) []*certify.RewardModel {
	return []*certify.RewardModel{
		certify.Linear("softmax", []float64{1, 1, -1, 0, .3, 2}, l, certify.SoftmaxLink),
		certify.Linear("logistic", []float64{-2, 1, 1, 3, 0, .5}, l, certify.LogisticLink),
	}
}

// Where rows offer sets of their own, the mean of the e-value is 1 as it is where all offer the
// same: of every kind, in chunks, at any time, and of several logs together. An action of the set that
// the log does not have is among most of these logs.
func TestEValue_HasMeanOneOnSets(t *testing.T) {
	w := shelves()
	for _, c := range []struct {
		name    string
		policy  func(l *logs.Log) func(dst []float64, i int) error
		n       int
		models  bool
		anyTime bool
	}{
		{"argmax", played(propensity.ArgMax{}), 3, false, false},
		{"argmax with a floor, with models", played(propensity.Floor{Family: propensity.ArgMax{}, Epsilon: .2}), 3, true, false},
		{"softmax, with models", played(propensity.Softmax{}), 3, true, false},
		{"softmax, with models, at any time", played(propensity.Softmax{}), 2, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			risk, logging := w.risks(t, c.policy)
			var total float64
			sums := map[string]*certify.EValues{}
			add := func(how string, p float64, e certify.EValues, err error) {
				if err != nil {
					t.Fatal(err)
				}
				if sums[how] == nil {
					sums[how] = &certify.EValues{}
				}
				sums[how].Risk += p * math.Exp(e.Risk)
				sums[how].Gain += p * math.Exp(e.Gain)
			}
			w.logs(c.n, func(p float64, l *logs.Log) {
				o := certify.Options{Delta: .2, AnyTime: c.anyTime}
				if c.models {
					o.Models = wrong(l)
				}
				total += p
				pi := c.policy(l)
				e, err := certify.FixedAt(pi, l, rowsOf(l), o, risk, risk-logging)
				add("fixed", p, e, err)
				if c.anyTime {
					e, err = certify.PoolAt([]certify.PoolLog{{Pi: pi, Log: l, Rows: []int{0}, Models: o.Models}, {Pi: pi, Log: l, Rows: []int{1}, Models: o.Models}}, o, risk, risk-logging)
					add("pool", p, e, err)
					return
				}
				chunks := []certify.Chunk{{Policy: pi, Models: o.Models, Rows: []int{0}}, {Policy: pi, Models: o.Models, Rows: []int{1, 2}}}
				e, err = certify.ChunksAt(chunks, l, o, func([]float64) float64 { return risk }, func([]float64) float64 { return risk - logging })
				add("chunks", p, e, err)
				some := l.Subset([]int{2, 0, 1})
				e, err = certify.FixedAt(c.policy(some), some, rowsOf(some), certify.Options{Clusters: []int32{-1, 4, -1}}, risk, risk-logging)
				add("subset", p, e, err)
			})
			near(t, c.name+": probabilities", total, 1)
			for how, m := range sums {
				near(t, c.name+", "+how+": mean e-value of the risk", m.Risk, 1)
				near(t, c.name+", "+how+": mean e-value of the gain", m.Gain, 1)
			}
		})
	}
}

// What the logging policy never plays earns nothing that could be counted: the mean is below 1, with
// propensities of 0 and at their floor, and so it is for propensities that are known up to a factor. Logged
// propensities alone serve as those of all do where there is no model.
func TestSets_CountNothingForActionsNeverPlayed(t *testing.T) {
	w := shelves()
	risk, logging := w.risks(t, played(propensity.Softmax{}))
	var gamma, gammaGain float64
	w.logs(3, func(p float64, l *logs.Log) {
		o := certify.Options{Gamma: 1.2, Models: wrong(l)}
		wide := *l
		wide.Propensity, wide.Propensities = slices.Clone(l.Propensity), slices.Clone(l.Propensities)
		for i := range l.Len() { // the second of a set is logged too small, the rest as much larger
			if pi := wide.Pi0(i); len(pi) > 1 {
				off := pi[1] - pi[1]/1.2
				pi[1] -= off
				pi[0] += off
				if len(pi) == 3 {
					pi[0], pi[2] = pi[0]-off, pi[2]+off
				}
				wide.Propensity[i] = pi[l.Chosen(i)]
			}
		}
		e, err := certify.FixedAt(certify.Play(propensity.Softmax{}, bilinear, &wide), &wide, rowsOf(l), o, risk, risk-logging)
		if err != nil {
			t.Fatal(err)
		}
		gamma, gammaGain = gamma+p*math.Exp(e.Risk), gammaGain+p*math.Exp(e.Gain)
		all, err := certify.Fixed(certify.Play(propensity.Softmax{}, bilinear, l), nil, l, rowsOf(l), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		logged, only := make([]float64, l.Len()), *l
		only.Propensities = nil
		for i := range logged {
			pi := make([]float64, l.Options(i))
			if err := certify.Play(propensity.Softmax{}, bilinear, l)(pi, i); err != nil {
				t.Fatal(err)
			}
			logged[i] = pi[l.Chosen(i)]
		}
		b, err := certify.Fixed(nil, logged, &only, rowsOf(l), certify.Options{Models: wrong(l)})
		if err != nil || b.Best().Risk != all.Best().Risk || b.Gain.Risk != all.Gain.Risk || b.Plays != all.Plays {
			t.Fatalf("by logged propensities %v and %v (%v), by all %v and %v", b.Best().Risk, b.Gain.Risk, err, all.Best().Risk, all.Gain.Risk)
		}
	})
	if !(gamma < 1 && gammaGain < 1) {
		t.Errorf("Γ: mean %v, gain %v, want less than 1", gamma, gammaGain)
	}
	w.pi0[1] = []float64{0, .6, .4}
	for _, none := range []float64{0, logs.LeastPropensity} {
		risk, logging = w.risks(t, played(propensity.Softmax{}))
		var mean, gain float64
		w.logs(2, func(p float64, l *logs.Log) {
			for i, p0 := range l.Propensities {
				l.Propensities[i] = max(p0, none)
			}
			e, err := certify.FixedAt(certify.Play(propensity.Softmax{}, bilinear, l), l, rowsOf(l), certify.Options{Models: wrong(l)}, risk, risk-logging)
			if err != nil {
				t.Fatal(err)
			}
			mean, gain = mean+p*math.Exp(e.Risk), gain+p*math.Exp(e.Gain)
		})
		if !(mean < .999 && gain < .999) {
			t.Errorf("π₀ = %v: mean %v, gain %v, want less than 1", none, mean, gain)
		}
	}
}

// Posteriors are refused, whose scores would have to be independent.
func TestSets_RefusePosteriors(t *testing.T) {
	l := shelves().log([]int{0, 1}, []int{1, 2}, []float64{0, 1})
	if _, err := certify.Posterior(propensity.Gaussian{}, around(4, [2]int{}, 1), l, []int{0, 1}, certify.Options{}); err == nil || !strings.Contains(err.Error(), "share parameters") {
		t.Errorf("error %v", err)
	}
	short := func(dst []float64, i int) error { clear(dst); dst[0] = .5; return nil }
	if _, err := certify.Fixed(short, nil, l, []int{0, 1}, certify.Options{}); err == nil || !strings.Contains(err.Error(), "sum to 0.5") {
		t.Errorf("error %v", err)
	}
}

// With a catalogue of 100,000 actions that are drawn uniformly nothing is guaranteed, and the bounds
// say how often the policy's choice was played and how often it should be; where it is that often, half of
// the reward is guaranteed in most logs.
func TestCatalogue_GuaranteesNothingOfUniformDraws(t *testing.T) {
	const k, n, reward = 100_000, 20_000, .4
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(play float64) certify.Bounds {
		l := &logs.Log{Actions: logs.Numbered(k), Choices: &logs.Choices{}}
		for range n {
			a, p := 7, play
			if r.Float64() >= play {
				a, p = r.IntN(k-8)+8, (1-play)/(k-8)
			}
			c := 0.
			if r.Float64() < reward {
				c = -1
			}
			l.Action, l.Cost, l.Propensity = append(l.Action, int32(a)), append(l.Cost, c), append(l.Propensity, p)
		}
		logged := make([]float64, n)
		for i, a := range l.Action {
			if a == 7 {
				logged[i] = 1
			}
		}
		b, err := certify.Fixed(nil, logged, l, rowsOf(l), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := draw(1. / k)
	if b.Reward() != 0 || b.Plays > 3 || !(b.Wanted > 30 && b.Wanted < 300) {
		t.Fatalf("reward %v, played %v times of %v wanted", b.Reward(), b.Plays, b.Wanted)
	}
	half := 0
	for range 41 {
		if got := draw(b.Wanted / n); got.Reward() >= reward/2*.9 {
			half++
		}
	}
	t.Logf("wanted %v of %v rows; then at least 0.9 times half of the reward in %d of 41 logs", b.Wanted, n, half)
	if half < 21 {
		t.Errorf("half of the reward is guaranteed in %d of 41 logs", half)
	}
}

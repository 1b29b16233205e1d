package inspect_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/inspect"
	"opl/train/logs"
)

// shop is a log whose rows offer from 2 to most of k items, in a new order each time, which are described
// by 4 numbers.
type shop struct {
	n, k, most int
	all        bool
	policy     func(x []float64, z [][]float64, places []int32, pi []float64)
	says       func(x []float64, z [][]float64, places []int32, pi []float64) // nil: policy
	few        bool                                                           // contexts of three kinds
	offers     func(r *rand.Rand, t float64, k int) int32                     // an item at a time in [0, 1]; nil: any
}

func evenly(_ []float64, _ [][]float64, _ []int32, pi []float64) { uniformly(nil, pi) }

// tastes is a softmax of how an item's features suit the context, with a floor.
func tastes(x []float64, z [][]float64, _ []int32, pi []float64) {
	sum := 0.
	for j := range pi {
		s := 0.
		for c, v := range x {
			s += v * z[j][c]
		}
		pi[j] = math.Exp(s)
		sum += pi[j]
	}
	for j := range pi {
		pi[j] = .8*pi[j]/sum + .2/float64(len(pi))
	}
}

// firstly is tastes with the first of the set played more.
func firstly(x []float64, z [][]float64, a []int32, pi []float64) {
	tastes(x, z, a, pi)
	for j := range pi {
		pi[j] *= .85
	}
	pi[0] += .15
}

// suited plays by the sign of a product alone: each item as often as any.
func suited(x []float64, z [][]float64, _ []int32, pi []float64) {
	sum := 0.
	for j := range pi {
		pi[j] = 1.5
		if x[2]*z[j][2] < 0 {
			pi[j] = .5
		}
		sum += pi[j]
	}
	for j := range pi {
		pi[j] /= sum
	}
}

// foremost plays the first of the set with .1 more than any.
func foremost(_ []float64, _ [][]float64, _ []int32, pi []float64) {
	for j := range pi {
		pi[j] = .9 / float64(len(pi))
	}
	pi[0] += .1
}

// turned is what tastes says, of the place before.
func turned(x []float64, z [][]float64, a []int32, pi []float64) {
	p := make([]float64, len(pi))
	tastes(x, z, a, p)
	for j := range pi {
		pi[j] = p[(j+1)%len(p)]
	}
}

// dearly plays items of a large first feature more.
func dearly(_ []float64, z [][]float64, _ []int32, pi []float64) {
	sum := 0.
	for j := range pi {
		pi[j] = math.Exp(z[j][0] / 2)
		sum += pi[j]
	}
	for j := range pi {
		pi[j] /= sum
	}
}

// popular plays one of the items numbered below 10 twice as often.
func popular(_ []float64, _ [][]float64, a []int32, pi []float64) {
	sum := 0.
	for j := range pi {
		if pi[j] = 1; a[j] < 10 {
			pi[j] = 2
		}
		sum += pi[j]
	}
	for j := range pi {
		pi[j] /= sum
	}
}

func (s shop) log(seed uint64) *logs.Log {
	r := rand.New(rand.NewPCG(seed, 16))
	items := make([]float64, 4*s.k)
	for j := range items {
		items[j] = r.NormFloat64()
	}
	c := &logs.Choices{Z: logs.Rows64{Width: 4, Data: items}}
	l := &logs.Log{Choices: c}
	for a := range s.k {
		l.Actions = append(l.Actions, fmt.Sprint("item", a))
	}
	data := make([]float64, 4*s.n)
	for i := range s.n {
		x := data[4*i : 4*i+4]
		if normals(r, x); s.few {
			three(r, x)
		}
		set, z := map[int32]bool{}, [][]float64{}
		c.First = append(c.First, int64(len(c.Actions)))
		for size := 2 + r.IntN(s.most-1); len(set) < size; {
			a := int32(r.IntN(s.k))
			if s.offers != nil {
				a = s.offers(r, float64(i)/float64(s.n), s.k)
			}
			if !set[a] {
				set[a] = true
				c.Actions, z = append(c.Actions, a), append(z, items[4*a:4*a+4])
			}
		}
		c.Count = append(c.Count, int32(len(z)))
		places := c.Actions[c.First[i]:]
		pi, p := make([]float64, len(z)), make([]float64, len(z))
		s.policy(x, z, places, pi)
		copy(p, pi)
		if s.says != nil {
			s.says(x, z, places, p)
		}
		at := propensity.Draw(pi, r)
		c.At, l.Action = append(c.At, int32(at)), append(l.Action, places[at])
		l.Propensity = append(l.Propensity, p[at])
		if s.all {
			l.Propensities = append(l.Propensities, p...)
		}
		reward := 0.
		if r.Float64() < 1/(1+math.Exp(1-x[1]*z[at][1])) {
			reward = -1
		}
		l.Cost = append(l.Cost, reward)
	}
	l.X = logs.Rows64{Width: 4, Data: data}
	return l
}

// Sound logs whose rows offer sets pass, of many seeds; and where actions were not drawn as their
// propensities say, bets win: propensities of another order, a place that is played more, an item, or what
// a feature of items says, with the propensities of all offered and without.
func TestBets_CoverSets(t *testing.T) {
	long.Test(t)
	for _, c := range []struct {
		name   string
		shop   shop
		refute bool
		seeds  uint64
		why    string
	}{
		{"uniform", shop{policy: evenly}, false, 2, ""},
		{"tastes", shop{policy: tastes}, false, 2, ""},
		{"another order", shop{policy: tastes, says: turned}, true, 1, ""},
		{"the first more", shop{policy: firstly, says: tastes}, true, 1, "first"},
		{"a feature", shop{policy: dearly, says: evenly}, true, 1, "feature 0 of the action"},
		{"tastes, said uniform", shop{policy: tastes, says: evenly}, true, 1, "tells most: "},
		{"suited", shop{policy: suited, says: evenly}, true, 1, "feature 2 of the action with feature 2"},
		{"foremost", shop{policy: foremost, says: evenly}, true, 1, "the first of the actions offered was taken"},
		{"popular", shop{policy: popular, says: evenly}, true, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range 2 * c.seeds {
				s := c.shop
				s.n, s.k, s.most, s.all = 4000, 50, 12, seed%2 == 0
				r := inspect.Inspect(s.log(seed / 2))
				f, ok := r.Finding("bets on propensities")
				if !ok || (f.Severity == inspect.Unusable) != c.refute {
					t.Errorf("%s, seed %d, all: %v: %+v", c.name, seed/2, s.all, f)
				}
				if c.refute && s.all && !strings.Contains(f.Means, c.why) {
					t.Errorf("%s, seed %d, all: %v: %s", c.name, seed/2, s.all, f.Means)
				}
				for _, f := range r.Findings {
					if !c.refute && f.Severity > inspect.Fine {
						t.Errorf("%s, seed %d, all: %v: %+v", c.name, seed/2, s.all, f)
					}
				}
			}
		})
	}
}

// Of a sound log the e-values have the mean 1 at most; their largest of many small logs is far below 1,000.
func TestBets_OnSetsHaveMeanOneAtMost(t *testing.T) {
	long.Test(t)
	var sum, n, most float64
	for seed := range uint64(240) {
		s := shop{n: 120, k: 8, most: 6, all: seed%2 == 0, policy: tastes}
		if seed%4 > 1 { // the same contexts and sets come again
			s.n, s.k, s.most, s.few = 400, 3, 3, true
		}
		f, _ := inspect.Inspect(s.log(1000 + seed)).Finding("bets on propensities")
		e := math.Exp(f.Numbers[1].Value)
		sum, n, most = sum+e, n+1, max(most, e)
	}
	if mean := sum / n; !(mean < 1.1 && most < 100) {
		t.Errorf("mean e-value %v, largest %v", mean, most)
	}
}

// What rows offer is reported: sizes, actions never logged, and those that are new or vanish.
func TestOffered_IsReported(t *testing.T) {
	r := inspect.Inspect(shop{n: 3000, k: 40, most: 8, all: true, policy: evenly}.log(5))
	f, _ := r.Finding("sets")
	if !strings.Contains(f.Measured, "rows offer 2 to 8 actions, 5 in the middle") || f.Severity != inspect.Fine {
		t.Errorf("%+v", f)
	}
	f, _ = r.Finding("support")
	if f.Measured != "40 of 40 actions were logged, of 40 that were offered" {
		t.Errorf("%+v", f)
	}
	f, _ = r.Finding("constant or rounded")
	if !strings.Contains(f.Measured, "uniform") || r.Gamma != 1 {
		t.Errorf("%+v", f)
	}
	if f, _ = r.Finding("mean propensity"); !strings.Contains(f.Measured, "0.2454, at least the mean of 1/K = 0.2454") {
		t.Errorf("%+v", f)
	}
	never := shop{n: 3000, k: 40, most: 8, all: true, policy: func(x []float64, z [][]float64, a []int32, pi []float64) {
		evenly(x, z, a, pi)
		for j := range a {
			if a[j] == 7 { // is shown, and never played
				pi[(j+1)%len(pi)] += pi[j]
				pi[j] = 0
			}
		}
	}}
	f, _ = inspect.Inspect(never.log(5)).Finding("support")
	if f.Severity != inspect.Doubtful || !strings.Contains(f.Means, "item7") && !strings.Contains(f.Means, "cannot be judged") {
		t.Errorf("%+v", f)
	}
	// The last third of the items comes in the second half, the first third goes.
	f, _ = inspect.Inspect(shop{n: 3000, k: 60, most: 8, policy: evenly, offers: func(r *rand.Rand, at float64, k int) int32 {
		if at < .5 {
			return int32(r.IntN(2 * k / 3))
		}
		return int32(k/3 + r.IntN(2*k/3))
	}}.log(5)).Finding("new and vanished actions")
	if f.Severity != inspect.Doubtful || !strings.Contains(f.Measured, "20 actions are offered in the second half of the rows alone, 20 in the first alone") {
		t.Errorf("%+v", f)
	}
	// Items that live for a moment, all along, are no drift; nor is a long tail.
	for name, offers := range map[string]func(r *rand.Rand, at float64, k int) int32{
		"tail": func(r *rand.Rand, _ float64, k int) int32 { return int32(float64(k) * math.Pow(r.Float64(), 6)) },
	} {
		f, _ = inspect.Inspect(shop{n: 3000, k: 5000, most: 8, policy: evenly, offers: offers}.log(6)).Finding("new and vanished actions")
		if f.Severity != inspect.Fine {
			t.Errorf("%s: %+v", name, f)
		}
	}
	single := shop{n: 300, k: 4, most: 2, policy: evenly}.log(1)
	for i := range single.Choices.Count { // the one that was played alone
		c := single.Choices
		c.First[i], c.Count[i], c.At[i], single.Propensity[i] = c.First[i]+int64(c.At[i]), 1, 0, 1
	}
	f, _ = inspect.Inspect(single).Finding("sets")
	if f.Severity != inspect.Unusable {
		t.Errorf("%+v", f)
	}
	broken := shop{n: 300, k: 4, most: 2, policy: evenly}.log(1)
	broken.Choices.At[7] ^= 1
	f, _ = inspect.Inspect(broken).Finding("rows")
	if f.Severity != inspect.Unusable || !strings.Contains(f.Measured, "row 8") || !strings.Contains(f.Measured, "was not offered") {
		t.Errorf("%+v", f)
	}
}

// A catalogue of 100,000 actions is inspected in time that does not grow with rows times actions; who logs 1/K
// and plays what is popular is refuted, and who plays evenly is not.
func TestInspect_TakesACatalogue(t *testing.T) {
	const k, n = 100_000, 20_000
	for _, most := range []int{k, k / 2} {
		r := rand.New(rand.NewPCG(9, 9))
		l := &logs.Log{Actions: logs.Numbered(k), Choices: &logs.Choices{}}
		data := make([]float64, 0, 3*n)
		for range n {
			data = append(data, r.NormFloat64(), r.NormFloat64(), r.NormFloat64())
			l.Action, l.Propensity = append(l.Action, int32(r.IntN(most))), append(l.Propensity, 1./k)
			l.Cost = append(l.Cost, -float64(r.IntN(2)))
		}
		l.X = logs.Rows64{Width: 3, Data: data}
		rep := inspect.Inspect(l)
		if f, _ := rep.Finding("bets on propensities"); (f.Severity == inspect.Unusable) != (most < k) {
			t.Errorf("%+v", f)
		}
		if len(rep.ByAction) > 1000 {
			t.Errorf("%d actions are listed", len(rep.ByAction))
		}
		for _, f := range rep.Findings {
			if most == k && f.Severity > inspect.Fine {
				t.Errorf("%+v", f)
			}
		}
	}
}

// Of a catalogue's log with logged propensities alone, an action is taken mostly where it is likely: that its rare draws are
// missing is no doubt, and that those which are no rarer than 1/20 are missing is one.
func TestCatalogue_MayLackRareDraws(t *testing.T) {
	const k, n = 20, 4000
	for _, c := range []struct {
		rare   float64 // chance of all but the favorite
		lost   bool
		doubts bool
	}{{.001, false, false}, {.5, false, false}, {.5, true, true}} {
		for seed := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, 21))
			l := &logs.Log{Actions: logs.Numbered(k), Choices: &logs.Choices{}}
			var data []float64
			for len(l.Action) < n {
				favorite := r.IntN(k)
				a, p := favorite, 1-c.rare
				if r.Float64() < c.rare {
					a, p = (favorite+1+r.IntN(k-1))%k, c.rare/(k-1)
				}
				if c.lost && a != favorite && a == 3 {
					continue
				}
				data = append(data, float64(favorite), r.NormFloat64())
				l.Action, l.Propensity = append(l.Action, int32(a)), append(l.Propensity, p)
				l.Cost = append(l.Cost, -float64(r.IntN(2)))
			}
			l.X = logs.Rows64{Width: 2, Data: data}
			f, _ := inspect.Inspect(l).Finding("counts by action")
			if (f.Severity > inspect.Fine) != c.doubts {
				t.Errorf("%+v, seed %d: %+v", c, seed, f)
			}
		}
	}
}

// Draws from a catalogue of many that follow its features, by context and clock, are seen; even ones are sound.
func TestBets_OfCataloguesReadFeatures(t *testing.T) {
	long.Test(t)
	const k, n, d = 500, 4000, 6
	catalogue := func(seed uint64, by func(x float64, hour int) float64) inspect.Finding {
		r := rand.New(rand.NewPCG(seed, 40))
		z := logs.Rows64{Width: d, Data: make([]float64, k*d)}
		normals(r, z.Data)
		l := &logs.Log{Actions: logs.Numbered(k), Choices: &logs.Choices{Z: z}}
		x := logs.Rows64{Width: 1, Data: make([]float64, n)}
		for i := range n {
			x.Data[i] = r.NormFloat64()
			at := int64(i) * int64(37*time.Minute)
			a := r.IntN(k)
			for along := by(x.Data[i], int(at/int64(time.Hour)%24)); ; a = r.IntN(k) {
				sum := 0.
				for j, v := range z.Data[a*d : a*d+d] {
					sum += v * float64(1-j%2*2)
				}
				if r.Float64() < (1+along*math.Tanh(sum/math.Sqrt(d)))/2 {
					break
				}
			}
			l.Action, l.Propensity = append(l.Action, int32(a)), append(l.Propensity, 1./k)
			l.Cost, l.Time = append(l.Cost, -float64(r.IntN(2))), append(l.Time, at)
		}
		l.X = x
		f, _ := inspect.Inspect(l).Finding("bets on propensities")
		return f
	}
	for name, by := range map[string]func(x float64, hour int) float64{
		"hour":   func(_ float64, hour int) float64 { return map[bool]float64{true: .8, false: -.8}[hour < 12] },
		"column": func(x float64, _ int) float64 { return .8 * math.Tanh(x) },
		"always": func(float64, int) float64 { return .5 },
	} {
		for seed := range uint64(3) {
			if f := catalogue(seed, by); f.Severity != inspect.Unusable {
				t.Errorf("%s, seed %d: %+v", name, seed, f)
			}
		}
	}
	sum := 0.
	for seed := range uint64(20) {
		f := catalogue(100+seed, func(float64, int) float64 { return 0 })
		sum += math.Exp(f.Numbers[1].Value)
	}
	if sum > 1.5*20 {
		t.Errorf("e-values of sound logs have the mean %v", sum/20)
	}
}

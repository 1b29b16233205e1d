package inspect_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/inspect"
	"opl/train/logs"
)

// draws is a log whose actions follow one policy and whose propensities say another.
type draws struct {
	n, k, d int
	all     bool // propensities of all actions are logged
	sparse  bool // named features, of which few are not 0
	context func(r *rand.Rand, x []float64)
	policy  func(x, pi []float64)
	says    func(x, pi []float64) // nil: policy
	group   int                   // rows in a row that share action and context
}

func normals(r *rand.Rand, x []float64) {
	for j := range x {
		x[j] = r.NormFloat64()
	}
}

func bits(r *rand.Rand, x []float64) {
	for j := range x {
		x[j] = float64(r.IntN(2))
	}
}

func rare(r *rand.Rand, x []float64) {
	clear(x)
	for range 5 {
		x[min(r.IntN(len(x)), r.IntN(len(x)))] = 1
	}
}

// three are contexts of three kinds.
func three(r *rand.Rand, x []float64) { clear(x); x[r.IntN(3)] = 1 }

func uniformly(_, pi []float64) {
	for a := range pi {
		pi[a] = 1 / float64(len(pi))
	}
}

// softly is a softmax of sharpness s.
func softly(s float64) func(x, pi []float64) {
	return func(x, pi []float64) {
		sum := 0.0
		for a := range pi {
			score := 0.0
			for j, v := range x {
				score += v * math.Sin(float64(7*a+3*j))
			}
			pi[a] = math.Exp(s * score)
			sum += pi[a]
		}
		for a := range pi {
			pi[a] /= sum
		}
	}
}

func greedily(x, pi []float64) {
	best, most := 0, math.Inf(-1)
	softly(1)(x, pi)
	for a, p := range pi {
		if p > most {
			best, most = a, p
		}
	}
	for a := range pi {
		pi[a] = 0.1 / float64(len(pi))
	}
	pi[best] += 0.9
}

// mostly plays with .8 the action of the context's kind.
func mostly(x, pi []float64) {
	for a := range pi {
		pi[a] = 0.2 / float64(len(pi)-1)
	}
	for j, v := range x[:min(len(x), len(pi))] {
		if v == 1 {
			pi[j] = 0.8
		}
	}
}

// twofold plays by the sign of x₀x₁ where |x₀| ≥ 1, and uniformly elsewhere.
func twofold(x, pi []float64) {
	copy(pi, []float64{0.1, 0.1, 0.8})
	if math.Abs(x[0]) < 1 {
		uniformly(x, pi)
	} else if a := x[0] * x[1]; a > 0 {
		copy(pi, []float64{0.8, 0.1, 0.1})
	}
}

// slightly plays one of two actions with .62 in place of .5 where x₀ > 0, and with .38 elsewhere.
func slightly(x, pi []float64) {
	pi[0] = 0.5 + math.Copysign(0.12, x[0])
	pi[1] = 1 - pi[0]
}

func (w draws) log(t testing.TB, seed uint64) *logs.Log {
	r := rand.New(rand.NewPCG(seed, 99))
	in := &logs.Log{Actions: logs.Numbered(w.k)}
	x, pi, p := make([]float64, w.d), make([]float64, w.k), make([]float64, w.k)
	var data []float64
	var decisions []logs.Decision
	a := 0
	for i := range w.n {
		if w.group == 0 || i%w.group == 0 {
			w.context(r, x)
			w.policy(x, pi)
			copy(p, pi)
			if w.says != nil {
				w.says(x, p)
			}
			u := r.Float64()
			for a = 0; a < w.k-1 && u >= pi[a]; a++ {
				u -= pi[a]
			}
		}
		cost := 0.0
		if r.Float64() < 0.3+0.2*float64(a%2) {
			cost = -1
		}
		in.Action, in.Cost, in.Propensity = append(in.Action, int32(a)), append(in.Cost, cost), append(in.Propensity, p[a])
		data = append(data, x...)
		if w.all {
			in.Propensities = append(in.Propensities, p...)
		}
		if w.group > 0 {
			in.Group = append(in.Group, int32(i/w.group))
		}
		if w.sparse {
			d := logs.Decision{Action: a, Cost: cost, Propensity: p[a], Weight: 1}
			for j, v := range x {
				if v != 0 {
					d.Context = append(d.Context, features.Value{Name: fmt.Sprintf("f%d", j), Number: v})
				}
			}
			if w.all {
				d.Propensities = append([]float64(nil), p...)
			}
			if w.group > 0 {
				d.Group = fmt.Sprint("g", i/w.group)
			}
			decisions = append(decisions, d)
		}
	}
	if w.sparse {
		in, err := logs.Collect(in.Actions, decisions)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	in.X = logs.Rows64{Width: w.d, Data: data}
	return in
}

// bet is the logarithms of the e-values at Rounded and at 1.
func bet(t testing.TB, in *logs.Log) (r inspect.Report, f inspect.Finding, rounded, exact float64) {
	t.Helper()
	r = inspect.Inspect(in)
	f, ok := r.Finding("bets on propensities")
	if !ok {
		t.Fatalf("no finding among %v", r.Findings)
	}
	return r, f, f.Numbers[0].Value, f.Numbers[1].Value
}

// adaptive is a sound log of ε-greedy on means that it learns from its own rewards.
func adaptive(seed uint64) *logs.Log {
	const n, k = 1000, 4
	r := rand.New(rand.NewPCG(seed, 3))
	in := &logs.Log{Actions: logs.Numbered(k), X: logs.Rows64{Width: 2, Data: make([]float64, 2*n)}}
	var sum, count [2][k]float64
	for i := range n {
		x := r.IntN(2)
		in.X.(logs.Rows64).Data[2*i+x] = 1
		pi := []float64{0.05, 0.05, 0.05, 0.05}
		best := 0
		for a := range k {
			if (sum[x][a]+1)/(count[x][a]+2) > (sum[x][best]+1)/(count[x][best]+2) {
				best = a
			}
		}
		pi[best] = 0.85
		a, u := 0, r.Float64()
		for ; a < k-1 && u >= pi[a]; a++ {
			u -= pi[a]
		}
		reward := 0.0
		if r.Float64() < 0.3+0.1*float64((a+x)%3) {
			reward = 1
		}
		sum[x][a] += reward
		count[x][a]++
		in.Action, in.Cost, in.Propensity = append(in.Action, int32(a)), append(in.Cost, -reward), append(in.Propensity, pi[a])
		in.Propensities = append(in.Propensities, pi...)
	}
	return in
}

// Of 1,000 sound logs at most 1 is refuted, at 1 or at Rounded.
func TestBets_PassSoundLogs(t *testing.T) {
	long.Test(t)
	seeds := 8
	if os.Getenv("OPL_LONG") != "" {
		seeds = 500
	}
	sound := []draws{
		{n: 1000, k: 3, d: 3, context: three, policy: uniformly},
		{n: 1000, k: 5, d: 5, context: normals, policy: uniformly},
		{n: 1000, k: 3, d: 3, context: three, policy: mostly},
		{n: 1000, k: 3, d: 3, all: true, context: three, policy: mostly},
		{n: 1000, k: 5, d: 20, context: normals, policy: softly(0.5)},
		{n: 1000, k: 5, d: 20, all: true, context: normals, policy: softly(0.5)},
		{n: 300, k: 4, d: 6, all: true, context: bits, policy: greedily},
		{n: 1000, k: 4, d: 6, context: bits, policy: greedily},
		{n: 1000, k: 40, d: 4, context: normals, policy: softly(1)},
		{n: 1000, k: 6, d: 300, all: true, sparse: true, context: rare, policy: softly(1)},
		{n: 1000, k: 6, d: 300, sparse: true, context: rare, policy: greedily},
		{n: 1200, k: 3, d: 4, group: 20, context: normals, policy: softly(1)},
		{n: 1200, k: 3, d: 3, group: 6, all: true, context: three, policy: mostly},
	}
	count, alarms, highest := 0, 0, math.Inf(-1)
	look := func(name string, in *logs.Log) {
		count++
		r, f, rounded, exact := bet(t, in)
		highest = max(highest, rounded, exact)
		if f.Severity > inspect.Fine || r.Gamma != 1 {
			alarms++
			t.Logf("%s: a sound log is refuted: Γ = %v, %+v", name, r.Gamma, f)
		}
	}
	for s := range seeds {
		for i, w := range sound {
			look(fmt.Sprintf("world %d, seed %d", i, s), w.log(t, uint64(s)))
		}
		look(fmt.Sprintf("adaptive, seed %d", s), adaptive(uint64(s)))
	}
	if alarms > count/1000 {
		t.Errorf("%d of %d sound logs are refuted", alarms, count)
	}
	t.Logf("%d sound logs, the largest log e is %.2f", count, highest)
}

// Wrong propensities are refuted, and the text says where they show.
func TestBets_RefuteWrongPropensities(t *testing.T) {
	overall := func(_, pi []float64) {
		copy(pi, []float64{0.8 * 5 / 9, 0, 0})
		pi[0] += 0.4 / 9
		pi[1] = 0.8*3/9 + 0.6/9
		pi[2] = 1 - pi[0] - pi[1]
	}
	uneven := func(r *rand.Rand, x []float64) { clear(x); x[min(r.IntN(3), r.IntN(3))] = 1 }
	beside := func(r *rand.Rand, x []float64) { normals(r, x); three(r, x[:3]) }
	for _, c := range []struct {
		name string
		w    draws
		n    int // from which all are refuted; 0: none need be
		says string
	}{
		{"follow the context", draws{k: 3, d: 3, context: three, policy: mostly, says: uniformly}, 300, "% of rows, and its propensities say 33 %"},
		{"follow the context, all logged", draws{k: 3, d: 3, all: true, context: three, policy: mostly, says: uniformly}, 300, "say 33 %"},
		{"follow the context, named", draws{k: 3, d: 3, sparse: true, context: three, policy: mostly, says: uniformly}, 300, "where f"},
		{"beside 17 other features", draws{k: 3, d: 20, context: beside, policy: mostly, says: uniformly}, 300, "what tells most: feature "},
		{"overall shares", draws{k: 3, d: 3, context: uneven, policy: mostly, says: overall}, 300, "where feature "},
		{"forty contexts by number", draws{k: 3, d: 1, context: func(r *rand.Rand, x []float64) { x[0] = float64(r.IntN(40)) }, policy: func(x, pi []float64) {
			clear(pi)
			for a := range pi {
				pi[a] = 0.1
			}
			pi[int(x[0]*7)%3] = 0.8
		}, says: uniformly}, 300, "where feature 0 is "},
		{"uniform, says the setting", draws{k: 5, d: 20, context: normals, policy: softly(0.3), says: uniformly}, 1000, "say 20 %"},
		{"of a flatter policy", draws{k: 5, d: 5, all: true, context: normals, policy: softly(1), says: softly(0.7)}, 4000, "was taken in"},
		{"of a flatter policy, logged", draws{k: 5, d: 5, context: normals, policy: softly(1), says: softly(0.7)}, 4000, "was taken in"},
		{"of another policy", draws{k: 5, d: 5, all: true, context: normals, policy: greedily, says: softly(1)}, 300, "was taken in"},
		{"product of two of 3", draws{k: 3, d: 3, context: normals, policy: twofold, says: uniformly}, 1000, "where feature "},
		{"product of two of 8", draws{k: 3, d: 8, context: normals, policy: twofold, says: uniformly}, 1000, "where feature "},
		{"product of two of 20", draws{k: 3, d: 20, context: normals, policy: twofold, says: uniformly}, 1000, "where feature "},
		{"a quarter more or less, by one of 20", draws{k: 2, d: 20, context: normals, policy: slightly, says: uniformly}, 4000, "where feature 0 is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{300, 1000, 4000} {
				w, found, least := c.w, 0, math.Inf(1)
				w.n = n
				const seeds = 3
				for s := range uint64(seeds) {
					r, f, e, _ := bet(t, w.log(t, s))
					least = min(least, e)
					if f.Severity < inspect.Unusable {
						continue
					}
					found++
					if r.Severity != inspect.Unusable || f.About != inspect.Draws || r.Gamma != propensity.Rounded || f.Do == "" || c.n > 0 && n == 4000 && !strings.Contains(f.Means, c.says) {
						t.Errorf("%s, n = %d: Γ = %v, %+v", c.name, n, r.Gamma, f)
					}
					if n == 4000 && s == 0 {
						checkText(t, r)
						t.Log(f.Means)
					}
				}
				if c.n > 0 && n >= c.n && found < seeds {
					t.Errorf("%s, n = %d: %d of %d refuted", c.name, n, found, seeds)
				}
				t.Logf("%-34s n = %4d: %d of %d refuted, least log e %.1f", c.name, n, found, seeds, least)
			}
		})
	}
}

// Propensities of two decimals are refuted as they stand and not as rounded ones.
func TestBets_KnowRoundedPropensities(t *testing.T) {
	third := func(_, pi []float64) { copy(pi, []float64{0.33, 0.33, 0.33}) }
	for s := range uint64(20) {
		r, f, rounded, exact := bet(t, draws{n: 2000, k: 3, d: 3, context: normals, policy: uniformly, says: third}.log(t, s))
		if r.Severity == inspect.Unusable || f.Severity != inspect.Fine || r.Gamma != propensity.Rounded || exact < math.Log(1000) || rounded > math.Log(1000) || !strings.Contains(f.Means, "Γ = 1.01") {
			t.Errorf("Γ = %v, %+v", r.Gamma, f)
		}
		checkText(t, r)
	}
}

// It takes an e-value of 1,000.
func TestBets_TakeAnEValueOfAThousand(t *testing.T) {
	third := func(_, pi []float64) { copy(pi, []float64{0.33, 0.33, 0.33}) }
	var sides [2]int
	for n := 500; n <= 1200; n += 50 {
		_, f, _, exact := bet(t, draws{n: n, k: 3, d: 3, context: normals, policy: uniformly, says: third}.log(t, 1))
		if (exact >= math.Log(1000)) != strings.Contains(f.Means, "Γ = 1.01") {
			t.Errorf("log e = %v, %q", exact, f.Means)
		}
		switch {
		case exact > 4 && exact < 6.9:
			sides[0]++
		case exact >= 6.91 && exact < 12:
			sides[1]++
		}
	}
	if sides[0] == 0 || sides[1] == 0 {
		t.Errorf("%v logs near the limit", sides)
	}
}

// Of large logs a part is bet on, and said.
func TestBets_OnAPartOfTheRows(t *testing.T) {
	defer inspect.MostBetOn(1000)()
	third := func(_, pi []float64) { copy(pi, []float64{0.27, 0.27, 0.27}) }
	for _, says := range []func(x, pi []float64){nil, third} {
		_, f, _, exact := bet(t, draws{n: 4500, k: 3, d: 3, context: normals, policy: uniformly, says: says}.log(t, 1))
		var on int
		if _, part, _ := strings.Cut(f.Measured, ", on "); part == "" {
			t.Error(f.Measured)
		} else if _, err := fmt.Sscanf(part, "%d of the rows", &on); err != nil || on < 700 || on > 1100 {
			t.Errorf("%d rows of %s", on, f.Measured)
		}
		if refuted := exact > math.Log(1000); refuted != (says != nil) {
			t.Errorf("%v: log e = %v", refuted, exact)
		}
	}
}

// Rows that are written again are doubtful, and no proof against their propensities.
func TestBets_DoNotCountCopies(t *testing.T) {
	for s := range uint64(10) {
		once := draws{n: 100, k: 5, d: 5, context: normals, policy: softly(1)}.log(t, s)
		in := &logs.Log{Actions: once.Actions}
		var data []float64
		for range 30 {
			in.Action, in.Cost, in.Propensity = append(in.Action, once.Action...), append(in.Cost, once.Cost...), append(in.Propensity, once.Propensity...)
			data = append(data, once.X.(logs.Rows64).Data...)
		}
		in.X = logs.Rows64{Width: 5, Data: data}
		r, f, _, _ := bet(t, in)
		if d, _ := r.Finding("rows written twice"); d.Severity != inspect.Doubtful || f.Severity > inspect.Fine || r.Gamma != 1 {
			t.Errorf("seed %d: %+v, %+v", s, d, f)
		}
	}
}

// The mean of the e-value over all logs of a tiny world is 1, if propensities are the
// true ones over Γ₀, to the last digit: bets of a half learned from itself, a Γ₀ left
// out, and rows of a group that bet apart do not have it. At other Γ₀ it is not 1.
func TestBets_HaveMeanOne(t *testing.T) {
	truth := [2][]float64{{0.5, 0.3, 0.2}, {0.1, 0.6, 0.3}}
	for _, c := range []struct {
		name   string
		n, k   int
		copies int // rows of a group, all the same
		gamma  float64
		all    bool
		weight []float64
		most   int // classes of actions; 0: as ever
	}{
		{name: "logged", n: 4, k: 3, copies: 1, gamma: 1},
		{name: "all known", n: 3, k: 3, copies: 1, gamma: 1, all: true},
		{name: "rounded", n: 3, k: 3, copies: 1, gamma: propensity.Rounded},
		{name: "groups", n: 3, k: 3, copies: 2, gamma: 1},
		{name: "groups, rounded", n: 3, k: 3, copies: 2, gamma: propensity.Rounded},
		{name: "weights", n: 3, k: 3, copies: 1, gamma: 1, all: true, weight: []float64{1, 0.5, 2}},
		{name: "two actions", n: 5, k: 2, copies: 1, gamma: 1},
		{name: "two classes", n: 4, k: 3, copies: 1, gamma: 1, most: 2},
		{name: "two classes, all known", n: 4, k: 3, copies: 1, gamma: 1, all: true, most: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			restore := inspect.MostClasses(cmp.Or(c.most, 200))
			var at [2]float64 // mean at Rounded and at 1
			total, outcomes := 0.0, 1
			for range c.n {
				outcomes *= 2 * c.k
			}
			for o := range outcomes {
				in := &logs.Log{Actions: logs.Numbered(c.k)}
				chance, data, rest := 1.0, []float64(nil), o
				for i := range c.n {
					x, a := rest%2, rest/2%c.k
					rest /= 2 * c.k
					pi := truth[x]
					if c.k == 2 {
						pi = []float64{truth[x][0], 1 - truth[x][0]}
					}
					chance *= pi[a] / 2
					for j := range c.copies {
						in.Action, in.Cost, in.Propensity = append(in.Action, int32(a)), append(in.Cost, -0.5), append(in.Propensity, pi[a]/c.gamma)
						in.Keys = append(in.Keys, uint64(1000+10*i+j))
						data = append(data, float64(x))
						if c.all {
							in.Propensities = append(in.Propensities, pi...)
						}
						if c.copies > 1 {
							in.Group = append(in.Group, int32(i))
						}
					}
				}
				in.Weight, in.X = c.weight, logs.Rows64{Width: 1, Data: data}
				_, _, rounded, exact := bet(t, in)
				at[0] += chance * math.Exp(rounded)
				at[1] += chance * math.Exp(exact)
				total += chance
			}
			restore()
			of, other := at[1], at[0]
			if c.gamma > 1 {
				of, other = at[0], at[1]
			}
			if math.Abs(total-1) > 1e-12 || math.Abs(of-1) > 1e-9 {
				t.Errorf("mean %v at Γ₀ = %v over logs of probability %v", of, c.gamma, total)
			}
			if c.gamma > 1 && other <= 1+1e-4 || c.gamma == 1 && other >= 1-1e-4 {
				t.Errorf("mean %v at the other Γ₀", other)
			}
			t.Logf("%-16s %5d logs: mean %.12f, at the other Γ₀ %.6f", c.name, outcomes, of, other)
		})
	}
}

// Thousands of actions are bet on, too, by classes: wrong propensities of some are found, and sound ones are not refuted.
func TestBets_CoverThousandsOfActions(t *testing.T) {
	long.Test(t)
	const n, k = 20_000, 2000
	for _, all := range []bool{false, true} {
		for name, tilt := range map[string]func(x float64, a int) float64{
			"sound":             func(float64, int) float64 { return 1 },
			"few, by context":   func(x float64, a int) float64 { return 1 + float64(20*max(0, 1-a/10))*max(0, x) },
			"often, everywhere": func(_ float64, a int) float64 { return 1 + float64(5*max(0, 1-a/40)) },
		} {
			if all && name == "few, by context" {
				continue // π₀ of all actions is large: one of each will do
			}
			rows := n
			if all {
				rows = n / 10
			}
			r := rand.New(rand.NewPCG(5, 6))
			in := &logs.Log{Actions: logs.Numbered(k)}
			var data []float64
			for range rows {
				x := r.NormFloat64()
				var sum float64
				weight := make([]float64, k)
				for a := range weight {
					weight[a] = tilt(x, a)
					sum += weight[a]
				}
				u, a := r.Float64()*sum, 0
				for ; a < k-1 && u >= weight[a]; a++ {
					u -= weight[a]
				}
				data = append(data, x)
				in.Action, in.Cost, in.Propensity = append(in.Action, int32(a)), append(in.Cost, -r.Float64()), append(in.Propensity, 1./k)
				if all {
					in.Propensities = append(in.Propensities, slices.Repeat([]float64{1. / k}, k)...)
				}
			}
			in.X = logs.Rows64{Width: 1, Data: data}
			_, f, rounded, _ := bet(t, in)
			if (f.Severity == inspect.Unusable) == (name == "sound") {
				t.Errorf("%s, all known %v: %s, e = exp(%.3g)", name, all, f.Severity, rounded)
			}
			t.Logf("%-20s %-5v exp(%.3g)", name, all, rounded)
		}
	}
}

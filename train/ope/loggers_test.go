package ope_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// several is a log of three policies that take turns, 1 to 2 to 4, with the contexts; the first of a world
// nearly never does what the second does.
func several(w world, seed uint64, n int) (*logs.Log, []ope.Target, [][]float64, []int) {
	r := rand.New(rand.NewPCG(seed, 3))
	policies := [][]float64{w.pi0, newWorld(91, len(w.pi0)/w.k, w.k, 2).pi0, newWorld(92, len(w.pi0)/w.k, w.k, 0.3).pi0}
	l := &logs.Log{Actions: logs.Numbered(w.k), Policies: []string{"one", "two", "nobody", "four"}}
	xs, names := make([]int, n), []int32{0, 1, 3}
	for i := range xs {
		j := []int{0, 1, 1, 2, 2, 2, 2}[r.IntN(7)]
		xs[i] = r.IntN(len(w.pi0) / w.k)
		row := policies[j][xs[i]*w.k : (xs[i]+1)*w.k]
		a := propensity.Draw(row, r)
		c := 0.0
		if r.Float64() < w.mu[xs[i]*w.k+a] {
			c = -1
		}
		l.Action, l.Cost, l.Propensity, l.Logger = append(l.Action, int32(a)), append(l.Cost, c), append(l.Propensity, row[a]), append(l.Logger, names[j])
	}
	var loggers []ope.Target
	for j, p := range policies {
		loggers = append(loggers, w.target(l.Policies[names[j]], p, xs))
	}
	return l, loggers, policies, xs
}

// Balanced and weighted are their formulas, by plain loops, with weights of rows and groups.
func TestLoggers_EqualPlainLoops(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	const n = 300
	l, loggers, policies, xs := several(w, 1, n)
	r := rand.New(rand.NewPCG(8, 8))
	for range n {
		l.Weight, l.Group = append(l.Weight, 0.2+r.Float64()), append(l.Group, int32(r.IntN(100)))
	}
	res := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs)}, ope.Options{Estimators: only("ips", "balanced", "weighted"), Loggers: loggers})
	at := map[int32]int{0: 0, 1: 1, 3: 2}
	var share, sum [3]float64
	total := 0.0
	for i, j := range l.Logger {
		share[at[j]] += l.Weight[i]
		total += l.Weight[i]
	}
	se := func(u []float64) float64 {
		of := map[int32]float64{}
		for i, v := range u {
			of[l.Group[i]] += v
		}
		square := 0.0
		for _, v := range of {
			square += v * v
		}
		return math.Sqrt(square * float64(len(of)) / float64(len(of)-1))
	}
	pi := func(i int) float64 { return w.pi[xs[i]*w.k+int(l.Action[i])] }
	var balanced float64
	bal, own := make([]float64, n), make([]float64, n)
	for i := range n {
		mix := 0.0
		for j, p := range policies {
			mix += share[j] / total * p[xs[i]*w.k+int(l.Action[i])]
		}
		bal[i] = -l.Cost[i] * pi(i) / mix
		own[i] = -l.Cost[i] * pi(i) / l.Propensity[i]
		balanced += l.Weight[i] * bal[i] / total
		sum[at[l.Logger[i]]] += l.Weight[i] * own[i] / share[at[l.Logger[i]]]
	}
	for i := range bal {
		bal[i] = l.Weight[i] * (bal[i] - balanced) / total
	}
	var inverse [3]float64
	var above, below float64
	us := make([][]float64, 3)
	for j := range us {
		us[j] = make([]float64, n)
		for i := range n {
			if at[l.Logger[i]] == j {
				us[j][i] = l.Weight[i] * (own[i] - sum[j]) / share[j]
			}
		}
		inverse[j] = 1 / (se(us[j]) * se(us[j]))
		above, below = above+inverse[j]*sum[j], below+inverse[j]
	}
	u := make([]float64, n)
	for i := range u {
		for j := range us {
			u[i] += inverse[j] / below * us[j][i]
		}
	}
	b, _ := estimate(res.Policies[0], "balanced")
	near(t, "balanced", b.Value, balanced)
	near(t, "its error", b.SE, se(bal))
	v, _ := estimate(res.Policies[0], "weighted")
	near(t, "weighted", v.Value, above/below)
	near(t, "its error", v.SE, se(u))
}

// Over fresh logs balanced has no bias and a smaller error than ips, as published; intervals cover.
func TestLoggers_CoverAndBalancedBeatsIPS(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	truth := w.value(w.pi)
	const trials = 200
	mean, square, hit := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for s := range trials {
		l, loggers, _, xs := several(w, uint64(s), 400)
		target := w.target("a", w.pi, xs)
		target.Origin = provenance.Origin{}
		for _, e := range evaluate(t, l, []ope.Target{target}, ope.Options{Estimators: only("ips", "balanced", "weighted"), Loggers: loggers}).Policies[0].Estimates {
			d := e.Value - truth
			mean[e.Estimator] += d / trials
			square[e.Estimator] += d * d / trials
			if e.Low <= truth && truth <= e.High {
				hit[e.Estimator] += 1.0 / trials
			}
		}
	}
	t.Logf("bias %v, mean squared error %v, coverage %v", mean, square, hit)
	if b := math.Abs(mean["balanced"]); b > 4*math.Sqrt(square["balanced"]/trials) {
		t.Errorf("balanced has the bias %v", b)
	}
	if square["balanced"] > square["ips"]/2 || square["weighted"] > square["ips"] {
		t.Errorf("mean squared errors %v", square)
	}
	if hit["balanced"] < 0.89 {
		t.Errorf("balanced covers %v", hit["balanced"])
	}
}

// What is not said of loggers, or contradicts the log, is.
func TestLoggers_RefuseWhatContradictsTheLog(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	for want, spoil := range map[string]func(l *logs.Log, o *ope.Options){
		"setting logger: rows are logged by four, whose":                          func(_ *logs.Log, o *ope.Options) { o.Loggers = o.Loggers[:2] },
		`setting logger: no row is logged by "five": the log names one, two, nob`: func(_ *logs.Log, o *ope.Options) { o.Loggers[2].Name = "five" },
		"it takes the action with probability 0.25, 0.":                           func(_ *logs.Log, o *ope.Options) { o.Loggers[0].Row = ope.Uniform().Row },
		"two, row 1: it has 3 probabilities for 300 rows": func(_ *logs.Log, o *ope.Options) {
			o.Loggers[1] = ope.Target{Name: "two", Logged: make([]float64, 3)}
		},
		"balanced: the policies that logged the rows are not given, by setting logger": func(_ *logs.Log, o *ope.Options) { o.Loggers = nil },
		"weighted: the log does not say who logged each row": func(l *logs.Log, o *ope.Options) {
			l.Logger, o.Estimators = slices.Clone(l.Logger), only("balanced", "weighted")
			l.Logger[7] = -1
		},
	} {
		l, loggers, _, xs := several(w, 1, 300)
		o := ope.Options{Estimators: only("balanced"), Loggers: loggers}
		spoil(l, &o)
		r, err := ope.Evaluate(l, []ope.Target{w.target("a", w.pi, xs)}, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", err, r.Missing, want)
		}
	}
	// A logger whose rows do not vary has no variance to be weighted by.
	l, loggers, _, xs := several(w, 1, 300)
	for i, j := range l.Logger {
		if j == 1 {
			l.Cost[i] = 0
		}
	}
	r := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs)}, ope.Options{Loggers: loggers})
	if _, ok := estimate(r.Policies[0], "balanced"); !ok || !slices.Contains(r.Missing, "weighted: it has no value for target a") {
		t.Errorf("%+v", r)
	}
}

// Policies that learned from rows of the log did not log it independently of them.
func TestLoggers_RefusePoliciesThatTheLogTaught(t *testing.T) {
	l, f := taught(t)
	p, err := policyfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	taughtBy := ope.Target{Name: "one", Row: ope.Uniform().Row, Policy: p}
	l.Policies, l.Logger = []string{"one"}, make([]int32, l.Len())
	r := evaluate(t, l, []ope.Target{ope.Uniform()}, ope.Options{Estimators: only("ips", "balanced"), Loggers: []ope.Target{taughtBy}})
	if want := "balanced: logger one learned from rows of this log"; len(r.Missing) != 1 || !strings.HasPrefix(r.Missing[0], want) {
		t.Errorf("%v, want %s", r.Missing, want)
	}
}

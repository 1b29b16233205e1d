package ope_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"opl/policies/features"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// corners is a log of k uniform actions and d features, whose rewards depend on the signs of the first two and the
// action; groups are of two rows.
func corners(n, k, d int, seed uint64) (*logs.Log, func(i, a int) float64) {
	r := rand.New(rand.NewPCG(seed, 31))
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	mean := func(i, a int) float64 {
		if (x.Data[i*d] > 0) != (x.Data[i*d+1] > 0) == (a%2 == 0) {
			return .8
		}
		return .2
	}
	l := &logs.Log{Actions: logs.Numbered(k), X: x, Propensity: slices.Repeat([]float64{1 / float64(k)}, n)}
	for i := range n {
		a, reward := r.IntN(k), 0.
		if r.Float64() < mean(i, a) {
			reward = 1
		}
		l.Action, l.Cost, l.Group = append(l.Action, int32(a)), append(l.Cost, -reward), append(l.Group, int32(i/2))
	}
	return l, mean
}

// predictions are those of all rows and actions.
func predictions(t *testing.T, l *logs.Log, o ope.ModelOptions) []float64 {
	t.Helper()
	m, err := ope.Trees(l, o)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, l.Len()*l.K())
	for i := range l.Len() {
		m(out[i*l.K():(i+1)*l.K()], i)
	}
	return out
}

// Other rewards of a group change how others are predicted, and neither of its rows; so do other contexts.
func TestTrees_LearnNothingOfARowFromItsGroup(t *testing.T) {
	const n, k = 400, 2
	l, _ := corners(n, k, 3, 1)
	before := predictions(t, l, ope.ModelOptions{Seed: 4})
	for _, g := range []int{0, 57, 199} {
		changed := *l
		changed.Cost = slices.Clone(l.Cost)
		for i := 2 * g; i < 2*g+2; i++ {
			changed.Cost[i] = -1 - l.Cost[i]
		}
		after := predictions(t, &changed, ope.ModelOptions{Seed: 4})
		if !slices.Equal(before[2*g*k:(2*g+2)*k], after[2*g*k:(2*g+2)*k]) {
			t.Errorf("group %d: the rows teach what predicts them", g)
		}
		others := 0
		for i := range n {
			if !slices.Equal(before[i*k:(i+1)*k], after[i*k:(i+1)*k]) {
				others++
			}
		}
		if others < n/2 {
			t.Errorf("group %d teaches %d rows of %d", g, others, n)
		}
	}
}

// Where a reward depends on two features at once trees predict it, and linear models do not.
func TestTrees_LearnWhatLinesDoNot(t *testing.T) {
	const n, k = 2000, 2
	l, mean := corners(n, k, 4, 2)
	off := func(m ope.RewardModel) (sum float64) {
		r, err := m.Learn(l, ope.ModelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float64, k)
		for i := range n {
			r(dst, i)
			for a, v := range dst {
				sum += (v - mean(i, a)) * (v - mean(i, a)) / n / k
			}
		}
		return sum
	}
	all := ope.RewardModels()
	if line, trees := off(all[0]), off(all[2]); all[2].Name != "trees" || trees > .02 || line < .08 {
		t.Errorf("%s: mean squared error %v, of a ridge regression %v", all[2].Name, trees, line)
	}
}

// Rows of weight 0 teach nothing: neither their rewards nor where their features lie matter.
func TestTrees_LeaveOutRowsOfWeight0(t *testing.T) {
	const n, k = 600, 2
	l, _ := corners(n, k, 3, 3)
	changed := *l
	changed.Cost, changed.Weight = slices.Clone(l.Cost), slices.Repeat([]float64{1}, n)
	x := slices.Clone(l.X.(logs.Rows64).Data)
	for i := 0; i < n; i += 3 {
		changed.Cost[i], changed.Weight[i], x[3*i] = -1, 0, 1e6*float64(i)
	}
	changed.X = logs.Rows64{Width: 3, Data: x}
	given := *l
	given.Weight = changed.Weight
	a, b := predictions(t, &given, ope.ModelOptions{}), predictions(t, &changed, ope.ModelOptions{})
	by := predictions(t, l, ope.ModelOptions{Weight: changed.Weight})
	for i := range n {
		if i%3 != 0 && !slices.Equal(a[i*k:(i+1)*k], b[i*k:(i+1)*k]) {
			t.Fatalf("row %d: %v, want %v", i, b[i*k:(i+1)*k], a[i*k:(i+1)*k])
		}
	}
	for i, v := range a {
		if math.Abs(v-by[i]) > 1e-9 {
			t.Fatalf("weights of the log and of options differ: %v and %v", v, by[i])
		}
	}
}

func TestTrees_AreTheSameForAnyNumberOfWorkers(t *testing.T) {
	l, _ := corners(1500, 3, 12, 4)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := predictions(t, l, ope.ModelOptions{})
	runtime.GOMAXPROCS(2)
	if !slices.Equal(one, predictions(t, l, ope.ModelOptions{})) {
		t.Error("two workers learn another model")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, learn := range []func(*logs.Log, ope.ModelOptions) (ope.Model, error){ope.Trees, ope.Logistic} {
		if _, err := learn(l, ope.ModelOptions{Context: ctx}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	}
}

// With the right propensities the mean of doubly robust estimates is the target's value, though trees of few rows are
// poor.
func TestTrees_LeaveTheDoublyRobustEstimateUnbiased(t *testing.T) {
	const logged, n, d = 120, 100, 2
	var off, square, direct float64
	for seed := range uint64(logged) {
		r := rand.New(rand.NewPCG(seed, 77))
		l, mean := corners(n, 2, d, 100+seed)
		l.Group = nil
		var truth float64 // of action 0 in all contexts of the log
		for i := range n {
			p := .15 + .7*mean(i, 1) // actions are rare where they pay
			l.Action[i], l.Propensity[i], l.Cost[i] = 0, p, 0
			if r.Float64() >= p {
				l.Action[i], l.Propensity[i] = 1, 1-p
			}
			if r.Float64() < mean(i, int(l.Action[i])) {
				l.Cost[i] = -1
			}
			truth += mean(i, 0) / n
		}
		m, err := ope.Trees(l, ope.ModelOptions{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		first := ope.Target{Name: "first", Origin: provenance.FixedBefore(), Row: func(dst []float64, _ int) error {
			dst[0], dst[1] = 1, 0
			return nil
		}}
		got := evaluate(t, l, []ope.Target{first}, ope.Options{Estimators: only("dm", "dr"), Model: m, EstimatesAlone: true}).Policies[0].Estimates
		for _, e := range got {
			if e.Estimator == "dm" {
				direct += (e.Value - truth) / logged
				continue
			}
			off += (e.Value - truth) / logged
			square += (e.Value - truth) * (e.Value - truth) / logged
		}
	}
	se := math.Sqrt((square - off*off) / logged)
	if math.Abs(off) > 3.5*se || se > .01 || math.Abs(direct) < 5*se {
		t.Errorf("dr is off by %v ± %v on average, dm by %v", off, se, direct)
	}
}

// Whatever the log, predictions are numbers, within the range of rewards or little outside.
func TestTrees_PredictNumbersOfAnyLog(t *testing.T) {
	few := func(n, k int) *logs.Log {
		l, _ := corners(n, k, 2, 5)
		return l
	}
	cases := map[string]*logs.Log{"two rows": few(2, 2), "a row an action": few(30, 30), "more actions than rows": few(10, 200),
		"an action never logged": few(300, 3), "constant columns": few(300, 2), "equal rewards": few(300, 2), "one reward that differs": few(300, 2),
		"large numbers": few(300, 2), "two groups": few(300, 2), "tiny rewards": few(300, 2), "heavy weights": few(300, 2)}
	cases["two rows"].Group = nil
	for i, l := 0, cases["an action never logged"]; i < l.Len(); i++ {
		l.Action[i] %= 2
	}
	clear(cases["constant columns"].X.(logs.Rows64).Data)
	clear(cases["equal rewards"].Cost)
	clear(cases["one reward that differs"].Cost)
	cases["one reward that differs"].Cost[7] = -1
	for i, v := range cases["large numbers"].X.(logs.Rows64).Data {
		cases["large numbers"].X.(logs.Rows64).Data[i] = v * 1e300
	}
	for i := range 300 {
		cases["two groups"].Group[i] = int32(i % 2)
		cases["tiny rewards"].Cost[i] *= 1e-300
		cases["heavy weights"].Weight = append(cases["heavy weights"].Weight, math.Pow(10, float64(i%5*60-100)))
	}
	for name, l := range cases {
		for i, v := range predictions(t, l, ope.ModelOptions{}) {
			if !(v > -.5 && v < 1.5) {
				t.Fatalf("%s: row %d: %v", name, i/l.K(), v)
			}
			if name == "equal rewards" && v != 0 {
				t.Fatalf("%s: %v", name, v)
			}
		}
	}
	// Named values that are missing at times, and a category that has several values in one row, beside one of many.
	r := rand.New(rand.NewPCG(8, 8))
	var decisions []logs.Decision
	for i := range 400 {
		var x []features.Value
		for j := range r.IntN(4) {
			x = append(x, features.Value{Name: fmt.Sprintf("tag=t%d", j), Number: 1})
		}
		x = append(x, features.Value{Name: fmt.Sprintf("city=c%d", r.IntN(50)), Number: 1})
		if i%3 > 0 {
			x = append(x, features.Value{Name: "age", Number: r.NormFloat64()})
		}
		decisions = append(decisions, logs.Decision{Context: x, Action: r.IntN(2), Propensity: .5, Cost: -float64(len(x) % 2)})
	}
	l, err := logs.Collect([]string{"a", "b"}, decisions)
	if err != nil {
		t.Fatal(err)
	}
	if p := predictions(t, l, ope.ModelOptions{}); !(slices.Min(p) > -.5 && slices.Max(p) < 1.5 && slices.Max(p)-slices.Min(p) > .5) {
		t.Errorf("named values: from %v to %v", slices.Min(p), slices.Max(p))
	}
}

// Of a log with choices trees read what actions are described by.
func TestTrees_PredictActionsByTheirFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	const k, n = 60, 1500
	s := newStore(r, k, 0, false)
	l, _, _, _ := s.log(r, n)
	row := make([]float64, 5)
	mean := func(i, a int) float64 { // it pays where the context and one of the features agree
		if l.X.Row64(i, row); (row[0] > 0) == (floats.Sum(s.z[30*a:30*a+5]) == 1) {
			return .9
		}
		return .1
	}
	for i, a := range l.Action {
		if l.Cost[i] = 0; r.Float64() < mean(i, int(a)) {
			l.Cost[i] = -1
		}
	}
	m, err := ope.Trees(l, ope.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	off, dst := 0., make([]float64, k)
	for i := range n {
		m(dst, i)
		for a, v := range dst {
			off += (v - mean(i, a)) * (v - mean(i, a)) / n / k
		}
	}
	if off > .08 { // of the mean .16
		t.Errorf("mean squared error %v", off)
	}
}

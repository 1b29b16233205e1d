package logs_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opl/train/logs"
)

// FromLabels draws actions with the propensities that it writes down, and costs
// say whether they hit the label.
func TestFromLabels_DrawsAtThePropensitiesItWrites(t *testing.T) {
	const n, k = 20000, 3
	x := logs.Rows64{Width: 2, Data: []float64{1, 0, 0, 1}}
	rows, labels := make([]int, n), []uint8{0, 2}
	for i := range rows {
		rows[i] = i % 2
	}
	theta := []float64{0, 1, 1, 0, -1, 2}
	l := logs.FromLabels(x, labels, rows, theta, k, rand.New(rand.NewPCG(1, 2)))
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	var count, want [2][k]float64
	for i := range n {
		c, a := rows[i], l.Action[i]
		count[c][a]++
		var z float64
		for b := range k {
			z += math.Exp(theta[2*b+c])
		}
		for b := range k {
			p := math.Exp(theta[2*b+c]) / z
			want[c][b] += p
			if got := l.Propensities[i*k+b]; math.Abs(got-p) > 1e-15 {
				t.Fatalf("row %d: π₀(%d) = %v, want %v", i, b, got, p)
			}
		}
		if l.Propensity[i] != l.Propensities[i*k+int(a)] {
			t.Fatalf("row %d: propensity %v is not that of the action", i, l.Propensity[i])
		}
		if (l.Cost[i] == -1) != (uint8(a) == labels[c]) || l.Cost[i] != 0 && l.Cost[i] != -1 {
			t.Fatalf("row %d: action %d, label %d, cost %v", i, a, labels[c], l.Cost[i])
		}
	}
	for c := range count {
		for b := range k {
			p := want[c][b] / (n / 2)
			if z := (count[c][b] - want[c][b]) / math.Sqrt(n/2*p*(1-p)); math.Abs(z) > 4.5 {
				t.Errorf("context %d, action %d: drawn %v times, want about %v (z = %.1f)", c, b, count[c][b], want[c][b], z)
			}
		}
	}
}

// Logs of the same examples share what tells their rows apart.
func TestLogs_ShareIdentitiesOfTheSameExamples(t *testing.T) {
	x := logs.Rows64{Width: 1, Data: []float64{1, 1, 3}}
	r := rand.New(rand.NewPCG(1, 2))
	a := logs.FromLabels(x, []uint8{0, 1, 0}, []int{0, 1, 2}, []float64{0, 1}, 2, r)
	b := logs.FromLabels(x, []uint8{0, 1, 0}, []int{2, 0}, []float64{1, 0}, 2, r)
	if i, j := a.Hashes([]int{0, 1, 2}), b.Hashes([]int{0, 1}); i[2] != j[0] || i[0] != j[1] || i[0] == i[1] {
		t.Errorf("%v, %v", i, j)
	}
}

func TestFromLabels_KeepsPropensitiesAboveTheFloor(t *testing.T) {
	x := logs.Rows64{Width: 1, Data: []float64{1}}
	l := logs.FromLabels(x, []uint8{0}, []int{0}, []float64{0, -1000}, 2, rand.New(rand.NewPCG(1, 2)))
	if l.Propensities[1] != logs.LeastPropensity {
		t.Errorf("π₀ = %v, want the floor %v", l.Propensities[1], logs.LeastPropensity)
	}
}

func TestCheck_NamesTheRowThatCannotBe(t *testing.T) {
	good := func() *logs.Log {
		return &logs.Log{X: logs.Rows64{Width: 1, Data: []float64{1, 2}}, Actions: logs.Numbered(2), Action: []int32{0, 1},
			Cost: []float64{0, -1}, Propensity: []float64{.5, .25}, Propensities: []float64{.5, .5, .75, .25}}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(l *logs.Log)
		want   string
	}{
		{func(l *logs.Log) { l.Action = nil }, "empty"},
		{func(l *logs.Log) { l.Actions = logs.Numbered(1) }, "1 actions"},
		{func(l *logs.Log) { l.Weight = []float64{1, math.NaN()} }, "row 2: weight NaN"},
		{func(l *logs.Log) { l.Time = []int64{1} }, "1 times"},
		{func(l *logs.Log) { l.Group = []int32{1} }, "1 groups"},
		{func(l *logs.Log) { l.Keys = []uint64{1} }, "1 keys"},
		{func(l *logs.Log) { l.Outcomes = []logs.Outcome{{Column: "cost_x", Values: []float64{1}}} }, "1 cost_x for 2 actions"},
		{func(l *logs.Log) { l.Outcomes = []logs.Outcome{{Column: "latency", Values: []float64{1, 2}}} }, "neither reward_NAME"},
		{func(l *logs.Log) { l.Logger = []int32{0, 1}; l.Policies = []string{"a"} }, "row 2: its logger 1"},
		{func(l *logs.Log) { l.RewardMin = 2 }, "no range"},
		{func(l *logs.Log) { l.X = logs.Rows64{Data: []float64{1, 2}} }, "width 0"},
		{func(l *logs.Log) { l.X = logs.Rows64{Width: 2, Data: []float64{1, 2, 3}} }, "3 numbers are no rows of width 2"},
		{func(l *logs.Log) { l.X = logs.Rows64{Width: 1, Data: []float64{1, math.NaN()}} }, "row 2: feature 0 is NaN"},
		{func(l *logs.Log) { l.Propensity[1] = .3 }, "row 2: the logged propensity is 0.3, but 0.25"},
		{func(l *logs.Log) { l.Cost = l.Cost[:1] }, "lengths"},
		{func(l *logs.Log) { l.Rows = []int{0} }, "contexts"},
		{func(l *logs.Log) { l.Rows = []int{0, 2} }, "row 2: its context 2"},
		{func(l *logs.Log) { l.Action[1] = 2 }, "row 2: action 2"},
		{func(l *logs.Log) { l.Cost[0] = 1 }, "row 1: cost 1"},
		{func(l *logs.Log) { l.Cost[0] = math.NaN() }, "row 1: cost NaN"},
		{func(l *logs.Log) { l.Propensity[1] = 0 }, "row 2: propensity 0"},
		{func(l *logs.Log) { l.Propensities[2] = .5 }, "row 2: propensities: the probabilities sum to 0.75"},
	} {
		l := good()
		c.change(l)
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// A subset of no rows has no contexts to learn an encoder from, even if the rows are nil.
func TestLog_SubsetOfNoRowsHasNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.csv")
	if err := os.WriteFile(path, []byte("action,reward,propensity,x_a\na,1,.5,1\nb,0,.5,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := read(t, logs.Options{}, path).Subset(nil).FitEncoder(nil, logs.Scaling{}); err == nil && len(e.Names) > 0 {
		t.Errorf("features %q of no rows", e.Names)
	}
}

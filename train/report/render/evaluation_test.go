package render_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"image/png"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/render"
	"opl/train/report/table"
)

// world is a log of 600 rows of 6 contexts and 4 actions, whose later actions earn more in later
// contexts, and the targets first one, which takes the logged actions' neighbours, and other, which
// takes what earns most.
func world(t *testing.T, names ...string) (*logs.Log, []ope.Target) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	const k = 4
	rows, xs := make([]logs.Decision, 600), make([]int, 600)
	for i := range rows {
		xs[i] = r.IntN(6)
		pi0 := []float64{.1, .4, .2, .3}
		a := []int{0, 1, 1, 1, 1, 2, 2, 3, 3, 3}[r.IntN(10)]
		cost := 0.
		if r.Float64() < .1+.13*float64((a+xs[i])%6) {
			cost = -1
		}
		rows[i] = logs.Decision{ID: strconv.Itoa(i), Action: a, Cost: cost, Propensity: pi0[a], Propensities: pi0, Weight: 1}
	}
	l, err := logs.Collect(logs.Numbered(k), rows)
	if err != nil {
		t.Fatal(err)
	}
	target := func(name string, best func(x int) int) ope.Target {
		return ope.Target{Name: name, Origin: provenance.FixedBefore(), Row: func(dst []float64, i int) error {
			for a := range dst {
				dst[a] = .1
			}
			dst[best(xs[i])] += .6
			return nil
		}}
	}
	return l, []ope.Target{target(names[0], func(x int) int { return x % k }), target(names[1], func(x int) int { return max(0, min(3, 5-x)) })}
}

// evaluated is the result of two targets.
func evaluated(t *testing.T, o ope.Options, names ...string) ope.Result {
	t.Helper()
	l, targets := world(t, names...)
	r, err := ope.Evaluate(l, targets, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEvaluation_SaysTheSameInEveryFormat(t *testing.T) {
	res := evaluated(t, ope.Options{Estimators: ope.Estimators(), Notes: []string{"a note"}}, "first one", "other")
	of := func(f table.Format) string {
		var b bytes.Buffer
		if err := render.Evaluation(&b, f, res); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, f := range []table.Format{table.Text, table.Markdown} {
		for _, want := range []string{"first one", "clip=0.202", "95 % interval", "ESS", "difference", "guaranteed: other earns at least", "left out: dm", "a note", "logging"} {
			if !strings.Contains(of(f), want) {
				t.Errorf("%s has no %q:\n%s", f, want, of(f))
			}
		}
	}
	for _, line := range strings.Split(of(table.Text), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 && strings.ContainsAny(line, "│─") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(of(table.CSV))).ReadAll()
	if err != nil || len(rows) != 2+2*len(res.Pairs) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	var back ope.Result
	text, err := json.Marshal(res.InUnits())
	if err := errors.Join(err, json.Unmarshal(text, &back)); err != nil || len(back.Pairs) != len(res.Policies[0].Estimates) || back.Policies[1].Estimates[0] != res.Policies[1].Estimates[0] {
		t.Errorf("%v, %+v", err, back)
	}
	if err := render.Evaluation(&bytes.Buffer{}, "xml", res); err == nil {
		t.Error("no error for an unknown format")
	}
}

// A plot can be read back, and shows the colours of both policies.
func TestEvaluationPlot_ShowsBothPolicies(t *testing.T) {
	res := evaluated(t, ope.Options{}, "a", "b")
	var b bytes.Buffer
	if err := render.Plot(&b, "png", render.EvaluationFigure(res)); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	count := map[[3]uint32]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			count[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	for _, c := range [][3]uint32{{0x00, 0x72, 0xB2}, {0xD5, 0x5E, 0x00}, {0xE4, 0xE4, 0xE4}} {
		if count[c] < 200 {
			t.Errorf("%d points of colour %v", count[c], c)
		}
	}
	b.Reset()
	if err := render.Plot(&b, "svg", render.EvaluationFigure(res)); err != nil || !strings.Contains(b.String(), "<svg") {
		t.Error(err)
	}
	if err := render.Plot(&b, "xyz", render.EvaluationFigure(res)); err == nil {
		t.Error("no error for an unknown format")
	}
}

// Half an interval that is 0 but for rounding has no digits, and numbers of rows have two.
func TestEvaluation_RoundsToDigitsThatItsErrorAllows(t *testing.T) {
	off := ope.Interval{Value: 1e-18, SE: 1e-17, Low: -2e-17, High: 2e-17}
	r := ope.Result{Rows: 100, Groups: 100, Delta: 0.05, Interval: "normal", Policies: []ope.Policy{
		{Name: "a", Estimates: []ope.Estimate{{Estimator: "ips", Interval: off, Gain: off}}, Recommended: "ips", RowsNeeded: 5431, HalfWidth: 0.01},
		{Name: "b", Warnings: []string{"few"}, RowsNeeded: 1e30, HalfWidth: 0.01}}}
	var b bytes.Buffer
	if err := render.Evaluation(&b, table.Text, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" +0.000 ± 0.000 ", "believe ips; about 5500 rows like these", "or more: about 1.0e+30 rows like these"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

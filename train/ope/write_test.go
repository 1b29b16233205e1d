package ope_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"opl/train/ope"
	"opl/train/report/table"
)

func TestWrite(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	l, xs := w.log(rand.New(rand.NewPCG(1, 2)), 600, 1)
	res := evaluate(t, l, []ope.Target{w.target("first one", w.pi, xs), w.target("other", w.other, xs)}, ope.Options{Estimators: ope.Estimators(), Notes: []string{"a note"}})
	of := func(f table.Format) string {
		var b bytes.Buffer
		if err := res.Write(&b, f); err != nil {
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
	if err := json.Unmarshal([]byte(of(table.JSON)), &back); err != nil || len(back.Pairs) != len(res.Policies[0].Estimates) || back.Policies[1].Estimates[0] != res.Policies[1].Estimates[0] {
		t.Errorf("%v, %+v", err, back)
	}
	if err := res.Write(&bytes.Buffer{}, "xml"); err == nil {
		t.Error("no error for an unknown format")
	}
}

// A plot can be read back, and shows the colours of both policies.
func TestPlot(t *testing.T) {
	w := newWorld(3, 6, 4, 0.7)
	l, xs := w.log(rand.New(rand.NewPCG(1, 2)), 600, 1)
	res := evaluate(t, l, []ope.Target{w.target("a", w.pi, xs), w.target("b", w.other, xs)}, ope.Options{})
	var b bytes.Buffer
	if err := res.Plot(&b, "png"); err != nil {
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
	if err := res.Plot(&b, "svg"); err != nil || !strings.Contains(b.String(), "<svg") {
		t.Error(err)
	}
	if err := res.Plot(&b, "xyz"); err == nil {
		t.Error("no error for an unknown format")
	}
}

// Half an interval that is 0 but for rounding has no digits, and numbers of rows have two.
func TestWriteRounded(t *testing.T) {
	off := ope.Interval{Value: 1e-18, SE: 1e-17, Low: -2e-17, High: 2e-17}
	r := ope.Result{Rows: 100, Groups: 100, Delta: 0.05, Interval: "normal", Policies: []ope.Policy{
		{Name: "a", Estimates: []ope.Estimate{{Estimator: "ips", Interval: off, Gain: off}}, Recommended: "ips", RowsNeeded: 5431, HalfWidth: 0.01},
		{Name: "b", Warnings: []string{"few"}, RowsNeeded: 1e30, HalfWidth: 0.01}}}
	var b bytes.Buffer
	if err := r.Write(&b, table.Text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" +0.0000 ± 0.0000 ", "believe ips; about 5500 rows like these", "or more: about 1.0e+30 rows like these"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

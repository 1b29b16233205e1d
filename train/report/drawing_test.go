package report

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/plot/vg"

	"opl/train"
	"opl/train/experiment"
)

// Curves of one panel differ in colour, and in dashes and marker together, and
// every curve of a panel is in a legend.
func TestCurvesDiffer(t *testing.T) {
	recs := canonical(synthetic(t, allFigures, []string{"mnist", "fashion"}, 1, 0))
	for _, f := range experiment.Figures() {
		var of []train.Record
		for _, r := range recs {
			if f.Match(r) {
				of = append(of, r)
			}
		}
		_, d := layoutOf(f.Name)(paper, f, of)
		shown := map[string]bool{}
		for _, l := range d.legends {
			for _, e := range l.entries {
				shown[fmt.Sprint(e.color)] = true
			}
		}
		for _, row := range d.panels {
			for _, p := range row {
				looks := map[string]bool{}
				for _, c := range p.curves {
					look := fmt.Sprint(c.color, c.dashes)
					if looks[look] {
						t.Errorf("%s, %s: two curves look alike", f.Name, p.title)
					}
					looks[look] = true
					if !shown[fmt.Sprint(c.color)] {
						t.Errorf("%s, %s: a curve is in no legend", f.Name, p.title)
					}
					if len(c.x) == 0 {
						t.Errorf("%s, %s: a curve without points", f.Name, p.title)
					}
				}
			}
		}
	}
	for i := range 24 {
		for j := range i {
			if a, b := category(i), category(j); fmt.Sprint(a) == fmt.Sprint(b) {
				t.Errorf("categories %d and %d look alike", i, j)
			}
		}
	}
}

// The legends have their own space below the axes, and fit into the width.
func TestLegendSpace(t *testing.T) {
	l := legend{title: "of:"}
	for i := range 30 {
		l.entries = append(l.entries, entry{fmt.Sprintf("curve number %d", i), category(i)})
	}
	d := drawing{panels: [][]*panel{{{}}}}
	_, bare := d.size()
	d.legends = []legend{l}
	w, h := d.size()
	lines := l.lines(w)
	if got, want := h-bare, legendLine*vg.Length(len(lines)); math.Abs(float64(got-want)) > 1e-9 {
		t.Errorf("%d lines of legend have %v, want %v", len(lines), got, want)
	}
	n := 0
	for _, line := range lines {
		width := line.titleWidth()
		for _, e := range line.entries {
			width += line.widthOf(e)
		}
		if width > w {
			t.Errorf("a line of %v in a figure of %v", width, w)
		}
		n += len(line.entries)
	}
	if n != len(l.entries) {
		t.Errorf("%d entries of %d", n, len(l.entries))
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		most   int
		want   []string
	}{
		{-.04, 1.04, 6, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{-.54, .54, 3, []string{"−0.5", "0", "0.5"}},
		{.1, .9, 7, []string{"0.2", "0.4", "0.6", "0.8"}},
		{900, 2100, 3, []string{"1000", "1500", "2000"}},
		{1e-5, 9e-5, 7, []string{"2e−05", "4e−05", "6e−05", "8e−05"}},
	} {
		var got []string
		for _, x := range (ticks{most: c.most, labels: true}).Ticks(c.lo, c.hi) {
			got = append(got, x.Label)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("[%v, %v]: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	if got := (ticks{most: 6, whole: true}).Ticks(.9, 2.1); len(got) != 2 {
		t.Errorf("epochs 1 and 2: %v", got)
	}
}

// A subscript takes less room than the digit it is.
func TestScripts(t *testing.T) {
	sty := textStyle(10)
	plain, sub, eta := sty.Width("η0"), sty.Width("η₀"), sty.Width("η")
	if want := eta + scriptSize*(sty.Width("0")); math.Abs(float64(sub-want)) > 1e-9 || sub >= plain {
		t.Errorf("η₀ is %v wide, want %v", sub, want)
	}
}

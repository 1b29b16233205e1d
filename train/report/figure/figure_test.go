package figure

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestCategories_LookDifferent(t *testing.T) {
	for i := range 24 {
		for j := range i {
			if a, b := Category(i), Category(j); fmt.Sprint(a) == fmt.Sprint(b) {
				t.Errorf("categories %d and %d look alike", i, j)
			}
		}
	}
}

// The legends have their own space below the axes, and fit into the width.
func TestLegend_FitsBelowTheAxes(t *testing.T) {
	l := Legend{Title: "of:"}
	for i := range 30 {
		l.Entries = append(l.Entries, Entry{fmt.Sprintf("curve number %d", i), Category(i)})
	}
	d := Figure{Panels: [][]*Panel{{{}}}}
	_, bare := d.size()
	d.Legends = []Legend{l}
	w, h := d.size()
	lines := l.lines(w)
	if got, want := h-bare, legendLine*vg.Length(len(lines)); math.Abs(float64(got-want)) > 1e-9 {
		t.Errorf("%d lines of legend have %v, want %v", len(lines), got, want)
	}
	n := 0
	for _, line := range lines {
		width := line.titleWidth()
		for _, e := range line.Entries {
			width += line.widthOf(e)
		}
		if width > w {
			t.Errorf("a line of %v in a figure of %v", width, w)
		}
		n += len(line.Entries)
	}
	if n != len(l.Entries) {
		t.Errorf("%d entries of %d", n, len(l.Entries))
	}
}

func TestTicks_AreRoundNumbersAtMostSoMany(t *testing.T) {
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
		for _, x := range ticks(c.lo, c.hi, c.most, false) {
			got = append(got, x.Label)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("[%v, %v]: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	if got := ticks(.9, 2.1, 6, true); len(got) != 2 {
		t.Errorf("epochs 1 and 2: %v", got)
	}
}

// A subscript takes less room than the digit it is.
func TestSubscripts_TakeLessRoomThanDigits(t *testing.T) {
	sty := textStyle(10)
	plain, sub, eta := sty.Width("η0"), sty.Width("η₀"), sty.Width("η")
	if want := eta + scriptSize*(sty.Width("0")); math.Abs(float64(sub-want)) > 1e-9 || sub >= plain {
		t.Errorf("η₀ is %v wide, want %v", sub, want)
	}
}

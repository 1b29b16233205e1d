package report

import (
	"fmt"
	"testing"

	"opl/train"
	"opl/train/experiment"
)

// Curves of one panel differ in colour, and in dashes and marker together, and
// every curve of a panel is in a legend.
func TestCurves_OfOnePanelDifferAndAreInALegend(t *testing.T) {
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
		for _, l := range d.Legends {
			for _, e := range l.Entries {
				shown[fmt.Sprint(e.Color)] = true
			}
		}
		for _, row := range d.Panels {
			for _, p := range row {
				looks := map[string]bool{}
				for _, c := range p.Curves {
					look := fmt.Sprint(c.Color, c.Dashes)
					if looks[look] {
						t.Errorf("%s, %s: two curves look alike", f.Name, p.Title)
					}
					looks[look] = true
					if !shown[fmt.Sprint(c.Color)] {
						t.Errorf("%s, %s: a curve is in no legend", f.Name, p.Title)
					}
					if len(c.X) == 0 {
						t.Errorf("%s, %s: a curve without points", f.Name, p.Title)
					}
				}
			}
		}
	}
}

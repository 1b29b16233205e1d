package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"opl/train/ope"
	"opl/train/report/figure"
	"opl/train/report/table"
)

// Curve writes a dose–response curve.
func Curve(w io.Writer, f table.Format, c ope.DoseCurve) error {
	head := []string{"numbers", "value", "≥", "≤", "at", "point value", "bandwidth"}
	var rows [][]string
	by := len(c.Doses) > 0 && c.Doses[0].Segment != ""
	if by {
		head = append([]string{"segment"}, head...)
	}
	for _, d := range c.Doses {
		row := []string{numbers(d), fmt.Sprintf("%.4f", d.Value), fmt.Sprintf("%.4f", d.Low),
			fmt.Sprintf("%.4f", d.High), fmt.Sprintf("%.4g", d.Number), "", ""}
		if k := d.Point; k != nil {
			row[5], row[6] = fmt.Sprintf("%.4f ± %.4f", k.DR, 2*k.SE), fmt.Sprintf("%.3g", k.Bandwidth)
		}
		if by {
			row = append([]string{d.Segment}, row...)
		}
		rows = append(rows, row)
	}
	if f == table.Text && len(c.Doses) > 0 {
		best := slices.MaxFunc(c.Doses, func(a, b ope.Dose) int { return cmp.Compare(a.Low, b.Low) })
		fmt.Fprintf(w, "best bound: %s earns at least %.4f with probability %v; the log earned %.4f; next: opl train\n",
			strings.TrimSpace(best.Segment+" "+numbers(best)), best.Low, 1-c.Delta, c.Logging)
	}
	if err := table.Write(w, f, head, rows); err != nil || f != table.Text {
		return err
	}
	_, err := fmt.Fprintf(w, "value: if all %d rows had drawn a number there evenly\n"+
		"≥, ≤: a band that holds for all lines together with probability %v\n"+
		"point value: of the number itself, by a doubly robust kernel estimate; biased by up to about its error, more at "+
		"the ends of the range and beside a jump; no guarantee\n", c.Rows, 1-c.Delta)
	if k := c.Point; err == nil && k != nil {
		_, err = fmt.Fprintf(w, "the policy as one number in each context: %.4f ± %.4f by %d rows that had no part in it, "+
			"bandwidth %.3g; biased, as point values are\n", k.DR, 2*k.SE, c.Judged, k.Bandwidth)
	}
	return err
}

// numbers names an interval, or the one number of an atom.
func numbers(d ope.Dose) string {
	if d.From == d.To {
		return fmt.Sprintf("%.4g", d.Number)
	}
	return fmt.Sprintf("%.4g to %.4g", d.From, d.To)
}

// CurveFigure draws it, with a panel for each segment.
func CurveFigure(c ope.DoseCurve) figure.Figure {
	band := figure.Curve{Name: "value, with a band for all", Style: figure.Category(0)}
	point := figure.Curve{Name: "point value, by kernels", Style: figure.Category(1)}
	out := figure.Figure{Name: "curve", Legends: []figure.Legend{{Entries: []figure.Entry{{Label: band.Name,
		Style: band.Style}, {Label: point.Name, Style: point.Style}}}}}
	for i, d := range c.Doses {
		if i == 0 || d.Segment != c.Doses[i-1].Segment {
			out.Panels = append(out.Panels, []*figure.Panel{{Title: d.Segment, X: "number", Y: "reward",
				Curves: []figure.Curve{band, point}}})
		}
		if curves := out.Panels[len(out.Panels)-1][0].Curves; d.Point != nil {
			curves[0].Add(d.Number, d.Value, d.Low, d.High, "")
			curves[1].Add(d.Number, d.Point.DR, math.NaN(), math.NaN(), "")
		}
	}
	return out
}

package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"opl/train/ope"
	"opl/train/report/figure"
	"opl/train/report/table"
)

// Curve writes a dose–response curve.
func Curve(w io.Writer, f table.Format, c ope.DoseCurve) error {
	head := []string{"numbers", "value", "≥", "≤", "at", "point value", "bandwidth"}
	var rows [][]string
	for _, d := range c.Doses {
		row := []string{numbers(d), fmt.Sprintf("%.4f", d.Value), fmt.Sprintf("%.4f", d.Low),
			fmt.Sprintf("%.4f", d.High), fmt.Sprintf("%.4g", d.Number), "", ""}
		if k := d.Point; k != nil {
			row[5], row[6] = fmt.Sprintf("%.4f ± %.4f", k.DR, 2*k.SE), fmt.Sprintf("%.3g", k.Bandwidth)
		}
		rows = append(rows, row)
	}
	if f == table.Text {
		best := slices.MaxFunc(c.Doses, func(a, b ope.Dose) int { return cmp.Compare(a.Low, b.Low) })
		fmt.Fprintf(w, "best bound: %s earns at least %.4f with probability %v; the log earned %.4f; next: opl train\n",
			numbers(best), best.Low, 1-c.Delta, c.Logging)
	}
	if err := table.Write(w, f, head, rows); err != nil || f != table.Text {
		return err
	}
	_, err := fmt.Fprintf(w, "value: if all %d rows had drawn a number there evenly\n"+
		"≥, ≤: a band that holds for all lines together with probability %v\n"+
		"point value: of the number itself, by a doubly robust kernel estimate; biased by up to about its error, more at "+
		"the ends of the range and beside a jump; no guarantee\n", c.Rows, 1-c.Delta)
	return err
}

// numbers names an interval, or the one number of an atom.
func numbers(d ope.Dose) string {
	if d.From == d.To {
		return fmt.Sprintf("%.4g", d.Number)
	}
	return fmt.Sprintf("%.4g to %.4g", d.From, d.To)
}

// CurveFigure draws it.
func CurveFigure(c ope.DoseCurve) figure.Figure {
	band := figure.Curve{Name: "value, with a band for all", Style: figure.Category(0)}
	point := figure.Curve{Name: "point value, by kernels", Style: figure.Category(1)}
	for _, d := range c.Doses {
		if d.Point == nil {
			continue
		}
		band.X, band.Y = append(band.X, d.Number), append(band.Y, d.Value)
		band.Low, band.High = append(band.Low, d.Low), append(band.High, d.High)
		point.X, point.Y = append(point.X, d.Number), append(point.Y, d.Point.DR)
	}
	return figure.Figure{Name: "curve", Panels: [][]*figure.Panel{{{X: "number", Y: "reward",
		Curves: []figure.Curve{band, point}}}},
		Legends: []figure.Legend{{Entries: []figure.Entry{{Label: band.Name, Style: band.Style},
			{Label: point.Name, Style: point.Style}}}}}
}

package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/report/figure"
	"opl/train/report/table"
)

// Curve writes a dose–response curve.
func Curve(w io.Writer, f table.Format, c ope.DoseCurve) error {
	rows := doses(c.Doses, map[bool]string{true: "", false: "—"}[f == table.CSV])
	if f == table.Text {
		fmt.Fprintln(w, concludedCurve(c))
	}
	if err := table.Write(w, f, rows[0], rows[1:]); err != nil || f != table.Text {
		return err
	}
	d := document{w, f}
	d.paras("note: ", c.Notes)
	d.paras("", []string{bandOf(c), aboutPoints})
	return nil
}

// BriefCurve writes the bins of the best bounds, and what a policy would have earned.
func BriefCurve(w io.Writer, c ope.DoseCurve) error {
	var b brief
	fmt.Fprintln(&b, concludedCurve(c))
	best := slices.SortedStableFunc(slices.Values(c.Doses), func(a, b ope.Dose) int { return cmp.Compare(b.Low, a.Low) })
	b.rest(doses(best, "—"), c.Notes, nil)
	b.what = "bins"
	b.legend = bandOf(c) + "; point value: by kernels, biased, no guarantee"
	return b.to(w)
}

// concludedCurve says which numbers have the best bound, and below it what a policy would have earned.
func concludedCurve(c ope.DoseCurve) string {
	if len(c.Doses) == 0 {
		return "no row has a number"
	}
	best := slices.MaxFunc(c.Doses, func(a, b ope.Dose) int { return cmp.Compare(a.Low, b.Low) })
	d := logs.Places((best.High - best.Low) / 2)
	text := fmt.Sprintf("best bound: %s earns at least %.*f with probability %v; the log earned %.*f; next: opl train",
		strings.TrimSpace(best.Segment+" "+numbers(best)), d, logs.Below(best.Low, d), 1-c.Delta, d, c.Logging)
	if c.Contradicted != "" {
		text = fmt.Sprintf("doubted: the log contradicts what bounds assume: %s\n%s, if it were not for the doubt; "+
			"next: mend that", c.Contradicted, strings.TrimSuffix(text, "; next: opl train"))
	}
	if k := c.Point; k != nil {
		text += fmt.Sprintf("\nthe policy as one number in each context: %s by %d rows that had no part in it, "+
			"bandwidth %.3g; biased, as point values are", around(plain, k.DR, logs.Half(k.SE)), c.Judged, k.Bandwidth)
	}
	return text
}

// bandOf says what values and their band are, and aboutPoints what point values are.
func bandOf(c ope.DoseCurve) string {
	text := fmt.Sprintf("value: if all %d rows had drawn a number there evenly; ≥, ≤: a band that holds for all lines "+
		"together with probability %v", c.Rows, 1-c.Delta)
	if slices.ContainsFunc(c.Doses, func(d ope.Dose) bool { return d.Thin }) {
		text += "; —: the rows hardly drew such numbers, at least in some contexts, and cannot judge them"
	}
	return text
}

const aboutPoints = "point value: of the number itself, by a doubly robust kernel estimate; biased by up to about " +
	"its error, more at the ends of the range and beside a jump; no guarantee"

// doses are a head and a row a bin; none, if not empty, stands for what the rows cannot judge.
func doses(all []ope.Dose, none string) [][]string {
	rows := [][]string{{"numbers", "value", "≥", "≤", "at", "point value", "bandwidth"}}
	by := len(all) > 0 && all[0].Segment != ""
	if by {
		rows[0] = append([]string{"segment"}, rows[0]...)
	}
	for _, d := range all {
		n := logs.Places((d.High - d.Low) / 2)
		row := []string{numbers(d), none, fmt.Sprintf(plain, n, logs.Below(d.Low, n)),
			fmt.Sprintf(plain, n, -logs.Below(-d.High, n)), fmt.Sprintf("%.4g", d.Number), none, none}
		if d.Value != nil && !(d.Thin && none != "") {
			row[1] = fmt.Sprintf(plain, n, *d.Value)
		}
		if k := d.Point; k != nil && !(d.Thin && none != "") {
			row[5], row[6] = around(plain, k.DR, logs.Half(k.SE)), fmt.Sprintf("%.3g", k.Bandwidth)
		}
		if by {
			row = append([]string{d.Segment}, row...)
		}
		rows = append(rows, row)
	}
	return rows
}

// numbers names a bin, or the one number of an atom.
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
			value := math.NaN()
			if d.Value != nil {
				value = *d.Value
			}
			curves[0].Add(d.Number, value, d.Low, d.High, "")
			curves[1].Add(d.Number, d.Point.DR, math.NaN(), math.NaN(), "")
		}
	}
	return out
}

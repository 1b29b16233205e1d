package render

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"opl/train/inspect"
	"opl/train/report/figure"
	"opl/train/report/html"
)

// InspectionPage is a report to be shared.
func InspectionPage(r inspect.Report) html.Page {
	p := html.Page{
		Question: "Can this log be trusted?",
		Subject:  fmt.Sprintf("%d rows, %d actions, propensities known: %s", r.Rows, r.K, r.Known),
		Tone:     severityTone(r.Severity),
		Sections: append([]html.Section{Checks(r)}, holds(r)...),
		Data:     r,
	}
	if r.From != "" {
		p.Subject += fmt.Sprintf(", from %s to %s", r.From, r.To)
	}
	var against []string
	for _, f := range r.Findings {
		if f.Severity > inspect.Fine {
			against = append(against, fmt.Sprintf("%s (%s)", f.Check, f.Severity))
		}
	}
	n := len(r.Findings)
	p.Verdict = map[inspect.Severity]string{
		inspect.Fine: fmt.Sprintf("Fine: none of %d checks found anything against the log.", n),
		inspect.Doubtful: fmt.Sprintf("Doubtful: it can be used, but not everything said of it need hold. Of %d "+
			"checks, against it: %s.", n, strings.Join(against, ", ")),
		inspect.Unusable: fmt.Sprintf("Unusable: what is computed from it means nothing. Of %d checks, against "+
			"it: %s.", n, strings.Join(against, ", ")),
	}[r.Severity]
	return p
}

// Checks are the findings as a section of a page.
func Checks(r inspect.Report) html.Section {
	s := html.Section{Title: "The checks of the log"}
	for _, f := range r.Findings {
		c := html.Check{Name: f.Check, Tone: severityTone(f.Severity)}
		for _, part := range [][2]string{{"", f.Measured}, {"Means: ", f.Means}, {"Do: ", f.Do}} {
			if part[1] != "" {
				c.Text = append(c.Text, part[0]+part[1])
			}
		}
		s.Checks = append(s.Checks, c)
	}
	return s
}

func severityTone(s inspect.Severity) html.Tone {
	return [...]html.Tone{html.Good, html.Doubt, html.Bad}[s]
}

// holds are the sections of what the log holds.
func holds(r inspect.Report) (all []html.Section) {
	s := html.Section{Title: "What the log holds"}
	for _, h := range append(slices.Clone(r.Propensities), r.Weights...) {
		s.Figures = append(s.Figures, histogramFigure(h))
	}
	by := slices.Clone(r.ByAction)
	slices.SortStableFunc(by, func(a, b inspect.Action) int { return b.Rows - a.Rows })
	t := html.Table{Caption: "By action; z: of the rows against those expected by the propensities, or of their " +
		"inverses against the number of rows",
		Head: []string{"action", "rows", "expected", "z", "reward", "s.e."}}
	if len(r.Columns) > 0 {
		read := html.Table{Caption: "Columns as they were read", Head: []string{"column", "role", "type", "values", "missing"}}
		for _, c := range r.Columns[:min(len(r.Columns), 10*columnsListed)] {
			read.Rows = append(read.Rows, columnRow(c))
		}
		s.Tables = append(s.Tables, read)
	}
	marks := figure.Curve{Name: "mean reward", Style: figure.Category(0), Kind: figure.Across}
	marks.Dashes = nil
	panel := &figure.Panel{X: "mean reward in [0, 1], ± 2 standard errors"}
	for i, a := range by {
		expected := "—"
		if a.Expected > 0 {
			expected = fmt.Sprintf("%.1f", a.Expected)
		}
		t.Rows = append(t.Rows, []string{a.Name, fmt.Sprint(a.Rows), expected, fmt.Sprintf("%.3g", a.Z),
			fmt.Sprintf("%.4g", a.Reward), fmt.Sprintf("%.2g", a.SE)})
		if i < listed && a.Rows > 0 {
			marks.X, marks.Y = append(marks.X, a.Reward), append(marks.Y, -float64(len(panel.Lines)))
			marks.Low, marks.High = append(marks.Low, a.Reward-2*a.SE), append(marks.High, a.Reward+2*a.SE)
			marks.Texts = append(marks.Texts, fmt.Sprintf("%s, %d rows", a.Name, a.Rows))
			panel.Lines = append(panel.Lines, a.Name)
		}
	}
	if len(by) > 0 {
		panel.Curves = []figure.Curve{marks}
		caption := "Reward by action"
		if len(by) > listed {
			caption += fmt.Sprintf(", of the %d with the most rows of %d", listed, len(by))
		}
		s.Figures = append(s.Figures, html.Figure{Caption: caption + ".", Figure: figure.Figure{Name: "actions",
			Panels: [][]*figure.Panel{{panel}}, Height: vg.Inch}})
		s.Tables = append(s.Tables, t)
	}
	if len(r.Blocks) > 1 {
		t := html.Table{Caption: "Over time", Head: []string{"block", "from", "rows", "reward", "s.e."}}
		c := figure.Curve{Name: "mean reward", Style: figure.Category(0), Kind: figure.Barred}
		for i, b := range r.Blocks {
			t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), b.From, fmt.Sprint(b.Rows),
				fmt.Sprintf("%.4g", b.Reward), fmt.Sprintf("%.2g", b.SE)})
			c.X, c.Y = append(c.X, float64(i+1)), append(c.Y, b.Reward)
			c.Low, c.High = append(c.Low, b.Reward-2*b.SE), append(c.High, b.Reward+2*b.SE)
			c.Texts = append(c.Texts, strings.TrimSpace(fmt.Sprintf("%d rows %s", b.Rows, b.From)))
		}
		s.Figures = append(s.Figures, html.Figure{Caption: "Reward over time, ± 2 standard errors, by blocks of " +
			"rows in their order.",
			Figure: figure.Figure{Name: "time",
				Panels: [][]*figure.Panel{{{X: "block", Y: "mean reward", Whole: true,
					Curves: []figure.Curve{c}}}}}})
		s.Tables = append(s.Tables, t)
	}
	if s.Figures == nil && s.Tables == nil {
		return nil
	}
	return []html.Section{s}
}

// histogramFigure draws the classes as bars, by a logarithmic axis where they are of equal ratio.
func histogramFigure(h inspect.Histogram) html.Figure {
	c := figure.Curve{Name: h.Title, Style: figure.Category(0), Kind: figure.Bars}
	p := &figure.Panel{X: h.Title, Y: "rows", Curves: []figure.Curve{c}}
	n := len(h.Counts)
	p.LogX = n > 1 && h.Edges[0] > 0 && h.Edges[n]/h.Edges[0] > 50
	for j, count := range h.Counts {
		low, high := h.Edges[j], h.Edges[j+1]
		if low == high { // all are one value
			low, high = low-.5*max(.01, low), high+.5*max(.01, high)
		}
		c.X, c.Y, c.Low, c.High = append(c.X, (low+high)/2), append(c.Y, float64(count)), append(c.Low, low),
			append(c.High, high)
	}
	p.Curves[0] = c
	return html.Figure{Caption: "How many rows have which " + h.Title + ".",
		Figure: figure.Figure{Name: "histogram", Panels: [][]*figure.Panel{{p}}}}
}

package render

import (
	"fmt"
	"slices"
	"strings"

	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/report/figure"
	"opl/train/report/html"
)

// InspectionPage is a report to be shared.
func InspectionPage(r inspect.Report) html.Page {
	p := html.Page{
		Question: "Can this log be trusted?",
		Subject:  logOf(r, fmt.Sprintf("%d actions", r.K)),
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

// Checks returns the findings as a section of a page.
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
	s.Tables = readTables(r)
	marks := across(0, "mean reward")
	var names []string
	for i, a := range by {
		expected := "—"
		if a.Expected > 0 {
			expected = fmt.Sprintf("%.1f", a.Expected)
		}
		t.Rows = append(t.Rows, []string{a.Name, fmt.Sprint(a.Rows), expected, fmt.Sprintf("%.3g", a.Z),
			fmt.Sprintf(plain, logs.Places(a.SE), a.Reward), fmt.Sprintf("%.2g", a.SE)})
		if i < listed && a.Rows > 0 {
			marks.Add(a.Reward, -float64(len(names)), a.Reward-logs.Half(a.SE), a.Reward+logs.Half(a.SE),
				fmt.Sprintf("%s, %d rows", a.Name, a.Rows))
			names = append(names, a.Name)
		}
	}
	if len(by) > 0 {
		caption := "Reward by action"
		if len(by) > listed {
			caption += fmt.Sprintf(", of the %d with the most rows of %d", listed, len(by))
		}
		f := lines("actions", "mean reward, 95 % interval", names, marks)
		f.Legends = nil
		s.Figures = append(s.Figures, html.Figure{Caption: caption + ".", Figure: f})
		s.Tables = append(s.Tables, t)
	}
	if len(r.Blocks) > 1 {
		t := html.Table{Caption: "Over time", Head: []string{"block", "from", "rows", "reward", "s.e."}}
		c := figure.Curve{Name: "mean reward", Style: figure.Category(0), Kind: figure.Barred}
		for i, b := range r.Blocks {
			t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), b.From, fmt.Sprint(b.Rows),
				fmt.Sprintf(plain, logs.Places(b.SE), b.Reward), fmt.Sprintf("%.2g", b.SE)})
			c.Add(float64(i+1), b.Reward, b.Reward-logs.Half(b.SE), b.Reward+logs.Half(b.SE),
				strings.TrimSpace(fmt.Sprintf("%d rows %s", b.Rows, b.From)))
		}
		s.Figures = append(s.Figures, html.Figure{Caption: "Reward over time, 95 % intervals, by blocks of rows in their order.",
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

// readTables say how columns were read.
func readTables(r inspect.Report) []html.Table {
	if len(r.Columns) == 0 {
		return nil
	}
	read := html.Table{Caption: "Columns as they were read",
		Head: []string{"column", "role", "type", "values", "missing"}}
	for _, c := range r.Columns[:min(len(r.Columns), 10*columnsListed)] {
		read.Rows = append(read.Rows, columnRow(c))
	}
	return []html.Table{read}
}

// histogramFigure draws the classes as bars, by a logarithmic axis where they are of equal ratio.
func histogramFigure(h inspect.Histogram) html.Figure {
	c := figure.Curve{Name: h.Title, Style: figure.Category(0), Kind: figure.Bars}
	n := len(h.Counts)
	for j, count := range h.Counts {
		low, high := h.Edges[j], h.Edges[j+1]
		if low == high { // all are one value
			low, high = low-.5*max(.01, low), high+.5*max(.01, high)
		}
		c.Add((low+high)/2, float64(count), low, high, "")
	}
	p := &figure.Panel{X: h.Title, Y: "rows", Curves: []figure.Curve{c},
		LogX: n > 1 && h.Edges[0] > 0 && h.Edges[n]/h.Edges[0] > 50}
	return html.Figure{Caption: "How many rows have which " + h.Title + ".",
		Figure: figure.Figure{Name: "histogram", Panels: [][]*figure.Panel{{p}}}}
}

package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// columns is the width of the text.
const columns = 80

// trailing is the blanks at the ends of lines.
var trailing = regexp.MustCompile(`(?m) +$`)

// most actions listed in the text; JSON has all.
const listed = 12

// Inspection prints a report for a terminal of 80 columns.
func Inspection(w io.Writer, r inspect.Report) error {
	var b strings.Builder
	b.WriteString(verdictOn(r))
	wrap(&b, "", rowsOf(r))
	for _, f := range r.Against() {
		fmt.Fprintf(&b, "\n%s: %s\n", f.Severity, f.Check)
		wrap(&b, "  measured  ", f.Measured)
		wrap(&b, "  means     ", f.Means)
		wrap(&b, "  do        ", f.Do)
	}
	if r.Count(inspect.Fine) > 0 {
		b.WriteString("\nfine\n")
	}
	for _, f := range r.Findings {
		if f.Severity == inspect.Fine {
			text := f.Measured
			if f.Means != "" {
				text += "; " + f.Means
			}
			wrap(&b, fmt.Sprintf("  %-25s ", f.Check), text)
		}
	}
	if len(r.Columns) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(cut(columnsRead(r.Columns), columnsListed+2, "columns"), "\n"))
	}
	for _, h := range append(slices.Clone(r.Propensities), r.Weights...) {
		classes(&b, h)
	}
	byAction(&b, r)
	if len(r.Blocks) > 1 {
		most := r.RewardMin
		for _, s := range r.Blocks {
			most = max(most, s.Reward)
		}
		b.WriteString("\nreward over time\n")
		for _, s := range r.Blocks {
			from := cmp.Or(s.From, fmt.Sprintf("%d rows", s.Rows))
			half := logs.Half(s.SE)
			d := logs.Places(half)
			fmt.Fprintf(&b, "  %-20s %8.*f ± %-8.*f %s\n", from, d, s.Reward, d, half,
				bar((s.Reward-r.RewardMin)/max(most-r.RewardMin, 1e-300), 37))
		}
	}
	_, err := io.WriteString(w, trailing.ReplaceAllString(b.String(), ""))
	return err
}

// columnsListed is how many columns of a log the text has.
const columnsListed = 40

// columnsRead are lines that say how columns were read, below a head.
func columnsRead(all []inspect.Column) (lines []string) {
	rows := [][]string{{"column", "role", "type", "values", "missing"}}
	for _, c := range all {
		rows = append(rows, columnRow(c))
	}
	for _, row := range rows {
		name := []rune(row[0])
		if len(name) > 22 {
			name = append(name[:21], '…')
		}
		line := fmt.Sprintf("  %-22s %-12s %-8s %-22s %s", string(name), row[1], row[2], row[3], row[4])
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// columnRow is a column in words.
func columnRow(c inspect.Column) []string {
	values, missing := "", ""
	if c.Categories > 0 {
		values = fmt.Sprintf("%d different", c.Categories)
	} else if c.Min != nil {
		values = fmt.Sprintf("%.4g to %.4g", *c.Min, *c.Max)
	}
	if c.Missing > 0 {
		missing = fmt.Sprint(c.Missing)
	}
	return []string{c.Name, c.Role, c.Type, values, missing}
}

// byAction lists the actions of the most rows.
func byAction(b *strings.Builder, r inspect.Report) {
	if len(r.ByAction) == 0 {
		return
	}
	by := slices.Clone(r.ByAction)
	slices.SortStableFunc(by, func(a, b inspect.Action) int { return b.Rows - a.Rows })
	most, width, expected := r.RewardMin, 6, false
	by, rest := by[:min(listed, len(by))], max(0, len(by)-listed)
	for _, a := range by {
		most = max(most, a.Reward)
		width = max(width, min(14, utf8.RuneCountInString(a.Name)))
		expected = expected || a.Expected > 0
	}
	fmt.Fprintf(b, "\n  %-*s %9s", width, "action", "rows")
	if expected {
		fmt.Fprintf(b, " %9s", "expected")
	}
	fmt.Fprintf(b, " %6s %8s\n", "z", "reward")
	for _, a := range by {
		name := []rune(a.Name)
		if len(name) > 14 {
			name = append(name[:13], '…')
		}
		fmt.Fprintf(b, "  %-*s %9d", width, string(name), a.Rows)
		if expected {
			fmt.Fprintf(b, " %9.6g", math.Round(a.Expected*10)/10)
		}
		half := logs.Half(a.SE)
		d := logs.Places(half)
		fmt.Fprintf(b, " %6.3g %8.*f ± %-8.*f %s\n", a.Z, d, a.Reward, d, half,
			bar((a.Reward-r.RewardMin)/max(most-r.RewardMin, 1e-300), 16))
	}
	if rest > 0 {
		fmt.Fprintf(b, "  and %d more\n", rest)
	}
}

// wrap writes words in lines of at most 80 columns; lines after the first are
// indented as far as the first line's head.
func wrap(b *strings.Builder, head, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	lines := table.Wrap(columns-len(indent), strings.Join(strings.Fields(text), " "))
	fmt.Fprintf(b, "%s%s\n", head, strings.Join(lines, "\n"+indent))
}

// classes draws a histogram as lines of at most 80 columns.
func classes(b *strings.Builder, h inspect.Histogram) {
	most := 1
	for _, c := range h.Counts {
		most = max(most, c)
	}
	fmt.Fprintf(b, "\n%s\n", h.Title)
	for j, c := range h.Counts {
		fmt.Fprintf(b, "  %9.4g to %-9.4g %9d %s\n", h.Edges[j], h.Edges[j+1], c, bar(float64(c)/float64(most), 44))
	}
}

// bar draws a share of a width in eighths of a column.
func bar(share float64, width int) string {
	eighths := int(math.Round(share * float64(width) * 8))
	s := strings.Repeat("█", eighths/8)
	if r := eighths % 8; r > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[r-1])
	} else if eighths == 0 && share > 0 {
		s = "▏"
	}
	return s
}

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
	for _, f := range r.Against() {
		against = append(against, fmt.Sprintf("%s (%s)", f.Check, f.Severity))
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

package render

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"opl/train/inspect"
	"opl/train/logs"
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
	for _, f := range r.Findings {
		if f.Severity > inspect.Fine {
			printFinding(&b, f)
		}
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
			from := s.From
			if from == "" {
				from = fmt.Sprintf("%d rows", s.Rows)
			}
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
	b.WriteString(head)
	at := len(indent)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > columns:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteByte('\n')
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

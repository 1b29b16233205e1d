// Package render shows what other packages compute: as text, Markdown, CSV, JSON, pages and
// figures. Packages that compute return values and do not import it. A file is what is shown of one
// kind of result. Use it in a program that should print what opl prints.
package render

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// document prints a result as text, Markdown or LaTeX.
type document struct {
	w      io.Writer
	format table.Format
}

// para prints a paragraph, which is a line of text.
func (d document) para(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch d.format {
	case table.Markdown:
		fmt.Fprintln(d.w)
	case table.LaTeX: // a paragraph of its own
		text = "\n" + table.Escape(text)
	}
	fmt.Fprintln(d.w, text)
}

// paras prints a paragraph a text.
func (d document) paras(prefix string, texts []string) {
	for _, t := range texts {
		d.para("%s%s", prefix, t)
	}
}

// table prints rows below a head, text in at most 80 columns where that is possible.
func (d document) table(head []string, rows [][]string) error {
	return table.WriteWithin(d.w, d.format, min(table.Width(d.w), 80), head, rows)
}

// Plot draws a figure to w. The format is png, svg or pdf. A figure without panels is an error.
func Plot(w io.Writer, format string, f figure.Figure) error {
	if len(f.Panels) == 0 {
		return errors.New("render: there is nothing to draw: no number is above 0")
	}
	b, err := f.Encode(format, figure.ScreenDPI)
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// across is a curve of marks along lines, each with an interval, in the i-th colour.
func across(i int, name string) figure.Curve {
	c := figure.Curve{Name: name, Style: figure.Category(i), Kind: figure.Across}
	c.Dashes = nil
	return c
}

// whatPlays is a curve for what the logging policy earned, over the whole height.
func whatPlays(name string) figure.Curve {
	c := figure.Curve{Name: name, Style: figure.Reference, Kind: figure.Span}
	c.Dashes = nil
	return c
}

// lines is a figure of one panel, with names for y, and a legend of all its curves.
func lines(name, x string, labels []string, curves ...figure.Curve) figure.Figure {
	var key figure.Legend
	for _, c := range curves {
		key.Entries = append(key.Entries, figure.Entry{Label: c.Name, Style: c.Style})
	}
	panel := &figure.Panel{X: x, Lines: labels, Curves: curves}
	return figure.Figure{Name: name, Panels: [][]*figure.Panel{{panel}}, Legends: []figure.Legend{key},
		Height: vg.Inch}
}

// exact writes a number so that it reads back as the same.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Formats of values and of gains.
const plain, signed = "%.*f", "%+.*f"

// around writes a value, plain or signed, ± its error: two digits of the error, and as many decimals of the value.
func around(verb string, v, half float64) string {
	d := logs.Places(half)
	return fmt.Sprintf("%s ± %.*f", decimal(verb, d, v), d, half)
}

// decimal writes a value with d decimals: what rounds to 0 is no -0.
func decimal(verb string, d int, v float64) string {
	if 2*math.Abs(v) < math.Pow10(-d) {
		v = 0
	}
	return fmt.Sprintf(verb, d, v)
}

// logOf says what a log holds: its rows or lists, and of which actions their propensities are.
func logOf(r inspect.Report, actions string) string {
	rows := fmt.Sprintf("%d rows", r.Rows)
	if r.Lists > 0 {
		rows = fmt.Sprintf("%d lists of %d slots", r.Lists, r.Rows)
	}
	return fmt.Sprintf("%s, %s, %s", rows, actions, map[string]string{"none": "no propensities",
		"logged": "propensities of logged actions", "joint": "joint propensities of lists",
		"estimated": "estimated propensities", "all": "propensities of all actions",
		"derived": "propensities of logged actions, and so of all"}[r.Known])
}

// recorded makes a section of what is printed as Markdown, so that page and text say the same.
func recorded(title string, write func(io.Writer, table.Format) error) html.Section {
	var rec table.Recorder
	_ = write(&rec, table.Markdown) // a recorder takes all
	return html.Recorded(title, &rec)
}

// rowsText says how many rows and groups there are.
func rowsText(rows, groups int) string {
	if groups < rows {
		return fmt.Sprintf("%d rows in %d groups", rows, groups)
	}
	return fmt.Sprintf("%d rows", rows)
}

// meanReward says what values are.
func meanReward(low, high float64) string {
	if can := (logs.Units{Low: low, High: high}).Range(); can != "" {
		return "mean reward, which can be " + can
	}
	return "mean reward in [0, 1]"
}

// factor writes a Γ, rounded down to two digits: the claim holds at the printed value.
func factor(gamma float64) string { return fmt.Sprintf("%.2f", math.Floor(100*gamma+1e-6)/100) }

// percent writes the level 1 − δ of intervals.
func percent(delta float64) string { return strconv.FormatFloat(100*(1-delta), 'g', 4, 64) + " %" }

// capital is a sentence that begins with a capital.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

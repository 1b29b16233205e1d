package render

import (
	"fmt"
	"io"
	"math"
	"strings"

	"opl/train/explain"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// shownLeaves and shownColumns are how many a text shows; JSON has all.
const (
	shownLeaves  = 8
	shownColumns = 12
)

// Explanation prints what a policy does on a log.
func Explanation(w io.Writer, e *explain.Explanation) error {
	d := document{w, table.Text}
	d.para("%s", explained(e))
	d.paras("note: ", e.Notes)
	for _, part := range explanationParts(e) {
		d.para("\n%s", part.title)
		if part.text != "" {
			d.para("%s", part.text)
		}
		if part.code != "" {
			d.para("\n%s", strings.TrimRight(part.code, "\n"))
		}
		if len(part.rows) > 0 {
			fmt.Fprintln(w)
			if err := d.table(part.head, part.rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// explained is the policy in a sentence.
func explained(e *explain.Explanation) string {
	return fmt.Sprintf("The policy earns about %.4g, %+.4g ± %.2g beside the logging policy (doubly robust, on %d "+
		"of %d rows).", e.Reward, e.Gain, 2*e.GainSE, e.Judged, e.Rows)
}

// explanationPart is a part of an explanation: text, code and a table.
type explanationPart struct {
	title, text, code string
	head              []string
	rows              [][]string
}

func explanationParts(e *explain.Explanation) []explanationPart {
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	gain := func(v, se float64) string { return fmt.Sprintf("%+.3g ± %.2g", v, 2*se) }

	actions := explanationPart{title: "What is played", head: []string{"action", "policy", "logging policy"},
		text: fmt.Sprintf("The policy plays what was logged with probability %.2f on average.", e.Agreement)}
	for _, a := range e.Actions {
		actions.rows = append(actions.rows, []string{a.Name, share(a.Policy), share(a.Logging)})
	}
	rules := explanationPart{title: "The policy as rules", text: "The policy is this tree.", code: e.Surrogate.Rules}
	if !e.Surrogate.Exact {
		rules.text = fmt.Sprintf("A tree that plays the policy's most likely action in %s of the rows that it was not "+
			"learned from.", share(e.Surrogate.Fidelity))
	}
	where := explanationPart{title: "Where it differs most from the logging policy",
		head: []string{"where", "rows", "plays", "policy", "logging", "gain"}}
	for _, l := range e.Surrogate.Leaves[:min(len(e.Surrogate.Leaves), shownLeaves)] {
		where.rows = append(where.rows, []string{l.Where, share(l.Share), l.Action, share(l.Policy), share(l.Logging),
			gain(l.Gain, l.SE)})
	}
	columns := explanationPart{title: "What it reads", head: []string{"column", "loss"},
		text: "Loss of reward when the column has the values of other rows."}
	for _, c := range e.Importance[:min(len(e.Importance), shownColumns)] {
		columns.rows = append(columns.rows, []string{c.Name, gain(c.Loss, c.SE)})
	}
	unlike := explanationPart{title: "Contexts unlike those it learned from",
		text: share(e.Unlike.Share) + " of the rows have some.", head: []string{"column", "what", "rows"}}
	for _, c := range e.Unlike.Columns[:min(len(e.Unlike.Columns), shownColumns)] {
		unlike.rows = append(unlike.rows, []string{c.Name, c.What, share(c.Rows)})
	}
	parts := []explanationPart{actions, rules, where, columns}
	if len(e.Segments) > 0 {
		by := explanationPart{title: "Gain by segment", head: []string{"segment", "rows", "gain", "at least"},
			text: fmt.Sprintf("Gain over the logging policy. The lower bounds hold together with probability %v.",
				1-e.Delta)}
		for _, s := range e.Segments {
			least := "—"
			if s.AtLeast != nil {
				least = fmt.Sprintf("%+.3g", *s.AtLeast)
			}
			by.rows = append(by.rows, []string{s.Column + " " + s.Name, fmt.Sprint(s.Rows), gain(s.Gain, s.SE), least})
		}
		parts = append(parts, by)
	}
	return append(parts, unlike)
}

// ExplanationPage is an explanation to be shared.
func ExplanationPage(e *explain.Explanation) html.Page {
	p := html.Page{Question: "What does this policy do?", Subject: fmt.Sprintf("%d rows", e.Rows),
		Verdict: explained(e), Data: e}
	for _, part := range explanationParts(e) {
		s := recorded(part.title, func(w io.Writer, f table.Format) error {
			if len(part.rows) == 0 {
				return nil
			}
			return table.Write(w, f, part.head, part.rows)
		})
		s.Title, s.Code = part.title, part.code
		if part.text != "" {
			s.Text = append([]string{part.text}, s.Text...)
		}
		switch part.title {
		case "What it reads":
			s.Figures = explanationFigure("columns", "loss of reward", min(len(e.Importance), shownColumns),
				func(i int) (string, float64, float64) { c := e.Importance[i]; return c.Name, c.Loss, c.SE }, nil)
		case "Gain by segment":
			s.Figures = explanationFigure("segments", "gain over the logging policy", len(e.Segments),
				func(i int) (string, float64, float64) {
					c := e.Segments[i]
					return c.Column + " " + c.Name, c.Gain, c.SE
				}, func(i int) *float64 { return e.Segments[i].AtLeast })
		}
		p.Sections = append(p.Sections, s)
	}
	p.Sections[0].Notes = append(p.Sections[0].Notes, e.Notes...)
	return p
}

// explanationFigure draws a line an item: the estimate with two standard errors, and the lower bound where there is
// one.
func explanationFigure(name, x string, n int, of func(i int) (string, float64, float64),
	bound func(i int) *float64) []html.Figure {
	if n == 0 {
		return nil
	}
	estimate, least := across(0, "estimate, ± 2 standard errors"), across(1, "guaranteed at least")
	var names []string
	for i := range n {
		item, v, se := of(i)
		names = append(names, item)
		estimate.Add(v, .12-float64(i), v-2*se, v+2*se, item)
		if bound != nil && bound(i) != nil {
			least.Add(*bound(i), -.12-float64(i), math.NaN(), math.NaN(), item)
		}
	}
	curves := []figure.Curve{estimate}
	if len(least.X) > 0 {
		curves = append(curves, least)
	}
	return []html.Figure{{Figure: lines(name, x, names, curves...), Caption: capital(x) + "."}}
}

package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"opl/train/explain"
	"opl/train/logs"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// shownActions, shownLeaves and shownColumns are how many a text shows; JSON has all.
const (
	shownActions = 40
	shownLeaves  = 8
	shownColumns = 12
)

// Explanation prints what a policy does on a log.
func Explanation(w io.Writer, e *explain.Explanation) error {
	d := document{w, table.Text}
	d.para("%s", explained(e))
	d.paras("note: ", e.Notes)
	for _, s := range explanationSections(e) {
		d.para("\n%s", s.Title)
		d.paras("", s.Text)
		if s.Code != "" {
			d.para("\n%s", strings.TrimRight(s.Code, "\n"))
		}
		for _, t := range s.Tables {
			fmt.Fprintln(w)
			if err := d.table(t.Head, t.Rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// BriefExplanation prints what the policy earns, what it plays and where, what it reads, and whom it serves worst.
func BriefExplanation(w io.Writer, e *explain.Explanation) error {
	var b brief
	fmt.Fprintln(&b, strings.TrimSuffix(explained(e), ".")+"; next: opl certify, for a guarantee")
	facts := behaviour(e, true)
	if len(e.Segments) > 0 {
		facts = append(facts, fact("segments", "%d, %s", len(e.Segments), worst(e.Segments)))
	}
	printFacts(&b.Builder, append(facts,
		fact("unlike", "%s of the rows have contexts unlike those it learned from", share(e.Unlike.Share)),
		fact("as rules", "%s", asRules(e))))
	if e.Surrogate.Exact {
		fmt.Fprintf(&b, "\n%s\n\n", strings.TrimRight(e.Surrogate.Rules, "\n"))
	}
	for _, n := range e.Notes {
		fmt.Fprintln(&b, "note: "+n)
	}
	fmt.Fprintln(&b, "±: 95 % intervals, no guarantee. Tables and rules: --verbose")
	return b.to(w)
}

// behaviour says what a policy plays beside the log, where it differs most, and what it reads. Rows that taught the
// policy flatter its gains, which are then left out.
func behaviour(e *explain.Explanation, gains bool) (facts []html.Fact) {
	actions := mostPlayed(e)
	some := func(n int, text func(i int) string) string {
		var all []string
		for i := range min(n, namedBrief) {
			all = append(all, text(i))
		}
		if n > namedBrief {
			all = append(all, fmt.Sprintf("and %d more", n-namedBrief))
		}
		return strings.Join(all, ", ")
	}
	facts = append(facts, fact("plays", "%s", some(len(actions), func(i int) string {
		a := actions[i]
		return fmt.Sprintf("%s %s (logged %s)", a.Name, share(a.Policy), share(a.Logging))
	})))
	if len(e.Surrogate.Leaves) > 0 && e.Surrogate.Leaves[0].Where != "" { // one leaf has what is played
		l := e.Surrogate.Leaves[0]
		f := fact("differs", "most where %s: plays %s in %s (logged %s)", l.Where, l.Action, share(l.Policy),
			share(l.Logging))
		if gains {
			f.Value += ", gain " + gained(l.Gain, l.SE)
		}
		facts = append(facts, f)
	}
	if len(e.Importance) == 0 {
		return append(facts, fact("reads", "no column"))
	}
	reads, last := func(i int) string { return e.Importance[i].Name }, ": the largest effect first"
	if gains {
		reads = func(i int) string {
			return e.Importance[i].Name + " " + gained(e.Importance[i].Loss, e.Importance[i].SE)
		}
		last = "; lost with values of other rows"
	}
	return append(facts, fact("reads", "%s%s", some(len(e.Importance), reads), last))
}

// mostPlayed are the actions, those that the policy plays most first.
func mostPlayed(e *explain.Explanation) []explain.Action {
	return slices.SortedStableFunc(slices.Values(e.Actions), func(a, b explain.Action) int {
		return cmp.Compare(b.Policy, a.Policy)
	})
}

// namedBrief is how many actions and columns the short text names.
const namedBrief = 5

// share writes a share in percent, and gained a gain ± half of its 95 % interval.
func share(v float64) string {
	if 0 < v && v < .0005 {
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}

func gained(v, se float64) string { return around(signed, v, logs.Half(se)) }

// worst says which segment gains the least, of those that have an interval: of few rows, chance says which.
func worst(all []explain.Segment) string {
	told := slices.DeleteFunc(slices.Clone(all), func(s explain.Segment) bool { return s.SE == nil })
	if len(told) == 0 {
		return "each of too few rows for an interval"
	}
	s := slices.MinFunc(told, func(a, b explain.Segment) int { return cmp.Compare(a.Gain, b.Gain) })
	least := ""
	if d := logs.Places(logs.Half(*s.SE)); s.AtLeast != nil {
		least = fmt.Sprintf(", at least %+.*f", d, logs.Below(*s.AtLeast, d))
	}
	return fmt.Sprintf("of which %s %s gains the least: %s%s", s.Column, s.Name, gained(s.Gain, *s.SE), least)
}

// asRules says how well the tree plays like the policy.
func asRules(e *explain.Explanation) string {
	if e.Surrogate.Exact {
		return "The policy is this tree."
	}
	return fmt.Sprintf("A tree that plays the policy's most likely action in %s of the rows that it was not "+
		"learned from.", share(e.Surrogate.Fidelity))
}

// explained is the policy in a sentence.
func explained(e *explain.Explanation) string {
	beside, flattered, half := "more", "", logs.Half(e.GainSE)
	if e.Gain < 0 {
		beside = "less"
	}
	if e.Flattered {
		flattered = ", which flatter it if they taught it"
	}
	return fmt.Sprintf("The policy earns about %.*f, %s %s than the logging policy (doubly robust, on %d of %d rows%s).",
		logs.Places(half), e.Reward, around(plain, math.Abs(e.Gain), half), beside, e.Judged, e.Rows, flattered)
}

// explanationSections are what text and page say, without figures.
func explanationSections(e *explain.Explanation) (all []html.Section) {
	add := func(title, text string, head []string, rows [][]string) {
		s := html.Section{Title: title}
		if text != "" {
			s.Text = []string{text}
		}
		if len(rows) > 0 {
			s.Tables = []html.Table{{Head: head, Rows: rows}}
		}
		all = append(all, s)
	}
	var rows [][]string
	played := fmt.Sprintf("The policy plays what was logged with probability %.2g on average.", e.Agreement)
	for i, a := range mostPlayed(e) {
		if i == shownActions {
			played += fmt.Sprintf(" The table has the %d of %d actions that it plays most.", i, len(e.Actions))
			break
		}
		rows = append(rows, []string{a.Name, share(a.Policy), share(a.Logging)})
	}
	add("What is played", played, []string{"action", "policy", "logging policy"}, rows)
	add("The policy as rules", asRules(e), nil, nil)
	all[1].Code, rows = e.Surrogate.Rules, nil
	for _, l := range e.Surrogate.Leaves[:min(len(e.Surrogate.Leaves), shownLeaves)] {
		rows = append(rows, []string{l.Where, share(l.Share), l.Action, share(l.Policy), share(l.Logging),
			gained(l.Gain, l.SE)})
	}
	add("Where it differs most from the logging policy", "", []string{"where", "rows", "plays", "policy", "logging",
		"gain"}, rows)
	rows = nil
	for _, c := range e.Importance[:min(len(e.Importance), shownColumns)] {
		rows = append(rows, []string{c.Name, gained(c.Loss, c.SE)})
	}
	add(whatItReads, "Loss of reward when the column has the values of other rows.", []string{"column", "loss"}, rows)
	if rows = nil; len(e.Segments) > 0 {
		for _, s := range e.Segments {
			least := "—"
			if s.AtLeast != nil {
				least = fmt.Sprintf("%+.3g", *s.AtLeast)
			}
			gain := fmt.Sprintf("%+.2g, too few rows for an interval", s.Gain)
			if s.SE != nil {
				gain = gained(s.Gain, *s.SE)
			}
			rows = append(rows, []string{s.Column + " " + s.Name, fmt.Sprint(s.Rows), gain, least})
		}
		add(bySegment, fmt.Sprintf("Gain over the logging policy. The lower bounds hold together with probability %v.",
			1-e.Delta), []string{"segment", "rows", "gain", "at least"}, rows)
	}
	rows = nil
	for _, c := range e.Unlike.Columns[:min(len(e.Unlike.Columns), shownColumns)] {
		rows = append(rows, []string{c.Name, c.What, share(c.Rows)})
	}
	add("Contexts unlike those it learned from", share(e.Unlike.Share)+" of the rows have some.",
		[]string{"column", "what", "rows"}, rows)
	return all
}

// Sections that have a figure in the page.
const (
	whatItReads = "What it reads"
	bySegment   = "Gain by segment"
)

// ExplanationPage is an explanation to be shared.
func ExplanationPage(e *explain.Explanation) html.Page {
	p := html.Page{Question: "What does this policy do?", Subject: fmt.Sprintf("%d rows", e.Rows),
		Verdict: explained(e), Data: e, Sections: explanationSections(e)}
	p.Sections[0].Notes = e.Notes
	var columns []explain.Segment
	for _, c := range e.Importance[:min(len(e.Importance), shownColumns)] {
		columns = append(columns, explain.Segment{Name: c.Name, Gain: c.Loss, SE: &c.SE})
	}
	for i := range p.Sections {
		switch s := &p.Sections[i]; s.Title {
		case whatItReads:
			s.Figures = explanationFigure("columns", "loss of reward", columns)
		case bySegment:
			s.Figures = explanationFigure("segments", "gain over the logging policy", e.Segments)
		}
	}
	return p
}

// explanationFigure draws a line for each item: the estimate with its 95 % interval, and the lower bound if it has
// one.
func explanationFigure(name, x string, items []explain.Segment) []html.Figure {
	if len(items) == 0 {
		return nil
	}
	estimate, least := across(0, "estimate, 95 % interval"), across(1, "guaranteed at least")
	var names []string
	for i, s := range items {
		item := strings.TrimSpace(s.Column + " " + s.Name)
		names = append(names, item)
		half := math.NaN()
		if s.SE != nil {
			half = logs.Half(*s.SE)
		}
		estimate.Add(s.Gain, .12-float64(i), s.Gain-half, s.Gain+half, item)
		if s.AtLeast != nil {
			least.Add(*s.AtLeast, -.12-float64(i), math.NaN(), math.NaN(), item)
		}
	}
	curves := []figure.Curve{estimate}
	if len(least.X) > 0 {
		curves = append(curves, least)
	}
	return []html.Figure{{Figure: lines(name, x, names, curves...), Caption: capital(x) + "."}}
}

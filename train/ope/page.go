package ope

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// Page is the result to be shared.
func (r Result) Page() html.Page {
	r = r.InUnits()
	p := html.Page{Question: "What would other policies have earned?", Subject: rowsText(r.Rows, r.Groups), Data: r}
	estimates := recorded("Estimates", func(w *table.Recorder) error { return r.Write(w, table.Markdown) })
	captions := []string{"Values and gains over the logging policy; * is the estimator to believe", "Weights π/π₀", "Differences on the same rows, first less second"}
	for i := range estimates.Tables {
		estimates.Tables[i].Caption = captions[min(i, len(captions)-1)]
	}
	estimates.Figures = []html.Figure{{Caption: fmt.Sprintf("What each policy would have earned, by each estimator, with its %.4g %% interval (%s), beside what the logging policy earned. Open marks are biased: their intervals are of what they estimate.", 100*(1-r.Delta), r.Interval), Figure: r.Figure()}}
	p.Sections = []html.Section{estimates}

	var best *Policy
	var value Estimate
	var shown, believed []string
	for i, q := range r.Policies {
		if g := q.Guarantee; g != nil {
			if g.Proven() {
				shown = append(shown, q.Name)
			}
			p.Sections = append(p.Sections, guaranteed(q.Name, *g))
		}
		if at := slices.IndexFunc(q.Estimates, func(e Estimate) bool { return e.Estimator == q.Recommended }); at >= 0 {
			believed = append(believed, q.Name)
			if e := q.Estimates[at]; best == nil || e.Value > value.Value {
				best, value = &r.Policies[i], e
			}
		}
	}
	once(p.Sections)
	if i := slices.IndexFunc(r.Policies, func(q Policy) bool { return q.Guarantee != nil }); i >= 0 {
		p.Sections = append(p.Sections, r.Policies[i].Guarantee.Assumptions())
	}
	if best == nil {
		p.Tone, p.Verdict = html.Bad, "None of these estimates is to be believed: the log says too little of what the policies do."
		return p
	}
	most := ""
	if len(believed) > 1 {
		most = fmt.Sprintf(", the most of %d that the log can tell of", len(believed))
	}
	p.Tone, p.Verdict = html.Doubt, fmt.Sprintf("%s would have earned %.3f ± %.3f by %s%s; the logging policy earned %.3f ± %.3f. ",
		best.Name, value.Value, (value.High-value.Low)/2, value.Label(), most, r.Logging.Value, (r.Logging.High-r.Logging.Low)/2)
	if shown == nil {
		p.Verdict += "None is shown to earn more."
	} else {
		p.Tone = html.Good
		p.Verdict += fmt.Sprintf("Shown to earn more, with probability %v: %s.", 1-r.Delta, strings.Join(shown, ", "))
	}
	return p
}

// rowsText says how many rows and groups there are.
func rowsText(rows, groups int) string {
	if groups < rows {
		return fmt.Sprintf("%d rows in %d groups", rows, groups)
	}
	return fmt.Sprintf("%d rows", rows)
}

// recorded is a section of what is written as Markdown.
func recorded(title string, write func(*table.Recorder) error) html.Section {
	var rec table.Recorder
	_ = write(&rec) // a recorder takes all
	return html.Recorded(title, &rec)
}

// guaranteed is what is guaranteed of a policy.
func guaranteed(name string, g provenance.Statement) html.Section {
	s := g.Section()
	s.Title = "What is guaranteed of " + name
	s.Text = append([]string{g.Sentence()}, s.Text...)
	return s
}

// once leaves notes out that stand in a section before.
func once(sections []html.Section) {
	seen := map[string]bool{}
	for i := range sections {
		sections[i].Notes = slices.DeleteFunc(sections[i].Notes, func(n string) bool {
			again := seen[n]
			seen[n] = true
			return again
		})
	}
}

// Page is the selection to be shared.
func (s Selection) Page() html.Page {
	s = s.InUnits()
	p := html.Page{Question: "Which of these policies is to be shipped?", Subject: rowsText(s.Rows, s.Groups), Verdict: strings.ToUpper(s.Because[:1]) + s.Because[1:] + ".",
		Tone: map[Decision]html.Tone{Ship: html.Good, Keep: html.Bad, TooFew: html.Doubt}[s.Decision], Data: s}
	targets := recorded("The policies", func(w *table.Recorder) error { return s.Write(w, table.Markdown) })
	targets.Tables[0].Caption = "By their lower bounds, the largest first"
	targets.Figures = []html.Figure{{Caption: "Estimates with their intervals, which guarantee nothing, and lower bounds, which hold together, beside what plays.", Figure: s.figure()}}
	p.Sections = []html.Section{targets}
	for _, t := range s.Targets {
		if t.statement != nil {
			p.Sections = append(p.Sections, guaranteed(t.Name, *t.statement))
		}
	}
	once(p.Sections)
	if i := slices.IndexFunc(s.Targets, func(t Candidate) bool { return t.statement != nil }); i >= 0 {
		p.Sections = append(p.Sections, s.Targets[i].statement.Assumptions())
	}
	return p
}

// figure draws a line a target: the estimate, and the lower bound.
func (s Selection) figure() figure.Figure {
	play := figure.Reference
	play.Dashes = nil
	log := figure.Curve{Name: "what plays", Style: play, Kind: figure.Span, X: []float64{s.Logging.Value}, Y: []float64{0}, Low: []float64{s.Logging.Low}, High: []float64{s.Logging.High}}
	estimate := figure.Curve{Name: "estimate", Style: figure.Category(0), Kind: figure.Across}
	bound := figure.Curve{Name: "guaranteed at least", Style: figure.Category(1), Kind: figure.Across}
	estimate.Dashes, bound.Dashes = nil, nil
	p := &figure.Panel{X: "mean reward in [0, 1]"}
	for i, t := range s.Targets {
		p.Lines = append(p.Lines, t.Name)
		if e := t.Estimate; e != nil {
			estimate.X, estimate.Y = append(estimate.X, e.Value), append(estimate.Y, .12-float64(i))
			estimate.Low, estimate.High = append(estimate.Low, e.Low), append(estimate.High, e.High)
			estimate.Texts = append(estimate.Texts, t.Name+", "+e.Label())
		}
		if t.AtLeast != nil {
			bound.X, bound.Y = append(bound.X, *t.AtLeast), append(bound.Y, -.12-float64(i))
			bound.Texts = append(bound.Texts, t.Name)
		}
	}
	var key figure.Legend
	for _, c := range []figure.Curve{log, estimate, bound} {
		p.Curves = append(p.Curves, c)
		key.Entries = append(key.Entries, figure.Entry{Label: c.Name, Style: c.Style})
	}
	return figure.Figure{Name: "selection", Panels: [][]*figure.Panel{{p}}, Legends: []figure.Legend{key}, Height: vg.Inch}
}

package render

import (
	"io"

	"gonum.org/v1/plot/vg"

	"opl/train/ope"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// SelectionPage is a selection to be shared.
func SelectionPage(s ope.Selection) html.Page {
	s = s.InUnits()
	tone := map[ope.Decision]html.Tone{ope.Ship: html.Good, ope.Keep: html.Bad, ope.TooFew: html.Doubt}[s.Decision]
	p := html.Page{Question: "Which of these policies is to be shipped?", Subject: rowsText(s.Rows, s.Groups),
		Verdict: capital(s.Because) + ".", Tone: tone, Data: s}
	targets := recorded("The policies", func(w io.Writer, f table.Format) error { return Selection(w, f, s) })
	targets.Tables[0].Caption = "By their lower bounds, the largest first"
	targets.Figures = []html.Figure{{Figure: selectionFigure(s), Caption: "Estimates with their intervals, " +
		"which guarantee nothing, and lower bounds, which hold together, beside what plays."}}
	var statements []named
	for _, t := range s.Targets {
		statements = append(statements, named{t.Name, t.Statement})
	}
	p.Sections = append([]html.Section{targets}, guaranteed(statements)...)
	return p
}

// selectionFigure draws a line a target: the estimate, and the lower bound.
func selectionFigure(s ope.Selection) figure.Figure {
	estimate := figure.Curve{Name: "estimate", Style: figure.Category(0), Kind: figure.Across}
	bound := figure.Curve{Name: "guaranteed at least", Style: figure.Category(1), Kind: figure.Across}
	estimate.Dashes, bound.Dashes = nil, nil
	var names []string
	for i, t := range s.Targets {
		names = append(names, t.Name)
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
	f := lines("selection", "mean reward in [0, 1]", names, []figure.Curve{onPolicy("what plays", s.Logging),
		estimate, bound})
	f.Height = vg.Inch
	return f
}

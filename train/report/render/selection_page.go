package render

import (
	"io"
	"math"

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
	plays, estimate, bound := whatPlays("what plays"), across(0, "estimate"), across(1, "guaranteed at least")
	plays.Add(s.Logging.Value, 0, s.Logging.Low, s.Logging.High, "")
	var names []string
	for i, t := range s.Targets {
		names = append(names, t.Name)
		if e := t.Estimate; e != nil {
			estimate.Add(e.Value, .12-float64(i), e.Low, e.High, t.Name+", "+e.Label())
		}
		if t.AtLeast != nil {
			bound.Add(*t.AtLeast, -.12-float64(i), math.NaN(), math.NaN(), t.Name)
		}
	}
	return lines("selection", "mean reward in [0, 1]", names, plays, estimate, bound)
}

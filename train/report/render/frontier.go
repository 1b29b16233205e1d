package render

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// FrontierText prints a line a point of a path: what it earns more, and what the other outcome comes to.
func FrontierText(w io.Writer, f table.Format, p *pipeline.Frontier, files []string) error {
	d := document{w, f}
	head, rows := []string{"point", "λ", "gain", "guaranteed", "", "guaranteed", "answer"}, [][]string(nil)
	if files != nil {
		head = append(head, "file")
	}
	var lacks []string
	unproven := ""
	for i, q := range p.Points {
		row := []string{fmt.Sprint(i + 1), fmt.Sprintf("%.3g", q.Lambda), "—", "—", "—", "—", "—"}
		if q.Decision != nil {
			goal, other := q.Decision.Outcomes[0], q.Decision.Outcomes[1]
			lacks = lacking(q.Decision)
			head[4] = other.Column + ", " + other.Bounded
			for k, o := range []provenance.Outcome{goal, other} {
				row[2+2*k] = around(plain, o.Point, logs.Half(o.SE))
			}
			all := outcomes(q.Decision)
			row[3], row[5], row[6] = all[0][5], all[1][5], string(q.Decision.Answer)
		} else {
			unproven = q.Unproven
		}
		if files != nil {
			row = append(row, files[i])
		}
		rows = append(rows, row)
	}
	if f == table.Text {
		fmt.Fprintln(w, concludedPath(p, files))
	}
	if err := table.Write(w, f, head, rows); err != nil {
		return err
	}
	d.para("all bounds, of all %d points, hold together with probability %v: pick any; ±: 95 %% intervals; "+
		"answers need each bound alone", len(p.Points), 1-p.Delta)
	d.paras("", lacks)
	if unproven != "" {
		d.para("—: nothing is guaranteed: %s", unproven)
	}
	return nil
}

// concludedPath says in a line which point to take: of those that ship, the one with the largest guaranteed gain.
func concludedPath(p *pipeline.Frontier, files []string) string {
	best, ships := -1, 0
	for i, q := range p.Points {
		if q.Decision == nil || q.Decision.Answer != provenance.Ship {
			continue
		}
		if ships++; best < 0 || q.Decision.Outcomes[0].Together > p.Points[best].Decision.Outcomes[0].Together {
			best = i
		}
	}
	if best < 0 {
		return fmt.Sprintf("none of %d points is to ship; next: keep what plays, or log more rows", len(p.Points))
	}
	next := "--out, which writes the policies"
	if files != nil {
		next = "opl serve " + files[best]
	}
	return fmt.Sprintf("%d of %d points are to ship; point %d has the best bound on the gain; next: %s", ships,
		len(p.Points), best+1, next)
}

// FrontierFigure draws gain against the other outcome, by estimates and by what is guaranteed.
func FrontierFigure(p *pipeline.Frontier) figure.Figure {
	limit, estimate, bound := whatPlays("limit"), across(0, "estimate"), across(1, "guaranteed together")
	same := figure.Curve{Name: "of one policy", Style: figure.Style{Color: figure.Reference.Color, Width: vg.Points(.5),
		Marker: figure.Marker{Corners: -1}}}
	x := ""
	for i, q := range p.Points {
		if q.Decision == nil {
			continue
		}
		goal, other := q.Decision.Outcomes[0], q.Decision.Outcomes[1]
		x = other.Column + ", " + other.Bounded
		text := fmt.Sprintf("point %d, λ = %.3g", i+1, q.Lambda)
		estimate.Add(other.Point, goal.Point, math.NaN(), math.NaN(), text)
		bound.Add(other.Together, goal.Together, math.NaN(), math.NaN(), text)
		same.X = append(same.X, other.Point, other.Together, math.NaN())
		same.Y = append(same.Y, goal.Point, goal.Together, math.NaN())
		limit.X, limit.Y = []float64{other.Limit}, []float64{0}
	}
	if x == "" {
		return figure.Figure{Name: "frontier"}
	}
	f := lines("frontier", x, nil, limit, same, estimate, bound)
	f.Panels[0][0].Y, f.Height, f.Width = "gain of the reward", 2.6*vg.Inch, 5*vg.Inch
	return f
}

// FrontierPage returns a path to be shared; files are those of its policies, nil if none was written.
func FrontierPage(p *pipeline.Frontier, files []string) html.Page {
	s := recorded("The path", func(w io.Writer, f table.Format) error { return FrontierText(w, f, p, nil) })
	if f := FrontierFigure(p); f.Panels != nil {
		s.Figures = []html.Figure{{Figure: f, Caption: "What the policies of the path earn more than what logged the " +
			"rows, against the other outcome."}}
	}
	tone := html.Doubt
	if slices.ContainsFunc(p.Points, func(q pipeline.Point) bool {
		return q.Decision != nil && q.Decision.Answer == provenance.Ship
	}) {
		tone = html.Good
	}
	return html.Page{Question: "What does each outcome cost the other?", Tone: tone,
		Verdict:  capital(concludedPath(p, files)) + ".",
		Sections: []html.Section{s}, Data: p}
}

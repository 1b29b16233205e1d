package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"opl/train/explain"
	"opl/train/inspect"
	"opl/train/pipeline"
	"opl/train/report/figure"
	"opl/train/report/html"
)

// TrainingPage returns the report of a training, to be shared. The explanation may be nil.
func TrainingPage(l *pipeline.Learned, e *explain.Explanation) html.Page {
	p := html.Page{Question: "What was learned from this log, and what is guaranteed of it?",
		Subject: fmt.Sprintf("%d rows, %s", l.Training.Rows, actionsText(l.File)),
		Data: map[string]any{"training": l.Training, "certificate": l.Certificate, "unproven": l.Unproven,
			"worse": l.Worse, "log": l.Log}}
	learned := html.Section{Title: "What was learned", Facts: trainingFacts(l, nil)}
	var said []html.Section
	if l.Certificate == nil {
		p.Tone = html.Bad
		p.Verdict = fmt.Sprintf("A policy was learned, and nothing is guaranteed of it: %s.",
			strings.TrimSuffix(l.Unproven, "."))
		learned.Facts = append(learned.Facts, unproven(l))
	} else {
		s := l.Certificate.Statement()
		p.Tone, p.Verdict = toneOf(s), "A policy was learned. "+sentence(s)
		said = []html.Section{guaranteeSection(s), assumptions(s)}
		if d := s.Decided(); d != nil {
			p.Tone, p.Verdict = decisionTone(d), "A policy was learned. "+answer(d)
			said = append([]html.Section{decisionSection(d)}, said...)
		}
	}
	learned.Facts = append(learned.Facts, warnings(l)...)
	p.Sections = append([]html.Section{learned}, said...)
	if l.Worse {
		p.Tone = html.Bad
		p.Verdict += " By the estimate it earns less than what plays: keep that, or learn again."
	}
	if e != nil {
		p.Sections = append(p.Sections, ExplanationPage(e).Sections...)
	}
	if f := learningFigure(l.Training); len(f.Panels) > 0 {
		p.Sections = append(p.Sections, html.Section{Title: "How it was learned", Figures: []html.Figure{f}})
	}
	if len(l.Training.Divisions) > 0 {
		p.Sections = append(p.Sections, html.Section{Title: "Into how many bins", Figures: []html.Figure{
			binsFigure(l.Training)}})
	}
	if l.Log.Severity > inspect.Fine && p.Tone == html.Good {
		p.Tone = html.Doubt
		p.Verdict = "A policy was learned. Its bounds, below, assume what checks of the log doubt: see what they found."
	}
	checks := Checks(l.Log)
	checks.Tables = readTables(l.Log)
	p.Sections = append(p.Sections, checks)
	return p
}

// binsFigure draws what is promised against the number of windows that a range of numbers has room for.
func binsFigure(t pipeline.Training) html.Figure {
	c := figure.Curve{Name: "estimate, with its error", Style: figure.Category(0), Kind: figure.Barred}
	p := &figure.Panel{X: "bins", Y: "reward", LogX: true}
	for _, d := range t.Divisions {
		c.Add(float64(d.Bins), d.Value, d.Value-d.Error, d.Value+d.Error, "")
		p.At = append(p.At, float64(d.Bins))
	}
	p.Curves = []figure.Curve{c}
	return html.Figure{Caption: "The reward of the best policy of each number of bins, by rows that teach, and its " +
		"standard error on as many rows as certify. The largest reward less its error is taken.",
		Figure: figure.Figure{Name: "bins", Panels: [][]*figure.Panel{{p}},
			Legends: []figure.Legend{{Entries: []figure.Entry{{Label: c.Name, Style: c.Style}}}}}}
}

// learningFigure draws by epoch how many rows the weights are worth, and the objective: a panel for each stage, since
// objectives of different stages cannot be compared.
func learningFigure(t pipeline.Training) html.Figure {
	type key struct {
		stage string
		scale float64
	}
	var order []key
	value, worth := map[key]*figure.Curve{}, map[key]*figure.Curve{}
	last, epoch := key{}, 0
	again, seen, stages := map[key]int{}, map[key]bool{}, map[key]string{}
	for _, p := range t.Curve {
		k := key{p.Stage, p.Scale}
		if seen[k] && (k != last || p.Epoch <= epoch) { // the stage of another chunk
			again[k]++
		}
		seen[k], last, epoch = true, k, p.Epoch
		if again[k] > 0 {
			k.stage = fmt.Sprintf("%s %d", k.stage, again[k]+1)
		}
		if value[k] == nil {
			s := figure.Category(len(order))
			s.Marker = figure.NoMarker
			name := k.stage
			if k.scale != 0 {
				name = strings.TrimPrefix(fmt.Sprintf("%s, prior scale %.3g", name, k.scale), ", ")
			}
			if name == "" {
				name = "training"
			}
			value[k], worth[k] = &figure.Curve{Name: name, Style: s}, &figure.Curve{Name: name, Style: s}
			order, stages[k] = append(order, k), p.Stage
		}
		value[k].Add(float64(p.Epoch), float64(p.Objective), math.NaN(), math.NaN(), "")
		worth[k].Add(float64(p.Epoch), p.Effective, math.NaN(), math.NaN(), "")
	}
	objectives := map[string]*figure.Panel{}
	effective := &figure.Panel{Title: "rows that the weights are worth", X: "epoch", Whole: true}
	panels := []*figure.Panel{effective}
	var legend figure.Legend
	for _, k := range order {
		of := objectives[stages[k]]
		if of == nil {
			of = &figure.Panel{Title: strings.TrimSuffix("objective of "+stages[k], " of "), X: "epoch", Whole: true}
			objectives[stages[k]], panels = of, append(panels, of)
		}
		of.Curves, effective.Curves = append(of.Curves, *value[k]), append(effective.Curves, *worth[k])
		legend.Entries = append(legend.Entries, figure.Entry{Label: value[k].Name, Style: value[k].Style})
	}
	f := html.Figure{Caption: "Learning: the objective and the rows that the weights are worth, by epoch. " +
		"Objectives of different learners cannot be compared."}
	if len(order) > 0 {
		f.Figure = figure.Figure{Name: "learning", Panels: slices.Collect(slices.Chunk(panels, 2)),
			Legends: []figure.Legend{legend}, OwnY: true}
	}
	return f
}

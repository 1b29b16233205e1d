package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/report/figure"
)

// A layout turns the records of a figure, in canonical order, into its points and
// its drawing.
type layout func(n names, f experiment.Figure, recs []train.Record) ([]Point, figure.Figure)

// layoutOf is the layout of one of the paper's figures, or generic.
func layoutOf(name string) layout {
	switch name {
	case "fig1":
		return principles
	case "fig2", "fig3", "fig4":
		return weights
	case "fig5":
		return heuristics
	case "fig6":
		return tightness
	}
	return generic
}

const etaLabel = "η₀"

// view is what panels show, each of one data set.
type view struct {
	title, y string // y: of what is no reward
	lines    []line
}

type line struct {
	name string
	figure.Style
	points []Point
	is     func(Point) bool
}

func logged(pts []Point) line {
	return line{"logging policy", figure.Reference, pts, func(Point) bool { return true }}
}

var loggingEntry = figure.Entry{Label: "logging policy", Style: figure.Reference}

// openLegend says what open markers mean where the filled ones do not suffice.
var openLegend = figure.Legend{Title: "open and filled markers only tell curves apart"}

// lay sets the panels of views, by η₀: a row for each data set, with a column for each view,
// or, of a single view, at most three panels in a row.
func lay(d *figure.Figure, data []string, views ...view) {
	var panels []*figure.Panel
	for row, name := range data {
		for _, c := range views {
			p := &figure.Panel{Title: c.title, X: etaLabel, Y: "reward on " + datasetName(name)}
			switch {
			case c.y != "":
				p.Title, p.Y = datasetName(name)+": "+c.title, c.y
			case len(views) == 1:
				p.Title, p.Y = datasetName(name), "reward"
			case row > 0:
				p.Title = ""
			}
			if len(views) > 1 && row < len(data)-1 {
				p.X = ""
			}
			for _, l := range c.lines {
				p.Curves = append(p.Curves, join(l.name, l.Style, l.points,
					func(pt Point) bool { return pt.Dataset == name && l.is(pt) }))
			}
			panels = append(panels, p)
		}
	}
	if len(views) == 1 {
		d.Panels = inRows(panels)
	} else if len(panels) > 0 {
		d.Panels = slices.Collect(slices.Chunk(panels, len(views)))
	}
}

// principles is fig1's layout: a panel per data set, a curve per bound.
func principles(n names, f experiment.Figure, recs []train.Record) ([]Point, figure.Figure) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	d := figure.Figure{Name: f.Name, Height: 2.6 * 72}
	c, key := view{lines: []line{logged(logging)}}, figure.Legend{}
	for i, m := range []struct{ objective, lambda string }{
		{"london", ""}, {"sakhi1", ""}, {"sakhi2", ""}, {"corollary1", "star"}, {"corollary1", "authors"}} {
		s := figure.Category([]int{3, 2, 4, 0, 1}[i]) // the strongest colours for Corollary 1
		key.Entries = append(key.Entries, figure.Entry{Label: n.method(m.objective, m.lambda), Style: s})
		c.lines = append(c.lines, line{n.method(m.objective, m.lambda), s, learned,
			func(p Point) bool { return p.Objective == m.objective && p.Lambda == m.lambda }})
	}
	all := datasets(learned)
	lay(&d, all, c)
	switch len(all) {
	case 1:
		d.Width = 4 * 72
	case 2:
		d.Width = 5.6 * 72
	}
	key.Entries = append(key.Entries, loggingEntry)
	d.Legends = []figure.Legend{key}
	return append(learned, logging...), d
}

// weights is the layout of fig2, fig3 and fig4: a row per data set, a panel per
// weight with a curve per hyperparameter, and a last one with the means over
// hyperparameters.
func weights(n names, f experiment.Figure, recs []train.Record) ([]Point, figure.Figure) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	means := meanPoints(f.Name, learnedOf(recs))
	hypers := distinct(learned, func(p Point) train.Number { return p.Hyper })
	byHyper, byWeight := figure.Legend{}, figure.Legend{Title: "mean:"}
	for i, h := range hypers {
		byHyper.Entries = append(byHyper.Entries,
			figure.Entry{Label: short(h), Style: figure.Ordered(i, len(hypers))})
	}
	var symbols []string
	var views []view
	over := view{title: "mean over values", lines: []line{logged(logging)}}
	for _, w := range []string{"clip", "har", "ix", "es"} { // the paper's order
		if !slices.ContainsFunc(learned, func(p Point) bool { return p.Weight == w }) {
			continue
		}
		c := view{title: n.WeightLabel(w) + "(" + n.Symbol("", w) + ")", lines: []line{logged(logging)}}
		for i, h := range hypers {
			c.lines = append(c.lines, line{n.Symbol("", w) + " = " + short(h), figure.Ordered(i, len(hypers)),
				learned, func(p Point) bool { return p.Weight == w && p.Hyper == h }})
		}
		s := figure.Category(len(views))
		over.lines = append(over.lines, line{n.WeightLabel(w), s, means,
			func(p Point) bool { return p.Weight == w }})
		byWeight.Entries = append(byWeight.Entries, figure.Entry{Label: n.WeightLabel(w), Style: s})
		symbols, views = append(symbols, n.Symbol("", w)), append(views, c)
	}
	byHyper.Title = strings.Join(symbols, ", ") + ":"
	byWeight.Entries = append(byWeight.Entries, loggingEntry)
	d := figure.Figure{Name: f.Name, Legends: []figure.Legend{byHyper, byWeight}}
	lay(&d, datasets(learned), append(views, over)...)
	return slices.Concat(learned, means, logging), d
}

// heuristics is fig5's layout: a row per data set, a panel per penalty.
func heuristics(n names, f experiment.Figure, recs []train.Record) ([]Point, figure.Figure) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	first, second := figure.Category(0), figure.Category(1)
	second.Open = true
	d := figure.Figure{Name: f.Name, Width: 6 * 72, Height: 2 * 72,
		Legends: []figure.Legend{{Entries: []figure.Entry{{Label: n.method("heuristic", ""), Style: first},
			{Label: n.method("l2", ""), Style: second}, loggingEntry}}}}
	var views []view
	for _, pen := range distinct(learned, func(p Point) train.Number { return p.Penalty }) {
		of := func(o string) func(Point) bool {
			return func(p Point) bool { return p.Objective == o && p.Penalty == pen }
		}
		views = append(views, view{title: "penalty " + power(pen),
			lines: []line{logged(logging), {n.method("heuristic", ""), first, learned, of("heuristic")},
				{n.method("l2", ""), second, learned, of("l2")}}})
	}
	lay(&d, datasets(learned), views...)
	return append(learned, logging...), d
}

// tightness is fig6's layout: for each data set, the bound and the true risk by τ,
// and beside them their difference.
func tightness(n names, f experiment.Figure, recs []train.Record) ([]Point, figure.Figure) {
	learned := learnedOf(recs)
	bounds, risks := aggregate(f.Name, Bound, learned, bound), aggregate(f.Name, Risk, learned, risk)
	gaps := aggregate(f.Name, Gap, learned, gap)
	hypers := distinct(gaps, func(p Point) train.Number { return p.Hyper })
	dashes := []vg.Length{2.5, 1.8}
	open := figure.Neutral
	open.Open, open.Dashes = true, dashes
	key := figure.Legend{Title: n.Symbol("", "clip") + ":"}
	kinds := figure.Legend{Entries: []figure.Entry{{Label: "bound", Style: figure.Neutral},
		{Label: "true risk", Style: open}}}
	both := view{title: "bound and true risk", y: "risk (−reward)"}
	difference := view{title: "bound − true risk", y: "bound − true risk"}
	for i, h := range hypers {
		label := short(h)
		if slices.ContainsFunc(recs, func(r train.Record) bool {
			return r.Hyper == h &&
				experiment.HasDefaultHyper(r)
		}) {
			label += " = n⁻¹ᐟ⁴"
		}
		is := func(p Point) bool { return p.Hyper == h }
		solid := figure.Ordered(i, len(hypers))
		solid.Dashes = nil
		dashed := solid
		dashed.Dashes, dashed.Open = dashes, true
		key.Entries = append(key.Entries, figure.Entry{Label: label, Style: solid})
		both.lines = append(both.lines, line{"true risk, " + label, dashed, risks, is},
			line{"bound, " + label, solid, bounds, is})
		difference.lines = append(difference.lines, line{label, solid, gaps, is})
	}
	d := figure.Figure{Name: f.Name, OwnY: true, Width: 6 * 72, Height: 2.6 * 72,
		Legends: []figure.Legend{key, kinds}}
	lay(&d, datasets(gaps), both, difference)
	return slices.Concat(bounds, risks, gaps), d
}

// generic is the layout of any other grid: a panel per data set, reward by η₀ with a
// curve per configuration; more than twelve of them are spread over a row per data
// set and a column per objective.
func generic(n names, f experiment.Figure, recs []train.Record) ([]Point, figure.Figure) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	objective := func(p Point) string { return n.method(p.Objective, p.Lambda) }
	full, rest := func(p Point) string { return n.configuration(p.Run) }, func(p Point) string { return n.variant(p.Run) }
	titles, label := []string{""}, full
	if names := distinctValues(learned, objective); len(distinctValues(learned, full)) > 12 && len(names) > 1 {
		titles, label = names, rest
	}
	key := figure.Legend{}
	views := make([]view, len(titles))
	for i, title := range titles {
		views[i] = view{title: title, lines: []line{logged(logging)}}
	}
	for i, l := range distinctValues(learned, label) {
		key.Entries = append(key.Entries, figure.Entry{Label: l, Style: figure.Category(i)})
		for k, title := range titles {
			views[k].lines = append(views[k].lines, line{l, figure.Category(i), learned, func(p Point) bool {
				return label(p) == l && (title == "" || objective(p) == title)
			}})
		}
	}
	key.Entries = append(key.Entries, loggingEntry)
	d := figure.Figure{Name: f.Name, Height: 2.6 * 72, Legends: []figure.Legend{key}}
	if len(key.Entries) > figure.Categories+1 {
		d.Legends = append(d.Legends, openLegend)
	}
	all := datasets(append(slices.Clone(learned), logging...))
	lay(&d, all, views...)
	for _, p := range slices.Concat(d.Panels...) {
		spread(p)
	}
	if len(all) == 1 && len(views) == 1 {
		d.Width = 4 * 72
	}
	return append(learned, logging...), d
}

// inRows sets panels at most three in a row, in as few rows as that takes, of about
// the same length.
func inRows(panels []*figure.Panel) [][]*figure.Panel {
	rows := (len(panels) + 2) / 3
	if rows == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(panels, (len(panels)+rows-1)/rows))
}

// spread sets the curves of a panel side by side if they are all at one and the same
// η₀, where they would lie on one another.
func spread(p *figure.Panel) {
	var xs []float64
	for _, c := range p.Curves {
		xs = append(xs, c.X...)
	}
	if len(xs) == 0 || slices.Min(xs) != slices.Max(xs) {
		return
	}
	p.At = xs[:1]
	for i, c := range p.Curves {
		if c.Marker != figure.NoMarker && len(c.X) > 0 {
			c.X[0] += (float64(i)+.5)/float64(len(p.Curves)) - .5
		}
	}
}

func join(name string, s figure.Style, pts []Point, is func(Point) bool) figure.Curve {
	of := slices.DeleteFunc(slices.Clone(pts), func(p Point) bool { return !is(p) })
	slices.SortStableFunc(of, func(a, b Point) int { return cmp.Compare(a.Eta0, b.Eta0) })
	c := figure.Curve{Name: name, Style: s}
	for _, p := range of {
		text := map[bool]string{true: fmt.Sprintf("%d seeds", p.Count), false: "one seed"}[p.Count > 1]
		c.Add(p.Eta0, float64(p.Mean), float64(p.Mean-p.SD), float64(p.Mean+p.SD), text)
	}
	return c
}

func learnedOf(recs []train.Record) []train.Record {
	return slices.DeleteFunc(slices.Clone(recs),
		func(r train.Record) bool { return r.Objective == train.LoggingPolicy })
}

func datasets(pts []Point) []string {
	names := distinctValues(pts, func(p Point) string { return p.Dataset })
	slices.SortFunc(names, datasetRank)
	return names
}

// distinct lists the numbers of points in ascending order.
func distinct(pts []Point, of func(Point) train.Number) []train.Number {
	known := slices.DeleteFunc(slices.Clone(pts), func(p Point) bool { return !of(p).Valid() })
	return slices.Sorted(slices.Values(distinctValues(known, of)))
}

// distinctValues lists the values of points in order of first appearance.
func distinctValues[T comparable](pts []Point, of func(Point) T) (values []T) {
	for _, same := range groupBy(pts, of) {
		values = append(values, of(same[0]))
	}
	return values
}

// datasetName is how a data set is called in titles.
func datasetName(s string) string {
	name, slots := experiment.ListsOf(s)
	name = cmp.Or(map[string]string{"mnist": "MNIST", "fashion": "FashionMNIST"}[name], name)
	if slots > 0 {
		name += fmt.Sprint(", lists of ", slots)
	}
	return name
}

// names gives the names of a library as titles and legends show them.
type names struct{ library.Library }

// paper has the names of the paper's own.
var paper = names{library.Standard()}

// method is how an objective, under a choice of λ, is called.
func (n names) method(objective, lambda string) string {
	name := n.ObjectiveLabel(objective)
	if lambda != "" {
		name += ", " + lambdaName(lambda)
	}
	return name
}

func lambdaName(lambda string) string {
	return cmp.Or(map[string]string{"star": "λ*", "authors": "authors’ λ"}[lambda], "λ = "+lambda)
}

// short writes a hyperparameter with at most three digits.
func short(x train.Number) string { return fmt.Sprintf("%.3g", float64(x)) }

// power writes powers of ten as such.
func power(x train.Number) string {
	e := math.Round(math.Log10(float64(x)))
	if x > 0 && math.Abs(float64(x)/math.Pow(10, e)-1) < 1e-9 {
		return fmt.Sprintf("1e%.0f", e)
	}
	return short(x)
}

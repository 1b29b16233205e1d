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
)

// A layout turns the records of a figure, in canonical order, into its points and
// its drawing.
type layout func(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing)

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
	style
	points []Point
	is     func(Point) bool
}

func logged(pts []Point) line { return line{reference, pts, func(Point) bool { return true }} }

var loggingEntry = entry{"logging policy", reference}

// lay sets the panels of views, by η₀: a row for each data set, with a column for each view,
// or, of a single view, at most three panels in a row.
func (d *drawing) lay(data []string, views ...view) {
	var panels []*panel
	for row, name := range data {
		for _, c := range views {
			p := &panel{title: c.title, x: etaLabel, y: "reward on " + datasetName(name)}
			switch {
			case c.y != "":
				p.title, p.y = datasetName(name)+": "+c.title, c.y
			case len(views) == 1:
				p.title, p.y = datasetName(name), "reward"
			case row > 0:
				p.title = ""
			}
			if len(views) > 1 && row < len(data)-1 {
				p.x = ""
			}
			for _, l := range c.lines {
				p.curves = append(p.curves, join(l.style, l.points, func(pt Point) bool { return pt.Dataset == name && l.is(pt) }))
			}
			panels = append(panels, p)
		}
	}
	if len(views) == 1 {
		d.panels = inRows(panels)
	} else if len(panels) > 0 {
		d.panels = slices.Collect(slices.Chunk(panels, len(views)))
	}
}

// principles is fig1's layout: a panel per data set, a curve per bound.
func principles(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	d := drawing{name: f.Name, height: 2.6 * 72}
	c, key := view{lines: []line{logged(logging)}}, legend{}
	for i, m := range []struct{ objective, lambda string }{
		{"london", ""}, {"sakhi1", ""}, {"sakhi2", ""}, {"corollary1", "star"}, {"corollary1", "authors"}} {
		s := category([]int{3, 2, 4, 0, 1}[i]) // the strongest colours for Corollary 1
		key.entries = append(key.entries, entry{n.method(m.objective, m.lambda), s})
		c.lines = append(c.lines, line{s, learned, func(p Point) bool { return p.Objective == m.objective && p.Lambda == m.lambda }})
	}
	all := datasets(learned)
	d.lay(all, c)
	switch len(all) {
	case 1:
		d.width = 4 * 72
	case 2:
		d.width = 5.6 * 72
	}
	key.entries = append(key.entries, loggingEntry)
	d.legends = []legend{key}
	return append(learned, logging...), d
}

// weights is the layout of fig2, fig3 and fig4: a row per data set, a panel per
// weight with a curve per hyperparameter, and a last one with the means over
// hyperparameters.
func weights(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	means := meanPoints(f.Name, learnedOf(recs))
	hypers := distinct(learned, func(p Point) train.Number { return p.Hyper })
	byHyper, byWeight := legend{}, legend{title: "mean:"}
	for i, h := range hypers {
		byHyper.entries = append(byHyper.entries, entry{short(h), ordered(i, len(hypers))})
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
			c.lines = append(c.lines, line{ordered(i, len(hypers)), learned, func(p Point) bool { return p.Weight == w && p.Hyper == h }})
		}
		s := category(len(views))
		over.lines = append(over.lines, line{s, means, func(p Point) bool { return p.Weight == w }})
		byWeight.entries = append(byWeight.entries, entry{n.WeightLabel(w), s})
		symbols, views = append(symbols, n.Symbol("", w)), append(views, c)
	}
	byHyper.title = strings.Join(symbols, ", ") + ":"
	byWeight.entries = append(byWeight.entries, loggingEntry)
	d := drawing{name: f.Name, legends: []legend{byHyper, byWeight}}
	d.lay(datasets(learned), append(views, over)...)
	return slices.Concat(learned, means, logging), d
}

// heuristics is fig5's layout: a row per data set, a panel per penalty.
func heuristics(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	first, second := category(0), category(1)
	second.open = true
	d := drawing{name: f.Name, width: 6 * 72, height: 2 * 72,
		legends: []legend{{entries: []entry{{n.method("heuristic", ""), first}, {n.method("l2", ""), second}, loggingEntry}}}}
	var views []view
	for _, pen := range distinct(learned, func(p Point) train.Number { return p.Penalty }) {
		of := func(o string) func(Point) bool {
			return func(p Point) bool { return p.Objective == o && p.Penalty == pen }
		}
		views = append(views, view{title: "penalty " + power(pen),
			lines: []line{logged(logging), {first, learned, of("heuristic")}, {second, learned, of("l2")}}})
	}
	d.lay(datasets(learned), views...)
	return append(learned, logging...), d
}

// tightness is fig6's layout: for each data set, the bound and the true risk by τ,
// and beside them their difference.
func tightness(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned := learnedOf(recs)
	bounds, risks := aggregate(f.Name, Bound, learned, bound), aggregate(f.Name, Risk, learned, risk)
	gaps := aggregate(f.Name, Gap, learned, gap)
	hypers := distinct(gaps, func(p Point) train.Number { return p.Hyper })
	gray, dashes := rgb(0x555555), []vg.Length{2.5, 1.8}
	key := legend{title: n.Symbol("", "clip") + ":"}
	kinds := legend{entries: []entry{{"bound", style{color: gray, marker: disc}},
		{"true risk", style{color: gray, marker: disc, open: true, dashes: dashes}}}}
	both := view{title: "bound and true risk", y: "risk (−reward)"}
	difference := view{title: "bound − true risk", y: "bound − true risk"}
	for i, h := range hypers {
		label := short(h)
		if slices.ContainsFunc(recs, func(r train.Record) bool { return r.Hyper == h && experiment.HasDefaultHyper(r) }) {
			label += " = n⁻¹ᐟ⁴"
		}
		is := func(p Point) bool { return p.Hyper == h }
		solid := ordered(i, len(hypers))
		solid.dashes = nil
		dashed := solid
		dashed.dashes, dashed.open = dashes, true
		key.entries = append(key.entries, entry{label, solid})
		both.lines = append(both.lines, line{dashed, risks, is}, line{solid, bounds, is})
		difference.lines = append(difference.lines, line{solid, gaps, is})
	}
	d := drawing{name: f.Name, ownY: true, width: 6 * 72, height: 2.6 * 72, legends: []legend{key, kinds}}
	d.lay(datasets(gaps), both, difference)
	return slices.Concat(bounds, risks, gaps), d
}

// generic is the layout of any other grid: a panel per data set, reward by η₀ with a
// curve per configuration; more than twelve of them are spread over a row per data
// set and a column per objective.
func generic(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned, logging := aggregate(f.Name, Reward, learnedOf(recs), reward), loggingPoints(f.Name, recs)
	objective := func(p Point) string { return n.method(p.Objective, p.Lambda) }
	penalties := map[string][]train.Number{}
	for _, p := range learned {
		if known := penalties[p.Objective]; p.Penalty.Valid() && !slices.Contains(known, p.Penalty) {
			penalties[p.Objective] = append(known, p.Penalty)
		}
	}
	rest := func(p Point) string {
		var parts []string
		if p.Representation != "" {
			parts = append(parts, p.Representation)
		}
		if p.Weight != "" {
			parts = append(parts, n.WeightLabel(p.Weight))
		}
		if p.Hyper.Valid() {
			parts = append(parts, n.Symbol(p.Objective, p.Weight)+" = "+short(p.Hyper))
		}
		if len(penalties[p.Objective]) > 1 {
			parts = append(parts, "penalty "+power(p.Penalty))
		}
		return strings.Join(parts, ", ")
	}
	full := func(p Point) string { return strings.TrimSuffix(objective(p)+", "+rest(p), ", ") }
	titles, label := []string{""}, full
	if names := distinctNames(learned, objective); len(distinctNames(learned, full)) > 12 && len(names) > 1 {
		titles, label = names, rest
	}
	key := legend{}
	views := make([]view, len(titles))
	for i, title := range titles {
		views[i] = view{title: title, lines: []line{logged(logging)}}
	}
	for i, l := range distinctNames(learned, label) {
		key.entries = append(key.entries, entry{l, category(i)})
		for k, title := range titles {
			views[k].lines = append(views[k].lines, line{category(i), learned, func(p Point) bool {
				return label(p) == l && (title == "" || objective(p) == title)
			}})
		}
	}
	key.entries = append(key.entries, loggingEntry)
	d := drawing{name: f.Name, height: 2.6 * 72, legends: []legend{key}}
	all := datasets(append(slices.Clone(learned), logging...))
	d.lay(all, views...)
	for _, p := range slices.Concat(d.panels...) {
		p.spread()
	}
	if len(all) == 1 && len(views) == 1 {
		d.width = 4 * 72
	}
	return append(learned, logging...), d
}

// inRows sets panels at most three in a row, in as few rows as that takes, of about
// the same length.
func inRows(panels []*panel) [][]*panel {
	rows := (len(panels) + 2) / 3
	if rows == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(panels, (len(panels)+rows-1)/rows))
}

// spread sets the curves of a panel side by side if they are all at one and the same
// η₀, where they would lie on one another.
func (p *panel) spread() {
	var xs []float64
	for _, c := range p.curves {
		xs = append(xs, c.x...)
	}
	if len(xs) == 0 || slices.Min(xs) != slices.Max(xs) {
		return
	}
	p.only = &xs[0]
	for i, c := range p.curves {
		if c.marker != noMarker && len(c.x) > 0 {
			c.x[0] += (float64(i)+.5)/float64(len(p.curves)) - .5
		}
	}
}

func join(s style, pts []Point, is func(Point) bool) curve {
	of := slices.DeleteFunc(slices.Clone(pts), func(p Point) bool { return !is(p) })
	slices.SortStableFunc(of, func(a, b Point) int { return cmp.Compare(a.Eta0, b.Eta0) })
	c := curve{style: s}
	for _, p := range of {
		c.x, c.y, c.sd = append(c.x, p.Eta0), append(c.y, float64(p.Mean)), append(c.sd, float64(p.SD))
	}
	return c
}

func learnedOf(recs []train.Record) []train.Record {
	return slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return r.Objective == train.LoggingPolicy })
}

func datasets(pts []Point) []string {
	names := distinctNames(pts, func(p Point) string { return p.Dataset })
	slices.SortFunc(names, datasetRank)
	return names
}

// distinct lists the numbers of points in ascending order.
func distinct(pts []Point, of func(Point) train.Number) []train.Number {
	var xs []train.Number
	for _, p := range pts {
		if x := of(p); x.Valid() && !slices.Contains(xs, x) {
			xs = append(xs, x)
		}
	}
	slices.Sort(xs)
	return xs
}

// distinctNames lists the names of points in order of first appearance.
func distinctNames(pts []Point, of func(Point) string) []string {
	var names []string
	for _, p := range pts {
		if s := of(p); !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}

// datasetName is how a data set is called in titles.
func datasetName(s string) string {
	return cmp.Or(map[string]string{"mnist": "MNIST", "fashion": "FashionMNIST"}[s], s)
}

// names are those of a library in titles and legends.
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

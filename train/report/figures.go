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

// layouts of the paper's figures, by name; others are drawn by generic.
var layouts = []struct {
	name string
	layout
}{
	{"fig1", principles}, {"fig2", weights}, {"fig3", weights}, {"fig4", weights}, {"fig5", heuristics}, {"fig6", tightness},
}

func layoutOf(name string) layout {
	for _, l := range layouts {
		if l.name == name {
			return l.layout
		}
	}
	return generic
}

const etaLabel = "η₀"

// principles is fig1's layout: a panel per data set, a curve per bound.
func principles(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned := aggregate(f.Name, Reward, recs, learnedOnly(reward))
	logging := loggingPoints(f.Name, recs)
	d := drawing{name: f.Name, height: 2.6 * 72}
	var panels []*panel
	methods := []struct{ objective, lambda string }{
		{"london", ""}, {"sakhi1", ""}, {"sakhi2", ""}, {"corollary1", "star"}, {"corollary1", "authors"}}
	order := []int{3, 2, 4, 0, 1} // of the styles: the strongest colours for Corollary 1
	key := legend{}
	for i, m := range methods {
		key.entries = append(key.entries, entry{n.method(m.objective, m.lambda), category(order[i])})
	}
	for _, data := range datasets(learned) {
		p := &panel{title: datasetName(data), x: etaLabel, y: "reward"}
		p.curves = append(p.curves, loggingCurve(logging, data))
		for i, m := range methods {
			p.curves = append(p.curves, join(key.entries[i].style, learned, func(pt Point) bool {
				return pt.Dataset == data && pt.Objective == m.objective && pt.Lambda == m.lambda
			}))
		}
		panels = append(panels, p)
	}
	d.panels = inRows(panels)
	switch len(panels) {
	case 1:
		d.width = 4 * 72
	case 2:
		d.width = 5.6 * 72
	}
	key.entries = append(key.entries, entry{"logging policy", reference})
	d.legends = []legend{key}
	return append(learned, logging...), d
}

// weights is the layout of fig2, fig3 and fig4: a row per data set, a panel per
// weight with a curve per hyperparameter, and a last one with the means over
// hyperparameters.
func weights(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned := aggregate(f.Name, Reward, recs, learnedOnly(reward))
	means := meanPoints(f.Name, slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return r.Objective == train.LoggingPolicy }))
	logging := loggingPoints(f.Name, recs)
	d := drawing{name: f.Name}
	var names []string
	for _, w := range []string{"clip", "har", "ix", "es"} { // the paper's order
		if slices.ContainsFunc(learned, func(p Point) bool { return p.Weight == w }) {
			names = append(names, w)
		}
	}
	hypers := distinct(learned, func(p Point) train.Number { return p.Hyper })
	symbols := make([]string, len(names))
	for i, w := range names {
		symbols[i] = n.Symbol("", w)
	}
	byHyper := legend{title: strings.Join(symbols, ", ") + ":"}
	for i, h := range hypers {
		byHyper.entries = append(byHyper.entries, entry{short(h), ordered(i, len(hypers))})
	}
	byWeight := legend{title: "mean:"}
	for i, w := range names {
		byWeight.entries = append(byWeight.entries, entry{n.WeightLabel(w), category(i)})
	}
	byWeight.entries = append(byWeight.entries, entry{"logging policy", reference})
	d.legends = []legend{byHyper, byWeight}
	all := datasets(learned)
	for row, data := range all {
		var panels []*panel
		add := func(title string) *panel {
			p := &panel{y: "reward on " + datasetName(data), curves: []curve{loggingCurve(logging, data)}}
			if row == 0 {
				p.title = title
			}
			if row == len(all)-1 {
				p.x = etaLabel
			}
			panels = append(panels, p)
			return p
		}
		for _, w := range names {
			p := add(n.WeightLabel(w) + "(" + n.Symbol("", w) + ")")
			for i, h := range hypers {
				p.curves = append(p.curves, join(byHyper.entries[i].style, learned, func(pt Point) bool {
					return pt.Dataset == data && pt.Weight == w && pt.Hyper == h
				}))
			}
		}
		p := add("mean over values")
		for i, w := range names {
			p.curves = append(p.curves, join(byWeight.entries[i].style, means, func(pt Point) bool {
				return pt.Dataset == data && pt.Weight == w
			}))
		}
		d.panels = append(d.panels, panels)
	}
	return slices.Concat(learned, means, logging), d
}

// heuristics is fig5's layout: a row per data set, a panel per penalty.
func heuristics(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned := aggregate(f.Name, Reward, recs, learnedOnly(reward))
	logging := loggingPoints(f.Name, recs)
	d := drawing{name: f.Name, width: 6 * 72, height: 2 * 72}
	first, second := category(0), category(1)
	second.open = true
	key := legend{entries: []entry{{n.method("heuristic", ""), first}, {n.method("l2", ""), second}, {"logging policy", reference}}}
	all := datasets(learned)
	for row, data := range all {
		var panels []*panel
		for _, pen := range distinct(learned, func(p Point) train.Number { return p.Penalty }) {
			p := &panel{y: "reward on " + datasetName(data), curves: []curve{loggingCurve(logging, data)}}
			if row == 0 {
				p.title = "penalty " + power(pen)
			}
			if row == len(all)-1 {
				p.x = etaLabel
			}
			for i, o := range []string{"heuristic", "l2"} {
				p.curves = append(p.curves, join(key.entries[i].style, learned, func(pt Point) bool {
					return pt.Dataset == data && pt.Objective == o && pt.Penalty == pen
				}))
			}
			panels = append(panels, p)
		}
		d.panels = append(d.panels, panels)
	}
	d.legends = []legend{key}
	return append(learned, logging...), d
}

// tightness is fig6's layout: for each data set, the bound and the true risk by τ,
// and beside them their difference.
func tightness(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	bounds := aggregate(f.Name, Bound, recs, learnedOnly(bound))
	risks := aggregate(f.Name, Risk, recs, learnedOnly(risk))
	gaps := aggregate(f.Name, Gap, recs, learnedOnly(gap))
	d := drawing{name: f.Name, ownY: true, width: 6 * 72, height: 2.6 * 72}
	hypers := distinct(gaps, func(p Point) train.Number { return p.Hyper })
	key := legend{title: n.Symbol("", "clip") + ":"}
	def := map[train.Number]bool{}
	for _, r := range recs {
		if experiment.HasDefaultHyper(r) {
			def[r.Hyper] = true
		}
	}
	for i, h := range hypers {
		label := short(h)
		if def[h] {
			label += " = n⁻¹ᐟ⁴"
		}
		key.entries = append(key.entries, entry{label, ordered(i, len(hypers))})
	}
	kinds := legend{entries: []entry{
		{"bound", style{color: rgb(0x555555), marker: disc}},
		{"true risk", style{color: rgb(0x555555), marker: disc, open: true, dashes: []vg.Length{2.5, 1.8}}}}}
	all := datasets(gaps)
	for row, data := range all {
		x := ""
		if row == len(all)-1 {
			x = etaLabel
		}
		both := &panel{title: datasetName(data) + ": bound and true risk", x: x, y: "risk (−reward)"}
		difference := &panel{title: datasetName(data) + ": bound − true risk", x: x, y: "bound − true risk"}
		for i, h := range hypers {
			is := func(pt Point) bool { return pt.Dataset == data && pt.Hyper == h }
			solid, dashed := key.entries[i].style, key.entries[i].style
			solid.dashes = nil
			dashed.dashes, dashed.open = kinds.entries[1].dashes, true
			key.entries[i].style = solid
			both.curves = append(both.curves, join(dashed, risks, is), join(solid, bounds, is))
			difference.curves = append(difference.curves, join(solid, gaps, is))
		}
		d.panels = append(d.panels, []*panel{both, difference})
	}
	d.legends = []legend{key, kinds}
	return slices.Concat(bounds, risks, gaps), d
}

// generic is the layout of any other grid: a panel per data set, reward by η₀ with a
// curve per configuration; more than twelve of them are spread over a row per data
// set and a column per objective.
func generic(n names, f experiment.Figure, recs []train.Record) ([]Point, drawing) {
	learned := aggregate(f.Name, Reward, recs, learnedOnly(reward))
	logging := loggingPoints(f.Name, recs)
	d := drawing{name: f.Name, height: 2.6 * 72}
	objective := func(p Point) string { return n.method(p.Objective, p.Lambda) }
	penalties := map[string]map[train.Number]bool{}
	for _, p := range learned {
		if penalties[p.Objective] == nil {
			penalties[p.Objective] = map[train.Number]bool{}
		}
		if p.Penalty.Valid() {
			penalties[p.Objective][p.Penalty] = true
		}
	}
	rest := func(p Point) string {
		var parts []string
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
	columns, label := []string{""}, full
	if names := distinctNames(learned, objective); len(distinctNames(learned, full)) > 12 && len(names) > 1 {
		columns, label = names, rest
	}
	labels := distinctNames(learned, label)
	key := legend{}
	for i, l := range labels {
		key.entries = append(key.entries, entry{l, category(i)})
	}
	all := datasets(append(slices.Clone(learned), logging...))
	var single []*panel // one per data set
	for row, data := range all {
		var panels []*panel
		for _, col := range columns {
			p := &panel{title: col, x: etaLabel, y: "reward on " + datasetName(data), curves: []curve{loggingCurve(logging, data)}}
			switch {
			case len(columns) == 1:
				p.title, p.y = datasetName(data), "reward"
			case row > 0:
				p.title = ""
			}
			if len(columns) > 1 && row < len(all)-1 {
				p.x = ""
			}
			for i, l := range labels {
				p.curves = append(p.curves, join(key.entries[i].style, learned, func(pt Point) bool {
					return pt.Dataset == data && label(pt) == l && (col == "" || objective(pt) == col)
				}))
			}
			p.spread()
			panels = append(panels, p)
		}
		if len(columns) == 1 {
			single = append(single, panels...)
		} else {
			d.panels = append(d.panels, panels)
		}
	}
	if len(columns) == 1 {
		d.panels = inRows(single)
	}
	if len(all) == 1 && len(columns) == 1 {
		d.width = 4 * 72
	}
	key.entries = append(key.entries, entry{"logging policy", reference})
	d.legends = []legend{key}
	return append(learned, logging...), d
}

// inRows sets panels at most three in a row, in as few rows as that takes, of about
// the same length.
func inRows(panels []*panel) [][]*panel {
	const most = 3
	rows := (len(panels) + most - 1) / most
	if rows == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(panels, (len(panels)+rows-1)/rows))
}

// spread sets the curves of a panel side by side if they are all at one and the same
// η₀, where they would lie on one another.
func (p *panel) spread() {
	var at *float64
	for _, c := range p.curves {
		for _, x := range c.x {
			if at == nil {
				at = &x
			}
			if x != *at {
				return
			}
		}
	}
	if at == nil {
		return
	}
	x := *at
	p.only = &x
	for i, c := range p.curves {
		if c.marker != noMarker && len(c.x) > 0 {
			c.x[0] += (float64(i)+.5)/float64(len(p.curves)) - .5
		}
	}
}

// join is the curve of the points that are asked for.
func join(s style, pts []Point, is func(Point) bool) curve {
	var of []Point
	for _, p := range pts {
		if is(p) {
			of = append(of, p)
		}
	}
	slices.SortStableFunc(of, func(a, b Point) int { return cmp.Compare(a.Eta0, b.Eta0) })
	c := curve{style: s}
	for _, p := range of {
		c.x, c.y, c.sd = append(c.x, p.Eta0), append(c.y, float64(p.Mean)), append(c.sd, float64(p.SD))
	}
	return c
}

func loggingCurve(pts []Point, data string) curve {
	return join(reference, pts, func(p Point) bool { return p.Dataset == data })
}

// learnedOnly gives logging policies no value.
func learnedOnly(of func(train.Record) train.Number) func(train.Record) train.Number {
	return func(r train.Record) train.Number {
		if r.Objective == train.LoggingPolicy {
			return train.None()
		}
		return of(r)
	}
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
	switch s {
	case "mnist":
		return "MNIST"
	case "fashion":
		return "FashionMNIST"
	}
	return s
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
	switch lambda {
	case "star":
		return "λ*"
	case "authors":
		return "authors’ λ"
	}
	return "λ = " + lambda
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

package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"opl/objectives"
	"opl/train"
)

// writeCurves writes the learning curves of records as CSV, a line for every
// epoch and quantity: objective, its terms, reward.
func writeCurves(w io.Writer, recs []train.Record) error {
	lines := [][]string{{"dataset", "eta0", "objective", "policy", "lambda", "weight", "hyperparameter", "penalty", "seed", "epoch", "quantity", "value"}}
	for _, r := range recs {
		for _, p := range r.Curve {
			for _, q := range quantities(p) {
				lines = append(lines, []string{r.Dataset, number(r.Eta0), r.Objective, r.Policy, r.Lambda, r.Weight, r.Hyper.String(), r.Penalty.String(),
					fmt.Sprint(r.Seed), fmt.Sprint(p.Epoch), q.Name, number(q.Value)})
			}
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// quantities of an epoch: the objective, its terms, the reward.
func quantities(p train.CurvePoint) []objectives.Term {
	first, last := objectives.Term{Name: "objective", Value: float64(p.Objective)}, objectives.Term{Name: Reward, Value: float64(p.Reward)}
	return slices.Concat([]objectives.Term{first}, p.Terms, []objectives.Term{last})
}

// learningCurves draws each configuration that has curves: a panel per quantity,
// by epoch, a curve per seed.
func learningCurves(n names, recs []train.Record) (ds []drawing) {
	recs = slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return len(r.Curve) == 0 })
	taken := map[string]bool{}
	for _, g := range groupBy(recs, configuration) {
		d := curvesOf(n, g)
		for name, n := d.name, 2; taken[d.name]; n++ {
			d.name = fmt.Sprintf("%s_%d", name, n)
		}
		taken[d.name] = true
		ds = append(ds, d)
	}
	return ds
}

// curvesOf draws runs that differ in the seed alone.
func curvesOf(n names, recs []train.Record) drawing {
	type key struct {
		quantity string
		record   int
	}
	var names []string
	curves := map[key]*curve{}
	seeds := legend{}
	for i, r := range recs {
		s := category(i)
		s.marker = noMarker
		seeds.entries = append(seeds.entries, entry{fmt.Sprintf("seed %d", r.Seed), s})
		for _, p := range r.Curve {
			for _, q := range quantities(p) {
				k := key{q.Name, i}
				if curves[k] == nil {
					curves[k] = &curve{style: s}
				}
				curves[k].x, curves[k].y = append(curves[k].x, float64(p.Epoch)), append(curves[k].y, q.Value)
				if !slices.Contains(names, q.Name) {
					names = append(names, q.Name)
				}
			}
		}
	}
	var panels []*panel
	for _, name := range names {
		p := &panel{title: name, x: "epoch", whole: true}
		for i, r := range recs {
			c := curves[key{name, i}]
			if c == nil {
				continue
			}
			if level := float64(r.LoggingReward); name == Reward && finite(level) {
				p.curves = append(p.curves, curve{style: reference, x: []float64{c.x[0], c.x[len(c.x)-1]}, y: []float64{level, level}})
			}
			p.curves = append(p.curves, *c)
		}
		panels = append(panels, p)
	}
	seeds.entries = append(seeds.entries, loggingEntry)
	first := recs[0]
	title := legend{title: fmt.Sprintf("%s, η₀ = %s: %s", datasetName(first.Dataset), tickLabel(first.Eta0), n.configuration(first.Run))}
	return drawing{name: fileName(first.Run), ownY: true, height: 1.7 * 72, panels: inRows(panels), legends: []legend{seeds, title}}
}

// configuration names what is learned, apart from the problem.
func (n names) configuration(r train.Run) string {
	if r.Objective == train.LoggingPolicy {
		return "logging policy"
	}
	parts := []string{n.method(r.Objective, r.Lambda)}
	if r.Representation != "" {
		parts = append(parts, r.Representation)
	}
	if r.Weight != "" {
		w := n.WeightLabel(r.Weight)
		if r.Hyper.Valid() {
			w += "(" + short(r.Hyper) + ")"
		}
		parts = append(parts, w)
	}
	if r.Penalty.Valid() {
		parts = append(parts, "penalty "+power(r.Penalty))
	}
	return strings.Join(parts, ", ")
}

// fileName is made of letters, digits, dots and dashes alone.
func fileName(r train.Run) string {
	parts := []string{r.Dataset, "eta" + number(r.Eta0), r.Objective, r.Lambda, r.Weight, "", r.Penalty.String(), r.Representation}
	if r.Hyper.Valid() {
		parts[5] = short(r.Hyper)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return regexp.MustCompile(`[^a-zA-Z0-9._-]`).ReplaceAllLiteralString(strings.Join(parts, "_"), "-")
}

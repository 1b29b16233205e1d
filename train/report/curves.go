package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"opl/objectives"
	"opl/train"
	"opl/train/report/figure"
)

// writeCurves writes the learning curves of records as CSV, a line for every
// epoch and quantity: objective, its terms, reward.
func writeCurves(w io.Writer, recs []train.Record) error {
	lines := [][]string{{"dataset", "eta0", "objective", "policy", "lambda", "weight", "hyperparameter", "penalty",
		"seed", "epoch", "quantity", "value"}}
	for _, r := range recs {
		for _, p := range r.Curve {
			for _, q := range quantities(p) {
				lines = append(lines, []string{r.Dataset, number(r.Eta0), r.Objective, r.Policy, r.Lambda, r.Weight,
					r.Hyper.String(), r.Penalty.String(),
					fmt.Sprint(r.Seed), fmt.Sprint(p.Epoch), q.Name, number(q.Value)})
			}
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// quantities of an epoch: the objective, its terms, the reward.
func quantities(p train.CurvePoint) []objectives.Term {
	first, last := objectives.Term{Name: "objective", Value: float64(p.Objective)},
		objectives.Term{Name: Reward, Value: float64(p.Reward)}
	return slices.Concat([]objectives.Term{first}, p.Terms, []objectives.Term{last})
}

// learningCurves draws each configuration that has curves: a panel per quantity,
// by epoch, a curve per seed.
func learningCurves(n names, recs []train.Record) (ds []figure.Figure) {
	recs = slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return len(r.Curve) == 0 })
	taken := map[string]bool{}
	for _, g := range groupBy(recs, configuration) {
		d := curvesOf(n, g)
		for name, n := d.Name, 2; taken[d.Name]; n++ {
			d.Name = fmt.Sprintf("%s_%d", name, n)
		}
		taken[d.Name] = true
		ds = append(ds, d)
	}
	return ds
}

// curvesOf draws runs that differ in the seed alone.
func curvesOf(n names, recs []train.Record) figure.Figure {
	var panels []*figure.Panel // of quantities
	seeds := figure.Legend{}
	for i, r := range recs {
		s, seed := figure.Category(i), fmt.Sprintf("seed %d", r.Seed)
		s.Marker = figure.NoMarker
		seeds.Entries = append(seeds.Entries, figure.Entry{Label: seed, Style: s})
		curves := map[string]*figure.Curve{}
		for _, p := range r.Curve {
			for _, q := range quantities(p) {
				if !slices.ContainsFunc(panels, func(p *figure.Panel) bool { return p.Title == q.Name }) {
					panels = append(panels, &figure.Panel{Title: q.Name, X: "epoch", Whole: true})
				}
				if curves[q.Name] == nil {
					curves[q.Name] = &figure.Curve{Name: seed, Style: s}
				}
				curves[q.Name].Add(float64(p.Epoch), q.Value, math.NaN(), math.NaN(), "")
			}
		}
		for _, p := range panels {
			c := curves[p.Title]
			if c == nil {
				continue
			}
			if level := float64(r.LoggingReward); p.Title == Reward && finite(level) {
				p.Curves = append(p.Curves, figure.Curve{Name: "logging policy", Style: figure.Reference,
					X: []float64{c.X[0], c.X[len(c.X)-1]}, Y: []float64{level, level}})
			}
			p.Curves = append(p.Curves, *c)
		}
	}
	seeds.Entries = append(seeds.Entries, loggingEntry)
	first := recs[0]
	title := figure.Legend{Title: fmt.Sprintf("%s, η₀ = %s: %s", datasetName(first.Dataset),
		figure.Label(first.Eta0), n.configuration(first.Run))}
	return figure.Figure{Name: fileName(first.Run), OwnY: true, Height: 1.7 * 72, Panels: inRows(panels),
		Legends: []figure.Legend{seeds, title}}
}

// configuration names what is learned, apart from the problem.
func (n names) configuration(r train.Run) string {
	if r.Objective == train.LoggingPolicy {
		return "logging policy"
	}
	return strings.TrimSuffix(n.method(r.Objective, r.Lambda)+", "+n.variant(r), ", ")
}

// variant names what is learned, apart from its objective.
func (n names) variant(r train.Run) string {
	var parts []string
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
	parts := []string{r.Dataset, "eta" + number(r.Eta0), r.Objective, r.Lambda, r.Weight, "", r.Penalty.String(),
		r.Representation}
	if r.Hyper.Valid() {
		parts[5] = short(r.Hyper)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return regexp.MustCompile(`[^a-zA-Z0-9._-]`).ReplaceAllLiteralString(strings.Join(parts, "_"), "-")
}

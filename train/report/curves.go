package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"opl/train"
	"opl/train/experiment"
)

// writeCurves writes the learning curves of records as CSV, a line for every
// epoch and quantity: objective, its terms, reward.
func writeCurves(w io.Writer, recs []train.Record) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"dataset", "eta0", "objective", "policy", "lambda", "weight", "hyperparameter", "penalty", "seed", "epoch", "quantity", "value"})
	for _, r := range recs {
		for _, p := range r.Curve {
			for _, q := range quantities(p) {
				_ = c.Write([]string{r.Dataset, number(r.Eta0), r.Objective, r.Policy, r.Lambda, r.Weight, r.Hyper.String(), r.Penalty.String(),
					fmt.Sprint(r.Seed), fmt.Sprint(p.Epoch), q.name, q.value.String()})
			}
		}
	}
	c.Flush()
	return c.Error()
}

type quantity struct {
	name  string
	value train.Number
}

// quantities of an epoch: the objective, its terms, the reward.
func quantities(p train.CurvePoint) []quantity {
	qs := []quantity{{"objective", p.Objective}}
	for _, t := range p.Terms {
		qs = append(qs, quantity{t.Name, train.Number(t.Value)})
	}
	return append(qs, quantity{Reward, p.Reward})
}

// learningCurves draws each configuration that has curves: a panel per quantity,
// by epoch, a curve per seed.
func learningCurves(n names, recs []train.Record) []drawing {
	var ds []drawing
	var groups [][]train.Record
	index := map[string]int{}
	for _, r := range recs {
		if len(r.Curve) == 0 {
			continue
		}
		key := r.Run
		key.Seed = 0
		name := experiment.Key(key)
		i, ok := index[name]
		if !ok {
			i = len(groups)
			index[name] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	taken := map[string]bool{}
	for _, g := range groups {
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
	first := recs[0]
	d := drawing{name: fileName(first.Run), ownY: true, height: 1.7 * 72}
	var names []string
	for _, r := range recs {
		for _, p := range r.Curve {
			for _, q := range quantities(p) {
				if !slices.Contains(names, q.name) {
					names = append(names, q.name)
				}
			}
		}
	}
	key := legend{}
	for i, r := range recs {
		s := category(i)
		s.marker = noMarker
		key.entries = append(key.entries, entry{fmt.Sprintf("seed %d", r.Seed), s})
	}
	var panels []*panel
	for _, name := range names {
		p := &panel{title: name, x: "epoch", whole: true}
		for k, r := range recs {
			c := curve{style: key.entries[k].style}
			for _, pt := range r.Curve {
				for _, q := range quantities(pt) {
					if q.name == name {
						c.x, c.y = append(c.x, float64(pt.Epoch)), append(c.y, float64(q.value))
					}
				}
			}
			if name == Reward && len(c.x) > 0 && finite(r.LoggingReward) {
				logging := curve{style: reference, x: []float64{c.x[0], c.x[len(c.x)-1]}}
				logging.y = []float64{float64(r.LoggingReward), float64(r.LoggingReward)}
				p.curves = append(p.curves, logging)
			}
			p.curves = append(p.curves, c)
		}
		panels = append(panels, p)
	}
	d.panels = inRows(panels)
	key.entries = append(key.entries, entry{"logging policy", reference})
	title := legend{title: fmt.Sprintf("%s, η₀ = %s: %s", datasetName(first.Dataset), tickLabel(first.Eta0), n.configuration(first.Run))}
	d.legends = []legend{key, title}
	return d
}

// configuration names what is learned, apart from the problem.
func (n names) configuration(r train.Run) string {
	parts := []string{n.method(r.Objective, r.Lambda)}
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
	parts := []string{r.Dataset, "eta" + number(r.Eta0), r.Objective}
	for _, s := range []string{r.Lambda, r.Weight} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if r.Hyper.Valid() {
		parts = append(parts, short(r.Hyper))
	}
	if r.Penalty.Valid() {
		parts = append(parts, r.Penalty.String())
	}
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, strings.Join(parts, "_"))
}

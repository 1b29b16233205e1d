// Package report shows records of runs: reward tables for readers, CSV and JSON
// for programs, the paper's figures, and verdicts on its conclusions.
package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"opl/train"
	"opl/train/provenance"
	"opl/train/report/table"
)

// The formats, see package table.
type Format = table.Format

const (
	Table    = table.Text
	Markdown = table.Markdown
	CSV      = table.CSV
	JSON     = table.JSON
)

// Write prints records in a format.
func Write(w io.Writer, f Format, recs []train.Record) error {
	switch f {
	case CSV:
		return writeCSV(w, recs)
	case JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		if recs == nil {
			recs = []train.Record{}
		}
		return e.Encode(recs)
	case Table, Markdown:
		return rewards(w, f, table.Width(w), recs)
	}
	return fmt.Errorf("report: unknown format %q", f)
}

type column struct {
	name string
	of   func(r train.Record) string
}

// columns of the CSV. Later ones are only ever appended; so are those of settings that
// are not placed here.
var columns = withSettings([]column{
	{"dataset", func(r train.Record) string { return r.Dataset }},
	{"eta0", func(r train.Record) string { return train.Number(r.Eta0).String() }},
	{"objective", func(r train.Record) string { return r.Objective }},
	{"policy", func(r train.Record) string { return r.Policy }},
	{"weights", func(r train.Record) string { return r.Weight }},
	{"hyperparameter", func(r train.Record) string { return r.Hyper.String() }},
	{"lambda", func(r train.Record) string { return r.Lambda }},
	{"seed", func(r train.Record) string { return fmt.Sprint(r.Seed) }},
	{"n", func(r train.Record) string { return fmt.Sprint(r.N) }},
	setting("epochs"),
	{"logging_reward", func(r train.Record) string { return r.LoggingReward.String() }},
	{"reward", func(r train.Record) string { return r.Reward.String() }},
	{"reward_at_mean", func(r train.Record) string { return r.RewardAtMean.String() }},
	{"objective_value", func(r train.Record) string { return r.ObjectiveValue.String() }},
	{"seconds", func(r train.Record) string { return fmt.Sprintf("%.3f", r.Seconds) }},
	{"reward_se", func(r train.Record) string { return r.RewardSE.String() }},
	{"sampled_reward", func(r train.Record) string { return r.SampledReward.String() }},
	{"sigma", func(r train.Record) string { return r.Sigma.String() }},
	{"penalty", func(r train.Record) string { return r.Penalty.String() }},
	setting("noise"),
	setting("samples"),
	setting("lr"),
	setting("batch_size"),
	setting("dtype"),
	{"guaranteed", certified(func(c *provenance.Statement) string { return number(c.Reward()) })},
	{"certificate", certified(func(c *provenance.Statement) string { return c.Best().Name })},
	{"gain_guaranteed", certified(func(c *provenance.Statement) string { return number(c.GainAtLeast()) })},
	{"verdict", certified(func(c *provenance.Statement) string { return string(c.Verdict) })},
	setting("delta"),
	setting("schedule"),
	setting("prior_split"),
	{"prior_scale", func(r train.Record) string { return r.PriorScale.String() }},
	{"certificate_n", certified(func(c *provenance.Statement) string { return count(c.N) })},
	{"certificate_kl", certified(func(c *provenance.Statement) string { return number(c.KL) })},
	{"certificate_lambda", certified(func(c *provenance.Statement) string { return number(c.Best().Lambda) })},
	{"certificate_risk", certified(func(c *provenance.Statement) string { return number(c.Best().Terms[0].Value) })},
	{"certificate_delta", certified(func(c *provenance.Statement) string { return number(c.Best().Delta) })},
	{"certificate_kappa", certified(bestTerm("kappa"))},
	{"certificate_bias", certified(bestTerm("bias"))},
	{"certificate_variance", certified(bestTerm("variance"))},
	{"certificate_sampling", certified(bestTerm("sampling"))},
})

// setting is the place of a setting's column.
func setting(name string) column { return column{name: name} }

// withSettings fills in the columns of settings, and appends those without a place.
func withSettings(cs []column) []column {
	for _, e := range train.AllSettings() {
		if e.Column == "" {
			continue
		}
		c := column{e.Column, func(r train.Record) string { return e.Cell(r.Settings) }}
		if at := slices.IndexFunc(cs, func(c column) bool { return c.name == e.Column }); at >= 0 {
			cs[at] = c
		} else {
			cs = append(cs, c)
		}
	}
	return cs
}

// bestTerm reads a term of the tightest bound, nothing where it has no such term.
func bestTerm(name string) func(c *provenance.Statement) string {
	return func(c *provenance.Statement) string {
		for _, t := range c.Best().Terms {
			if t.Name == name {
				return number(t.Value)
			}
		}
		return ""
	}
}

// certified reads a record's certificate, nothing where there is none.
func certified(of func(c *provenance.Statement) string) func(train.Record) string {
	return func(r train.Record) string {
		if r.Certificate == nil {
			return ""
		}
		return of(r.Certificate)
	}
}

func number(x float64) string { return train.Number(x).String() }

// count is empty for 0.
func count[T int | float64](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func writeCSV(w io.Writer, recs []train.Record) error {
	c := csv.NewWriter(w)
	line := make([]string, len(columns))
	for i, col := range columns {
		line[i] = col.name
	}
	_ = c.Write(line)
	for _, r := range recs {
		for i, col := range columns {
			line[i] = col.of(r)
		}
		_ = c.Write(line)
	}
	c.Flush()
	return c.Error()
}

// group is the runs of one configuration that differ in the seed alone.
type group struct {
	train.Record                              // of the first seed
	reward, logging, atMean, sampled, seconds []float64
	guaranteed                                []float64
	verdicts                                  map[provenance.Verdict]int
	se                                        float64 // Monte Carlo error of one run's reward
}

// groups puts runs that differ in the seed alone together, in order of first
// appearance.
func groups(recs []train.Record) []*group {
	var gs []*group
	byRun := map[string]*group{}
	for _, r := range recs {
		key := r.Run
		key.Seed = 0
		name := fmt.Sprintf("%+v", key)
		g := byRun[name]
		if g == nil {
			g = &group{Record: r, verdicts: map[provenance.Verdict]int{}}
			byRun[name] = g
			gs = append(gs, g)
		}
		g.reward = append(g.reward, float64(r.Reward))
		g.logging = append(g.logging, float64(r.LoggingReward))
		if r.RewardAtMean.Valid() {
			g.atMean = append(g.atMean, float64(r.RewardAtMean))
		}
		if r.SampledReward.Valid() {
			g.sampled = append(g.sampled, float64(r.SampledReward))
		}
		if r.Certificate != nil {
			g.guaranteed = append(g.guaranteed, r.Certificate.Reward())
			g.verdicts[r.Certificate.Verdict]++
		}
		g.seconds = append(g.seconds, r.Seconds)
		g.se = math.Max(g.se, float64(r.RewardSE))
	}
	return gs
}

// rewards prints one table for each data set and η₀, best reward first.
func rewards(w io.Writer, f Format, width int, recs []train.Record) error {
	gs := groups(recs)
	type problem struct {
		dataset string
		eta0    float64
	}
	var problems []problem
	for _, g := range gs {
		if p := (problem{g.Dataset, g.Eta0}); !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	for i, p := range problems {
		if i > 0 {
			fmt.Fprintln(w)
		}
		var of []*group
		for _, g := range gs {
			if g.Dataset == p.dataset && g.Eta0 == p.eta0 {
				of = append(of, g)
			}
		}
		slices.SortStableFunc(of, func(a, b *group) int {
			switch ma, mb := mean(a.reward), mean(b.reward); {
			case ma > mb:
				return -1
			case ma < mb:
				return 1
			}
			return 0
		})
		if err := rewardTable(w, f, width, of); err != nil {
			return err
		}
	}
	return nil
}

// field is a column of the reward table. From the level below on, 0 for never, its values
// are said once under the table, by row; with 2, in any text table whose rows all share
// one. With join it is no column of its own but part of the one before it.
type field struct {
	head, join string
	below      int
	cells      []string
}

// under reports that the field is said under a table of a level.
func (c field) under(level int) bool {
	return c.below > 0 && (level >= c.below || level > 0 && c.below == 2 && len(c.values()) == 1)
}

// values lists what the cells have, each once.
func (c field) values() (values []string) {
	for _, v := range c.cells {
		if v != "—" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// note is the field as a line under the table: one value, or each with its rows, which are
// named by their objectives where those suffice.
func (c field) note(gs []*group) string {
	values := c.values()
	if len(values) > 1 {
		for i, v := range values {
			var of []string
			for j, g := range gs {
				name := g.Objective
				for k, other := range gs {
					if other.Objective == g.Objective && c.cells[k] != v {
						name = strings.TrimSpace(g.Objective + " " + weight(g.Weight, g.Hyper))
					}
				}
				if c.cells[j] == v && !slices.Contains(of, name) {
					of = append(of, name)
				}
			}
			values[i] += " (" + strings.Join(of, ", ") + ")"
		}
	}
	return c.head + ": " + strings.Join(values, ", ")
}

// weight names a weight with its hyperparameter.
func weight(name string, hyper train.Number) string {
	if hyper.Valid() {
		name = strings.TrimPrefix(fmt.Sprintf("%s=%.4g", name, float64(hyper)), "=")
	}
	return name
}

// fields are the columns of the reward table, without those that no row has.
func fields(gs []*group, f Format) []field {
	column := func(head, join string, below int, of func(g *group) string) field {
		c := field{head: head, join: join, below: below}
		for _, g := range gs {
			c.cells = append(c.cells, dash(of(g)))
		}
		return c
	}
	learned := func(of func(g *group) string) func(g *group) string {
		return func(g *group) string {
			if g.Objective == train.LoggingPolicy {
				return ""
			}
			return of(g)
		}
	}
	seconds := "sec"
	if f == Markdown {
		seconds = "seconds"
	}
	all := []field{
		column("objective", "", 0, func(g *group) string { return g.Objective }),
		column("policy", "", 2, func(g *group) string { return g.Policy }),
		column("weight", "", 0, func(g *group) string { return weight(g.Weight, g.Hyper) }),
		column("λ", "", 2, func(g *group) string { return g.Lambda }),
		column("reward", "", 0, func(g *group) string {
			if len(g.reward) > 1 {
				return fmt.Sprintf("%.4f ± %.4f", mean(g.reward), deviation(g.reward))
			}
			return fmt.Sprintf("%.4f", mean(g.reward))
		}),
		column("standard error of the reward", " (%s)", 4, func(g *group) string {
			if len(g.reward) > 1 || g.se == 0 {
				return ""
			}
			return fmt.Sprintf("%.4f", g.se)
		}),
		column("gain", "", 0, learned(func(g *group) string { return fmt.Sprintf("%+.4f", mean(g.reward)-mean(g.logging)) })),
		column("at mean", "", 0, func(g *group) string { return optional(g.atMean) }),
		column("guaranteed", "", 0, func(g *group) string { return optional(g.guaranteed) }),
		column("bound", " by %s", 2, func(g *group) string {
			if g.Certificate == nil {
				return ""
			}
			return g.Certificate.Best().Name
		}),
		column("verdict", "", 3, func(g *group) string { return verdict(g.verdicts) }),
		column("sampled", "", 4, func(g *group) string { return optional(g.sampled) }),
		column(seconds, "", 0, learned(func(g *group) string { return fmt.Sprintf("%.1f", mean(g.seconds)) })),
	}
	return slices.DeleteFunc(all, func(c field) bool {
		kept := f == Markdown && (c.head == "at mean" || c.head == "weight" || c.head == "gain" || c.head == seconds)
		return len(c.values()) == 0 && !kept
	})
}

// rewardTable prints a title, the table, and what is said under it. A text table says more
// of it there the narrower it must be: see field.
func rewardTable(w io.Writer, f Format, width int, gs []*group) error {
	all := fields(gs, f)
	var head, under, notes []string
	var rows [][]string
	level := 1
	if f == Markdown {
		level = 0
	}
	for ; ; level++ {
		head, under, rows = nil, nil, make([][]string, len(gs))
		for _, c := range all {
			switch {
			case c.under(level):
				under = append(under, c.note(gs))
				continue
			case c.join == "":
				head = append(head, c.head)
			}
			for i, cell := range c.cells {
				switch {
				case c.join == "":
					rows[i] = append(rows[i], cell)
				case cell != "—":
					rows[i][len(head)-1] += fmt.Sprintf(c.join, cell)
				}
			}
		}
		if f == Markdown || level == 4 || table.Fits(width, head, rows) {
			break
		}
	}
	first, seeds, mc := gs[0], 1, false
	for _, g := range gs {
		seeds = max(seeds, len(g.reward))
		mc = mc || g.se > 0
	}
	title := fmt.Sprintf("%s, η₀ = %v, n = %d, seed %d", first.Dataset, first.Eta0, first.N, first.Seed)
	if seeds > 1 {
		title = fmt.Sprintf("%s, η₀ = %v, n = %d, %d seeds", first.Dataset, first.Eta0, first.N, seeds)
	}
	if f == Markdown {
		title = "**" + title + "**\n"
	}
	fmt.Fprintln(w, title)
	if err := table.WriteWithin(w, f, width, head, rows); err != nil {
		return err
	}
	if under != nil {
		notes = append(notes, strings.Join(under, "; "))
	}
	if d := delta(gs); d > 0 {
		notes = append(notes, fmt.Sprintf("guaranteed: with probability %v over the log, together with the verdict against the logging policy", 1-d))
	}
	switch {
	case seeds > 1:
		notes = append(notes, "reward: mean ± standard deviation over seeds; gain: over the logging policy")
	case mc && level < 4:
		notes = append(notes, "(…): standard error of a reward that is sampled with 1,024 draws; gain: over the logging policy")
	case mc:
		notes = append(notes, "standard error: of rewards that are sampled with 1,024 draws; gain: over the logging policy")
	}
	for _, n := range notes {
		if f == Markdown {
			n = "\n" + n
		} else {
			n = strings.Join(table.Wrap(width-2, n), "\n  ")
		}
		fmt.Fprintln(w, n)
	}
	return nil
}

// delta is the δ of the certificates.
func delta(gs []*group) float64 {
	for _, g := range gs {
		if g.Certificate != nil {
			return g.Certificate.Delta
		}
	}
	return 0
}

// verdict lists the verdicts over seeds.
func verdict(of map[provenance.Verdict]int) string {
	var parts []string
	for _, v := range []provenance.Verdict{provenance.Better, provenance.NotShown, provenance.Vacuous} {
		switch n := of[v]; {
		case n > 0 && len(of) == 1:
			return string(v)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d× %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

func dash(s string) string {
	if s == "" {
		return "—"
	}
	return s
}

func optional(xs []float64) string {
	if len(xs) == 0 {
		return "—"
	}
	return fmt.Sprintf("%.4f", mean(xs))
}

func mean(xs []float64) float64 {
	var s float64
	for _, x := range xs {
		s += x
	}
	return s / float64(len(xs))
}

// deviation is the sample standard deviation.
func deviation(xs []float64) float64 {
	m, s := mean(xs), 0.0
	for _, x := range xs {
		s += (x - m) * (x - m)
	}
	return math.Sqrt(s / float64(len(xs)-1))
}

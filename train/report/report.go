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
	"opl/train/certify"
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
		return rewards(w, f, recs)
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
	{"guaranteed", certified(func(c *certify.Certificate) string { return number(c.Guaranteed()) })},
	{"certificate", certified(func(c *certify.Certificate) string { return c.Best().Name })},
	{"logging_upper", certified(func(c *certify.Certificate) string { return number(c.LoggingUpper) })},
	{"verdict", certified(func(c *certify.Certificate) string { return string(c.Verdict) })},
	setting("delta"),
	setting("schedule"),
	setting("prior_split"),
	{"prior_scale", func(r train.Record) string { return r.PriorScale.String() }},
	{"certificate_n", certified(func(c *certify.Certificate) string { return count(c.N) })},
	{"certificate_kl", certified(func(c *certify.Certificate) string { return number(c.KL) })},
	{"certificate_lambda", certified(func(c *certify.Certificate) string { return number(c.Best().Lambda) })},
	{"certificate_risk", certified(func(c *certify.Certificate) string { return number(c.Best().Terms[0].Value) })},
	{"certificate_delta", certified(func(c *certify.Certificate) string { return number(c.Best().Delta) })},
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
func bestTerm(name string) func(c *certify.Certificate) string {
	return func(c *certify.Certificate) string {
		for _, t := range c.Best().Terms {
			if t.Name == name {
				return number(t.Value)
			}
		}
		return ""
	}
}

// certified reads a record's certificate, nothing where there is none.
func certified(of func(c *certify.Certificate) string) func(train.Record) string {
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
	verdicts                                  map[certify.Verdict]int
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
			g = &group{Record: r, verdicts: map[certify.Verdict]int{}}
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
			g.guaranteed = append(g.guaranteed, r.Certificate.Guaranteed())
			g.verdicts[r.Certificate.Verdict]++
		}
		g.seconds = append(g.seconds, r.Seconds)
		g.se = math.Max(g.se, float64(r.RewardSE))
	}
	return gs
}

// rewards prints one table for each data set and η₀, best reward first.
func rewards(w io.Writer, f Format, recs []train.Record) error {
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
		if err := rewardTable(w, f, of); err != nil {
			return err
		}
	}
	return nil
}

func rewardTable(w io.Writer, f Format, gs []*group) error {
	seeds, sampled, mc, lambda, guaranteed := 1, false, false, false, false
	for _, g := range gs {
		seeds = max(seeds, len(g.reward))
		sampled = sampled || len(g.sampled) > 0
		mc = mc || g.se > 0
		lambda = lambda || g.Lambda != ""
		guaranteed = guaranteed || len(g.guaranteed) > 0
	}
	head := []string{"objective", "policy", "weight"}
	if lambda {
		head = append(head, "λ")
	}
	head = append(head, "reward", "gain", "at mean")
	if guaranteed {
		head = append(head, "guaranteed", "verdict")
	}
	if sampled {
		head = append(head, "sampled")
	}
	head = append(head, "seconds")
	var rows [][]string
	for _, g := range gs {
		weight := g.Weight
		if g.Hyper.Valid() {
			weight = strings.TrimPrefix(fmt.Sprintf("%s=%.4g", weight, float64(g.Hyper)), "=")
		}
		row := []string{g.Objective, g.Policy, dash(weight)}
		if lambda {
			row = append(row, dash(g.Lambda))
		}
		reward := fmt.Sprintf("%.4f", mean(g.reward))
		gain, seconds := "—", "—"
		switch {
		case len(g.reward) > 1:
			reward += fmt.Sprintf(" ± %.4f", deviation(g.reward))
		case g.se > 0:
			reward += fmt.Sprintf(" (%.4f)", g.se)
		}
		if g.Objective != train.LoggingPolicy {
			gain = fmt.Sprintf("%+.4f", mean(g.reward)-mean(g.logging))
			seconds = fmt.Sprintf("%.1f", mean(g.seconds))
		}
		row = append(row, reward, gain, optional(g.atMean))
		if guaranteed {
			promise := optional(g.guaranteed)
			if len(g.guaranteed) > 0 {
				promise += " by " + g.Certificate.Best().Name
			}
			row = append(row, promise, dash(verdict(g.verdicts)))
		}
		if sampled {
			row = append(row, optional(g.sampled))
		}
		rows = append(rows, append(row, seconds))
	}
	first := gs[0]
	bold := func(s string) string { return s }
	if f == Markdown {
		bold = func(s string) string { return "**" + s + "**\n" }
	}
	title := fmt.Sprintf("%s, η₀ = %v, n = %d, seed %d", first.Dataset, first.Eta0, first.N, first.Seed)
	if seeds > 1 {
		title = fmt.Sprintf("%s, η₀ = %v, n = %d, %d seeds", first.Dataset, first.Eta0, first.N, seeds)
	}
	fmt.Fprintln(w, bold(title))
	if err := table.Write(w, f, head, rows); err != nil {
		return err
	}
	if guaranteed {
		fmt.Fprintf(w, "%sguaranteed: with probability %v over the log, together with the verdict against the logging policy\n", blank(f), 1-delta(gs))
	}
	if seeds > 1 {
		fmt.Fprintf(w, "%sreward: mean ± standard deviation over seeds; gain: over the logging policy\n", blank(f))
	} else if mc {
		fmt.Fprintf(w, "%s(…): standard error of a reward that is sampled with 1,024 draws; gain: over the logging policy\n", blank(f))
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
func verdict(of map[certify.Verdict]int) string {
	var parts []string
	for _, v := range []certify.Verdict{certify.Better, certify.NotShown, certify.Vacuous} {
		switch n := of[v]; {
		case n > 0 && len(of) == 1:
			return string(v)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d× %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// blank is what Markdown needs between a table and a paragraph.
func blank(f Format) string {
	if f == Markdown {
		return "\n"
	}
	return ""
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

// Print writes one table; columns whose header is a number's are right-aligned.
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

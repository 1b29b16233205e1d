// Package report shows records of runs: reward tables for readers, CSV and JSON for programs, the
// paper's figures, and verdicts on its conclusions. Use it after package experiment.
package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/provenance"
	"opl/train/report/table"
)

// Write prints records in a format.
func Write(w io.Writer, f table.Format, recs []train.Record) error {
	if f == table.CSV {
		return writeCSV(w, recs)
	}
	return rewards(w, f, table.Width(w), recs)
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
	{"certificate_risk",
		certified(func(c *provenance.Statement) string { return number(c.Best().Terms[0].Value) })},
	{"certificate_delta", certified(func(c *provenance.Statement) string { return number(c.Best().Delta) })},
	{"certificate_kappa", certified(bestTerm("kappa"))},
	{"certificate_bias", certified(bestTerm("bias"))},
	{"certificate_variance", certified(bestTerm("variance"))},
	{"certificate_sampling", certified(bestTerm("sampling"))},
	{"learner", func(r train.Record) string { return r.Learner }},
	{"reward_held_out", func(r train.Record) string { return heldOut(r).String() }},
})

// setting reserves the place of a setting's column; withSettings fills it in.
func setting(name string) column { return column{name: name} }

// withSettings fills in the columns of settings, and appends those without a place.
func withSettings(cs []column) []column {
	for _, e := range train.AllSettings() {
		at := slices.IndexFunc(cs, func(c column) bool { return c.name == e.Column })
		if at < 0 && e.Column != "" {
			at, cs = len(cs), append(cs, setting(e.Column))
		}
		if at >= 0 {
			cs[at].of = func(r train.Record) string { return e.Cell(r.Settings) }
		}
	}
	return cs
}

// bestTerm reads a term of the tightest bound, or "" if the bound has no such term.
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

// heldOut is the reward on rows of the log that had no part in the policy.
func heldOut(r train.Record) train.Number {
	if r.HeldOut == nil {
		return train.None()
	}
	return train.Number(r.HeldOut.Reward)
}

// certified reads a record's certificate, or "" if it has none.
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
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func writeCSV(w io.Writer, recs []train.Record) error {
	var head []string
	rows := make([][]string, len(recs))
	for _, col := range columns {
		head = append(head, col.name)
		for i, r := range recs {
			rows[i] = append(rows[i], col.of(r))
		}
	}
	return table.Write(w, table.CSV, head, rows)
}

// group holds the runs of one configuration, which differ in the seed alone.
type group struct {
	train.Record // of the first seed
	runs         []train.Record
	reward       float64 // mean
	se           float64 // Monte Carlo error of one run's reward
}

// problem is what the runs of a table have in common.
type problem struct {
	dataset string
	eta0    float64
}

func problemOf(r train.Record) problem { return problem{r.Dataset, r.Eta0} }

// rewards prints one table for each data set and η₀, best reward first.
func rewards(w io.Writer, f table.Format, width int, recs []train.Record) error {
	var gs []*group
	for _, runs := range groupBy(recs, configuration) {
		g := &group{Record: runs[0], runs: runs, reward: meanReward(runs)}
		for _, r := range runs {
			g.se = math.Max(g.se, float64(r.RewardSE))
		}
		gs = append(gs, g)
	}
	for i, of := range groupBy(gs, func(g *group) problem { return problemOf(g.Record) }) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		slices.SortStableFunc(of, func(a, b *group) int { return cmp.Compare(b.reward, a.reward) })
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
	for i, v := range values {
		if len(values) == 1 {
			break
		}
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
func fields(gs []*group, f table.Format) []field {
	var all []field
	add := func(head, join string, below int, of func(g *group) string) {
		c := field{head: head, join: join, below: below}
		for _, g := range gs {
			c.cells = append(c.cells, dash(of(g)))
		}
		kept := f != table.Text && (head == "at mean" || head == "weight" || head == "gain" ||
			head == "seconds")
		if len(c.values()) > 0 || kept {
			all = append(all, c)
		}
	}
	learned := func(format string, of func(g *group) float64) func(g *group) string {
		return func(g *group) string {
			if g.Objective == train.LoggingPolicy {
				return ""
			}
			return fmt.Sprintf(format, of(g))
		}
	}
	optional := func(of func(r train.Record) train.Number) func(g *group) string {
		return func(g *group) string {
			xs := slices.DeleteFunc(numbers(g.runs, of), math.IsNaN)
			if len(xs) == 0 {
				return ""
			}
			return fmt.Sprintf("%.4f", mean(xs))
		}
	}
	seconds := "sec"
	if f != table.Text {
		seconds = "seconds"
	}
	add("objective", "", 0, func(g *group) string { return g.Objective })
	add("policy", "", 2, func(g *group) string { return g.Policy })
	add("weight", "", 0, func(g *group) string { return weight(g.Weight, g.Hyper) })
	add("λ", "", 2, func(g *group) string { return g.Lambda })
	add("reward", "", 0, func(g *group) string {
		if len(g.runs) > 1 {
			return fmt.Sprintf("%.4f ± %.4f", g.reward, deviation(numbers(g.runs, reward)))
		}
		return fmt.Sprintf("%.4f", g.reward)
	})
	add("standard error of the reward", " (%s)", 4, func(g *group) string {
		if len(g.runs) > 1 || g.se == 0 {
			return ""
		}
		return fmt.Sprintf("%.4f", g.se)
	})
	add("gain", "", 0,
		learned("%+.4f", func(g *group) float64 { return g.reward - mean(numbers(g.runs, loggingReward)) }))
	add("at mean", "", 0, optional(func(r train.Record) train.Number { return r.RewardAtMean }))
	add("held out", "", 2, optional(heldOut))
	add("guaranteed", "", 0, optional(func(r train.Record) train.Number {
		if r.Certificate == nil {
			return train.None()
		}
		return train.Number(r.Certificate.Reward())
	}))
	add("bound", " by %s", 2, func(g *group) string {
		return certified(func(c *provenance.Statement) string { return c.Best().Name })(g.Record)
	})
	add("verdict", "", 3, verdict)
	add("sampled", "", 4, optional(func(r train.Record) train.Number { return r.SampledReward }))
	add(seconds, "", 0, learned("%.1f", func(g *group) float64 {
		return mean(numbers(g.runs, func(r train.Record) train.Number { return train.Number(r.Seconds) }))
	}))
	return all
}

// rewardTable prints a title, the table, and what is said under it. A text table says more
// of it there the narrower it must be: see field.
func rewardTable(w io.Writer, f table.Format, width int, gs []*group) error {
	all := fields(gs, f)
	var head, under []string
	var rows [][]string
	level, last := 1, 4
	if f != table.Text {
		level, last = 0, 0
	}
	for ; ; level++ {
		head, under, rows = nil, nil, make([][]string, len(gs))
		for _, c := range all {
			if c.under(level) {
				under = append(under, c.note(gs))
				continue
			}
			if c.join == "" {
				head = append(head, c.head)
			}
			for i, cell := range c.cells {
				if c.join == "" {
					rows[i] = append(rows[i], cell)
				} else if cell != "—" {
					rows[i][len(head)-1] += fmt.Sprintf(c.join, cell)
				}
			}
		}
		if level == last || table.Wide(head, rows) <= width {
			break
		}
	}
	first, seeds := gs[0], seedsOf(gs)
	title := fmt.Sprintf("%s, η₀ = %v, n = %d, seed %d", first.Dataset, first.Eta0, first.N, first.Seed)
	if seeds > 1 {
		title = fmt.Sprintf("%s, η₀ = %v, n = %d, %d seeds", first.Dataset, first.Eta0, first.N, seeds)
	}
	switch f {
	case table.Markdown:
		title = "**" + title + "**\n"
	case table.LaTeX:
		title = table.Escape(title) + "\n"
	}
	fmt.Fprintln(w, title)
	if err := table.WriteWithin(w, f, width, head, rows); err != nil {
		return err
	}
	notes := legend(gs, level >= 4)
	if under != nil {
		notes = slices.Insert(notes, 0, strings.Join(under, "; "))
	}
	for _, n := range notes {
		switch f {
		case table.Markdown:
			n = "\n" + n
		case table.LaTeX:
			n = "\n" + table.Escape(n)
		default:
			n = strings.Join(table.Wrap(width-2, n), "\n  ")
		}
		fmt.Fprintln(w, n)
	}
	return nil
}

// seedsOf is the largest number of runs of a configuration.
func seedsOf(gs []*group) (n int) {
	for _, g := range gs {
		n = max(n, len(g.runs))
	}
	return n
}

// legend says what the numbers of a table mean; apart: standard errors are said under it.
func legend(gs []*group, apart bool) (notes []string) {
	var certificate *provenance.Statement
	for _, g := range gs {
		certificate = cmp.Or(certificate, g.Certificate)
	}
	if _, slots := experiment.ListsOf(gs[0].Dataset); slots > 0 {
		notes = append(notes, "reward: the probability that a list is clicked, 1/l where slot l shows the label, "+
			"so that cascade holds; n: slots")
	}
	if certificate != nil {
		notes = append(notes, fmt.Sprintf("guaranteed: with probability %v over the log, together with the "+
			"verdict against the logging policy, of each line by itself: if you pick the best of several, "+
			"divide δ among them",
			1-certificate.Delta))
	}
	if slices.ContainsFunc(gs, func(g *group) bool { return g.HeldOut != nil }) {
		notes = append(notes, "held out: reward on the rows of the log that had no part in the policy")
	}
	switch mc := slices.ContainsFunc(gs, func(g *group) bool { return g.se > 0 }); {
	case seedsOf(gs) > 1:
		notes = append(notes, "reward: mean ± standard deviation over seeds; gain: over the logging policy")
	case mc && !apart:
		notes = append(notes, "(…): standard error of a reward that is sampled with 1,024 draws; gain: over the "+
			"logging policy")
	case mc:
		notes = append(notes, "standard error: of rewards that are sampled with 1,024 draws; gain: over the "+
			"logging policy")
	}
	return notes
}

func verdict(g *group) string {
	of := map[provenance.Verdict]int{}
	for _, r := range g.runs {
		if r.Certificate != nil {
			of[r.Certificate.Verdict]++
		}
	}
	var parts []string
	for _, v := range []provenance.Verdict{provenance.Better, provenance.Doubted, provenance.NotShown,
		provenance.Vacuous} {
		switch n := of[v]; {
		case n > 0 && len(of) == 1:
			return string(v)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d× %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

func dash(s string) string { return cmp.Or(s, "—") }

func numbers(recs []train.Record, of func(train.Record) train.Number) []float64 {
	xs := make([]float64, len(recs))
	for i, r := range recs {
		xs[i] = float64(of(r))
	}
	return xs
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

// dependent marks values at a λ that the data chose.
const dependent = "no certificate: λ depends on the data"

// value is one objective or bound of a run, or one that was left out, and why.
type value struct {
	run                             train.Run
	dependent                       bool
	of, value, delta, n, ell, terms string
}

func values(recs []train.Record) (vs []value) {
	for _, r := range recs {
		if r.ObjectiveValue.Valid() {
			vs = append(vs, value{r.Run, r.Lambda == "star" || r.Lambda == "authors",
				"objective", fmt.Sprintf("%.5f", float64(r.ObjectiveValue)), "—", fmt.Sprint(r.N), "—",
				terms(r.Terms)})
		}
		if r.Certificate == nil {
			continue
		}
		for _, b := range r.Certificate.All {
			vs = append(vs, value{r.Run, false,
				b.Name, fmt.Sprintf("%.5f", b.Risk), fmt.Sprintf("%.3g", b.Delta), fmt.Sprint(r.Certificate.N),
				fmt.Sprintf("%.4g", b.Lambda), terms(b.Terms)})
		}
		for _, m := range r.Certificate.Missing {
			vs = append(vs, value{r.Run, false, "left out", "—", "—", "—", "—", m})
		}
	}
	return vs
}

// WriteTerms prints what the objectives of records, on the whole log, and their
// certificates are made of: as Markdown or LaTeX in one table, as text a block a run, within the width of the terminal.
func WriteTerms(w io.Writer, f table.Format, recs []train.Record) error {
	vs := values(recs)
	if f == table.Text {
		return writeBlocks(w, table.Width(w), vs)
	}
	var rows [][]string
	for _, v := range vs {
		if v.dependent {
			v.of += " (" + dependent + ")"
		}
		rows = append(rows, []string{experiment.Name(v.run), v.of, v.value, v.delta, v.n, v.ell, v.terms})
	}
	fmt.Fprintln(w)
	return table.Write(w, f, []string{"run", "value of", "value", "δ", "n", "λ, ℓ", "terms"}, rows)
}

// writeBlocks prints a block a run: a line, as wide as the terminal, for each of its values with the terms.
func writeBlocks(w io.Writer, width int, vs []value) error {
	var b strings.Builder
	for _, of := range groupBy(vs, func(v value) string { return experiment.Name(v.run) }) {
		fmt.Fprintf(&b, "\n%s\n", experiment.Name(of[0].run))
		for _, v := range of {
			line := v.of
			for _, part := range [][2]string{{" ", v.value}, {", δ ", v.delta}, {", n ", v.n}, {", λ, ℓ ", v.ell}} {
				if part[1] != "—" {
					line += part[0] + part[1]
				}
			}
			if v.dependent {
				line += " (" + dependent + ")"
			}
			const joined = "\u00a0" // a term's name and its value stay on one line
			own := strings.ReplaceAll(strings.ReplaceAll(v.terms, " ", joined), ","+joined, ", ")
			lines := strings.Join(table.Wrap(width-6, line+": "+own), "\n      ")
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(lines, joined, " "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func terms(ts []objectives.Term) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = fmt.Sprintf("%s %.5g", t.Name, t.Value)
	}
	return strings.Join(parts, ", ")
}

package ope

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"opl/train/report/table"
)

// Label is the estimator with its hyperparameter, such as clip=0.1.
func (e Estimate) Label() string {
	if e.Hyper == 0 {
		return e.Estimator
	}
	return fmt.Sprintf("%s=%.3g", e.Estimator, e.Hyper)
}

// Write prints the result in a format, with rewards in the log's units, see [Result.InUnits]. Table and Markdown say below the numbers
// what they mean, warn, and state guarantees; CSV is one line an estimate, without
// the pairs; tables show the pairs of unbiased estimators, and no gains of biased ones: JSON has all. Text has
// intervals as value ± half of their width, or in brackets if they are not symmetric, and 80 columns for ordinary names.
// Numbers have two digits of that half, or of the standard error.
func (r Result) Write(w io.Writer, f table.Format) error {
	r = r.InUnits()
	switch f {
	case table.CSV:
		return r.writeCSV(w)
	case table.JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	case table.Text, table.Markdown:
		return r.writeTable(w, f)
	}
	return fmt.Errorf("ope: unknown format %q", f)
}

func (r Result) writeTable(w io.Writer, f table.Format) error {
	level := strconv.FormatFloat(100*(1-r.Delta), 'g', 4, 64) + " % interval"
	places := func(half float64) int { // two digits of it
		if half > 1e-12 { // else it is 0 but for rounding
			return max(1, min(8, 1-int(math.Floor(math.Log10(half)))))
		}
		return 4
	}
	d := max(digits(r.RewardMin, r.RewardMax, 3), places(r.Logging.SE))
	value := func(v float64) string { return strconv.FormatFloat(v, 'f', d, 64) }
	signed := func(v float64) string { return fmt.Sprintf("%+.*f", d, v) }
	// cells are an estimate as Text or Markdown has it.
	cells := func(g Interval, verb string, se bool) []string {
		half := (g.High - g.Low) / 2
		number := func(v float64) string { return fmt.Sprintf(verb, places(half), v) }
		switch {
		case f == table.Markdown && se:
			return []string{number(g.Value), fmt.Sprintf("%.2g", g.SE), number(g.Low) + " to " + number(g.High)}
		case f == table.Markdown:
			return []string{number(g.Value), number(g.Low) + " to " + number(g.High)}
		case r.Interval == "normal" || r.Interval == "bernstein":
			return []string{fmt.Sprintf("%s ± %.*f", number(g.Value), places(half), half)}
		}
		return []string{fmt.Sprintf("%s [%s, %s]", number(g.Value), number(g.Low), number(g.High))}
	}
	para := func(format string, args ...any) {
		if f == table.Markdown {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, format+"\n", args...)
	}

	const plain, gain = "%.*f", "%+.*f"
	head := []string{"policy", "estimator", "value", "s.e.", level, "gain", level}
	gap := []string{"—", "—"}
	if f == table.Text {
		head, gap = []string{"policy", "estimator", "value", "gain"}, gap[:1]
	}
	rows := [][]string{slices.Concat([]string{"logging", "on-policy"}, cells(r.Logging, plain, true), gap)}
	weights := [][]string{}
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			label, more := e.Label(), gap
			switch {
			case e.Biased:
				label += " (b)"
			case e.Estimator == p.Recommended:
				label += " *"
			}
			if !e.Biased {
				more = cells(e.Gain, gain, false)
			}
			rows = append(rows, slices.Concat([]string{p.Name, label}, cells(e.Interval, plain, true), more))
		}
		k := "none"
		if p.Tail != 0 {
			k = fmt.Sprintf("%.2f", p.Tail)
		}
		weights = append(weights, []string{p.Name, fmt.Sprintf("%.0f", p.ESS), fmt.Sprintf("%.*f (%.*f)", places(p.MeanWeightSE), p.MeanWeight, places(p.MeanWeightSE), p.MeanWeightSE),
			fmt.Sprintf("%.3g", p.Largest), fmt.Sprintf("%.2g %%", 100*p.Share), k, fmt.Sprintf("%.2g %%", 100*p.Uncovered)})
	}
	if err := table.WriteWithin(w, f, min(table.Width(w), 80), head, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := table.WriteWithin(w, f, min(table.Width(w), 80), []string{"policy", "ESS", "mean w (s.e.)", "largest", "its share", "tail k", "uncovered"}, weights); err != nil {
		return err
	}
	if len(r.Pairs) > 0 {
		fmt.Fprintln(w)
		rows = nil
		for _, p := range r.Pairs {
			if !p.Biased {
				rows = append(rows, append([]string{p.First, p.Second, p.Estimator}, cells(p.Interval, gain, true)...))
			}
		}
		head = []string{"first", "second", "estimator", "difference", "s.e.", level}
		if f == table.Text {
			head = head[:4]
		}
		if err := table.WriteWithin(w, f, min(table.Width(w), 80), head, rows); err != nil {
			return err
		}
	}
	rowsOf := fmt.Sprintf("%d rows", r.Rows)
	if r.Groups < r.Rows {
		rowsOf += fmt.Sprintf(" in %d groups", r.Groups)
	}
	para("value: %s, from %s; gain: over the logging policy, on the same rows", meanReward(r.RewardMin, r.RewardMax), rowsOf)
	if f == table.Text {
		switch r.Interval {
		case "normal":
			para("±: the %s, %.3g standard errors to either side", level, distuv.UnitNormal.Quantile(1-r.Delta/2))
		case "bernstein":
			para("±: the %s by bernstein, for any number of rows", level)
		default:
			para("[ ]: the %s by %s", level, r.Interval)
		}
	}
	para("ESS: rows that the weights π/π₀ amount to; k: shape of their tail, .7 or more is too heavy; uncovered: what the policy does that the log could not, or never did")
	for _, p := range r.Policies {
		rows := ""
		if p.RowsNeeded > 0 {
			rows = fmt.Sprintf("%s like these would give ± %.2g", about(p.RowsNeeded), p.HalfWidth)
		}
		switch {
		case p.Recommended != "":
			para("*: of %s believe %s; %s", p.Name, p.Recommended, rows)
		case p.Warnings == nil:
			para("of %s believe nothing: all estimators are biased", p.Name)
		case rows != "":
			para("of %s believe nothing; what would help: rows of a policy that does more often what %s does, or more: %s", p.Name, p.Name, rows)
		default:
			para("of %s believe nothing; what would help: rows of a policy that does what %s does", p.Name, p.Name)
		}
	}
	if biased := r.names(func(e Estimate) bool { return e.Biased }); biased != "" {
		para("(b) %s: biased; the interval is of what it estimates, not of the policy's value", biased)
	}
	if direct := r.names(Estimate.direct); direct != "" {
		para("%s: the interval leaves out the error of the reward model", direct)
	}
	for _, m := range r.Missing {
		para("left out: %s", m)
	}
	for _, s := range r.Notes {
		para("%s", s)
	}
	for _, p := range r.Policies {
		for _, s := range p.Warnings {
			para("warning: %s: %s", p.Name, s)
		}
	}
	for _, p := range r.Policies {
		if p.Guarantee == nil {
			para("nothing is guaranteed of %s: %s", p.Name, p.Uncertified)
			continue
		}
		g := p.Guarantee
		verdict := string(g.Verdict)
		if g.Circumstances != nil && g.Strength > 0 {
			verdict += fmt.Sprintf(", for propensities within the factor %s of those logged", factor(g.Strength))
		}
		para("guaranteed: %s earns at least %s, and %s more than the logging policy: %s", p.Name, value(below(*p.Guaranteed, d)), signed(below(*p.GainGuaranteed, d)), verdict)
		if g.Contradicted != "" {
			para("doubt: %s: %s", p.Name, g.Contradicted)
		}
	}
	if i := slices.IndexFunc(r.Policies, func(p Policy) bool { return p.Guarantee != nil }); i >= 0 {
		if gamma := r.Policies[i].Guarantee.Gamma; gamma > 1 {
			para("guarantees hold for all propensities within the factor %v of those logged", gamma)
		}
		para("guarantees hold together with probability %v, for one look, if rows (or groups) are independent and the policies were fixed before this log was seen", 1-r.Delta)
	}
	return nil
}

// direct reports an estimate that is a model's: its error is not in the interval, and
// weights do not make it.
func (e Estimate) direct() bool { return e.Biased && e.Model }

// names lists the estimators of some of the estimates.
func (r Result) names(of func(e Estimate) bool) string {
	var names []string
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			if of(e) && !slices.Contains(names, e.Estimator) {
				names = append(names, e.Estimator)
			}
		}
	}
	return strings.Join(names, ", ")
}

func (r Result) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	_ = c.Write([]string{"policy", "estimator", "hyperparameter", "value", "se", "low", "high", "gain", "gain_se", "gain_low", "gain_high",
		"rows", "groups", "ess", "mean_weight", "largest_weight", "largest_share", "delta", "guaranteed", "certificate", "gain_guaranteed", "verdict", "warnings",
		"biased", "recommended", "pareto_k", "uncovered", "rows_needed", "half_width", "interval"})
	l := r.Logging
	_ = c.Write([]string{"logging", "on-policy", "", number(l.Value), number(l.SE), number(l.Low), number(l.High), "", "", "", "",
		strconv.Itoa(r.Rows), strconv.Itoa(r.Groups), "", "", "", "", number(r.Delta), "", "", "", "", "", "", "", "", "", "", "", r.Interval})
	for _, p := range r.Policies {
		promise := make([]string, 4)
		if g := p.Guarantee; g != nil {
			promise = []string{number(*p.Guaranteed), g.Best().Name, number(*p.GainGuaranteed), string(g.Verdict)}
		}
		for _, e := range p.Estimates {
			hyper := ""
			if e.Hyper != 0 {
				hyper = number(e.Hyper)
			}
			line := []string{p.Name, e.Estimator, hyper, number(e.Value), number(e.SE), number(e.Low), number(e.High),
				number(e.Gain.Value), number(e.Gain.SE), number(e.Gain.Low), number(e.Gain.High), strconv.Itoa(r.Rows), strconv.Itoa(r.Groups),
				number(p.ESS), number(p.MeanWeight), number(p.Largest), number(p.Share), number(r.Delta)}
			_ = c.Write(append(append(line, promise...), strings.Join(p.Warnings, "; "), strconv.FormatBool(e.Biased), strconv.FormatBool(e.Estimator == p.Recommended),
				number(p.Tail), number(p.Uncovered), number(p.RowsNeeded), number(p.HalfWidth), r.Interval))
		}
	}
	c.Flush()
	return c.Error()
}

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

// Write prints the result in a format. Table and Markdown say below the numbers
// what they mean, warn, and state guarantees; CSV is one line an estimate, without
// the pairs; tables show the pairs of unbiased estimators, JSON all. Text has intervals
// as value ± half of their width, and 80 columns for ordinary names.
func (r Result) Write(w io.Writer, f table.Format) error {
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
	d := 4 // decimals: two digits of the standard error of the logging policy
	if se := r.Logging.SE; se > 0 {
		d = max(3, min(8, 1-int(math.Floor(math.Log10(se)))))
	}
	level := strconv.FormatFloat(100*(1-r.Delta), 'g', 4, 64) + " % interval"
	value := func(v float64) string { return strconv.FormatFloat(v, 'f', d, 64) }
	signed := func(v float64) string { return fmt.Sprintf("%+.*f", d, v) }
	// cells are an estimate as Text or Markdown has it.
	cells := func(g Interval, number func(float64) string, se ...string) []string {
		if f == table.Text {
			return []string{number(g.Value) + " ± " + value((g.High-g.Low)/2)}
		}
		return append(append([]string{number(g.Value)}, se...), number(g.Low)+" to "+number(g.High))
	}
	para := func(format string, args ...any) {
		if f == table.Markdown {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, format+"\n", args...)
	}

	head := []string{"policy", "estimator", "value", "s.e.", level, "gain", level, "ESS"}
	gap := []string{"—", "—"}
	if f == table.Text {
		head, gap = []string{"policy", "estimator", "value", "gain", "ESS"}, gap[:1]
	}
	rows := [][]string{slices.Concat([]string{"logging", "on-policy"}, cells(r.Logging, value, value(r.Logging.SE)), gap, []string{strconv.Itoa(r.Rows)})}
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			ess := fmt.Sprintf("%.0f", p.ESS)
			if e.direct() {
				ess = "—"
			}
			rows = append(rows, slices.Concat([]string{p.Name, e.Label()}, cells(e.Interval, value, value(e.SE)), cells(e.Gain, signed), []string{ess}))
		}
	}
	if err := table.Write(w, f, head, rows); err != nil {
		return err
	}
	if len(r.Pairs) > 0 {
		fmt.Fprintln(w)
		rows = nil
		for _, p := range r.Pairs {
			if !p.Biased {
				rows = append(rows, append([]string{p.First, p.Second, p.Estimator}, cells(p.Interval, signed, value(p.SE))...))
			}
		}
		head = []string{"first", "second", "estimator", "difference", "s.e.", level}
		if f == table.Text {
			head = head[:4]
		}
		if err := table.Write(w, f, head, rows); err != nil {
			return err
		}
	}
	rowsOf := fmt.Sprintf("%d rows", r.Rows)
	if r.Groups < r.Rows {
		rowsOf += fmt.Sprintf(" in %d groups", r.Groups)
	}
	para("value: mean reward in [0, 1], from %s; gain: over the logging policy, on the same rows", rowsOf)
	if f == table.Text {
		para("±: the %s, %.3g standard errors to either side", level, distuv.UnitNormal.Quantile(1-r.Delta/2))
	}
	if biased := r.names(func(e Estimate) bool { return e.Biased }); biased != "" {
		para("%s: biased; the interval is of the estimator's own mean", biased)
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
		para("guaranteed: %s earns at least %s, and %s more than the logging policy: %s", p.Name, value(g.Promise()), signed(g.GainAtLeast()), verdict)
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
		"rows", "groups", "ess", "mean_weight", "largest_weight", "largest_share", "delta", "guaranteed", "certificate", "gain_guaranteed", "verdict", "warnings"})
	l := r.Logging
	_ = c.Write([]string{"logging", "on-policy", "", number(l.Value), number(l.SE), number(l.Low), number(l.High), "", "", "", "",
		strconv.Itoa(r.Rows), strconv.Itoa(r.Groups), "", "", "", "", number(r.Delta), "", "", "", "", ""})
	for _, p := range r.Policies {
		promise := make([]string, 4)
		if g := p.Guarantee; g != nil {
			promise = []string{number(g.Promise()), g.Best().Name, number(g.GainAtLeast()), string(g.Verdict)}
		}
		for _, e := range p.Estimates {
			hyper := ""
			if e.Hyper != 0 {
				hyper = number(e.Hyper)
			}
			line := []string{p.Name, e.Estimator, hyper, number(e.Value), number(e.SE), number(e.Low), number(e.High),
				number(e.Gain.Value), number(e.Gain.SE), number(e.Gain.Low), number(e.Gain.High), strconv.Itoa(r.Rows), strconv.Itoa(r.Groups),
				number(p.ESS), number(p.MeanWeight), number(p.Largest), number(p.Share), number(r.Delta)}
			_ = c.Write(append(append(line, promise...), strings.Join(p.Warnings, "; ")))
		}
	}
	c.Flush()
	return c.Error()
}

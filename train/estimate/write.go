package estimate

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"opl/train/report/table"
)

// Label is the method with its hyperparameter, such as clip=0.1.
func (e Estimate) Label() string {
	if e.Hyper == 0 {
		return string(e.Method)
	}
	return fmt.Sprintf("%s=%.3g", e.Method, e.Hyper)
}

// Write prints the result in a format. Table and Markdown say below the numbers
// what they mean, warn, and state guarantees; CSV is one line an estimate, without
// the pairs; tables show the pairs of unbiased methods, JSON all.
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
	return fmt.Errorf("estimate: unknown format %q", f)
}

// digits is how many decimals show two digits of the standard error of the logging
// policy.
func (r Result) digits() int {
	if r.Logging.SE <= 0 {
		return 4
	}
	return max(3, min(8, 1-int(math.Floor(math.Log10(r.Logging.SE)))))
}

func (r Result) writeTable(w io.Writer, f table.Format) error {
	d := r.digits()
	level := strconv.FormatFloat(100*(1-r.Delta), 'g', 4, 64) + " % interval"
	value := func(v float64) string { return strconv.FormatFloat(v, 'f', d, 64) }
	signed := func(v float64) string { return fmt.Sprintf("%+.*f", d, v) }
	between := func(g Gain) string { return signed(g.Low) + " to " + signed(g.High) }
	para := func(format string, args ...any) {
		if f == table.Markdown {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, format+"\n", args...)
	}

	head := []string{"policy", "estimator", "value", "s.e.", level, "gain", level, "ESS"}
	rows := [][]string{{"logging", "on-policy", value(r.Logging.Value), value(r.Logging.SE), value(r.Logging.Low) + " to " + value(r.Logging.High), "—", "—", strconv.Itoa(r.Rows)}}
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			ess := fmt.Sprintf("%.0f", p.ESS)
			if e.Method == DM {
				ess = "—"
			}
			rows = append(rows, []string{p.Name, e.Label(), value(e.Value), value(e.SE), value(e.Low) + " to " + value(e.High), signed(e.Gain.Value), between(e.Gain), ess})
		}
	}
	if err := table.Write(w, f, head, rows); err != nil {
		return err
	}
	if len(r.Pairs) > 0 {
		fmt.Fprintln(w)
		rows = nil
		for _, p := range r.Pairs {
			if !p.Method.Biased() {
				rows = append(rows, []string{p.First, p.Second, string(p.Method), signed(p.Value), value(p.SE), between(p.Gain)})
			}
		}
		if err := table.Write(w, f, []string{"first", "second", "estimator", "difference", "s.e.", level}, rows); err != nil {
			return err
		}
	}
	rowsOf := fmt.Sprintf("%d rows", r.Rows)
	if r.Groups < r.Rows {
		rowsOf += fmt.Sprintf(" in %d groups", r.Groups)
	}
	para("value: mean reward in [0, 1], from %s; gain: over the logging policy, on the same rows", rowsOf)
	if biased := r.biased(); biased != "" {
		para("%s: biased; the interval is of the estimator's own mean", biased)
	}
	if slices.ContainsFunc(r.Policies, func(p Policy) bool { _, ok := p.Estimate(DM); return ok }) {
		para("dm: the interval leaves out the error of the reward model")
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
		para("guaranteed: %s earns at least %s (by %s), the logging policy at most %s: %s", p.Name, value(max(0, g.Reward())), g.Best().Name, value(g.LoggingUpper), "x")
	}
	if slices.ContainsFunc(r.Policies, func(p Policy) bool { return p.Guarantee != nil }) {
		para("guarantees hold together with probability %v, if rows are independent and the policies were fixed before this log was seen", 1-r.Delta)
	}
	return nil
}

// biased lists the biased methods among the estimates.
func (r Result) biased() string {
	var names []string
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			if e.Method.Biased() && !slices.Contains(names, string(e.Method)) {
				names = append(names, string(e.Method))
			}
		}
	}
	return strings.Join(names, ", ")
}

func (r Result) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	_ = c.Write([]string{"policy", "estimator", "hyperparameter", "value", "se", "low", "high", "gain", "gain_se", "gain_low", "gain_high",
		"rows", "groups", "ess", "mean_weight", "largest_weight", "largest_share", "delta", "guaranteed", "certificate", "logging_upper", "verdict", "warnings"})
	l := r.Logging
	_ = c.Write([]string{"logging", "on-policy", "", number(l.Value), number(l.SE), number(l.Low), number(l.High), "", "", "", "",
		strconv.Itoa(r.Rows), strconv.Itoa(r.Groups), "", "", "", "", number(r.Delta), "", "", "", "", ""})
	for _, p := range r.Policies {
		promise := make([]string, 4)
		if g := p.Guarantee; g != nil {
			promise = []string{number(g.Reward()), g.Best().Name, number(g.LoggingUpper), "x"}
		}
		for _, e := range p.Estimates {
			hyper := ""
			if e.Hyper != 0 {
				hyper = number(e.Hyper)
			}
			line := []string{p.Name, string(e.Method), hyper, number(e.Value), number(e.SE), number(e.Low), number(e.High),
				number(e.Gain.Value), number(e.Gain.SE), number(e.Gain.Low), number(e.Gain.High), strconv.Itoa(r.Rows), strconv.Itoa(r.Groups),
				number(p.ESS), number(p.MeanWeight), number(p.Largest), number(p.Share), number(r.Delta)}
			_ = c.Write(append(append(line, promise...), strings.Join(p.Warnings, "; ")))
		}
	}
	c.Flush()
	return c.Error()
}

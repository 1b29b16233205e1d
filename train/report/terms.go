package report

import (
	"fmt"
	"io"
	"strings"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/report/table"
)

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
